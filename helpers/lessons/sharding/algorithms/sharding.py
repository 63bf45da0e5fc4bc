"""Data parallelism in which no rank keeps what another one keeps: ZeRO's three stages.

Stage 1 shards the optimizer's state, stage 2 the gradients too, stage 3 the parameters too. Every
rank still runs the whole model on its part of the batch, and takes the step that one big batch
would have taken. What stays on a rank, `algorithms/data_parallel/memory.py` says by formula.
Source: Rajbhandari, Rasley, Ruwase and He, "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models" (2020), sections 3, 5 and 7; for units and prefetching Zhao et al., "PyTorch
FSDP" (2023), sections 3 and 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_gather_ring
from helpers.lessons.sharding.algorithms.sharded_gather import Gatherer
from helpers.lessons.sharding.algorithms.sharded_sum import Summer
from helpers.lessons.sharding.algorithms.sharded_unit import Unit

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class Held(NamedTuple):
    """Bytes that a rank holds now. passing: whole rows that are there for a moment only."""

    parameters: int
    gradients: int
    optimizer: int
    passing: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


class Sharded:
    """A model whose parameters, gradients and optimizer state are shared out among the ranks.

        model = Sharded(model, comm, partial(torch.optim.Adam, lr=1e-3), stage=3)
        model.zero_grad()
        loss_function(model(inputs), targets).backward()
        model.step()

    The model's parameters are laid in rows, one a unit, padded until the ranks divide them. Units
    are the model's children, also those in lists; in stage 3 a unit has to be called: weights that
    somebody reads past it are not numbers then. What lies in no unit, or is tied between two, makes
    one unit more, which in stage 3 stays gathered until `step`. All parameters are trained.

    optimizer: makes an optimizer for a list of flat tensors, this rank's slices. It must treat
        each element by itself, as SGD, momentum and Adam do; what looks at whole tensors (LARS)
        would see slices. A parameter without a gradient counts as zero.
    stage: 1, gradients are summed in `step` and the parameters gathered after it. 2, a unit's
        gradients are summed as soon as backward has made them, and only slices stay. 3, a unit's
        parameters are gathered before forward and before backward, and freed after.
    mixed: compute in bfloat16, and keep parameters of the model's own type for the optimizer.
        Gradients are summed in bfloat16.
    prefetch: whether stage 3 gathers the next unit while this one computes.

    weight: what this rank's gradients are multiplied by before they are summed, 1/N at first: as
        in `DataParallel`. Stage 1 multiplies once, in `step`: there it has to be the same for
        all backwards whose gradients add up. A rank without rows runs forward and backward in
        stage 3 all the same, with weight 0, because the others gather parameters from it. From
        stage 2 on every rank's backward has to come to the same parameters, equally often.
    padding: elements that the rows are longer than the parameters.
    peak: the most bytes that were held at once. watch: called with no argument whenever what
        passes through has changed.
    """

    def __init__(
        self,
        model: nn.Module,
        comm: Comm,
        optimizer: Make = torch.optim.Adam,
        stage: int = 3,
        *,
        mixed: bool = False,
        prefetch: bool = True,
    ) -> None:
        if stage not in (1, 2, 3):
            raise ValueError(f"There is no stage {stage!r}: give 1, 2 or 3.")
        self.model, self.comm, self.stage, self.mixed = model, comm, stage, mixed
        self.weight, self.peak = 1 / comm.size, 0
        self.watch: Callable[[], None] = lambda: None
        self._gatherer: Gatherer | None = None
        broadcast_parameters(model, comm)
        self._names = {n: p for n, p in model.named_parameters(remove_duplicate=False)}
        if not all(p.requires_grad for p in self._names.values()):
            raise ValueError("A parameter is frozen, and here all are trained.")
        self.units: list[Unit] = []
        self.root: Unit | None = None
        self._cut(prefetch)
        self.padding = sum(unit.padding for unit in self._all)
        self.optimizer = optimizer([unit.master for unit in self._all])
        self._summed: list[Tensor] = []  # stage 1: this rank's slices of the sums, in `step` alone
        self._pending = False  # whether backward may come yet to what forward has made
        # From stage 2 on gradients lie elsewhere, where the model's own `zero_grad` finds none.
        model.zero_grad = lambda set_to_none=True: self.zero_grad()  # type: ignore[method-assign]
        self.zero_grad()

    def _cut(self, prefetch: bool) -> None:
        """Make units of the model's children, and one of the parameters that are in none or in
        several."""
        modules = list(_called(self.model))
        uses = Counter(p for module in modules for p in set(module.parameters()))
        make = partial(Unit, comm=self.comm, stage=self.stage, mixed=self.mixed)
        followed = []
        for module in modules:
            if mine := [p for p in module.parameters() if uses[p] == 1]:
                self.units.append(make(f"unit {len(self.units)}", mine))
                followed.append(module)
        rest = [p for p in self.model.parameters() if uses[p] != 1]
        self.root = make("the root unit", rest) if rest else None
        if self.stage == 3:
            self._gatherer = Gatherer(followed, self.units, self.comm, prefetch, self._changed)
        self._summer: Summer | None = None
        if self.stage > 1:
            weight = partial(getattr, self, "weight")
            self._summer = Summer(self._all, self.comm, weight, self._changed, self._finished)

    @property
    def _all(self) -> list[Unit]:
        """Every unit; the root unit, whose gradients are complete last, comes first."""
        return [*([self.root] if self.root else []), *self.units]

    # --- a step -----------------------------------------------------------------------------------

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the model forward; in mixed precision floating-point inputs become bfloat16."""
        if self.root is not None:
            self.root.gather(self.comm)
            self._changed()
        if self.mixed:
            floats = (isinstance(t, Tensor) and t.is_floating_point() for t in inputs)
            inputs = tuple(t.bfloat16() if f else t for t, f in zip(inputs, floats, strict=True))
        self._pending = self._pending or torch.is_grad_enabled()
        made = self.model(*inputs, **options)
        if not self._pending:
            self._free_all()
        return made

    def zero_grad(self) -> None:
        """Forget the gradients of earlier steps."""
        if self._summer is not None:
            self._summer.forget()
        for unit in self._all:
            unit.zero()

    def step(self) -> None:
        """Sum what is not summed yet, update this rank's slices, and bring the slices together."""
        if self._summer is not None:
            self._summer.flush()
            sums = [unit.own for unit in self._all if unit.own is not None]
        else:
            sums = self._summed = [unit.summed(self.comm, self.weight) for unit in self._all]
            self._changed()
        self._pending = False
        self._free_all()
        for unit, own in zip(self._all, sums, strict=True):
            unit.master.grad = own.to(unit.master.dtype)
        self.optimizer.step()
        for unit in self._all:
            unit.master.grad = None
            if self.mixed:
                unit.slice.copy_(unit.master.detach())
            if self.stage < 3:
                all_gather_ring(self.comm, unit.full)
        self._summed = []
        if self._summer is not None:
            self._summer.stepped()

    def _finished(self, unit: Unit) -> None:
        if self._gatherer is not None and unit is not self.root:
            self._gatherer.free(unit)

    def _free_all(self) -> None:
        for unit in self._all if self._gatherer is not None else []:
            self._gatherer.free(unit)  # type: ignore[union-attr]

    # --- what is held, and what it is -------------------------------------------------------------

    def bytes(self) -> Held:
        """Bytes that this rank holds now, counted from the memory of its tensors.

        Adam's number of the step, one float for each row, is left out.
        """
        units = self._all
        kept = [unit.full if unit.whole else unit.slice for unit in units]
        gradients = [unit.gradient if self.stage == 1 else unit.own for unit in units]
        states = [t for s in self.optimizer.state.values() for t in s.values()]
        optimizer = [t for t in states if isinstance(t, Tensor) and t.dim()]
        if self.mixed:
            optimizer += [unit.master.detach() for unit in units]
        passing: list[Tensor | None] = [unit.full for unit in units if not unit.whole]
        passing += self._summed if self.stage == 1 else [unit.gradient for unit in units]
        return Held(_nbytes(kept), _nbytes(gradients), _nbytes(optimizer), _nbytes(passing))

    def full_state(self) -> dict[str, Tensor]:
        """Every parameter and buffer by name, whole, on every rank. All ranks call it."""
        values: dict[nn.Parameter, Tensor] = {}
        for unit in self._all:
            values.update(zip(unit.parameters, unit.collect(self.comm), strict=True))
        state = {name: values[parameter].clone() for name, parameter in self._names.items()}
        return state | {name: buffer.clone() for name, buffer in self.model.named_buffers()}

    def _changed(self) -> None:
        self.peak = max(self.peak, self.bytes().total)
        self.watch()


def _nbytes(tensors: Iterable[Tensor | None]) -> int:
    """Bytes of the memory behind tensors, each piece of memory once."""
    storages = [t.untyped_storage() for t in tensors if t is not None]
    return sum({s._cdata: s.nbytes() for s in storages}.values())


def _called(model: nn.Module) -> Iterator[nn.Module]:
    """A model's children; in place of a list or dict of them, which nobody calls, what is in it."""
    for child in model.children():
        if isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from _called(child)
        elif not isinstance(child, nn.ParameterList | nn.ParameterDict):
            yield child
