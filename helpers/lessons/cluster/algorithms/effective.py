"""What failures leave of a job's time, where all restart from the last checkpoint.

Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006),
section 4, equation 20: the wall time that work takes, with failures during restarts and saves.
"""

from __future__ import annotations

import math


def effective_share(interval: float, save: float, restart: float, mtbf: float) -> float:
    """The expected share of time that ends up as work in a checkpoint, between 0 and 1.

    interval: seconds of work between two saves. save: seconds that training stands still for one.
    restart: seconds from a failure until all train again, and again from the start where a failure
    comes meanwhile. mtbf: mean seconds between two failures of the job, exponentially distributed.

    An interval and its save take mtbf · exp(restart/mtbf) · (exp((interval + save)/mtbf) − 1)
    seconds in the mean, restarts and repeated work included; `interval` of them are of use. Exact.
    Raises ValueError where no work is done between two saves, or a time is below zero.
    Example: effective_share(1000, 60, 600, 10_000) is 0.842.
    """
    if not (interval > 0 and save >= 0 and restart >= 0 and mtbf > 0):
        raise ValueError(
            "Work between two saves and the time between failures are more than 0 s, a save and a "
            f"restart 0 s or more: not {interval}, {mtbf}, {save} and {restart} s."
        )
    # As 1 − exp(−…) over exp(…), which long intervals do not overflow.
    survives = math.exp(-(interval + save) / mtbf)
    return interval / mtbf * math.exp(-restart / mtbf) * survives / (1 - survives)
