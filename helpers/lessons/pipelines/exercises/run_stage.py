"""Exercise 13.4, run a stage.

`run_stage(comm, module, instructions, inputs, targets, loss) -> float | None`: rank r is stage r.
Rank 0 has the inputs, a list of microbatches, and the last rank the targets. A Forward receives
from the rank before, runs the module, sends on; a Backward receives a gradient from the rank after,
goes back, sends on. The loss of the batch is the mean over its microbatches; the last rank returns
it. The claim: every `.grad` is that of the whole model, to rounding in float64; the instructions
run in their order; each rank sends every microbatch on once and every gradient back once; and the
step takes as long as the schedule, for no rank waits to send. Nothing else is left of it: no
message that nobody waited for, no activation, no other weights, no other mode.

Whoever runs a stage can stand still, fail or leave something behind in many ways, and each is told
by its own sentence: that makes this file long.
"""

import re
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.checks.compare import (
    agree,
    all_close,
    count,
    describe,
    listing,
    number,
    rounded,
    told_apart,
    worlds,
)
from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import Requests
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import Entry, entries, wrong_answers
from helpers.checks.trouble import waits
from helpers.lessons.pipelines.algorithms.instructions import Forward, Instruction
from helpers.lessons.pipelines.exercises import schedule

FORWARD, BACKWARD = 1e-3, 2e-3
_LATENCY = 1e-4
_RATE, _ROWS = 0.1, 2
_MOST = 200  # runs in a step
_TOLERANCE = 1e-10
_ROUNDED = 1e-6  # of the mean loss: a sum of float32 numbers is no mistake
_SLACK = 1.1  # of the schedule's time, so that a wait for a message that has long arrived may be

Told = list[tuple[str, int]]
Step = dict[str, Any]


class Stage(Hands):
    """What a stage's layers compute: each run, forward or backward, takes its seconds.

    orders: of each step, which run went where, as ("F", run); runs count forwards from 0.
    """

    def __init__(self, comm: Any, weights: Any, told: Any, *case: Any) -> None:
        self.comm, self.last, self.seconds = comm, comm.rank == comm.size - 1, case[-1]
        self.orders: list[Told] = []
        self.runs: list[list[Tensor]] = []

    def begin(self) -> None:
        """A new step."""
        self.orders.append([])
        self.runs = []

    def forward(self, tensor: Tensor, *weights: Tensor) -> tuple[int, Tensor]:
        """The number of a run, and what it gives."""
        if len(self.runs) == _MOST:
            raise RuntimeError(f"The module ran {_MOST} times in one step.")
        self.runs.append([tensor, *weights])
        self._note("F", len(self.runs) - 1)
        with torch.no_grad():
            return len(self.runs) - 1, self._compute(tensor, *weights)

    def backward(self, run: int, gradient: Tensor) -> list[Tensor]:
        """The gradients of the input and of the weights of a run, from that of its output."""
        self._note("B", run)
        given = [each.detach().requires_grad_() for each in self.runs[run]]
        with torch.enable_grad():
            return list(torch.autograd.grad(self._compute(*given), given, gradient))

    def _compute(self, tensor: Tensor, *weights: Tensor) -> Tensor:
        """Linear layers, tanh after each but the model's last one."""
        for at in range(0, len(weights), 2):
            tensor = tensor @ weights[at].T + weights[at + 1]
            if not self.last or at + 2 < len(weights):
                tensor = torch.tanh(tensor)
        return tensor

    def _note(self, short: str, run: int) -> None:
        self.orders[-1].append((short, run))
        self.comm.compute(self.seconds[short == "B"])

    def noted(self, value: Any) -> Any:
        """With the order in which each step ran."""
        pairs = zip(value, self.orders, strict=True)
        return [{**step, "order": order} for step, order in pairs]


