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
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_gather_ring, all_reduce_ring
from helpers.lessons.sharding.algorithms.sharded_gather import Gatherer
from helpers.lessons.sharding.algorithms.sharded_guard import (
    check_frozen,
    guard_loading,
    guard_zero_grad,
)
from helpers.lessons.sharding.algorithms.sharded_row import Flat
from helpers.lessons.sharding.algorithms.sharded_sum import Summer
from helpers.lessons.sharding.algorithms.sharded_unit import Unit, modules_of_units

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

    The model's parameters are laid in rows, one a unit, padded until the ranks divide them.

    optimizer: makes an optimizer for a list of flat tensors, this rank's slices. It must treat
        each element by itself, as SGD, momentum and Adam do; what looks at whole tensors (LARS)
        would see slices. To clip a norm there is `clip_grad_norm_`. A parameter without a
        gradient counts as zero.
    stage: 1, gradients are summed in `step` and the parameters gathered after it. 2, a unit's
        gradients are summed as soon as backward has made them, and only slices stay. 3, a unit's
        parameters are gathered before forward and before backward, and freed after.
    units: modules that are gathered as one, in the order in which forward comes to them; the
        model's children where none are given, also those in lists. In stage 3 a unit has to be
        called: weights that somebody reads past it are not numbers then. What lies in no unit, or
        is tied between two, makes one unit more, which in stage 3 stays gathered until `step`.
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
        units: Sequence[nn.Module] | None = None,
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
        self.units: list[Unit] = []
        self.root: Unit | None = None
        self._cut(modules_of_units(model, units), prefetch)
        self.padding = sum(flat.padding for flat in self._flats)
        masters = [flat.master for flat in self._flats if flat.master is not None]
        if not masters:
            raise ValueError("Every parameter is frozen, so that there is nothing to train.")
        self.optimizer = optimizer(masters)
        self._summed: list[Tensor] = []  # stage 1: this rank's slices of the sums, in `step` alone
        self._pending = False  # whether backward may come yet to what forward has made
        guard_loading(model, self._all, comm)
        if stage > 1:
            guard_zero_grad(model, self.zero_grad)
        self.zero_grad()

    def _cut(self, modules: Sequence[nn.Module], prefetch: bool) -> None:
        """Make units of modules, and one of the parameters that are in none or in several."""
        uses = Counter(p for module in modules for p in set(module.parameters()))
        make = partial(Unit, comm=self.comm, stage=self.stage, mixed=self.mixed)
        followed = []
        for module in modules:
            mine = [p for p in module.parameters() if uses[p] == 1]
            if mine:
                self.units.append(make(f"unit {len(self.units)}", mine))
                followed.append(module)
        rest = [p for p in self.model.parameters() if uses[p] != 1]
        self.root = make("the root unit", rest) if rest else None
        if self.stage == 3:
            gatherer = Gatherer(followed, self.units, self.comm, prefetch, self._changed)
            self._gatherer = gatherer
        self._summer: Summer | None = None
        if self.stage > 1:
            weight = partial(getattr, self, "weight")
            self._summer = Summer(self._all, self.comm, weight, self._changed, self._finished)

    @property
    def _all(self) -> list[Unit]:
        """Every unit; the root unit, whose gradients are complete last, comes first."""
        return [*([self.root] if self.root else []), *self.units]

    @property
    def _flats(self) -> list[Flat]:
        return [flat for unit in self._all for flat in unit.flats]

    @property
    def _trained(self) -> list[Flat]:
        return [flat for unit in self._all for flat in unit.trained]

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
        for flat in self._trained:
            if self.stage == 1:
                flat.show_gradients()
            flat.zero()

    def _finished(self, unit: Unit) -> None:
        if self._gatherer is not None and unit is not self.root:
            self._gatherer.may_free(unit)

    def _free_all(self) -> None:
        for unit in self._all if self._gatherer is not None else []:
            self._gatherer.free(unit)  # type: ignore[union-attr]

    def step(self) -> None:
        """Sum what is not summed yet, update this rank's slices, and bring the slices together.

        Raises RuntimeError where a parameter has been frozen, or made trainable, since wrapping.
        """
        check_frozen(self.model, self._all)
        sums = self._sum()
        self._pending = False
        self._free_all()
        for unit in self._all:
            unit.entered = unit.left = 0  # backward may never have come to some forwards
        for flat, own in zip(self._trained, sums, strict=True):
            flat.master.grad = own.to(flat.master.dtype)  # type: ignore[union-attr]
        self.optimizer.step()
        for flat in self._trained:
            flat.master.grad = None  # type: ignore[union-attr]
            if self.mixed:
                flat.slice.copy_(flat.master.detach())  # type: ignore[union-attr]
            if self.stage < 3:
                all_gather_ring(self.comm, flat.full)
        self._summed = []
        if self._summer is not None:
            self._summer.stepped()

    def _sum(self) -> list[Tensor]:
        """This rank's slices of the summed gradients, one for each row that is trained."""
        if self._summer is not None:
            self._summer.flush()
            return [flat.own for flat in self._trained if flat.own is not None]
        for flat in self._trained:
            flat.collect_gradients()
        self._summed = [flat.summed(self.comm, self.weight) for flat in self._trained]
        self._changed()
        return self._summed

    def clip_grad_norm_(self, max_norm: float) -> float:
        """Scale all gradients down so that their 2-norm, over all ranks, is at most `max_norm`.

        Between backward and `step`, on all ranks; torch's function of this name would see a part
        of the gradients here, or none. Returns: the norm before. Stage 1 sums once more for it.
        """
        square = torch.stack([own.double().square().sum() for own in self._sum()]).sum().view(1)
        norm = all_reduce_ring(self.comm, square).sqrt().item()
        if max_norm < norm + 1e-6:
            for flat in self._trained:
                held = flat.own if flat.gradient is None else flat.gradient
                held.mul_(max_norm / (norm + 1e-6))  # type: ignore[union-attr]
        self._summed = []
        return norm

    # --- what is held, and what it is -------------------------------------------------------------

    def bytes(self) -> Held:
        """Bytes that this rank holds now, counted from the memory of its tensors.

        Adam's number of the step, one float for each row, is left out.
        """
        flats = self._flats
        kept = [flat.full if flat.whole else flat.slice for flat in flats]
        gradients = [flat.gradient if self.stage == 1 else flat.own for flat in flats]
        states = [t for s in self.optimizer.state.values() for t in s.values()]
        optimizer = [t for t in states if isinstance(t, Tensor) and t.dim()]
        if self.mixed:
            optimizer += [flat.master.detach() for flat in flats if flat.master is not None]
        passing: list[Tensor | None] = [flat.full for flat in flats if not flat.whole]
        passing += self._summed if self.stage == 1 else [f.gradient for f in flats]
        return Held(_nbytes(kept), _nbytes(gradients), _nbytes(optimizer), _nbytes(passing))

    def full_state(self) -> dict[str, Tensor]:
        """Every parameter and buffer by name, whole, on every rank. All ranks call it."""
        values: dict[nn.Parameter, Tensor] = {}
        for flat in self._flats:
            values.update(zip(flat.parameters, flat.collect(self.comm), strict=True))
        state = {name: values[parameter].clone() for name, parameter in self._names.items()}
        return state | {name: buffer.clone() for name, buffer in self.model.named_buffers()}

    def full_gradients(self) -> dict[str, Tensor]:
        """Every gradient by name, summed and whole, on every rank: between backward and `step`.

        All ranks call it.
        """
        values: dict[nn.Parameter, Tensor] = {}
        for flat, own in zip(self._trained, self._sum(), strict=True):
            row = own.new_empty(len(flat.full))
            row[slice(*flat.bounds)] = own
            whole = flat.shaped(all_gather_ring(self.comm, row))
            values.update(zip(flat.parameters, whole, strict=True))
        self._summed = []
        return {name: values[p].clone() for name, p in self._names.items() if p in values}

    def _changed(self) -> None:
        self.peak = max(self.peak, self.bytes().total)
        self.watch()


def _nbytes(tensors: Iterable[Tensor | None]) -> int:
    """Bytes of the memory behind tensors, each piece of memory once."""
    storages = [t.untyped_storage() for t in tensors if t is not None]
    return sum({s._cdata: s.nbytes() for s in storages}.values())
