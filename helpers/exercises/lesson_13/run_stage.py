"""Exercise 13.4, run a stage.

`run_stage(comm, module, instructions, inputs, targets, loss) -> float | None`: rank r is stage r.
Rank 0 has the inputs, a list of microbatches, and the last rank the targets. A Forward receives
from the rank before, runs the module, sends on; a Backward receives a gradient from the rank after,
goes back, sends on. The loss of the batch is the mean over its microbatches; the last rank returns
it. The claim: every `.grad` is that of the whole model, to rounding in float64; the instructions
run in their order; each rank sends every microbatch on once and every gradient back once; and the
step takes as long as the schedule, for no rank waits to send. Nothing else is left of it: no
message that nobody waited for, no activation, no other weights, no other mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.compare import all_close, count, describe, number, short, worlds
from helpers.exercises.drives_pipeline import on_stages
from helpers.exercises.lesson_13 import run_stage_wrong as wrong
from helpers.exercises.lesson_13.run_stage_cases import BACKWARD, FORWARD, cases
from helpers.exercises.lesson_13.run_stage_families import MISTAKES, left
from helpers.exercises.lesson_13.told import WORDS, written
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_TOLERANCE = 1e-10
_ROUNDED = 1e-6  # of the mean loss: a sum of float32 numbers is no mistake
_SLACK = 1.1  # of the schedule's time, so that a wait for a message that has long arrived may be

Step = dict[str, Any]


def _steps(case: Case, seen: Observation) -> list[tuple[int, Step, Step]]:
    """Each rank's steps: the rank, what was seen, what the whole model gives."""
    return [
        (rank, got, want)
        for rank, steps in enumerate(seen.values)
        for got, want in zip(steps, case.facts["steps"], strict=True)
    ]


def _right_gradients(rank: int, got: Step, want: Step) -> bool:
    return all_close(got["gradients"], want["gradients"][rank], _TOLERANCE)


def claim(case: Case, seen: Observation) -> str | None:
    """The order, the gradients, the loss, the messages, the time."""
    other = _first_other(case, seen)
    if other:
        rank, _, told, ran = other
        return f"{case.name}, rank {rank} is told {written(*told)} and runs {written(*ran)}."
    for rank, got, want in _steps(case, seen):
        told, runs = case.facts["told"][rank], len(got["order"])
        if runs != len(told):
            return f"{case.name}, rank {rank} did {count(runs, 'run')} of {len(told)}."
        if not _right_gradients(rank, got, want):
            return f"{case.name}, rank {rank}'s gradients are not those of the whole model."
        said = number(got["loss"]) if rank == case.ranks - 1 else None
        mean = want["loss"]
        if rank == case.ranks - 1 and (said is None or abs(said - mean) > _ROUNDED * mean):
            gave = describe(got["loss"])
            return f"{case.name}, the last rank returned {gave}; the mean loss is {short(mean)}."
    return (
        _other_messages(case, seen)
        or _other_work(case, seen)
        or _too_long(case, seen)
        or left(case, seen)
    )


def _first_other(case: Case, seen: Observation) -> tuple[int, int, Any, Any] | None:
    """Where something else ran than was told: the rank, the place, what was told, what ran.

    What the module saw are runs; the n-th one forward is the n-th microbatch that was told.
    """
    for rank, got, _ in _steps(case, seen):
        told = [tuple(each) for each in case.facts["told"][rank]]
        forwards = [microbatch for kind, microbatch in told if kind == "F"]
        ran = [(kind, [*forwards, run][min(run, len(forwards))]) for kind, run in got["order"]]
        for place, (one, other) in enumerate(zip(told, ran, strict=False)):
            if one != other:
                return rank, place, one, other
    return None


def _other_messages(case: Case, seen: Observation) -> str | None:
    """A message too many, or too large, or to a rank that is no neighbour."""
    pieces = case.facts["microbatches"] * len(case.facts["steps"])
    widths = case.facts["widths"]
    for rank in range(case.ranks):
        there = pieces if rank < case.ranks - 1 else 0
        back = pieces if rank else 0
        to = [seen.sent[rank].count(other) for other in (rank + 1, rank - 1)]
        if to != [there, back] or len(seen.sent[rank]) != there + back:
            return (
                f"{case.name}, rank {rank} sent {count(to[0], 'message')} on and {to[1]} back, "
                f"{len(seen.sent[rank])} in all; {there} activations on and {back} gradients back "
                "were to be sent."
            )
        rows = 2 * 8  # of a microbatch, in bytes for each unit
        most = there * widths[rank] * rows + (back * widths[rank - 1] * rows if rank else 0)
        if seen.bytes[rank] != most:
            return f"{case.name}, rank {rank} sent {seen.bytes[rank]} B; {most} B were enough."
    return None


def _other_work(case: Case, seen: Observation) -> str | None:
    """The order once more, by the clock, which the grader keeps itself."""
    seconds = {"F": FORWARD, "B": BACKWARD}
    for rank in range(case.ranks):
        told = case.facts["told"][rank] * len(case.facts["steps"])
        want = [seconds[kind] for kind, _ in told]
        mine = [e.end - e.start for e in seen.events if e.rank == rank and e.kind == "computing"]
        if len(mine) != len(want) or not np.allclose(mine, want, 1e-6):
            return f"{case.name}, rank {rank} computes otherwise than it was told."
    return None


