"""A deep recurrent network cut by layer, whose ranks work at once: a diagonal wave.

Layer l at time step t needs the layer below at t and itself at t − 1. So cell (l, t) can run at
tick l + t, together with all others of its diagonal: while rank 1 works on the first steps, rank 0
is at the next. Steps go in chunks, so that a message is worth sending. With p ranks and m chunks
the work takes m + p − 1 turns of 1/(m p) of it, and the speedup is m p / (m + p − 1) at most.
Backward is the same wave in a mirror. Sources: Wu et al., "Google's Neural Machine Translation
System" (2016), section 3.3, whose layers lie on eight GPUs; Appleyard, Kočiský and Blunsom,
"Optimizing Performance of Recurrent Neural Networks on GPUs" (2016), section 3.3, for the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.splitting.algorithms.model_split import TiedSums, share_value

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def diagonal(layers: int, steps: int) -> list[list[tuple[int, int]]]:
    """For each tick the cells (layer, step) that can run in it: all with layer + step = tick.

    Example: diagonal(2, 2) is [[(0, 0)], [(0, 1), (1, 0)], [(1, 1)]].
    """
    return [
        [(layer, tick - layer) for layer in range(layers) if 0 <= tick - layer < steps]
        for tick in range(layers + steps - 1)
    ]


class Ran(NamedTuple):
    """One chunk on this rank. kind: "forward" or "backward". start, end: on the rank's clock."""

    kind: str
    chunk: int
    start: float
    end: float


class _Kept(NamedTuple):
    """What backward needs of a chunk: what came in, the states before, and what came out."""

    given: Tensor
    before: list[list[Tensor]]
    out: Tensor
    after: list[list[Tensor]]