class _Layers(nn.Module):
    """A stage's layers, as an answer has them.

    kept: the runs of which something was still there when another one had gone back after them.
    """

    def __init__(self, hands: Any, weights: list[Tensor], rank: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(each) for each in weights])
        self.hands, self.rank = hands, rank
        self.begin()

    def begin(self) -> None:
        """A new step."""
        self.back = list[int]()
        self.runs, self.modes, self.cast, self.whole = 0, set[bool](), False, False
        self.asked, self.kept = False, set[int]()
        self._there: list[list[weakref.ref[Tensor]]] = []  # of each run, what backward frees

    def forward(self, tensor: Tensor) -> Tensor:
        """One run forward."""
        self.runs += 1
        self.look()
        self.asked = tensor.requires_grad
        self.cast = self.cast or (self.whole and tensor.is_floating_point())
        mine = [tensor] if self.rank else []  # the first rank's inputs are the caller's
        tensor = tensor.to(self.weights[0].dtype)  # tokens come as whole numbers
        saved = torch.empty(0)
        out: Tensor = _Run.apply(self, saved, tensor, *self.weights)
        self._there.append([weakref.ref(each) for each in (*mine, saved, out)])
        return out

    def look(self) -> None:
        """A run begins, forward or backward."""
        newest = self.runs - 1 - (len(self._there) < self.runs)
        for done in set(self.back[:-1]) - {newest}:  # the latest of each kind may have names yet
            if any(each() is not None for each in self._there[done]):
                self.kept.add(done)
        self.modes.add(self.training)


class _Run(torch.autograd.Function):
    """One run of a stage's layers."""

    @staticmethod
    def forward(
        ctx: Any, layers: _Layers, saved: Tensor, tensor: Tensor, *weights: Tensor
    ) -> Tensor:
        ctx.layers = layers
        ctx.run, out = layers.hands.forward(tensor.detach(), *(each.detach() for each in weights))
        ctx.save_for_backward(saved, tensor)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.layers.look()
        ctx.layers.back.append(ctx.run)
        _ = ctx.saved_tensors  # which are gone after the first time
        return None, None, *ctx.layers.hands.backward(ctx.run, gradients[0])


def once(told: list[tuple[str, int]]) -> Iterator[Instruction]:
    """The instructions that these stand for, to be gone through once."""
    return (schedule.KINDS[kind](microbatch) for kind, microbatch in told)


def _say_more(error: Exception, layers: _Layers) -> None:
    """What the layers saw, to an error about a gradient that is not there."""
    if "NoneType" in str(error) and "subscript" not in str(error):
        asked = "asked" if layers.asked else "did not ask"
        back = "came" if layers.back else "did not come"
        more = f"What the module got {asked} for a gradient; backward {back} through the module."
        error.args = (f"{error} {more}",)


def _loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared errors, large targets weighing more: outputs and targets are no two of a kind."""
    return ((outputs - targets) ** 2 * (1 + targets**2)).mean()


def _on_stages(
    fn: Function,
    comm: Any,
    hands: Any,
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
    others; "ask", whether an input asks for a gradient; "moved", whether its weights changed;
    "changed", which of its lists it wrote into or used up, or "".
    """
    layers = _Layers(hands, weights, comm.rank)
    steps = []
    for at, (batch, wanted) in enumerate(zip(inputs, targets, strict=True)):
        layers.zero_grad()
        mode = at % 2 == 0  # the second step is one of evaluation
        layers.train(mode)
        layers.begin()
        hands.begin()
        given = [each for each in batch or () if isinstance(each, Tensor)]
        layers.whole = bool(given) and not any(each.is_floating_point() for each in given)
        before, requests = [p.detach().clone() for p in layers.parameters()], Requests(comm)
        lists = {"inputs": batch, "targets": wanted}
        held = {name: plain(each) for name, each in lists.items()}
        try:
            returned = fn(comm, layers, once(told), batch, wanted, _loss)
        except Exception as error:
            _say_more(error, layers)
            raise
        gradients = [p.grad for p in layers.parameters()]
        after = zip(before, layers.parameters(), strict=True)
        steps.append(
            {
                "gradients": plain(gradients),
                "loss": plain(returned),
                "open": requests.end(),
                "kept": sorted(layers.kept),
                "training": mode,
                "same mode": layers.modes | {layers.training} == {mode},
                "cast": layers.cast,
                "ask": any(each.requires_grad for each in given),
                "moved": not all(torch.equal(old, new) for old, new in after),
                "changed": next((n for n in lists if not agree(plain(lists[n]), held[n])), ""),
            }
        )
        with torch.no_grad():
            for parameter, gradient in zip(layers.parameters(), gradients, strict=True):
                if gradient is not None:
                    parameter.sub_(rate * gradient)
    return steps


on_stages = Ranked(_on_stages, arguments=6, hands=Stage)


