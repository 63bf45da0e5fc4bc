"""The mistakes of exercise 13.4, found in what a run of the stages did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises.compare import all_close, number, short
from helpers.exercises.lesson_13.play import WORDS, written
from helpers.exercises.spec import Case, Mistake, Observation
from helpers.exercises.trouble import waits

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


def _blocking(case: Case, seen: Observation) -> str | None:
    pairs = [
        (a, b)
        for a, b in zip(range(case.ranks), range(1, case.ranks), strict=False)
        if "send" in seen.waiting.get(a, "") and "send" in seen.waiting.get(b, "")
    ]
    if not pairs:
        return None
    first, second = pairs[0]
    return (
        f"{case.name}, nobody moves any more: {waits(seen)}. Ranks {first} and {second} both wait "
        "until the other has received: start a message with `comm.isend`, keep the request, and "
        "wait for all of them after the last instruction."
    )


def _each_for_the_other(case: Case, seen: Observation) -> str | None:
    for rank in range(case.ranks - 1):
        words = seen.waiting.get(rank, ""), seen.waiting.get(rank + 1, "")
        if words[0].endswith(f"receive from rank {rank + 1}") and words[1].endswith(
            f"receive from rank {rank}"
        ):
            return (
                f"{case.name}, nobody moves any more: {waits(seen)}. Rank {rank + 1} wants an "
                f"activation that rank {rank} sends only after it has gone back: receive what an "
                "instruction needs right before it, and nothing ahead."
            )
    return None


def _no_gradient(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "NoneType" not in seen.text or not seen.rank:
        return None
    return (
        f"{case.name}, rank {seen.rank} has no gradient to send back: the `.grad` of what it "
        "received is None. Call `requires_grad_()` on a received tensor before the module runs."
    )


def _said(part: str, words: str) -> Any:
    """A recogniser for an exception with this in its text, and what to say to it."""

    def look(case: Case, seen: Observation) -> str | None:
        if seen.trouble != "failed" or part not in seen.text:
            return None
        return f"{case.name}, rank {seen.rank} {words}"

    return look


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
    if not gradients_are(case, seen, lambda want, r: [share * each for each in mean_of(want, r)]):
        return None
    return (
        f"{case.name}, every gradient is {pieces}/{ranks} of what it should be: the ranks hold "
        f"different layers and not different rows, so divide by the {pieces} microbatches and "
        f"not by the {ranks} ranks."
    )


def _divided_everywhere(case: Case, seen: Observation) -> str | None:
    pieces, last = case.facts["microbatches"], case.ranks - 1
    if not gradients_are(
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
    Mistake("every rank waits to send", _blocking, unfinished=True),
    Mistake("receives too early", _each_for_the_other, unfinished=True),
    Mistake("no gradient for what was received", _no_gradient, unfinished=True),
    Mistake(
        "keeps one microbatch alone",
        _said(
            "second time",
            "goes back through the same microbatch twice, and another one is lost: several are "
            "under way at once, so keep each under its number until its Backward.",
        ),
        unfinished=True,
    ),
    Mistake(
        "goes back without a gradient",
        _said(
            "only for scalar outputs",
            "goes back as if its output were the loss: receive the gradient of the output from "
            "the next rank, and give it to `backward`.",
        ),
        unfinished=True,
    ),
    Mistake(
        "sends past the end",
        _said(
            "but the ranks are 0 to",
            "sends or receives past the end of the pipeline: the first stage has nobody to send "
            "a gradient back to, and the last one nobody to send its output on to.",
        ),
        unfinished=True,
    ),
    Mistake("an order of its own", _own_order),
    Mistake("goes back through another microbatch", _goes_back_through_another),
    Mistake("sums without dividing", _summed),
    Mistake("divides by the number of ranks", _divided_by_ranks),
    Mistake("divides on every rank", _divided_everywhere),
    Mistake("one microbatch's gradients alone", _latest_alone),
    Mistake("another loss returned", _loss),
    Mistake("meets at barriers", _barrier),
)
