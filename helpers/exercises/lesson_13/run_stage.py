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

from helpers.exercises.compare import all_close, count, listing, rounded, worlds
from helpers.exercises.drives_pipeline import on_stages
from helpers.exercises.lesson_13 import run_stage_wrong as wrong
from helpers.exercises.lesson_13.run_stage_cases import BACKWARD, FORWARD, cases
from helpers.exercises.lesson_13.run_stage_families import MISTAKES, left, other_loss
from helpers.exercises.lesson_13.told import written
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
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
    other = _other_order(case, seen)
    if other:
        return other
    for rank, got, _ in _steps(case, seen):
        told, runs = case.facts["told"][rank], len(got["order"])
        if runs != len(told):
            return f"{case.name}, rank {rank} did {count(runs, 'run')} of {len(told)}."
    found = _other_gradients(case, seen)
    if found:
        return found
    return (
        other_loss(case, seen)
        or _other_messages(case, seen)
        or _other_work(case, seen)
        or _too_long(case, seen)
        or left(case, seen)
    )


def _other_gradients(case: Case, seen: Observation) -> str | None:
    """Whose gradients are not there, or not right, and whose are."""
    steps = _steps(case, seen)
    for rank, got, _ in steps:
        if not any(each is not None and np.any(each) for each in got["gradients"]):
            return f"{case.name}, rank {rank} is left without a gradient other than zero."
    wrong = sorted({rank for rank, got, want in steps if not _right_gradients(rank, got, want)})
    if not wrong:
        return None
    right = [rank for rank in range(case.ranks) if rank not in wrong]
    whole = "those of the whole model" + (f", and of {_ranks(right)} they are" if right else "")
    given = [each for _, got, _ in steps for each in got["gradients"]]
    whole += rounded(given, [each for r, _, want in steps for each in want["gradients"][r]])
    return f"{case.name}, of {_ranks(wrong)} the gradients are not {whole}."


def _ranks(some: list[int]) -> str:
    return f"rank{'s' if len(some) > 1 else ''} {listing(some)}"


def _other_order(case: Case, seen: Observation) -> str | None:
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
            return f"{case.name}, rank {rank} is told {written(*one)} and {does}."
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
    """What the hints name: how much there is."""
    return {"pieces": case.facts["microbatches"], "ranks": case.ranks, "last": case.ranks - 1}


def compared(case: Case, seen: Observation) -> Any:
    """The gradients, where every run was the one that was told."""
    return _other_order(case, seen) or [got["gradients"] for _, got, _ in _steps(case, seen)]


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
    mistakes=(
        *MISTAKES,
        Mistake("another order", _other_order),
        Mistake("another loss returned", other_loss),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("a loss of each rank", wrong.loss_everywhere, hint="looks into None"),
        WrongAnswer("counts first", wrong.counts_first, hint="no rank runs its module"),
        WrongAnswer("asks for the length", wrong.asks_length, hint="rank 0 is given a generator"),
        WrongAnswer("blocking sends", wrong.blocking, hint="until the other has received"),
        WrongAnswer("inputs first", wrong.all_inputs_first, hint="what an instruction needs"),
        WrongAnswer("never receives", wrong.never_receives, hint="the gradient of its output"),
        WrongAnswer("loss of a number", wrong.loss_of_a_number, hint="the loss itself"),
        WrongAnswer("another's gradient", wrong.sends_other, hint="`.grad` of another tensor"),
        WrongAnswer("no gradient", wrong.no_gradient, hint="Call `requires_grad_()`"),
        WrongAnswer("inputs ask too", wrong.inputs_ask_too, hint="cannot ask for a gradient"),
        WrongAnswer("float inputs ask", wrong.floats_ask_too, hint="and are the caller's"),
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
        WrongAnswer("never lets go", wrong.never_lets_go, hint="Take input and output out"),
        WrongAnswer("sums graphs", wrong.sums_graphs, hint="add numbers, `loss.item()`"),
        WrongAnswer("barriers", wrong.in_step, hint="the ranks meet at barriers"),
        WrongAnswer("its own order", wrong.all_forwards_first, hint="one after the other"),
        WrongAnswer("oldest first", wrong.oldest_first, hint="keep each under its own number"),
        WrongAnswer("runs forward again", wrong.runs_again, hint="from what the Forward made"),
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
        WrongAnswer("swaps", wrong.swaps, "the loss was given `(targets, output)`: output first."),
        WrongAnswer(
            "sends the activation back",
            wrong.sends_activation,
            "the last rank's gradients are right and those in front of it are not: what each rank "
            "sends back is what it received; send the `.grad` of it.",
        ),
        WrongAnswer("divides twice", wrong.divides_twice, hint="divided by 4 again"),
        WrongAnswer("no loss", wrong.no_loss, hint="the last rank returned None"),
        WrongAnswer("the sum of losses", wrong.sum_of_losses, hint="the sum of 4 losses"),
    ),
    figure=0,
    unseen={"ask": "whether the inputs ask for a gradient"},
)