def cases(seed: int) -> list[Case]:
    """Seed 0: 1F1B and GPipe on 3 ranks, then 1, 2 and 5; else other numbers, and other cuts."""
    random, made = rng(seed, "13.4"), list[Case]()
    shapes = [(3, 4, "1F1B", 1), (3, 3, "GPipe", 1), (1, 3, "1F1B", 2), (2, 4, "1F1B", 2)]
    shapes += [(5, 3, "1F1B", 1), (2, 2, "one after the other", 1)]
    if seed:
        shapes = [(3, int(random.integers(3, 7)), "1F1B", 1), (2, 3, "GPipe", 2)]
        shapes += [(n, int(random.integers(2, 6)), "1F1B", 1) for n in (1, 5)]
        shapes += [(4, int(random.integers(2, 5)), "GPipe", 1)]
    for ranks, microbatches, order, steps in shapes:
        told = [_schedule(order, r, ranks, microbatches) for r in range(ranks)]
        name = f"On {count(ranks, 'rank')} with {schedule.pieces(microbatches)} ({order})"
        whole = len(made) != 3  # numbers, as tokens are
        made.append(
            _case(random, name if whole else f"{name} and inputs of floats", told, steps, whole)
        )
    return made


def _schedule(name: str, stage: int, stages: int, microbatches: int) -> Told:
    """One stage's instructions."""
    there = [("F", i) for i in range(microbatches)]
    back = [("B", i) for i in range(microbatches)]
    if name == "GPipe":
        return there + back[::-1]
    ahead = min(stages - stage - 1, microbatches) if name == "1F1B" else 0
    pairs = [each for both in zip(there[ahead:], back, strict=False) for each in both]
    return there[:ahead] + pairs + back[microbatches - ahead :]


def _case(
    random: np.random.Generator, name: str, told: list[Told], steps: int, whole: bool
) -> Case:
    ranks, microbatches = len(told), len(told[0]) // 2
    weights = _weights(random, ranks)
    shape = steps, microbatches, _ROWS
    tokens = random.integers(-2, 3, (*shape, weights[0][0].shape[1]))
    inputs: np.ndarray = tokens if whole else tokens / 2
    targets = random.standard_normal((*shape, len(weights[-1][-1])))
    nobody = [[None] * steps] * (ranks - 1)
    first, last = ([list(batch) for batch in batches] for batches in (inputs, targets))
    each = zip(weights, told, [first, *nobody], [*nobody, last], strict=True)
    facts = {
        "microbatches": microbatches,
        "told": told,
        "seconds": steps * schedule.seconds(told, FORWARD, BACKWARD, _LATENCY),
        "steps": _dense(weights, inputs, targets),
        "widths": [len(group[-1]) for group in weights],
    }
    args = tuple((*one, _RATE, (FORWARD, BACKWARD)) for one in each)
    return Case(name, args, ranks, {"latency": _LATENCY, "bandwidth": float("inf")}, facts)


def _weights(random: np.random.Generator, ranks: int) -> list[list[np.ndarray]]:
    """For each rank [W, b] of one or two layers, of widths that differ."""
    made, width = [], 3
    for rank in range(ranks):
        group: list[np.ndarray] = []
        for _ in range(2 if rank % 2 == 0 else 1):
            out = int(random.integers(2, 6))
            group += [0.7 * random.standard_normal((out, width)), 0.3 * random.standard_normal(out)]
            width = out
        made.append(group)
    return made


