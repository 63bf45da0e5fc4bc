"""When fewer bits pay: the link at which a step with a scheme takes as long as one without.

Coding takes time on every link, sending less the quicker the link is. So each scheme has a link
above which it only costs. Source: Agarwal et al., "On the Utility of Gradient Compression in
Distributed Training Systems" (2022), section 4, who found it to pay in 6 of more than 200 set-ups.
"""

from __future__ import annotations

import math

from helpers.lessons.fewer_bits.algorithms.step_cost import ring_share


def break_even(
    compute: float, nbytes: float, workers: int, share: float, plain: float, compressed: float
) -> float:
    """The bandwidth at which a scheme takes as long as none, from one step of each on one link.

    compute: seconds of forward and backward alone. nbytes: of the dense gradient. workers: from 2
    up. share: of the bytes that the scheme sends, below 1. plain, compressed: seconds of a step,
    both measured on the same link, of whatever bandwidth; latencies are left out.
    Returns: bytes a second; below it the scheme is quicker. `math.inf` where its coding took no
    time, so that it pays on every link.
    Example: break_even(0.1, 1e6, 2, 0.5, 0.3, 0.22) is 25e6: the dense bytes took 0.2 s, so the
    link has 5 MB a second, and the coding 0.02 s; at 25 MB a second half the bytes take as long.
    """
    sending = plain - compute
    coding = compressed - compute - share * sending
    if coding <= 0:
        return math.inf
    return ring_share(workers) * (1 - share) * nbytes / coding
