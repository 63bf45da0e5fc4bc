"""What failures leave of a job's time, where only the replica group with the failed GPU restarts.

The GPUs stand in groups that each hold all weights. In each step those groups take part that are
there: a quorum. When a GPU fails, its group restarts and then takes the weights from another one,
while the others go on with fewer samples a step. So no work is done again, and nobody loads a
checkpoint, as long as one group is left.

Sources: torchft's design (Meta, 2024); Salpekar et al., "Training LLMs with Fault Tolerant HSDP on
100,000 GPUs" (2026). The formula is this course's own.
"""

from __future__ import annotations

import math


def quorum_share(groups: int, restart: float, stall: float, mtbf: float) -> float:
    """The expected share of what all groups would do without failures, between 0 and 1.

    groups: that there are. restart: seconds from a failure until its group takes part again, and
    again from the start where it fails meanwhile. stall: seconds for which all others stand still
    after a failure, `restart` at most: to notice it, to agree on who is left, and to begin the step
    again. mtbf: mean seconds between two failures of the job, exponentially distributed.

    A group works where none of its GPUs failed in the last `restart` seconds, exp(−r) of the time
    with r = restart/(groups · mtbf), and no other group began a restart in the last `stall`
    seconds, 1 − exp(−r) · stall/(groups · mtbf) for each of them. Exact, save for the moments at
    which no group is left. With one group it is exp(−restart/mtbf): what restarts leave where
    nothing is done again.
    Example: quorum_share(128, 600, 60, 10_000) is 0.994.
    """
    if not (groups >= 1 and 0 <= stall <= restart and mtbf > 0):
        raise ValueError(
            "There is 1 group or more, failures are more than 0 s apart, and all stand still for "
            f"0 s up to a restart: not {groups} groups, {mtbf} s, and {stall} of {restart} s."
        )
    of_group = groups * mtbf  # between two failures of one group
    up = math.exp(-restart / of_group)
    return up * (1 - up * stall / of_group) ** (groups - 1)
