"""Drivers for lesson 13: schedules as lists, and a stage of a pipeline on every rank.

An instruction stands as a tuple in plain values: `("F", microbatch, chunk)` or `("B", …)`; of a
backward that is cut in two `("I", …)` is the half for the input and `("W", …)` that for weights.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import wraps
from itertools import islice
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from helpers.algorithms.pipeline.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
)
from helpers.exercises.drives.calling import (
    Elsewhere,
    Function,
    failed,
    made,
    plain_call,
    wrong_signature,
)
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import Requests
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Observation

_SHORT: dict[type, str] = {Forward: "F", Backward: "B"}
_HALVES: dict[type, str] = {**_SHORT, BackwardInput: "I", BackwardWeights: "W"}
_LONG: dict[str, type[Forward] | type[Backward]] = {"F": Forward, "B": Backward}


def one_number(fn: Function, case: Case) -> Observation:
    """As `plain_call`, and a number of any kind, a Fraction too, stands as a float."""

    @wraps(fn)
    def answer(*args: Any) -> Any:
        value = fn(*args)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return plain_call(answer, case)


def schedules(fn: Function, case: Case) -> Observation:
    """Call `fn(stage, stages, microbatches)` for every stage.

    A case's arguments are (stages, microbatches). `values[0][stage]` is what that stage is told:
    `{"told": tuples}`; `{"told", "endless": True}` where it goes on for ever, and the first of it
    stands here; `{"gave": value}` where it is nothing that has items. An item that is no
    instruction stands as `("?", value)`.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    stages, microbatches = case.args[0]
    most = 4 * microbatches + 16  # twice of what there is to do, and some
    try:
        told = [_told(fn(stage, stages, microbatches), most) for stage in range(stages)]
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[told])


def halves(fn: Function, case: Case) -> Observation:
    """Call `fn(stage, stages, microbatches, times)` for every stage, as `schedules` does.

    A case's arguments are (stages, microbatches, times). Halves of a backward are instructions too.
    """
    trouble = wrong_signature(fn, 4)
    if trouble:
        return trouble
    stages, microbatches, times = case.args[0]
    most = 6 * microbatches + 16
    try:
        told = [
            _told(fn(stage, stages, microbatches, times), most, _HALVES) for stage in range(stages)
        ]
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[told])


def _told(given: Any, most: int, short: Mapping[type, str] = _SHORT) -> dict[str, Any]:
    if not isinstance(given, Iterable):
        return {"gave": plain(given)}
    items = [spelled(item, short) for item in islice(given, most + 1)]
    if len(items) > most:
        return {"told": items[:most], "endless": True}
    return {"told": items}


def spelled(item: Any, short: Mapping[type, str] = _SHORT) -> tuple[Any, ...]:
    """An instruction in plain values; anything else as `("?", value)`."""
    letter = short.get(type(item))
    if letter is None:
        return ("?", plain(item))
    return (letter, _whole(item.microbatch), _whole(item.chunk))


def _whole(value: Any) -> Any:
    """A whole number of any kind as an int; anything else in plain values."""
    try:
        return operator.index(value)
    except TypeError:
        return plain(value)


def instruction(short: str, microbatch: int) -> Instruction:
    """The instruction that `("F", 0)` stands for."""
    return _LONG[short](microbatch)


class _Layers(nn.Module):
    """A stage's layers: every forward and backward takes its seconds and is noted in `order`.

    kept: the runs of which something was still there when another one had gone back after them.
    """

    def __init__(
        self, comm: Any, weights: list[Tensor], last: bool, seconds: tuple[float, float]
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(each) for each in weights])
        self.comm, self.last, self.seconds = comm, last, seconds
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self.order: list[tuple[str, int]] = []
        self.runs, self.modes, self.cast, self.whole = 0, set[bool](), False, False
        self.asked, self.kept = False, set[int]()
        self._there: list[list[weakref.ref[Tensor]]] = []  # of each run, what backward frees

    def forward(self, tensor: Tensor) -> Tensor:
        """Linear layers, tanh after each but the model's last one."""
        run, self.runs = self.runs, self.runs + 1
        self.note("F", run)
        self.asked = tensor.requires_grad
        self.cast = self.cast or (self.whole and tensor.is_floating_point())
        mine = [tensor] if self.comm.rank else []  # the first rank's inputs are the caller's
        tensor = tensor.to(self.weights[0].dtype)  # tokens come as whole numbers
        for at in range(0, len(self.weights), 2):
            tensor = tensor @ self.weights[at].T + self.weights[at + 1]
            if not self.last or at + 2 < len(self.weights):
                tensor = torch.tanh(tensor)
        saved = torch.empty(0)
        out: Tensor = _Noted.apply(tensor, saved, self, run)
        self._there.append([weakref.ref(each) for each in (*mine, saved, out)])
        return out

    def note(self, short: str, run: int) -> None:
        """One run forward or backward."""
        back = [done for did, done in self.order if did == "B"]
        newest = self.runs - 1 - (short == "F")
        for done in set(back[:-1]) - {newest}:  # the latest of each kind may have names yet
            if any(each() is not None for each in self._there[done]):
                self.kept.add(done)
        self.modes.add(self.training)
        self.order.append((short, run))
        self.comm.compute(self.seconds[short == "B"])