def _dense(
    weights: list[list[np.ndarray]], inputs: np.ndarray, targets: np.ndarray
) -> list[dict[str, Any]]:
    """What the whole network gives in each step, of all microbatches at once.

    "loss": their mean. "gradients": each rank's.
    """
    flat = [torch.tensor(each, requires_grad=True) for group in weights for each in group]
    found = []
    for batch, wanted in zip(inputs, targets, strict=True):
        out, want = (torch.tensor(np.concatenate(each)) for each in (batch, wanted))
        for at in range(0, len(flat), 2):
            out = (torch.tanh(out) if at else out.double()) @ flat[at].T + flat[at + 1]
        loss = ((out - want) ** 2 * (1 + want**2)).mean()  # the driver's
        gradients = torch.autograd.grad(loss, flat)
        left = iter([each.numpy() for each in gradients])
        grouped = [[next(left) for _ in group] for group in weights]
        found.append({"loss": loss.item(), "gradients": grouped})
        with torch.no_grad():
            for each, gradient in zip(flat, gradients, strict=True):
                each -= _RATE * gradient
    return found


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The order, the gradients, the loss, the messages, the time, and what is left."""
    yield other_order(case, seen)
    for rank, got, _ in _steps(case, seen):
        told, runs = case.facts["told"][rank], len(got["order"])
        if runs != len(told):
            yield f"rank {rank} did {count(runs, 'run')} of {len(told)}."
    yield from _other_gradients(case, seen)
    yield other_loss(case, seen)
    yield from _other_messages(case, seen)
    yield from _other_times(case, seen)
    for mistake in LEAVES:
        yield first_said(mistake.look, case, seen)


def _steps(case: Case, seen: Observation) -> list[tuple[int, Step, Step]]:
    """Each rank's steps: the rank, what was seen, what the whole model gives."""
    return [
        (rank, got, want)
        for rank, steps in enumerate(seen.values)
        for got, want in zip(steps, case.facts["steps"], strict=True)
    ]


def _other_gradients(case: Case, seen: Observation) -> Iterator[str]:
    """Whose gradients are not there, or not right, and whose are."""
    given, wanted, wrong = list[Any](), list[Any](), set[int]()
    for rank, got, want in _steps(case, seen):
        if not any(each is not None and np.any(each) for each in got["gradients"]):
            yield f"rank {rank} is left without a gradient other than zero."
        given += got["gradients"]
        wanted += want["gradients"][rank]
        if not all_close(got["gradients"], want["gradients"][rank], _TOLERANCE):
            wrong.add(rank)
    if wrong:
        right = [rank for rank in range(case.ranks) if rank not in wrong]
        are = f", and of {_ranks(right)} they are" if right else ""
        yield (
            f"of {_ranks(sorted(wrong))} the gradients are not those of the whole model{are}"
            f"{rounded(given, wanted)}."
        )


def _ranks(some: list[int]) -> str:
    return f"rank{'s' if len(some) > 1 else ''} {listing(some)}"


def other_order(case: Case, seen: Observation) -> str | None:
    """Where something else ran than was told.

    What the module saw are runs; the n-th one forward is the n-th microbatch that was told.
    """
    for rank, got, _ in _steps(case, seen):
        told = [tuple(each) for each in case.facts["told"][rank]]
        forwards = [microbatch for kind, microbatch in told if kind == "F"]
        ran = [(kind, [*forwards, run][min(run, len(forwards))]) for kind, run in got["order"]]
        for one, other in zip(told, ran, strict=False):
            if one == other:
                continue
            does = "runs its module forward. Take instructions one after the other, as they come"
            if other[0] == "B":
                does = f"goes back through microbatch {other[1]}: keep each under its own number"
            elif len([kind for kind, _ in ran if kind == "F"]) > len(forwards):
                does = "runs its module forward once more: go back from what the Forward made"
            return f"rank {rank} is told {schedule.written(*one)} and {does}."
    return None


def _other_messages(case: Case, seen: Observation) -> Iterator[str]:
    """A message too many, or too large, or to a rank that is no neighbour."""
    pieces = case.facts["microbatches"] * len(case.facts["steps"])
    widths = [0, *case.facts["widths"]]
    for rank, sent in enumerate(seen.sent):
        there, back = pieces * (rank < case.ranks - 1), pieces * (rank > 0)
        to = [sent.count(other) for other in (rank + 1, rank - 1)]
        if to != [there, back] or len(sent) != there + back:
            yield (
                f"rank {rank} sent {count(to[0], 'message')} on and {to[1]} back, {len(sent)} in "
                f"all; {there} activations on and {back} gradients back were to be sent."
            )
        most = 8 * _ROWS * (there * widths[rank + 1] + back * widths[rank])
        if seen.bytes[rank] != most:
            yield f"rank {rank} sent {seen.bytes[rank]} B; {most} B were enough."


