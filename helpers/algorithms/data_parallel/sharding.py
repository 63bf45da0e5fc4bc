"""Data parallelism in which no rank keeps what another one keeps: ZeRO's three stages.

Stage 1 shards the optimizer's state, stage 2 the gradients too, stage 3 the parameters too. Every
rank still runs the whole model on its part of the batch, and takes the step that one big batch
would have taken. What stays on a rank, `algorithms/data_parallel/memory.py` says by formula.
Source: Rajbhandari, Rasley, Ruwase and He, "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models" (2020), sections 3, 5 and 7; for units and prefetching Zhao et al., "PyTorch
FSDP" (2023), sections 3 and 4.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.algorithms.data_parallel.data_parallel import broadcast_parameters
from helpers.algorithms.data_parallel.sharded_gather import Gatherer
from helpers.algorithms.data_parallel.sharded_unit import Flat, Unit, modules_of_units
from helpers.algorithms.messages.collectives import all_gather_ring, reduce_scatter_ring

if TYPE_CHECKING:
    from helpers.engines.comm import Comm, Request

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
        each element by itself, as SGD, momentum and Adam do; what looks at whole tensors (LARS,
        a clipped norm) would see slices. A parameter without a gradient counts as zero.
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
        all backwards of a step. A rank without rows runs forward and backward in stage 3 all the
        same, with weight 0, because the others gather parameters from it. From stage 2 on every
        rank's backward has to come to the same parameters, equally often.
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
        last = [unit for unit in reversed(self._all) if unit.trained]
        self._order, self._next, self._passes = last, 0, 0
        self._requests: deque[tuple[Request, Unit]] = deque()
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
        for unit in self._all if self.stage > 1 else []:
            self._listen(unit)

    @property
    def _all(self) -> list[Unit]:
        """Every unit; the root unit, whose gradients are complete last, comes first."""
        return [*([self.root] if self.root else []), *self.units]

    @property
    def _flats(self) -> list[Flat]:
        return [flat for unit in self._all for flat in unit.flats]

    # --- a step -----------------------------------------------------------------------------------

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the model forward; in mixed precision floating-point inputs become bfloat16."""
        if self.root is not None:
            self.root.gather(self.comm)
            self._changed()
        if self.mixed:
            floats = (isinstance(t, Tensor) and t.is_floating_point() for t in inputs)
            inputs = tuple(t.bfloat16() if f else t for t, f in zip(inputs, floats, strict=True))
        made = self.model(*inputs, **options)
        if not torch.is_grad_enabled():
            self._free_all()
        return made

    def zero_grad(self) -> None:
        """Forget the gradients of earlier steps."""
        self._settle()
        self._next = self._passes = 0
        for unit in self._all:
            unit.arrived.clear()
            for flat in unit.trained:
                if self.stage == 1:
                    flat.show_gradients()
                else:
                    flat.drop()
                flat.zero()

    def _free_all(self) -> None:
        for unit in self._all if self._gatherer is not None else []:
            self._gatherer.free(unit)  # type: ignore[union-attr]

    def step(self) -> None:
        """Sum what is not summed yet, update this rank's slices, and bring the slices together."""
        if self.stage == 1:
            for flat in self._flats:
                if flat.gradient is not None:
                    reduce_scatter_ring(self.comm, flat.gradient.mul_(self.weight))
        else:
            self._flush()
        self._free_all()
        for unit in self._all:
            unit.entered = unit.left = 0  # backward may never have come to some forwards
        trained = [flat for flat in self._flats if flat.master is not None]
        for flat in trained:
            flat.master.grad = flat.own.to(flat.master.dtype)  # type: ignore[union-attr]
        self.optimizer.step()
        for flat in trained:
            flat.master.grad = None  # type: ignore[union-attr]
            if self.mixed:
                flat.slice.copy_(flat.master.detach())  # type: ignore[union-attr]
            if self.stage < 3:
                all_gather_ring(self.comm, flat.full)
        self._passes = 0

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
        passing = [flat.full for flat in flats if not flat.whole]
        passing += [f.gradient for f in flats if f.gradient is not None and self.stage > 1]
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

        In stage 1 gradients are summed in `step`, and here on a copy. All ranks call it.
        """
        if self.stage > 1:
            self._flush()
        values: dict[nn.Parameter, Tensor] = {}
        for flat in self._flats:
            if flat.own is None:
                continue
            row = flat.own.new_zeros(len(flat.full))
            if flat.gradient is not None:
                reduce_scatter_ring(self.comm, row.copy_(flat.gradient).mul_(self.weight))
            else:
                row[slice(*flat.bounds)] = flat.own
            whole = flat.shaped(all_gather_ring(self.comm, row))
            values.update(zip(flat.parameters, whole, strict=True))
        return {name: values[p].clone() for name, p in self._names.items() if p in values}

    # --- gradients, as backward makes them --------------------------------------------------------

    def _listen(self, unit: Unit) -> None:
        """Stages 2 and 3: move each gradient into its row as it comes, and sum the full rows."""

        def arrive(parameter: nn.Parameter, flat: Flat, number: int) -> None:
            if not unit.arrived:
                self._settle(keep=0 if unit.summing else 1)
            flat.take(number, self.weight, parameter in unit.arrived)
            unit.arrived.add(parameter)
            self._changed()
            if unit.complete:
                unit.finished = True
                if self._gatherer is not None and unit is not self.root:
                    self._gatherer.may_free(unit)
                while self._order[self._next].complete:
                    self._start_next()

        for flat in unit.trained:
            for number, parameter in enumerate(flat.parameters):
                parameter.register_post_accumulate_grad_hook(
                    partial(arrive, flat=flat, number=number)
                )

    def _start_next(self) -> None:
        """Sum the next unit's rows: in one order on all ranks, or they would add unlike things."""
        unit = self._order[self._next]
        if unit.summing and not unit.arrived:
            self._settle()
        self._requests.append((unit.start_scatter(self.comm, self.weight), unit))
        self._next = (self._next + 1) % len(self._order)
        self._passes += self._next == 0

    def _flush(self) -> None:
        """Sum what backward has left incomplete, at least once since the last step."""
        while self._next or not self._passes or any(unit.arrived for unit in self._order):
            self._start_next()
        self._settle()

    def _settle(self, keep: int = 0) -> None:
        """Wait until all sums but the last `keep` are made, and give their rows back."""
        while len(self._requests) > keep:
            request, unit = self._requests.popleft()
            request.wait()
            for flat in unit.trained:
                flat.drop()
            self._changed()

    def _changed(self) -> None:
        self.peak = max(self.peak, self.bytes().total)
        self.watch()


def _nbytes(tensors: Iterable[Tensor | None]) -> int:
    """Bytes of the memory behind tensors, each piece of memory once."""
    storages = [t.untyped_storage() for t in tensors if t is not None]
    return sum({s._cdata: s.nbytes() for s in storages}.values())
