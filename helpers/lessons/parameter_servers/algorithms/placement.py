"""Which parameter server holds which tensor of a model.

Every worker pulls and pushes all tensors, so a server is as busy as its tensors are large, and the
fullest one decides how long a step takes. Source: Graham, "Bounds on Multiprocessing Timing
Anomalies" (1969), section 3: longest processing time first.
"""

from __future__ import annotations

from collections.abc import Sequence


def place(sizes: Sequence[int], servers: int) -> list[int]:
    """The server of each tensor: largest first, each to the one that holds the fewest bytes.

    sizes: bytes of each tensor, in the model's order; left as they are. Of equal servers the first
    one gets the tensor, and of equal tensors the first is placed first. The fullest server holds at
    most 4/3 of what it would in the best placement. Returns: a server's number, from 0, for each.
    Raises ValueError where there is no server. Graham (1969), theorem 2.
    Example: place([10, 40, 30, 20], 2) is [0, 0, 1, 1].
    """
    if servers < 1:
        raise ValueError(f"Tensors cannot lie on {servers} servers: give 1 or more.")
    held, places = [0] * servers, [0] * len(sizes)
    for tensor in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        places[tensor] = held.index(min(held))
        held[places[tensor]] += sizes[tensor]
    return places