def _other_times(case: Case, seen: Observation) -> Iterator[str]:
    """The order once more, by the clock, which the grader keeps itself; and the step's time."""
    seconds = {"F": FORWARD, "B": BACKWARD}
    for rank in range(case.ranks):
        told = case.facts["told"][rank] * len(case.facts["steps"])
        want = [seconds[kind] for kind, _ in told]
        mine = [e.end - e.start for e in seen.events if e.rank == rank and e.kind == "computing"]
        if len(mine) != len(want) or not np.allclose(mine, want, 1e-6):
            yield f"rank {rank} computes otherwise than it was told."
    took, shortest = max(seen.seconds), case.facts["seconds"]
    if took > shortest * _SLACK:
        yield (
            f"the step took {took * 1e3:.1f} ms; with these instructions it takes "
            f"{shortest * 1e3:.1f} ms."
        )


def other_loss(case: Case, seen: Observation) -> str | None:
    """What the last rank returned in the place of the mean loss, and what that is."""
    pieces = case.facts["microbatches"]
    for got, want in zip(seen.values[-1], case.facts["steps"], strict=True):
        said, mean, kind = number(got["loss"]), want["loss"], ""
        given, right = (describe(got["loss"]), f"{mean:.5g}")
        if said is not None:
            if abs(said - mean) <= _ROUNDED * mean:
                continue
            given, right = told_apart(said, mean)
            if abs(said - mean * pieces) <= _ROUNDED * said:
                kind = f", the sum of {count(pieces, 'loss', 'losses')}"
            if abs(said * pieces - mean) <= _ROUNDED * mean:
                kind = f", which is the mean divided by {pieces} again"
        return f"the last rank returned {given}{kind}; the mean loss is {right}."
    return None


def _waits_to(seen: Observation, rank: int) -> tuple[str, int] | None:
    """Whether a rank waits to "send" or to "receive", and the other rank."""
    found = re.search(r"(send|receive)[^;]* rank (\d+)$", seen.waiting.get(rank, ""))
    return (found[1], int(found[2])) if found else None


def _both(name: str, what: str, words: str) -> Mistake:
    """Two neighbours that wait for each other to "send" or to "receive".

    words: for the numbers of both.
    """

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for one, other in zip(range(case.ranks), range(1, case.ranks), strict=False):
            if [_waits_to(seen, one), _waits_to(seen, other)] == [(what, other), (what, one)]:
                yield f"nobody moves any more: {waits(seen)}. {words.format(one, other)}"

    return Mistake(name, look, unfinished=True)


def _not_received(case: Case, seen: Observation) -> Iterator[str]:
    """A message to a rank that wants none from there any more."""
    for rank in range(case.ranks):
        does, other = _waits_to(seen, rank) or ("", 0)
        if does != "send" or f"from rank {rank}" in seen.waiting.get(other, ""):
            continue
        what, when = "an activation", "A Forward receives its input first, but for rank 0's"
        if other < rank:
            what = "a gradient"
            when = "A Backward receives the gradient of its output first, but on the last rank"
        yield (
            f"nobody moves any more: {waits(seen)}. Rank {rank} has sent {what} that rank {other} "
            f"never receives. {when}."
        )


def _nothing_ran(case: Case, seen: Observation) -> str | None:
    ran = any(step["order"] for steps in seen.values for step in steps)
    return None if ran else f"no rank runs its module. Each {ONCE}"


def _barrier(case: Case, seen: Observation) -> str | None:
    if not any("barrier" in e.label for e in seen.events):
        return None
    return (
        f"the step took {max(seen.seconds) * 1e3:.1f} ms instead of "
        f"{case.facts['seconds'] * 1e3:.1f} ms, for the ranks meet at barriers: no rank waits but "
        "for the message that its instruction needs."
    )


def _raises(entry: Entry) -> Mistake:
    """An exception whose text has the pieces of one of the marked lines, and what to say of the
    rank that raised it: of the last one alone, where that is marked.

    A gradient that is None can be sent by all ranks but the first.
    """
    lines = [line.split(" + ") for line, _ in entry.marked["?"]]
    last_alone = bool(entry.marked["="])

    def look(case: Case, seen: Observation) -> Iterator[str]:
        if seen.trouble != "failed" or (last_alone and seen.rank != case.ranks - 1):
            return
        for pieces in lines:
            sends = "NoneType" not in pieces or bool(seen.rank)
            if sends and all(piece in seen.text for piece in pieces):
                yield entry.sentence.format(rank=seen.rank, once=ONCE)

    return Mistake(entry.name, look, unfinished=True)


ONCE = (
    "is given a generator, as your `gpipe` makes one: it is empty after one loop, and has no "
    "`len`. Go over the instructions once, or make a list of them first; the last rank knows how "
    "many microbatches there are from its targets."
)

