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

import numpy as np

from helpers.exercises.compare import all_close, count, describe, number, short, worlds
from helpers.exercises.drives_pipeline import on_stages
from helpers.exercises.lesson_13 import run_stage_left, run_stage_own
from helpers.exercises.lesson_13 import run_stage_wrong as wrong
from helpers.exercises.lesson_13 import run_stage_wrong_more as more
from helpers.exercises.lesson_13.play import written
from helpers.exercises.lesson_13.run_stage_cases import BACKWARD, FORWARD, cases
from helpers.exercises.lesson_13.run_stage_hints import MISTAKES, TOLERANCE, mean_of, steps_of
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_ROUNDED = 1e-6  # of the mean loss: a sum of float32 numbers is no mistake
_SLACK = 1.1  # of the schedule's time, so that a wait for a message that has long arrived may be


def claim(case: Case, seen: Observation) -> str | None:
    """The order, the gradients, the loss, the messages, the time."""
    found = _other_order(case, seen)
    if found:
        return found
    for rank, got, want in steps_of(case, seen):
        if not all_close(got["gradients"], mean_of(want, rank), TOLERANCE):
            return f"{case.name}, rank {rank}'s gradients are not those of the whole model."
        said = number(got["loss"]) if rank == case.ranks - 1 else None
        mean = float(np.mean(want["losses"]))
        if rank == case.ranks - 1 and (said is None or abs(said - mean) > _ROUNDED * mean):
            gave = describe(got["loss"])
            return f"{case.name}, the last rank returned {gave}; the mean loss is {short(mean)}."
    found = _other_messages(case, seen) or _other_work(case, seen) or _too_long(case, seen)
    return found or next(filter(None, (look(case, seen) for look in run_stage_left.LEFT)), None)


def _other_order(case: Case, seen: Observation) -> str | None:
    """A microbatch that runs where another was told, by what the module saw."""
    for rank, got, _ in steps_of(case, seen):
        told = case.facts["told"][rank]
        forwards = [microbatch for kind, microbatch in told if kind == "F"]
        ran = [tuple(each) for each in got["order"]]
        for place, (kind, microbatch) in enumerate(told):
            if place >= len(ran):
                return f"{case.name}, rank {rank} did {count(len(ran), 'run')} of {len(told)}."
            did, run = ran[place]
            which = forwards[run] if run < len(forwards) else run
            if (did, which) != (kind, microbatch):
                return (
                    f"{case.name}, rank {rank} is told {written(kind, microbatch)} and runs "
                    f"{written(did, which)}."
                )
        if len(ran) > len(told):
            return f"{case.name}, rank {rank} ran its module {len(ran)} times, told {len(told)}."
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
    praise=praise,
    reference=run_stage_own.reference,
    wrong=(
        WrongAnswer(
            "blocking sends", wrong.blocking, hint="both wait until the other has received"
        ),
        WrongAnswer(
            "inputs first", wrong.all_inputs_first, hint="Receive what an instruction needs"
        ),
        WrongAnswer("no gradient", wrong.no_gradient, hint="Call `requires_grad_()`"),
        WrongAnswer("keeps the latest", wrong.latest_only, hint="keep each under its number until"),
        WrongAnswer("backward of nothing", wrong.of_nothing, hint="as if its output were the loss"),
        WrongAnswer(
            "first sends back", wrong.first_sends_back, hint="past the end of the pipeline"
        ),
        WrongAnswer("oldest first", wrong.oldest_first, hint="not in a queue"),
        WrongAnswer(
            "forwards first", wrong.all_forwards_first, hint="take the instructions one after"
        ),
        WrongAnswer("sums", wrong.summed, hint="so divide each one's loss"),
        WrongAnswer(
            "divides by ranks", wrong.divided_by_ranks, hint="different layers and not different"
        ),
        WrongAnswer(
            "divides everywhere", wrong.divided_everywhere, hint="the division comes to the"
        ),
        WrongAnswer("zeroes", wrong.zeroed_each_time, hint="adds to what is in `.grad`"),
        WrongAnswer("no loss", wrong.no_loss, hint="return the mean loss from it"),
        WrongAnswer("sum of losses", wrong.sum_of_losses, hint="their mean is"),
        WrongAnswer("barriers", wrong.in_step, hint="the ranks meet at barriers"),
        WrongAnswer("loss not kept", more.loss_not_kept, hint="the last rank begins at the loss"),
        WrongAnswer(
            "never receives", more.never_receives, hint="receives the gradient of its output"
        ),
        WrongAnswer("another's gradient", more.sends_other, hint="the `.grad` of another tensor"),
        WrongAnswer(
            "loss of a number", more.loss_of_a_number, hint="on the last rank the loss itself"
        ),
        WrongAnswer("inputs ask too", more.inputs_ask_too, hint="these cannot ask for a gradient"),
        WrongAnswer("updates", more.updates, hint="whoever calls it does the update"),
        WrongAnswer("evaluates", more.evaluates, hint="came in training mode"),
        WrongAnswer("trains", more.trains, hint="came in evaluation mode"),
        WrongAnswer("tokens made floats", more.casts, hint="looks tokens up by their numbers"),
        WrongAnswer("counts first", more.counts_first, hint="it is empty after one loop"),
        WrongAnswer("never waits", more.never_waits, hint="without waiting for"),
        WrongAnswer(
            "a loss everywhere", more.says_everywhere, hint="only the last rank returns one"
        ),
        WrongAnswer("divides its own", more.divides_its_own, hint="sent on undivided before"),
        WrongAnswer("never lets go", more.never_lets_go, hint="activations add up"),
    ),
    figure=0,
)
