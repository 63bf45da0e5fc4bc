"""Exercise 13.4, run a stage.

`run_stage(comm, module, instructions, inputs, targets, loss) -> float | None`: rank r is stage r.
Rank 0 has the inputs, a list of microbatches, and the last rank the targets. A Forward receives
from the rank before, runs the module, sends on; a Backward receives a gradient from the rank after,
goes back, sends on. The loss of the batch is the mean over its microbatches; the last rank returns
it. The claim: every `.grad` is that of the whole model, to rounding in float64; the instructions
run in their order; each rank sends every microbatch on once and every gradient back once; and the
step takes as long as the schedule, for no rank waits to send. Nothing else is left of it: no
message that nobody waited for, no activation, no other mode.

Whoever runs a stage can stand still, fail or leave something behind in nineteen ways, and each has
a sentence of its own: that, with the driver that sees them, makes this file long.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.algorithms.pipeline.instructions import Forward, Instruction
from helpers.algorithms.pipeline.schedules import gpipe, one_forward_one_backward
from helpers.exercises.common import rng
from helpers.exercises.compare import (
    all_close,
    count,
    describe,
    listing,
    number,
    rounded,
    told_apart,
    worlds,
)
from helpers.exercises.drives.calling import Elsewhere, Function, made
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import Requests
from helpers.exercises.lesson_13 import schedule
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, first_said
from helpers.exercises.table import Entry, entries, wrong_answers
from helpers.exercises.trouble import waits

SECONDS = {"F": 1e-3, "B": 2e-3}
_LATENCY = 1e-4
_TOLERANCE = 1e-10
_ROUNDED = 1e-6  # of the mean loss: a sum of float32 numbers is no mistake
_SLACK = 1.1  # of the schedule's time, so that a wait for a message that has long arrived may be

Told = list[tuple[str, int]]


class _Layers(nn.Module):
    """A stage's layers: every forward and backward takes its seconds and is noted in `order`.

    asked: whether what came last asked for a gradient. kept: the runs of which something was still
    there when another one had gone back after them.
    """

    def __init__(self, comm: Any, weights: list[Tensor]) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(each) for each in weights])
        self.comm, self.asked = comm, False
        self.order, self.kept = list[tuple[str, int]](), set[int]()
        self._there: list[list[weakref.ref[Tensor]]] = []  # of each run, what backward frees

    def forward(self, tensor: Tensor) -> Tensor:
        """Linear layers, tanh after each but the model's last one."""
        run, rank = len(self._there), self.comm.rank
        self.note("F", run)
        self.asked = tensor.requires_grad
        mine = [tensor] if rank else []  # the first rank's inputs are the caller's
        tensor = tensor.to(self.weights[0].dtype)  # tokens come as whole numbers
        for at in range(0, len(self.weights), 2):
            tensor = tensor @ self.weights[at].T + self.weights[at + 1]
            if rank < self.comm.size - 1 or at + 2 < len(self.weights):
                tensor = torch.tanh(tensor)
        saved = torch.empty(0)
        out: Tensor = _Noted.apply(tensor, saved, self, run)
        self._there.append([weakref.ref(each) for each in (*mine, saved, out)])
        return out

    def note(self, short: str, run: int) -> None:
        """One run forward or backward."""
        back = [done for did, done in self.order if did == "B"]
        newest = len(self._there) - 1
        for done in set(back[:-1]) - {newest}:  # the latest of each kind may have names yet
            if any(each() is not None for each in self._there[done]):
                self.kept.add(done)
        self.order.append((short, run))
        self.comm.compute(SECONDS[short])


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


def once(told: Told) -> Iterator[Instruction]:
    """The instructions that these stand for, to be gone through once."""
    return (schedule.KINDS[kind](microbatch) for kind, microbatch in told)