RAISED = """
length of a generator
    ? 'generator' has no len()
    rank {rank} {once}
looks into None
    ? 'NoneType' object is not subscriptable
    rank {rank} looks into None: only rank 0 is given `inputs`, and only the last rank `targets`.
backward from what has no history
    ? does not require grad
    ? NoneType + asked for + did not come through
    rank {rank}'s Backward begins at a tensor without a history: `.detach()`, `.item()` and
    `torch.tensor` cut it off. Keep the output itself, on the last rank the loss itself; a detached
    copy is for sending.
another tensor's gradient
    ? NoneType + asked for + backward came
    rank {rank} has a gradient to send back, in the `.grad` of what it received, and sends None, the
    `.grad` of another tensor: an output keeps none.
no gradient for what was received
    ? NoneType + did not ask for
    rank {rank} has no gradient to send back: the `.grad` of what it received is None. Call
    `requires_grad_()` on a received tensor before the module runs.
tokens that ask for a gradient
    ? can require gradients
    rank {rank} is given whole numbers, as tokens are, and these cannot ask for a gradient. Nobody
    stands before the first stage: call `requires_grad_()` on what was received alone.
begins at the same loss twice
    ? second time
    = last
    rank {rank} goes back through a microbatch that it has gone back through before: begin at that
    microbatch's own loss, kept under its number, and not at a sum of several.
keeps one microbatch alone
    ? second time
    rank {rank} goes back through the same microbatch twice, and another one is lost: several are
    under way at once, so keep each under its number until its Backward.
backward from the output on the last rank
    ? only for scalar outputs
    = last
    rank {rank} goes back from the module's output: the last rank begins at the loss. Keep what
    `loss` gave, divided, in the output's place.
goes back without a gradient
    ? only for scalar outputs
    rank {rank} goes back as if its output were the loss: receive the gradient of the output from
    the next rank, and give it to `backward`.
sends past the end
    ? but the ranks are 0 to
    rank {rank} sends or receives past the end of the pipeline: the first stage has nobody to send a
    gradient back to, and the last one nobody to send its output on to.
"""


def _leaves(entry: Entry) -> Mistake:
    """What is left on some rank after some step, which is marked, and what to say of that rank."""
    (key, _), *_ = entry.marked["?"]

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for rank, step, _ in _steps(case, seen):
            last = rank == case.ranks - 1
            kept = [i for kind, i in case.facts["told"][rank] if kind == "F"]
            found = {
                **step,
                "other mode": not step["same mode"],
                "said": not last and step["loss"] is not None,
                "kept": step["kept"] and not last,
                "kept last": step["kept"] and last,
            }
            if found[key]:
                yield entry.sentence.format(
                    rank=rank,
                    came="training" if step["training"] else "evaluation",
                    messages=count(step["open"], "message"),
                    changed=step["changed"],
                    loss=describe(step["loss"]),
                    held=kept[step["kept"][0]] if step["kept"] else "",
                )

    return Mistake(entry.name, look)


LEFT = """
weights changed
    ? moved
    rank {rank}'s weights are other ones after the step: `run_stage` leaves gradients in `.grad`,
    and whoever calls it does the update.
another mode
    ? other mode
    rank {rank}'s module came in {came} mode, and the step turned it to the other: dropout is on or
    off in it, as whoever calls `run_stage` wants it. Leave the mode as it is.
inputs made floats
    ? cast
    rank {rank}'s module got floats where the inputs are whole numbers: an embedding looks tokens up
    by their numbers. Hand `inputs[i]` on as it is; only what was received asks for a gradient.
what it is given, changed
    ? changed
    rank {rank}'s `{changed}` are not what they were: the list is the caller's, and the next step's
    too. Take microbatches by their number, and work on new tensors.
messages not waited for
    ? open
    rank {rank} returned without waiting for {messages} of its own: the next step may begin while
    one is under way. Call `wait()` on each request after the last instruction.
a loss on every rank
    ? said
    rank {rank} returned {loss}, and it knows no loss: only the last rank returns one, the others
    return None.
activations kept
    ? kept
    rank {rank} still holds something of microbatch {held} (its input, output or what autograd
    saved) when it has gone back through it and through others: memory grows with the microbatches.
    Take input and output out with `pop` at the Backward.
the last rank's activations kept
    ? kept last
    rank {rank}, the last one, still holds something of microbatch {held} when it has gone back
    through it and through others. Besides what `pop` takes out, a loss that is kept or summed up
    with its graph holds one: add numbers, `loss.item()`.
inputs ask for a gradient
    ? ask
    rank {rank}'s `inputs` ask for a gradient after the step, and are the caller's: each keeps a
    `.grad` that nobody needs. Let only what was received ask for one.
"""

