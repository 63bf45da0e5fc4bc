"""The families of mistakes of exercise 13.4: where ranks stand still, what a step raises or leaves.

What a step leaves may be wrong though all gradients are right, so the claim asks for it too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.exercises.compare import count, describe, number, told_apart
from helpers.exercises.spec import Case, Mistake, Observation, first_said
from helpers.exercises.trouble import waits

_ROUNDED = 1e-6  # of the mean loss: a sum of float32 numbers is no mistake


def _sends_to(seen: Observation, rank: int) -> int | None:
    """The rank that this one waits to send to, if it does."""
    words = seen.waiting.get(rank, "")
    return int(words.split()[-1]) if "send" in words and words.split()[-1].isdigit() else None


def _blocking(case: Case, seen: Observation) -> str | None:
    for first, second in zip(range(case.ranks), range(1, case.ranks), strict=False):
        if _sends_to(seen, first) == second and _sends_to(seen, second) == first:
            return (
                f"{case.name}, nobody moves any more: {waits(seen)}. Ranks {first} and {second} "
                "both wait until the other has received: start a message with `comm.isend`, keep "
                "the request, and wait for all of them after the last instruction."
            )
    return None


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


# --- exceptions -----------------------------------------------------------------------------------


Test = Callable[[Observation], bool]


def _raises(name: str, test: Test, words: str, last: bool = False) -> Mistake:
    """An exception of a kind, and what to say of the rank that raised it.

    last: whether only the last rank raises it so.
    """

    def look(case: Case, seen: Observation) -> str | None:
        there = not last or seen.rank == case.ranks - 1
        if seen.trouble != "failed" or not there or not test(seen):
            return None
        return f"{case.name}, rank {seen.rank}{words}"

    return Mistake(name, look, unfinished=True)


def _says(part: str) -> Test:
    return lambda seen: part in seen.text


def _sends_none(*parts: str) -> Test:
    """Whether a gradient to send back was None, and the driver says these of what it saw."""
    return lambda seen: bool(seen.rank) and all(p in seen.text for p in ("NoneType", *parts))


_ONCE = (
    " is given a generator, as your `gpipe` makes one: it is empty after one loop, and has no "
    "`len`. Go over the instructions once, or make a list of them first; the last rank knows how "
    "many microbatches there are from its targets."
)


def _nothing_ran(case: Case, seen: Observation) -> str | None:
    if any(step["order"] for steps in seen.values for step in steps):
        return None
    return f"{case.name}, no rank runs its module. Each{_ONCE}"


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
        return f"{case.name}, the last rank returned {given}{kind}; the mean loss is {right}."
    return None


# --- what a step leaves ---------------------------------------------------------------------------


def _leaves(name: str, test: Callable[[bool, Any], bool], words: str) -> Mistake:
    """What is left on some rank after some step, and what to say of that rank.

    test: of whether the rank is the last one, and the step.
    """

    def look(case: Case, seen: Observation) -> str | None:
        for rank, steps in enumerate(seen.values):
            for step in steps:
                if test(rank == case.ranks - 1, step):
                    forwards = [i for kind, i in case.facts["told"][rank] if kind == "F"]
                    said = words.format(
                        came="training" if step["training"] else "evaluation",
                        messages=count(step["open"], "message"),
                        loss=describe(step["loss"]),
                        held=forwards[step["kept"][0]] if step["kept"] else "",
                    )
                    return f"{case.name}, rank {rank}{said}"
        return None

    return Mistake(name, look)


_LEFT = (
    _leaves(
        "weights changed",
        lambda last, step: step["moved"],
        "'s weights are other ones after the step: `run_stage` leaves gradients in `.grad`, and "
        "whoever calls it does the update.",
    ),
    _leaves(
        "another mode",
        lambda last, step: not step["same mode"],
        "'s module came in {came} mode, and the step turned it to the other: dropout is on or off "
        "in it, as whoever calls `run_stage` wants it. Leave the mode as it is.",
    ),
    _leaves(
        "inputs made floats",
        lambda last, step: step["cast"],
        "'s module got floats where the inputs are whole numbers: an embedding looks tokens up by "
        "their numbers. Hand `inputs[i]` on as it is; only what was received asks for a gradient.",
    ),
    _leaves(
        "messages not waited for",
        lambda last, step: bool(step["open"]),
        " returned without waiting for {messages} of its own: the next step may begin while one is "
        "under way. Call `wait()` on each request after the last instruction.",
    ),
    _leaves(
        "a loss on every rank",
        lambda last, step: not last and step["loss"] is not None,
        " returned {loss}, and it knows no loss: only the last rank returns one, the others return "
        "None.",
    ),
    _leaves(
        "activations kept",
        lambda last, step: bool(step["kept"]) and not last,
        " still holds something of microbatch {held} (its input, output or what autograd saved) "
        "when it has gone back through it and through others: memory grows with the microbatches. "
        "Take input and output out with `pop` at the Backward.",
    ),
    _leaves(
        "the last rank's activations kept",
        lambda last, step: bool(step["kept"]) and last,
        ", the last one, still holds something of microbatch {held} when it has gone back through "
        "it and through others. Besides what `pop` takes out, a loss that is kept or summed up "
        "with its graph holds one: add numbers, `loss.item()`.",
    ),
    _leaves(
        "inputs ask for a gradient",
        lambda last, step: step["ask"],
        "'s `inputs` ask for a gradient after the step, and are the caller's: each keeps a `.grad` "
        "that nobody needs. Let only what was received ask for one.",
    ),
)


def left(case: Case, seen: Observation) -> str | None:
    """What the steps left as they should not."""
    return next(filter(None, (first_said(mistake.look, case, seen) for mistake in _LEFT)), None)


# --- time -----------------------------------------------------------------------------------------


def _barrier(case: Case, seen: Observation) -> str | None:
    if not any("barrier" in e.label for e in seen.events):
        return None
    return (
        f"{case.name}, the step took {max(seen.seconds) * 1e3:.1f} ms instead of "
        f"{case.facts['seconds'] * 1e3:.1f} ms, for the ranks meet at barriers: no rank waits "
        "but for the message that its instruction needs."
    )


MISTAKES = (
    Mistake("instructions gone over twice", _nothing_ran),
    _raises("length of a generator", _says("'generator' has no len()"), _ONCE),
    _raises(
        "looks into None",
        _says("'NoneType' object is not subscriptable"),
        " looks into None: only rank 0 is given `inputs`, and only the last rank `targets`.",
    ),
    Mistake("every rank waits to send", _blocking, unfinished=True),
    Mistake("receives too early", _each_for_the_other, unfinished=True),
    Mistake("a message that nobody receives", _not_received, unfinished=True),
    _raises(
        "backward from what has no history",
        lambda seen: (
            "does not require grad" in seen.text
            or _sends_none("asked for", "did not come through")(seen)
        ),
        "'s Backward begins at a tensor without a history: `.detach()`, `.item()` and "
        "`torch.tensor` cut it off. Keep the output itself, on the last rank the loss itself; a "
        "detached copy is for sending.",
    ),
    _raises(
        "another tensor's gradient",
        _sends_none("asked for", "backward came"),
        " has a gradient to send back, in the `.grad` of what it received, and sends None, the "
        "`.grad` of another tensor: an output keeps none.",
    ),
    _raises(
        "no gradient for what was received",
        _sends_none("did not ask for"),
        " has no gradient to send back: the `.grad` of what it received is None. Call "
        "`requires_grad_()` on a received tensor before the module runs.",
    ),
    _raises(
        "tokens that ask for a gradient",
        _says("can require gradients"),
        " is given whole numbers, as tokens are, and these cannot ask for a gradient. Nobody "
        "stands before the first stage: call `requires_grad_()` on what was received alone.",
    ),
    _raises(
        "begins at the same loss twice",
        _says("second time"),
        " goes back through a microbatch that it has gone back through before: begin at that "
        "microbatch's own loss, kept under its number, and not at a sum of several.",
        last=True,
    ),
    _raises(
        "keeps one microbatch alone",
        _says("second time"),
        " goes back through the same microbatch twice, and another one is lost: several are under "
        "way at once, so keep each under its number until its Backward.",
    ),
    _raises(
        "backward from the output on the last rank",
        _says("only for scalar outputs"),
        " goes back from the module's output: the last rank begins at the loss. Keep what `loss` "
        "gave, divided, in the output's place.",
        last=True,
    ),
    _raises(
        "goes back without a gradient",
        _says("only for scalar outputs"),
        " goes back as if its output were the loss: receive the gradient of the output from the "
        "next rank, and give it to `backward`.",
    ),
    _raises(
        "sends past the end",
        _says("but the ranks are 0 to"),
        " sends or receives past the end of the pipeline: the first stage has nobody to send a "
        "gradient back to, and the last one nobody to send its output on to.",
    ),
    *_LEFT,
    Mistake("meets at barriers", _barrier),
)