def _loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Squared errors, large targets weighing more: outputs and targets are no two of a kind."""
    return ((outputs - targets) ** 2 * (1 + targets**2)).mean()


def _on_stages(
    fn: Function, comm: Any, weights: Any, told: Told, inputs: Any, targets: Any, training: bool
) -> dict[str, Any]:
    """One step of `fn(comm, module, instructions, inputs, targets, loss)`.

    A rank's arguments: its layers' weights; its instructions as ("F", microbatch); its list of
    microbatches and its list of targets, or None; the module's mode. `values[rank]`: the gradients;
    "loss", what was returned; the order in which microbatches ran, as ("F", run), where runs count
    forwards from 0; "open", the messages that were not waited for; "kept", as the layers have it;
    "training", the mode in which the module was left.
    """
    layers, requests = _Layers(comm, weights), Requests(comm)
    layers.train(training)
    try:
        returned = fn(comm, layers, made(fn, once, told), inputs, targets, _loss)
    except Exception as error:
        if comm.rank and "NoneType" in str(error):  # a gradient that is not there
            asked = "asked" if layers.asked else "did not ask"
            came = "came" if any(did == "B" for did, _ in layers.order) else "did not come"
            more = f"What the module got {asked} for a gradient; backward {came} through it."
            error.args = (f"{error} {more}",)
            if isinstance(error, Elsewhere):
                error.seen.text = str(error)
        raise
    return {
        "gradients": [parameter.grad for parameter in layers.parameters()],
        "loss": returned,
        "order": layers.order,
        "open": requests.end(),
        "kept": sorted(layers.kept),
        "training": layers.training,
    }


on_stages = Ranked(_on_stages, arguments=6)


def cases(seed: int) -> list[Case]:
    """Seed 0: 1F1B and GPipe on 3 ranks, then 1, 2 and 5; else other numbers, and other cuts.

    A shape: ranks, microbatches, the schedule, whether modules come in training mode.
    """
    random, made = rng(seed, "13.4"), list[Case]()
    shapes = [(3, 4, "1F1B", True), (3, 3, "GPipe", True), (1, 3, "1F1B", False)]
    shapes += [(2, 4, "1F1B", False), (5, 3, "1F1B", True)]
    if seed:
        shapes = [(3, int(random.integers(3, 7)), "1F1B", True), (2, 3, "GPipe", False)]
        shapes += [(n, int(random.integers(2, 6)), "1F1B", True) for n in (1, 5)]
        shapes += [(4, int(random.integers(2, 5)), "GPipe", True)]
    for ranks, microbatches, order, training in shapes:
        make = gpipe if order == "GPipe" else one_forward_one_backward
        told = [
            [schedule.spelled(each)[:2] for each in make(rank, ranks, microbatches)]
            for rank in range(ranks)
        ]
        weights = _weights(random, ranks)
        inputs = random.integers(-2, 3, (microbatches, 2, 3))
        targets = random.standard_normal((microbatches, 2, len(weights[-1][-1])))
        # The whole network, of all microbatches at once.
        flat = [torch.tensor(each, requires_grad=True) for each in chain(*weights)]
        out, want = (torch.tensor(np.concatenate(each)) for each in (inputs, targets))
        for at in range(0, len(flat), 2):
            out = (torch.tanh(out) if at else out.double()) @ flat[at].T + flat[at + 1]
        loss = _loss(out, want)
        left = iter([each.numpy() for each in torch.autograd.grad(loss, flat)])
        facts = {
            "microbatches": microbatches,
            "seconds": schedule.seconds(told, SECONDS["F"], SECONDS["B"], _LATENCY),
            "loss": loss.item(),
            "gradients": [[next(left) for _ in group] for group in weights],
        }
        nobody = [None] * (ranks - 1)
        each = zip(weights, told, [list(inputs), *nobody], [*nobody, list(targets)], strict=True)
        name = f"On {count(ranks, 'rank')} with {schedule.pieces(microbatches)} ({order})"
        clock = {"latency": _LATENCY, "bandwidth": float("inf")}
        made.append(Case(name, tuple((*one, training) for one in each), ranks, clock, facts))
    return made


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


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The order, the gradients, the loss, the messages, the time, and what is left."""
    yield other_order(case, seen)
    yield _other_gradients(case, seen)
    yield other_loss(case, seen)
    pieces = case.facts["microbatches"]
    for rank, sent in enumerate(seen.sent):
        there, back = pieces * (rank < case.ranks - 1), pieces * (rank > 0)
        to = [sent.count(other) for other in (rank + 1, rank - 1)]
        if to != [there, back] or len(sent) != there + back:
            yield (
                f"rank {rank} sent {count(to[0], 'message')} on and {to[1]} back, {len(sent)} in "
                f"all; {there} activations on and {back} gradients back were to be sent."
            )
    took, shortest = max(seen.seconds), case.facts["seconds"]
    if took > shortest * _SLACK:
        yield (
            f"the step took {took * 1e3:.1f} ms; with these instructions it takes "
            f"{shortest * 1e3:.1f} ms."
        )
    for mistake in FAMILIES:
        yield first_said(mistake.look, case, seen)