LEAVES = tuple(map(_leaves, entries("13.4", LEFT)))
MISTAKES = (
    Mistake("instructions gone over twice", _nothing_ran),
    _both(
        "every rank waits to send",
        "send",
        "Ranks {} and {} both wait until the other has received: start a message with "
        "`comm.isend`, keep the request, and wait for all of them after the last instruction.",
    ),
    _both(
        "receives too early",
        "receive",
        "Rank {1} wants an activation and rank {0} a gradient. Receive what an instruction needs "
        "right before it, and nothing ahead; and let every Forward send its output on, every "
        "Backward the gradient of what it received back.",
    ),
    Mistake("a message that nobody receives", _not_received, unfinished=True),
    *map(_raises, entries("13.4", RAISED)),
    *LEAVES,
    Mistake("meets at barriers", _barrier),
    Mistake("another order", other_order),
    Mistake("another loss returned", other_loss),
)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how much there is."""
    return {"pieces": case.facts["microbatches"], "ranks": case.ranks, "last": case.ranks - 1}


def compared(case: Case, seen: Observation) -> Any:
    """The gradients, where every run was the one that was told."""
    return other_order(case, seen) or [got["gradients"] for _, got, _ in _steps(case, seen)]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    took = max(seen[0].seconds)
    pieces = cases[0].facts["microbatches"]
    alone = cases[0].ranks * pieces * (FORWARD + BACKWARD)
    return (
        f"Passed on {worlds(cases)}: loss and gradients of the whole model; with {pieces} "
        f"microbatches on {cases[0].ranks} ranks a step took {took * 1e3:.1f} ms, where the stages "
        f"one after the other take {alone * 1e3:.1f} ms."
    )


def reference(
    comm: Any, module: Any, instructions: Any, inputs: Any, targets: Any, loss: Any
) -> float | None:
    """The course's own."""
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    kept: dict[int, Any] = {}
    sending, total = [], 0.0
    for each in instructions:
        i = each.microbatch
        if isinstance(each, Forward):
            x = inputs[i] if first else comm.recv(comm.rank - 1).requires_grad_()
            output = module(x)
            if last:
                output = loss(output, targets[i]) / len(targets)
                total += output.item()
            else:
                sending.append(comm.isend(output.detach(), comm.rank + 1))
            kept[i] = x, output
        else:
            x, output = kept.pop(i)
            output.backward(None if last else comm.recv(comm.rank + 1))
            if not first:
                sending.append(comm.isend(x.grad, comm.rank - 1))
    for request in sending:
        request.wait()
    return total if last else None