class Wave:
    """Recurrent layers cut between the ranks, forward and backward in chunks of time steps.

    layers: each called as layer(x, state) -> (out, state), x (steps, rows, width), state None at
    the start, a tensor or a tuple of tensors, as torch.nn.RNN, GRU and LSTM with one layer. Built
    on every rank; rank 0's parameters are what all start from. The same layer may come several
    times: its gradients are summed over the ranks that hold it.
    head: what the last rank puts on all steps' outputs before the loss. chunks: m, at most as many
    as there are time steps.
    seconds: on the virtual clock, what (kind, layers, steps) takes; kind "forward" or "backward".

    names: this rank's parameters, as "layers.0.weight_ih_l0" or "head.weight". ran: of the last
    step, when each chunk was worked on.
    """

    def __init__(
        self,
        comm: Comm,
        layers: Sequence[nn.Module],
        head: nn.Module | None = None,
        *,
        chunks: int = 8,
        seconds: Callable[[str, int, int], float] | None = None,
    ) -> None:
        for number, layer in enumerate(layers):
            if getattr(layer, "bidirectional", False) or getattr(layer, "batch_first", False):
                raise ValueError(
                    f"Layer {number} is bidirectional or has the batch first. A wave goes through "
                    "time once, from the first step on: (steps, rows, width)."
                )
        bounds = chunk_bounds(len(layers), comm.size)
        whole = nn.ModuleDict({"layers": nn.ModuleList(layers), "head": head or nn.Identity()})
        whole.to(comm.device)
        broadcast_parameters(whole, comm)
        self.comm, self.chunks, self._seconds = comm, chunks, seconds
        self.first, self.last = comm.rank == 0, comm.rank == comm.size - 1
        parts = [list(layers)[start:stop] for start, stop in bounds]
        parts[-1] = [*parts[-1], whole["head"]]
        self.layers = list(layers)[slice(*bounds[comm.rank])]
        self.head = whole["head"] if self.last else nn.Identity()
        self._held = nn.ModuleList(parts[comm.rank])
        mine = set(self._held.parameters())
        self.names = {
            name: parameter
            for name, parameter in whole.named_parameters(remove_duplicate=False)
            if parameter in mine
        }
        self._ties = TiedSums(comm, [nn.ModuleList(part).parameters() for part in parts])
        self.ran: list[Ran] = []

    def parameters(self) -> list[nn.Parameter]:
        """This rank's parameters, for its optimizer."""
        return list(self._held.parameters())

    def zero_grad(self) -> None:
        """Clear this rank's gradients, to which `step` adds."""
        self._held.zero_grad()

    def step(
        self, inputs: Tensor, targets: Tensor, loss: Callable[[Tensor, Tensor], Tensor]
    ) -> float:
        """Forward and backward through all ranks; every `.grad` then has the whole model's.

        inputs: (steps, rows, width) of rank 0. targets: of the last rank, what loss(head(outputs
        of all steps), targets) takes; the others may pass anything. Returns the loss, everywhere.
        Raises ValueError on rank 0 where there are fewer steps than chunks.
        """
        self.ran = []
        self._ties.set_aside()
        kept = self._forward(inputs)
        value = torch.zeros((), dtype=torch.float64)
        gradients: Sequence[Tensor] = ()
        if self.last:
            outputs = torch.cat([each.out.detach() for each in kept]).requires_grad_()
            end = loss(self.head(outputs), targets.to(self.comm.device))
            end.backward()
            value = end.detach().double()
            assert outputs.grad is not None
            gradients = outputs.grad.split([len(each.out) for each in kept])
        self._backward(kept, gradients)
        self._ties.sum()
        return share_value(self.comm, value, self.comm.size - 1)

    def _forward(self, inputs: Tensor) -> list[_Kept]:
        """The wave up: each chunk as soon as the rank below sends it."""
        comm, kept, sending = self.comm, list[_Kept](), []
        states: list[Any] = [None] * len(self.layers)
        if self.first and len(inputs) < self.chunks:
            raise ValueError(
                f"{len(inputs)} time steps make no {self.chunks} chunks: take chunks="
                f"{len(inputs)} or fewer."
            )
        pieces = chunk_bounds(len(inputs), self.chunks) if self.first else []
        for chunk in range(self.chunks):
            if self.first:
                given = inputs[slice(*pieces[chunk])].to(comm.device)
            else:
                given = comm.recv(comm.rank - 1).requires_grad_()
            start = comm.time()
            states = [_cut_off(state) for state in states]
            out, after = given, []
            for layer, state in zip(self.layers, states, strict=True):
                out, new = layer(out, state)
                after.append(new)
            kept.append(_Kept(given, [*map(_tensors, states)], out, [*map(_tensors, after)]))
            states = after
            self._work("forward", chunk, start, len(given))
            if not self.last:
                sending.append(comm.isend(out.detach(), comm.rank + 1))
        for request in sending:
            request.wait()
        return kept

    def _backward(self, kept: list[_Kept], gradients: Sequence[Tensor]) -> None:
        """The wave down: the last chunk first, and each as soon as the rank above sends it."""
        comm, sending, later = self.comm, [], list[list[Tensor]]()
        for chunk in reversed(range(self.chunks)):
            each = kept.pop()
            gradient = gradients[chunk] if self.last else comm.recv(comm.rank + 1)
            start = comm.time()
            ends, pulls = [each.out], [gradient]
            # Where the next chunk began from these states, their gradient pulls as well.
            for states, begun in zip(each.after, later, strict=False):
                for state, copy in zip(states, begun, strict=True):
                    if copy.grad is not None:
                        ends.append(state)
                        pulls.append(copy.grad)
            if each.out.requires_grad:
                torch.autograd.backward(ends, pulls)
            later = each.before
            self._work("backward", chunk, start, len(each.given))
            if not self.first:
                given = each.given
                back = torch.zeros_like(given) if given.grad is None else given.grad
                sending.append(comm.isend(back, comm.rank - 1))
        for request in sending:
            request.wait()

    def _work(self, kind: str, chunk: int, start: float, steps: int) -> None:
        if self._seconds is not None:
            self.comm.compute(self._seconds(kind, len(self.layers), steps))
        self.ran.append(Ran(kind, chunk, start, self.comm.time()))


def _tensors(state: Any) -> list[Tensor]:
    """A layer's state as a list: none at the start, one of RNN and GRU, two of LSTM."""
    if state is None:
        return []
    return [state] if isinstance(state, Tensor) else list(state)


def _cut_off(state: Any) -> Any:
    """A state from which a new piece of graph begins; its `.grad` is what the old one gets."""
    if state is None:
        return None
    cut = [part.detach().requires_grad_(part.requires_grad) for part in _tensors(state)]
    return cut[0] if isinstance(state, Tensor) else tuple(cut)
