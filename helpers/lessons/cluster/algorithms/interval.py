"""How often to save: the interval between checkpoints that leaves most of the time for work.

A job works for `interval` seconds, stands still for `save` seconds, and so on. A failure throws it
back to its last checkpoint. Saving often costs saves, saving rarely costs work done again. Failures
come at random, `mtbf` seconds apart in the mean, exponentially distributed, also during a save.

Sources: Young, "A first order approximation to the optimum checkpoint interval" (1974); Daly, "A
higher order estimate of the optimum checkpoint interval for restart dumps" (2006), section 4.
"""

from __future__ import annotations

import math


def job_mtbf(gpu_hours: float, gpus: int) -> float:
    """Mean seconds between two failures of a job that stops when any of its GPUs fails.

    gpu_hours: mean hours between two failures of one GPU, with all that hangs on it. The rates of
    failure add up, so the time between them is divided.
    Example: job_mtbf(50_000, 16_384) is 10 986 s, three hours.
    """
    if not (gpu_hours > 0 and gpus >= 1):
        raise ValueError(
            f"A job has 1 GPU or more, and each fails after more than 0 hours: not {gpus} GPUs "
            f"that fail after {gpu_hours} hours."
        )
    return 3600 * gpu_hours / gpus


def daly_interval(save: float, mtbf: float) -> float:
    """Daly's higher-order estimate, in seconds of work between two saves.

    √(2 · save · mtbf) · (1 + √x/3 + x/9) − save with x = save/(2 · mtbf); mtbf itself where a save
    takes 2 · mtbf or longer. Within 2 % of the best interval up to save = mtbf. Daly (2006),
    equation 37.
    Example: daly_interval(300, 86_400) is 7000 s, the 117 minutes of Daly's figure 3.
    """
    _check(save, mtbf)
    if save >= 2 * mtbf:
        return mtbf
    x = save / (2 * mtbf)
    return math.sqrt(2 * save * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) - save


def best_interval(save: float, mtbf: float) -> float:
    """The best interval itself, in seconds of work between two saves; 0 where a save takes 0 s.

    It solves (1 − t/mtbf) · exp((t + save)/mtbf) = 1, which is where `effective_share` is largest,
    by Lambert's W. The time that a restart takes is not in it. Daly (2006), section 4.
    """
    from scipy.special import lambertw  # type: ignore[import-untyped]

    _check(save, mtbf)
    return mtbf * (1 + float(lambertw(-math.exp(-1 - save / mtbf)).real))


def checkpoint_interval(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    """After how many seconds of work a job of many GPUs should save again.

    save: seconds that training stands still for a checkpoint. restart: seconds from a failure until
    all train again; they are lost however often one saves, so the best interval is the same for
    any. gpu_hours: mean hours between two failures of one GPU. gpus: in the job.
    Daly's estimate (`daly_interval`) for the mean time between failures of the job.
    Example: checkpoint_interval(60, 600, 50_000, 16_384) is 1109 s, 18 minutes.
    """
    return daly_interval(save, job_mtbf(gpu_hours, gpus))


def _check(save: float, mtbf: float) -> None:
    if not (save >= 0 and mtbf > 0):
        raise ValueError(
            f"A save takes 0 s or more, and failures are more than 0 s apart: not {save} s and "
            f"{mtbf} s."
        )