def other_order(case: Case, seen: Observation) -> str | None:
    """Where something else ran than was told: forwards are told in order, as runs are counted."""
    for rank, got in enumerate(seen.values):
        told, ran = case.args[rank][1], got["order"]
        for one, other in zip(told, ran, strict=False):
            if one == other:
                continue
            does = "runs its module forward. Take instructions one after the other, as they come"
            if other[0] == "B":
                does = f"goes back through microbatch {other[1]}: keep each under its own number"
            return f"rank {rank} is told {schedule.written(*one)} and {does}."
        if len(ran) != len(told):
            return f"rank {rank} did {count(len(ran), 'run')} of {len(told)}."
    return None


def _other_gradients(case: Case, seen: Observation) -> str | None:
    """Whose gradients are not right, and whose are."""
    given, wanted = [got["gradients"] for got in seen.values], case.facts["gradients"]
    fits = [all_close(*pair, _TOLERANCE) for pair in zip(given, wanted, strict=True)]
    if all(fits):
        return None
    right = [rank for rank, fit in enumerate(fits) if fit]
    wrong = [rank for rank, fit in enumerate(fits) if not fit]
    are = f", and of {_ranks(right)} they are" if right else ""
    why = rounded(chain(*given), chain(*wanted))
    return f"of {_ranks(wrong)} the gradients are not those of the whole model{are}{why}."


def _ranks(some: list[int]) -> str:
    return f"rank{'s' if len(some) > 1 else ''} {listing(some)}"


def other_loss(case: Case, seen: Observation) -> str | None:
    """What the last rank returned in the place of the mean loss, and what that is."""
    got, mean, pieces = seen.values[-1]["loss"], case.facts["loss"], case.facts["microbatches"]
    said, kind = number(got), ""
    if said is None:
        return f"the last rank returned {describe(got)}; the mean loss is {mean:.5g}."
    if abs(said - mean) <= _ROUNDED * mean:
        return None
    if abs(said - mean * pieces) <= _ROUNDED * said:
        kind = f", the sum of {count(pieces, 'loss', 'losses')}"
    if abs(said * pieces - mean) <= _ROUNDED * mean:
        kind = f", which is the mean divided by {pieces} again"
    given, right = told_apart(said, mean)
    return f"the last rank returned {given}{kind}; the mean loss is {right}."