def _too_long(case: Case, seen: Observation) -> str | None:
    took, want = max(seen.seconds), case.facts["seconds"]
    if took <= want * _SLACK:
        return None
    return (
        f"{case.name}, the step took {took * 1e3:.1f} ms; with these instructions it takes "
        f"{want * 1e3:.1f} ms."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how much there is, where another run was, the losses."""
    first = ("F", 0)
    rank, place, told, ran = _first_other(case, seen) or (0, 0, first, first)
    return {
        "pieces": case.facts["microbatches"],
        "ranks": case.ranks,
        "last": case.ranks - 1,
        "rank": rank,
        "place": place,
        "told": written(*told),
        "did": WORDS[ran[0]],
        "through": ran[1],
        "said": short(number(seen.values[-1][0]["loss"])),
        "mean": short(case.facts["steps"][0]["loss"]),
    }


def compared(case: Case, seen: Observation) -> Any:
    """The first thing that is wrong: the order, then the gradients, then the loss."""
    if _first_other(case, seen):
        return [
            " ".join(f"{k}{run}" for k, run in got["order"]) for _, got, _ in _steps(case, seen)
        ]
    if not all(_right_gradients(*each) for each in _steps(case, seen)):
        return [got["gradients"] for _, got, _ in _steps(case, seen)]
    losses = [step["loss"] for step in seen.values[-1]]
    return [loss if number(loss) is None else number(loss) for loss in losses]


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
) -> Any:
    """The course's own."""
    return wrong.Stage(comm, module, inputs, targets, loss).run(instructions)


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
    mistakes=MISTAKES,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("counts first", wrong.counts_first, hint="no rank runs its module"),
        WrongAnswer("asks for the length", wrong.asks_length, hint="rank 0 is given a generator"),
        WrongAnswer("blocking sends", wrong.blocking, hint="until the other has received"),
        WrongAnswer("inputs first", wrong.all_inputs_first, hint="what an instruction needs"),
        WrongAnswer("never receives", wrong.never_receives, hint="the gradient of its output"),
        WrongAnswer("loss of a number", wrong.loss_of_a_number, hint="the loss itself"),
        WrongAnswer("another's gradient", wrong.sends_other, hint="`.grad` of another tensor"),
        WrongAnswer("no gradient", wrong.no_gradient, hint="Call `requires_grad_()`"),
        WrongAnswer("inputs ask too", wrong.inputs_ask_too, hint="cannot ask for a gradient"),
        WrongAnswer("loss of several", wrong.loss_of_several, hint="not at a sum of several"),
        WrongAnswer("keeps the latest", wrong.latest_only, hint="each under its number until"),
        WrongAnswer("loss not kept", wrong.loss_not_kept, hint="the last rank begins at the loss"),
        WrongAnswer("backward of nothing", wrong.of_nothing, hint="as if its output were the loss"),
        WrongAnswer("first sends back", wrong.first_sends_back, hint="the end of the pipeline"),
        WrongAnswer("updates", wrong.updates, hint="whoever calls it does the update"),
        WrongAnswer("evaluates", wrong.evaluates, hint="came in training mode"),
        WrongAnswer("trains", wrong.trains, hint="came in evaluation mode"),
        WrongAnswer("tokens made floats", wrong.casts, hint="looks tokens up by their numbers"),
        WrongAnswer("never waits", wrong.never_waits, hint="without waiting for"),
        WrongAnswer("a loss everywhere", wrong.says_everywhere, hint="only the last rank returns"),
        WrongAnswer("never lets go", wrong.never_lets_go, hint="activations add up"),
        WrongAnswer("barriers", wrong.in_step, hint="the ranks meet at barriers"),
        WrongAnswer(
            "an order of its own",
            wrong.all_forwards_first,
            "instruction {place} of rank {rank} is {told}, and it ran a {did}: take the "
            "instructions one after the other, as they come.",
        ),
        WrongAnswer(
            "goes back through another microbatch",
            wrong.oldest_first,
            "rank {rank} is told {told} and goes back through microbatch {through}: keep what a "
            "Backward needs under its microbatch's number, not in a queue.",
        ),
        WrongAnswer(
            "sums without dividing",
            wrong.summed,
            "every gradient is {pieces} times too large: the loss of the batch is the mean over "
            "its microbatches, so divide each one's loss by their number.",
        ),
        WrongAnswer(
            "divides by the number of ranks",
            wrong.divided_by_ranks,
            "every gradient is {pieces}/{ranks} of what it should be: the ranks hold different "
            "layers and not different rows, so divide by the {pieces} microbatches and not by the "
            "{ranks} ranks.",
        ),
        WrongAnswer(
            "divides on every rank",
            wrong.divided_everywhere,
            "rank {last}'s gradients are right, and each rank before it has them {pieces} times "
            "smaller than the one behind: the last rank divides its loss, and the division comes "
            "to the others with the gradient.",
        ),
        WrongAnswer(
            "divides the last rank's gradients alone",
            wrong.divides_its_own,
            "rank {last}'s gradients are right, and those of all others {pieces} times too large: "
            "what rank {last} divides at the end, it has sent on undivided before. Divide the "
            "loss, in front of its backward.",
        ),
        WrongAnswer(
            "one microbatch's gradients alone",
            wrong.zeroed_each_time,
            "the gradients are those of one microbatch, the last to go back: `backward` adds to "
            "what is in `.grad`; leave it there between microbatches.",
        ),
        WrongAnswer(
            "no loss returned",
            wrong.no_loss,
            "the last rank returned None: return the mean loss from it.",
        ),
        WrongAnswer(
            "the sum of the losses returned",
            wrong.sum_of_losses,
            "the last rank returned {said}, the sum of {pieces} microbatches' losses; their mean "
            "is {mean}.",
        ),
    ),
    figure=0,
)
