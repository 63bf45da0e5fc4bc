"""Networks whose units see only a part of the layer below: split so that little crosses.

Where a unit is connected to few others, most of its inputs can lie on its own device, and only
the values on the border cross. How many depends on who holds what: `crossings` counts them,
`spectral_owners` looks for an assignment with few. `UnitSplit` runs any partly connected network
under any assignment, and sends exactly those values. Source: Dean et al., "Large Scale
Distributed Deep Networks" (2012), section 3: models with local connections gain most from a split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.splitting.algorithms.model_split import (
    ELEMENTWISE,
    exchange,
    gather_units,
    whole_gradient,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

Mask = np.ndarray  # (units, units below): True where there is a connection
Owners = Sequence[np.ndarray]  # for each level, inputs first, the rank of every unit


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


def crossings_by_layer(masks: Sequence[Mask], owners: Owners) -> list[int]:
    """The `crossings` of each layer of a network.

    masks: a layer's (units, units below). owners: one array more than masks.
    Raises ValueError where the shapes do not fit.
    """
    _check(masks, owners)
    return [
        crossings(
            [(int(j), int(i)) for j, i in np.argwhere(mask.T)], below.tolist(), above.tolist()
        )
        for mask, below, above in zip(masks, owners, owners[1:], strict=False)
    ]


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


class PartlyConnected(nn.Module):
    """A linear layer in which each unit is connected to some units below, as `mask` says.

    mask: (units, units below). Weights that are no connection are zero and stay so: their
    gradient is zero. x: (rows, units below) to (rows, units).
    """

    mask: Tensor

    def __init__(self, mask: Mask, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        units, below = mask.shape
        self.register_buffer("mask", torch.as_tensor(mask, dtype=dtype))
        fan_in = self.mask.sum(1, keepdim=True).clamp(min=1)
        start = torch.randn(units, below, dtype=dtype) / fan_in.sqrt()
        self.weight = nn.Parameter(start * self.mask)
        self.bias = nn.Parameter(torch.zeros(units, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight * self.mask, self.bias)


class UnitSplit(nn.Module):
    """A network of PartlyConnected and elementwise layers, each unit on the rank that owns it.

    dense: the whole network, built on every rank; rank 0's parameters are what all start from.
    owners: for every level, inputs first, the rank of each unit; `block_owners` where none are
    given. Every rank is given all inputs and gets all outputs; between, only what `crossings`
    counts is sent, and backward the same again. Layers that share a weight share it here too,
    which needs their units, and those below them, to have the same owners in both.
    Raises ValueError for other layers, for owners that do not fit, and for such a shared weight.
    """

    def __init__(self, comm: Comm, dense: nn.Sequential, owners: Owners | None = None) -> None:
        super().__init__()
        masks = []
        for number, layer in enumerate(dense):
            if isinstance(layer, PartlyConnected):
                masks.append(layer.mask.cpu().numpy() != 0)
            elif not isinstance(layer, ELEMENTWISE):
                raise ValueError(
                    f"Layer {number} is a {type(layer).__name__}: a split by units takes "
                    "PartlyConnected layers with elementwise ones between."
                )
        if not masks:
            raise ValueError("There is no PartlyConnected layer whose units could be split.")
        widths = [masks[0].shape[1], *(mask.shape[0] for mask in masks)]
        self.owners = block_owners(widths, comm.size) if owners is None else list(owners)
        _check(masks, self.owners)
        for level, owner in enumerate(self.owners):
            if min(owner, default=0) < 0 or max(owner, default=0) >= comm.size:
                raise ValueError(
                    f"An owner in level {level} is none of the ranks 0 to {comm.size - 1}."
                )
        dense.to(comm.device)
        broadcast_parameters(dense, comm)
        self.comm, self.layers, level = comm, nn.ModuleList(), 0
        known: Known = {}
        for layer in dense:
            if not isinstance(layer, PartlyConnected):
                self.layers.append(layer)
                continue
            plan = Plan(comm, masks[level], *self.owners[level : level + 2])
            self.layers.append(UnitSlice(comm, layer, plan, known))
            level += 1
        order = np.argsort(self.owners[-1], kind="stable")
        self._places = torch.as_tensor(np.argsort(order), device=comm.device)

    def forward(self, inputs: Tensor) -> Tensor:
        """All outputs on every rank. inputs: (rows, width), the same on every rank."""
        comm = self.comm
        x = whole_gradient(comm, inputs.to(comm.device))
        x = x[:, torch.as_tensor(self.owners[0] == comm.rank, device=comm.device)]
        for layer in self.layers:
            x = layer(x)
        sizes = [int((self.owners[-1] == rank).sum()) for rank in range(comm.size)]
        return gather_units(comm, x, sizes, replicated=True)[:, self._places]


class UnitSlice(nn.Module):
    """This rank's units of a PartlyConnected layer, and the connections that lead to them.

    plan: who sends which values to whom. known: slices made before, by what they were cut from.
    """

    mask: Tensor

    def __init__(self, comm: Comm, layer: PartlyConnected, plan: Plan, known: Known) -> None:
        super().__init__()
        self.plan = plan
        self.units = torch.as_tensor(plan.units, device=comm.device)
        self.needed = torch.as_tensor(plan.needed[comm.rank], device=comm.device)
        self.register_buffer("mask", layer.mask[self.units][:, self.needed])
        self.weight = _own(layer.weight, (self.units, self.needed), known)
        self.bias = _own(layer.bias, (self.units,), known)

    def forward(self, x: Tensor) -> Tensor:
        """x: (rows, this rank's units below) to (rows, this rank's units)."""
        needed: Tensor = _Fetch.apply(x, self.plan)
        return functional.linear(needed, self.weight * self.mask, self.bias)


Known = dict[nn.Parameter, tuple[list[list[int]], nn.Parameter]]


def _own(parameter: nn.Parameter, places: Sequence[Tensor], known: Known) -> nn.Parameter:
    """A slice with memory of its own; where the parameter was cut before, that slice."""
    numbers = [place.tolist() for place in places]
    if parameter not in known:
        cut = parameter.detach()[places[0]]
        cut = cut if len(places) == 1 else cut[:, places[1]]
        known[parameter] = numbers, nn.Parameter(cut.clone(), parameter.requires_grad)
    if known[parameter][0] != numbers:
        raise ValueError(
            "Two layers share a weight but not their owners, so that one weight would lie on two "
            "ranks: give both, and the levels below them, the same owners."
        )
    return known[parameter][1]


class Plan:
    """Which values of a level each rank sends to which other, for the layer above it.

    units: this rank's units above. needed: for each rank, the numbers of the units below that its
    units are connected to. sends: for each rank, which of this rank's units below go there.
    takes: for each rank, which places of this rank's needed values come from there.
    """

    def __init__(self, comm: Comm, mask: Mask, below: np.ndarray, above: np.ndarray) -> None:
        self.comm = comm
        self.units = np.flatnonzero(above == comm.rank)
        self.needed = [np.flatnonzero(mask[above == rank].any(axis=0)) for rank in range(comm.size)]
        mine = np.flatnonzero(below == comm.rank)
        self.sends = [
            torch.as_tensor(np.flatnonzero(np.isin(mine, needed)), device=comm.device)
            for needed in self.needed
        ]
        here = self.needed[comm.rank]
        self.takes = [
            torch.as_tensor(np.flatnonzero(below[here] == rank), device=comm.device)
            for rank in range(comm.size)
        ]


class _Fetch(torch.autograd.Function):
    """The values that this rank's units need; backward brings their gradients home."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plan: Plan) -> Tensor:
        ctx.plan, ctx.width = plan, x.shape[1]
        return _move(plan.comm, x, plan.sends, plan.takes, len(plan.needed[plan.comm.rank]))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        plan = ctx.plan
        return _move(plan.comm, gradients[0], plan.takes, plan.sends, ctx.width), None


def _move(
    comm: Comm, x: Tensor, out: Sequence[Tensor], into: Sequence[Tensor], width: int
) -> Tensor:
    """Send columns out[r] of x to rank r, add what comes from r to columns into[r] of the result.

    Nothing is sent where no column is named; this rank's own columns stay here.
    """
    parts = [x[:, columns].contiguous() if len(columns) else None for columns in out]
    received = exchange(comm, parts, [rank for rank, places in enumerate(into) if len(places)])
    result = x.new_zeros(len(x), width)
    own = parts[comm.rank]
    if own is not None:
        received[comm.rank] = own
    for rank in sorted(received):  # in rank order, so that every run adds alike
        result[:, into[rank]] += received[rank]
    return result


def _check(masks: Sequence[Mask], owners: Owners) -> None:
    """Raise ValueError where the levels of the masks and the owners are not the same."""
    widths = [masks[0].shape[1], *(mask.shape[0] for mask in masks)]
    below = [mask.shape[1] for mask in masks]
    if below != widths[:-1] or [len(owner) for owner in owners] != widths:
        raise ValueError(
            f"The layers are {widths} units wide and see {below}, but owners are given for "
            f"{[len(owner) for owner in owners]}: name one owner for each unit of each level, "
            "the inputs first."
        )
