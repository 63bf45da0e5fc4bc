"""The mistakes of exercise 13.4, found in what a run of the stages did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises.compare import all_close, number, short
from helpers.exercises.lesson_13 import run_stage_left, run_stage_stuck
from helpers.exercises.lesson_13.play import WORDS, written
from helpers.exercises.spec import Case, Mistake, Observation

TOLERANCE = 1e-10

Step = dict[str, Any]


def steps_of(case: Case, seen: Observation) -> list[tuple[int, Step, Step]]:
    """Each rank's steps: the rank, what was seen, what the whole model gives."""
    return [
        (rank, got, want)
        for rank, steps in enumerate(seen.values)
        for got, want in zip(steps, case.facts["steps"], strict=True)
    ]


def mean_of(want: Step, rank: int) -> list[np.ndarray]:
    """The gradients that a rank should have."""
    return [np.mean(each, axis=0) for each in zip(*[p[rank] for p in want["parts"]], strict=True)]


def gradients_are(
    case: Case, seen: Observation, wanted: Callable[[Step, int], list[np.ndarray]]
) -> bool:
    """Whether all ranks' gradients of the first step are these."""
    if seen.trouble:
        return False
    want = case.facts["steps"][0]
    return all(
        all_close(steps[0]["gradients"], wanted(want, rank), TOLERANCE)
        for rank, steps in enumerate(seen.values)
    )


def _goes_back_through_another(case: Case, seen: Observation) -> str | None:
    for rank, got, _ in steps_of(case, seen):
        told = case.facts["told"][rank]
        forwards = [microbatch for kind, microbatch in told if kind == "F"]
        for (kind, microbatch), (did, run) in zip(told, got["order"], strict=False):
            if (kind, did) == ("B", "B") and forwards[run] != microbatch:
                return (
                    f"{case.name}, rank {rank} is told {written(kind, microbatch)} and goes back "
                    f"through microbatch {forwards[run]}: keep what a Backward needs under its "
                    "microbatch's number, not in a queue."
                )
    return None


def _own_order(case: Case, seen: Observation) -> str | None:
    for rank, got, _ in steps_of(case, seen):
        told = case.facts["told"][rank]
        for place, ((kind, microbatch), (did, _)) in enumerate(
            zip(told, got["order"], strict=False)
        ):
            if kind != did:
                return (
                    f"{case.name}, instruction {place} of rank {rank} is "
                    f"{written(kind, microbatch)}, and it ran a {WORDS[did]}: take the "
                    "instructions one after the other, as they come."
                )
    return None


def _summed(case: Case, seen: Observation) -> str | None:
    pieces = case.facts["microbatches"]
    if not gradients_are(
        case, seen, lambda want, rank: [pieces * each for each in mean_of(want, rank)]
    ):
        return None
    return (
        f"{case.name}, every gradient is {pieces} times too large: the loss of the batch is the "
        "mean over its microbatches, so divide each one's loss by their number."
    )


def _divided_by_ranks(case: Case, seen: Observation) -> str | None:
    pieces, ranks = case.facts["microbatches"], case.ranks
    share = pieces / ranks
    if pieces == ranks or not gradients_are(
        case, seen, lambda want, r: [share * each for each in mean_of(want, r)]
    ):
        return None
    return (
        f"{case.name}, every gradient is {pieces}/{ranks} of what it should be: the ranks hold "
        f"different layers and not different rows, so divide by the {pieces} microbatches and "
        f"not by the {ranks} ranks."
    )


def _divided_everywhere(case: Case, seen: Observation) -> str | None:
    pieces, last = case.facts["microbatches"], case.ranks - 1
    if not last or not gradients_are(
        case,
        seen,
        lambda want, rank: [each / pieces ** (last - rank) for each in mean_of(want, rank)],
    ):
        return None
    return (
        f"{case.name}, rank {last}'s gradients are right, and each rank before it has them "
        f"{pieces} times smaller than the one behind: the last rank divides its loss, and the "
        "division comes to the others with the gradient."
    )


def _divided_at_the_end(case: Case, seen: Observation) -> str | None:
    pieces, last = case.facts["microbatches"], case.ranks - 1
    if not last or not gradients_are(
        case,
        seen,
        lambda want, rank: [each * (pieces if rank < last else 1) for each in mean_of(want, rank)],
    ):
        return None
    return (
        f"{case.name}, rank {last}'s gradients are right, and those of all others {pieces} times "
        f"too large: what rank {last} divides at the end, it has sent on undivided before. Divide "
        "the loss, in front of its backward."
    )


def _latest_alone(case: Case, seen: Observation) -> str | None:
    pieces = case.facts["microbatches"]

    def one(want: Step, rank: int) -> list[np.ndarray]:
        last = [microbatch for kind, microbatch in case.facts["told"][rank] if kind == "B"][-1]
        return [each / pieces for each in want["parts"][last][rank]]

    if not gradients_are(case, seen, one):
        return None
    return (
        f"{case.name}, the gradients are those of one microbatch, the last to go back: `backward` "
        "adds to what is in `.grad`; leave it there between microbatches."
    )


def _loss(case: Case, seen: Observation) -> str | None:
    if seen.trouble:
        return None
    want, said = case.facts["steps"][0]["losses"], seen.values[-1][0]["loss"]
    if said is None:
        return f"{case.name}, the last rank returned None: return the mean loss from it."
    got = number(said)
    if got is None or abs(got - sum(want)) > 1e-6 * sum(want):
        return None
    return (
        f"{case.name}, the last rank returned {short(got)}, the sum of {len(want)} microbatches' "
        f"losses; their mean is {short(float(np.mean(want)))}."
    )


def _barrier(case: Case, seen: Observation) -> str | None:
    if not any("barrier" in e.label for e in seen.events):
        return None
    return (
        f"{case.name}, the step took {max(seen.seconds) * 1e3:.1f} ms instead of "
        f"{case.facts['seconds'] * 1e3:.1f} ms, for the ranks meet at barriers: no rank waits "
        "but for the message that its instruction needs."
    )


MISTAKES = (
    *run_stage_stuck.MISTAKES,
    Mistake("an order of its own", _own_order),
    Mistake("goes back through another microbatch", _goes_back_through_another),
    *run_stage_left.MISTAKES[:2],  # what comes of them is said afterwards
    Mistake("sums without dividing", _summed),
    Mistake("divides by the number of ranks", _divided_by_ranks),
    Mistake("divides on every rank", _divided_everywhere),
    Mistake("divides the last rank's gradients alone", _divided_at_the_end),
    Mistake("one microbatch's gradients alone", _latest_alone),
    Mistake("another loss returned", _loss),
    Mistake("meets at barriers", _barrier),
    *run_stage_left.MISTAKES[2:],
)
