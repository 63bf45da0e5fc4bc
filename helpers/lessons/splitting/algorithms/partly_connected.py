"""Networks whose units see only a part of the layer below: split so that little crosses.

Where a unit is connected to few others, most of its inputs can lie on its own device, and only
the values on the border cross. How many depends on who holds what: `crossings` counts them,
`spectral_owners` looks for an assignment with few. Source: Dean et al., "Large Scale Distributed
Deep Networks" (2012), section 3: models with local connections gain most from a split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from helpers.lessons.messages.algorithms.collectives import chunk_bounds

Mask = np.ndarray  # (units, units below): True where there is a connection


def band(units: int, below: int, reach: int) -> Mask:
    """Local connections: each unit sees those within `reach` of its own place in the layer below.

    Returns (units, below), boolean. Example: band(3, 3, 1) lacks only the two corners.
    """
    place = (np.arange(units) + 0.5) * below / units
    return np.abs(place[:, None] - (np.arange(below) + 0.5)[None, :]) <= reach + 1e-9


def crossings(
    connections: Iterable[tuple[int, int]], below: Sequence[int], above: Sequence[int]
) -> int:
    """How many values have to cross from one layer to another rank's units, for one row of a batch.

    A unit's value crosses once to every other rank that holds a unit connected to it, however
    many such units there are. connections: pairs (unit in the layer below, unit in the layer
    above). below, above: the rank of each unit of the two layers. Backward as many gradients cross
    again, the other way. Raises ValueError where a connection's unit is not there.
    Example: crossings([(0, 0), (0, 1)], below=[0], above=[1, 1]) is 1.
    """
    needed = set()
    for j, i in connections:
        if not (0 <= j < len(below) and 0 <= i < len(above)):
            raise ValueError(
                f"There is no connection from unit {j} to unit {i} between layers of {len(below)} "
                f"and {len(above)} units."
            )
        if below[j] != above[i]:
            needed.add((j, above[i]))
    return len(needed)


def block_owners(widths: Sequence[int], ranks: int) -> list[np.ndarray]:
    """Units given to the ranks in one piece each, in the order in which they are numbered."""
    return [
        np.repeat(np.arange(ranks), [stop - start for start, stop in chunk_bounds(width, ranks)])
        for width in widths
    ]


def spectral_owners(masks: Sequence[Mask], ranks: int) -> list[np.ndarray]:
    """An assignment with few crossings and, at every level, as many units for every rank.

    Units are put on a line so that connected ones come to lie near each other, and the line of
    each level is cut into pieces. The place of a unit is its entry of the Fiedler vector, the
    eigenvector to the second smallest eigenvalue of the network's Laplacian. It is a heuristic:
    the best split is hard to find. Source: Fiedler, "Algebraic connectivity of graphs" (1973);
    Pothen, Simon and Liou (1990) for its use to cut graphs.
    """
    widths = [masks[0].shape[1], *(mask.shape[0] for mask in masks)]
    starts = np.cumsum([0, *widths])
    adjacency = np.zeros((starts[-1], starts[-1]))
    for level, mask in enumerate(masks):
        below = slice(starts[level], starts[level + 1])
        above = slice(starts[level + 1], starts[level + 2])
        adjacency[above, below] = mask
        adjacency[below, above] = mask.T
    degrees = np.maximum(adjacency.sum(axis=0), 1)
    scaled = np.eye(len(degrees)) - adjacency / np.sqrt(np.outer(degrees, degrees))
    fiedler = np.linalg.eigh(scaled)[1][:, 1] / np.sqrt(degrees)
    owners = []
    for level, width in enumerate(widths):
        order = np.argsort(fiedler[starts[level] : starts[level + 1]], kind="stable")
        owner = np.empty(width, dtype=int)
        for rank, (start, stop) in enumerate(chunk_bounds(width, ranks)):
            owner[order[start:stop]] = rank
        owners.append(owner)
    return owners