WRONG = """
a loss of each rank
    | if last: => if True:
    ? looks into None
counts first
    | in instructions: => in list(instructions) and instructions:
    ? no rank runs its module
asks for the length
    | in instructions: => in instructions[: len(instructions)]:
    ? rank 0 is given a generator
blocking sends
    | sending.append(comm.isend( *=> (comm.send(
    ? until the other has received
inputs first
    | inputs[i] if first else comm.recv(comm.rank - 1).requires_grad_() => ahead[i]
    | total = [], 0.0 => total = [], 0.0; instructions = list(instructions);
        ahead = inputs or [comm.recv(comm.rank - 1).requires_grad_() for _ in instructions[::2]]
    ? what an instruction needs
never receives
    | output.backward(None if last else comm.recv(comm.rank + 1)) => output.sum().backward()
    ? the gradient of its output
loss of a number
    | output.item() => output.item(); output = torch.tensor(output.item(), requires_grad=True)
    ? the loss itself
another's gradient
    | x.grad => output.grad
    ? `.grad` of another tensor
no gradient
    | .requires_grad_() =>
    ? Call `requires_grad_()`
inputs ask too
    | module(x) => module(x.requires_grad_())
    ? cannot ask for a gradient
float inputs ask
    | module(x) => module(x.requires_grad_(x.is_floating_point()))
    ? and are the caller's
loss of several
    | output.item() => output.item(); kept[-1] = output = output + kept.get(-1, 0)
    ? not at a sum of several
keeps the latest
    | kept.pop(i) => kept[max(kept)]
    ? each under its number until
loss not kept
    | output = loss( => value = loss(
    | output.item() => value.item()
    ? the last rank begins at the loss
backward of nothing
    | None if last else comm.recv(comm.rank + 1) =>
    ? as if its output were the loss
first sends back
    | if not first: => if True:
    | isend(x.grad, => isend(x if first else x.grad,
    ? the end of the pipeline
updates
    | return total => torch.optim.SGD(module.parameters(), 0.1).step(); return total
    ? whoever calls it does the update
evaluates
    | first, last = => module.eval(); first, last =
    ? came in training mode
trains
    | first, last = => module.train(); first, last =
    ? came in evaluation mode
tokens made floats
    | inputs[i] => inputs[i].double()
    ? looks tokens up by their numbers
uses its inputs up
    | x = inputs[i] if first => x = inputs.pop(0) if first
    ? the next step's too
never waits
    | request.wait() => pass
    ? without waiting for
a loss everywhere
    | return total if last else None => return total
    ? only the last rank returns
never lets go
    | kept.pop(i) => kept[i]
    ? Take input and output out
sums graphs
    | total += output.item() => total = total + output
    ? add numbers, `loss.item()`
barriers
    | i = each.microbatch => i = each.microbatch; comm.barrier()
    ? the ranks meet at barriers
its own order
    | in instructions: => in sorted(instructions, key=lambda each: not isinstance(each, Forward)):
    ? one after the other
oldest first
    | kept.pop(i) => kept.pop(min(kept))
    ? keep each under its own number
runs forward again
    | output.backward( => (output if last else module(x)).backward(
    ? from what the Forward made
sums without dividing
    | / len(targets) =>
    | return total if last => return total / len(targets) if last
    every gradient is {pieces} times too large: the loss of the batch is the mean over its
    microbatches, so divide each one's loss by their number.
divides by the number of ranks
    | / len(targets) => / comm.size
    every gradient is {pieces}/{ranks} of what it should be: the ranks hold different layers and not
    different rows, so divide by the {pieces} microbatches and not by the {ranks} ranks.
divides on every rank
    | total = [], 0.0 => total = [], 0.0; instructions = list(instructions)
    | comm.recv(comm.rank + 1) => comm.recv(comm.rank + 1) / (len(instructions) // 2)
    rank {last}'s gradients are right, and each rank before it has them {pieces} times smaller than
    the one behind: the last rank divides its loss, and the division comes to the others with the
    gradient.
divides the last rank's gradients alone
    | / len(targets) =>
    | return total if last => [p.grad.div_(len(targets)) for p in module.parameters() if last];
        return total / len(targets) if last
    rank {last}'s gradients are right, and those of all others {pieces} times too large: what rank
    {last} divides at the end, it has sent on undivided before. Divide the loss, in front of its
    backward.
one microbatch's gradients alone
    | output.backward( => module.zero_grad(); output.backward(
    the gradients are those of one microbatch, the last to go back: `backward` adds to what is in
    `.grad`; leave it there between microbatches.
swaps
    | loss(output, targets[i]) => loss(targets[i], output)
    the loss was given `(targets, output)`: output first.
sends the activation back
    | x.grad => x.detach()
    the last rank's gradients are right and those in front of it are not: what each rank sends back
    is what it received; send the `.grad` of it.
divides twice
    | return total if last => return total / len(targets) if last
    ? divided by 4 again
no loss
    | return total if last else None => return None
    ? the last rank returned None
the sum of losses
    | return total if last => return total * len(targets) if last
    ? the sum of 4 losses
"""

EXERCISE = Exercise(
    number="13.4",
    title="Run a stage",
    size=Size(stars=3, minutes=25, points=5),
    function="run_stage",
    asks=(
        "a rank carries out its stage's instructions, one after the other: receive, run the "
        "module, send on; the gradients of all microbatches add up in `.grad`, and the last rank "
        "returns the mean loss."
    ),
    cases=cases,
    drive=on_stages,
    claim=claim,
    mistakes=MISTAKES,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.4", WRONG, reference),
    figure=0,
)
