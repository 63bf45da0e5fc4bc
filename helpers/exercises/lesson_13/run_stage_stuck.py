"""The mistakes of exercise 13.4 after which no step comes to its end, by where the ranks stand."""

from __future__ import annotations

from typing import Any

from helpers.exercises.spec import Case, Mistake, Observation
from helpers.exercises.trouble import waits


def _sends_to(seen: Observation, rank: int) -> int | None:
    """The rank that this one waits to send to, if it does."""
    words = seen.waiting.get(rank, "")
    return int(words.split()[-1]) if "send" in words and words.split()[-1].isdigit() else None


def _blocking(case: Case, seen: Observation) -> str | None:
    pairs = [
        (a, b)
        for a, b in zip(range(case.ranks), range(1, case.ranks), strict=False)
        if _sends_to(seen, a) == b and _sends_to(seen, b) == a
    ]
    if not pairs:
        return None
    first, second = pairs[0]
    return (
        f"{case.name}, nobody moves any more: {waits(seen)}. Ranks {first} and {second} both wait "
        "until the other has received: start a message with `comm.isend`, keep the request, and "
        "wait for all of them after the last instruction."
    )


def _not_received(case: Case, seen: Observation) -> str | None:
    """A message to a rank that wants none from there any more."""
    for rank in range(case.ranks):
        other = _sends_to(seen, rank)
        if other is None or f"from rank {rank}" in seen.waiting.get(other, ""):
            continue
        if other > rank:
            what, when = "an activation", "A Forward receives its input first, but for rank 0's"
        else:
            what = "a gradient"
            when = "A Backward receives the gradient of its output first, but on the last rank"
        return (
            f"{case.name}, nobody moves any more: {waits(seen)}. Rank {rank} has sent {what} that "
            f"rank {other} never receives. {when}."
        )
    return None


def _each_for_the_other(case: Case, seen: Observation) -> str | None:
    for rank in range(case.ranks - 1):
        words = seen.waiting.get(rank, ""), seen.waiting.get(rank + 1, "")
        if words[0].endswith(f"receive from rank {rank + 1}") and words[1].endswith(
            f"receive from rank {rank}"
        ):
            return (
                f"{case.name}, nobody moves any more: {waits(seen)}. Rank {rank + 1} wants an "
                f"activation and rank {rank} a gradient. Receive what an instruction needs right "
                "before it, and nothing ahead; and let every Forward send its output on, every "
                "Backward the gradient of what it received back."
            )
    return None


def _no_gradient(case: Case, seen: Observation) -> str | None:
    if not _sent_none(seen) or "asked for" in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} has no gradient to send back: the `.grad` of what it "
        "received is None. Call `requires_grad_()` on a received tensor before the module runs."
    )


def _another_gradient(case: Case, seen: Observation) -> str | None:
    if not _sent_none(seen) or "asked for" not in seen.text or "backward came" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} has a gradient to send back, in the `.grad` of what it "
        "received, and sends None, the `.grad` of another tensor: an output keeps none."
    )


def _cut_off(case: Case, seen: Observation) -> str | None:
    cut = _sent_none(seen) and "asked for" in seen.text and "did not come through" in seen.text
    if not cut and not (seen.trouble == "failed" and "does not require grad" in seen.text):
        return None
    return (
        f"{case.name}, rank {seen.rank}'s Backward begins at a tensor without a history: "
        "`.detach()`, `.item()` and `torch.tensor` cut it off. Keep the output itself, on the last "
        "rank the loss itself; a detached copy is for sending."
    )


def _sent_none(seen: Observation) -> bool:
    return seen.trouble == "failed" and "NoneType" in seen.text and bool(seen.rank)


def _not_from_the_loss(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "only for scalar outputs" not in seen.text:
        return None
    if seen.rank != case.ranks - 1:
        return None
    return (
        f"{case.name}, rank {seen.rank} goes back from the module's output: the last rank begins "
        "at the loss. Keep what `loss` gave, divided, in the output's place."
    )


_ONCE = (
    "is given a generator, as your `gpipe` makes one: it is empty after one loop, and has no "
    "`len`. Go over the instructions once, or make a list of them first; the last rank knows how "
    "many microbatches there are from its targets."
)


def _nothing_ran(case: Case, seen: Observation) -> str | None:
    if seen.trouble or any(step["order"] for steps in seen.values for step in steps):
        return None
    return f"{case.name}, no rank runs its module. Each {_ONCE}"


def _said(part: str, words: str) -> Any:
    """A recogniser for an exception with this in its text, and what to say to it."""

    def look(case: Case, seen: Observation) -> str | None:
        if seen.trouble != "failed" or part not in seen.text:
            return None
        return f"{case.name}, rank {seen.rank} {words}"

    return look


def _twice(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "second time" not in seen.text:
        return None
    if seen.rank == case.ranks - 1:
        return (
            f"{case.name}, rank {seen.rank} goes back through a microbatch that it has gone back "
            "through before: begin at that microbatch's own loss, kept under its number, and not "
            "at a sum of several."
        )
    return (
        f"{case.name}, rank {seen.rank} goes back through the same microbatch twice, and another "
        "one is lost: several are under way at once, so keep each under its number until its "
        "Backward."
    )


MISTAKES = (
    Mistake("instructions gone over twice", _nothing_ran),
    Mistake("length of a generator", _said("has no len()", _ONCE), unfinished=True),
    Mistake("every rank waits to send", _blocking, unfinished=True),
    Mistake("receives too early", _each_for_the_other, unfinished=True),
    Mistake("a message that nobody receives", _not_received, unfinished=True),
    Mistake("backward from what has no history", _cut_off, unfinished=True),
    Mistake("another tensor's gradient", _another_gradient, unfinished=True),
    Mistake("backward from the output on the last rank", _not_from_the_loss, unfinished=True),
    Mistake(
        "tokens that ask for a gradient",
        _said(
            "can require gradients",
            "is given whole numbers, as tokens are, and these cannot ask for a gradient. Nobody "
            "stands before the first stage: call `requires_grad_()` on what was received alone.",
        ),
        unfinished=True,
    ),
    Mistake("no gradient for what was received", _no_gradient, unfinished=True),
    Mistake(
        "keeps one microbatch alone",
        _twice,
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
)