class _Noted(torch.autograd.Function):
    """Passes everything through; its backward tells the layers."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, saved: Tensor, layers: _Layers, run: int) -> Tensor:
        ctx.layers, ctx.run = layers, run
        ctx.save_for_backward(saved)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.layers.note("B", ctx.run)
        return gradients[0], None, None, None


def once(told: list[tuple[str, int]]) -> Iterator[Instruction]:
    """The instructions that these stand for, to be gone through once."""
    return (instruction(*each) for each in told)


def _say_more(error: Exception, layers: _Layers) -> None:
    """What the layers saw, to an error about a gradient that is not there."""
    if "NoneType" in str(error) and "subscript" not in str(error):
        asked = "asked" if layers.asked else "did not ask"
        back = "came" if any(did == "B" for did, _ in layers.order) else "did not come"
        more = f"What the module got {asked} for a gradient; backward {back} through the module."
        error.args = (f"{error} {more}",)
        if isinstance(error, Elsewhere):
            error.seen.text = str(error)


def _loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared errors, large targets weighing more: outputs and targets are no two of a kind."""
    return ((outputs - targets) ** 2 * (1 + targets**2)).mean()


def _on_stages(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    told: list[tuple[str, int]],
    inputs: list[Any],
    targets: list[Any],
    rate: float,
    seconds: tuple[float, float],
) -> Any:
    """Some steps of `fn(comm, module, instructions, inputs, targets, loss)`, with plain SGD.

    A rank's arguments: its layers' weights; its instructions as ("F", microbatch); for each step
    its list of microbatches and its list of targets, or None; the rate; the seconds that a
    forward and a backward take. `values[rank]`: for each step the gradients and what was returned,
    the order in which microbatches ran, as ("F", run), where runs count forwards from 0;
    "open", the messages that were not waited for; "kept", the runs of which something was kept
    after their backward; "training", whether the module came in that mode, as in every other step;
    "same mode", whether it stayed in its own; "cast", whether rank 0's whole numbers came to it as
    others; "ask", whether an input asks for a gradient; "moved", whether its weights changed.
    """
    layers = _Layers(comm, weights, comm.rank == comm.size - 1, seconds)
    steps = []
    for number, (batch, wanted) in enumerate(zip(inputs, targets, strict=True)):
        layers.zero_grad()
        mode = number % 2 == 0  # the second step is one of evaluation
        layers.train(mode)
        layers.begin()
        given = [each for each in batch or () if isinstance(each, Tensor)]
        layers.whole = bool(given) and not any(each.is_floating_point() for each in given)
        before, requests = [p.detach().clone() for p in layers.parameters()], Requests(comm)
        try:
            returned = fn(comm, layers, made(fn, once, told), batch, wanted, _loss)
        except Exception as error:
            _say_more(error, layers)
            raise
        gradients = [p.grad for p in layers.parameters()]
        after = zip(before, layers.parameters(), strict=True)
        steps.append(
            {
                "gradients": plain(gradients),
                "loss": plain(returned),
                "order": list(layers.order),
                "open": requests.end(),
                "kept": sorted(layers.kept),
                "training": mode,
                "same mode": layers.modes | {layers.training} == {mode},
                "cast": layers.cast,
                "ask": any(each.requires_grad for each in given),
                "moved": not all(torch.equal(old, new) for old, new in after),
            }
        )
        with torch.no_grad():
            for parameter, gradient in zip(layers.parameters(), gradients, strict=True):
                if gradient is not None:
                    parameter.sub_(rate * gradient)
    return steps


on_stages = Ranked(_on_stages, arguments=6)