def _signs(case: Case, seen: Observation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Why ranks stand still, what one raised, and what is left on each, with what is said of it."""
    last, waiting = case.ranks - 1, dict[int, tuple[str, int]]()
    for rank, words in sorted(seen.waiting.items()):
        if found := re.search(r"(send|receive)[^;]* rank (\d+)$", words):
            waiting[rank] = found[1], int(found[2])
    for rank, (does, other) in waiting.items():
        named = {"rank": rank, "other": other, "waits": waits(seen)}
        if rank < other and waiting.get(other) == (does, rank):
            yield f"both wait to {does}", named
        if does == "send" and f"from rank {rank}" not in seen.waiting.get(other, ""):
            what, when = "an activation", "A Forward receives its input first, but for rank 0's"
            if other < rank:
                what, when = "a gradient", "A Backward receives the gradient of its output first"
                when += ", but on the last rank"
            yield "[in vain]", {"what": what, "when": when, **named}
    if seen.trouble == "failed":
        yield seen.text + " On the last rank." * (seen.rank == last), {"rank": seen.rank}
    for rank, got in enumerate(seen.values):
        came = case.args[rank][-1]
        if got["training"] != came:
            yield "[mode]", {"rank": rank, "came": "training" if came else "evaluation"}
        if got["open"]:
            yield "[open]", {"rank": rank, "messages": count(got["open"], "message")}
        if rank < last and got["loss"] is not None:
            yield "[said]", {"rank": rank, "loss": describe(got["loss"])}
        if got["kept"]:
            yield ("[kept]" if rank < last else "[summed]"), {"rank": rank, "held": got["kept"][0]}


def _family(entry: Entry) -> Mistake:
    """Who shows a sign that holds the pieces of one of the marked lines, and what is said then."""
    lines = [line.split(" + ") for line, _ in entry.marked["?"]]

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for sign, named in _signs(case, seen):
            if any(all(piece in sign for piece in pieces) for pieces in lines):
                yield entry.sentence.format(once=ONCE, **named)

    return Mistake(entry.name, look, unfinished=True)


ONCE = (
    "is given a generator, as your `gpipe` makes one: it is empty after one loop, and has no "
    "`len`. Go over the instructions once, or make a list of them first; the last rank knows how "
    "many microbatches there are from its targets."
)

SIGNS = """
every rank waits to send
    ? both wait to send
    nobody moves any more: {waits}. Ranks {rank} and {other} both wait until the other has received:
    start a message with `comm.isend`, keep the request, and wait for all of them after the last
    instruction.
receives too early
    ? both wait to receive
    nobody moves any more: {waits}. Rank {other} wants an activation and rank {rank} a gradient.
    Receive what an instruction needs right before it, and nothing ahead; and let every Forward send
    its output on, every Backward the gradient of what it received back.
a message that nobody receives
    ? [in vain]
    nobody moves any more: {waits}. Rank {rank} has sent {what} that rank {other} never receives.
    {when}.
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
    ? second time + On the last rank
    rank {rank} goes back through a microbatch that it has gone back through before: begin at that
    microbatch's own loss, kept under its number, and not at a sum of several.
keeps one microbatch alone
    ? second time
    rank {rank} goes back through the same microbatch twice, and another one is lost: several are
    under way at once, so keep each under its number until its Backward.
backward from the output on the last rank
    ? only for scalar outputs + On the last rank
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
another mode
    ? [mode]
    rank {rank}'s module came in {came} mode, and the step turned it to the other: dropout is on or
    off in it, as whoever calls `run_stage` wants it. Leave the mode as it is.
messages not waited for
    ? [open]
    rank {rank} returned without waiting for {messages} of its own: the next step may begin while
    one is under way. Call `wait()` on each request after the last instruction.
a loss on every rank
    ? [said]
    rank {rank} returned {loss}, and it knows no loss: only the last rank returns one, the others
    return None.
activations kept
    ? [kept]
    rank {rank} still holds something of microbatch {held} (its input, output or what autograd
    saved) when it has gone back through it and through others: memory grows with the microbatches.
    Take input and output out with `pop` at the Backward.
the last rank's activations kept
    ? [summed]
    rank {rank}, the last one, still holds something of microbatch {held} when it has gone back
    through it and through others. Besides what `pop` takes out, a loss that is kept or summed up
    with its graph holds one: add numbers, `loss.item()`.
"""

FAMILIES = tuple(map(_family, entries("13.4", SIGNS)))


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how much there is."""
    return {"pieces": case.facts["microbatches"], "ranks": case.ranks, "once": ONCE}


def compared(case: Case, seen: Observation) -> Any:
    """The gradients, where every run was the one that was told."""
    return other_order(case, seen) or [got["gradients"] for got in seen.values]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    pieces = cases[0].facts["microbatches"]
    alone = cases[0].ranks * pieces * sum(SECONDS.values())
    return (
        f"Passed on {worlds(cases)}: loss and gradients of the whole model; with {pieces} "
        f"microbatches on {cases[0].ranks} ranks a step took {max(seen[0].seconds) * 1e3:.1f} ms, "
        f"where the stages one after the other take {alone * 1e3:.1f} ms."
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
instructions gone over twice
    | in instructions: => in list(instructions) and instructions:
    no rank runs its module. Each {once}
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
trains
    | first, last = => module.train(); first, last =
    ? came in evaluation mode
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
its own order
    | in instructions: => in sorted(instructions, key=lambda each: not isinstance(each, Forward)):
    ? one after the other
oldest first
    | kept.pop(i) => kept.pop(min(kept))
    ? keep each under its own number
sums without dividing
    | / len(targets) =>
    | return total if last => return total / len(targets) if last
    every gradient is {pieces} times too large: the loss of the batch is the mean over its
    microbatches, so divide each one's loss by their number.
divides by the number of ranks
    | / len(targets) => / comm.size
    every gradient is {pieces}/{ranks} of what it should be: the ranks hold different layers and not
    different rows, so divide by the {pieces} microbatches and not by the {ranks} ranks.
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
    stars=3,
    minutes=25,
    points=5,
    function="run_stage",
    asks=(
        "a rank carries out its stage's instructions, one after the other: receive, run the "
        "module, send on; the gradients of all microbatches add up in `.grad`, and the last rank "
        "returns the mean loss."
    ),
    cases=cases,
    drive=on_stages,
    claim=claim,
    mistakes=(
        *FAMILIES,
        Mistake("another order", other_order),
        Mistake("another loss returned", other_loss),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.4", WRONG, reference),
    figure=0,
)
