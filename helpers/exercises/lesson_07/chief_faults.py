"""What a chief's start and turns should be, and the mistakes that they show (07.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.compare import close, count, describe
from helpers.exercises.lesson_07.chief_cases import RATE
from helpers.exercises.spec import Case, Observation

_TOLERANCE = 1e-9


Found = tuple[int, dict[str, Any], dict[str, Any]]


def _first(case: Case, seen: Observation) -> Found | None:
    """The first turn that is not as it should be: its number, what it was, what it should be."""
    pairs = zip(seen.values[0]["turns"], case.facts["turns"], strict=True)
    for number, (got, want) in enumerate(pairs):
        if _fault(case, got, want):
            return number, got, want
    return None


def _fault(case: Case, got: dict[str, Any], want: dict[str, Any]) -> str:
    """What of a turn is wrong, "" where nothing is."""
    if [*got["asked"]] != [case.facts["aggregate"]]:
        return "asked"
    if got["step"] != want["step"]:
        return "step"
    if not close(got["weights"], want["weights"], _TOLERANCE):
        return "weights"
    if [*got["tokens"]] != want["tokens"]:
        return "tokens"
    if got["left"] != 0:
        return "left"
    return "" if got["gave"] is want["gave"] else "gave"


def claim(case: Case, seen: Observation) -> str | None:
    """The tokens at the start, and every turn."""
    start = list(seen.values[0]["start"])
    if start != case.facts["start"]:
        return f"{case.name}, `start` put {_tokens(start)} in, not {_tokens(case.facts['start'])}."
    found = _first(case, seen)
    if found is None:
        return changed(case, seen)
    number, got, want = found
    fault = _fault(case, got, want)
    begin = _begin(case, number, want)
    if fault == "asked":
        asked = [describe(each) for each in got["asked"]] or ["never"]
        said = f"`take_grad` was asked for {', '.join(asked)}"
        return f"{begin}: {said}; ask once a turn, for {case.facts['aggregate']}."
    if fault == "tokens":
        said = f"{_tokens(got['tokens'])} came into the queue"
        return f"{begin}: {said}, not {_tokens(want['tokens'])}."
    if fault == "left":
        return f"{begin}: the oldest token does not stand first in the queue any more."
    return f"{begin}: `{fault}` is {describe(got[fault])}; it should be {describe(want[fault])}."


def changed(case: Case, seen: Observation) -> str | None:
    """Updates written into the tensor that was given."""
    if not seen.values[0]["changed"]:
        return None
    return (
        f"{case.name}, the weights that the chief was given are other ones now: `-=` writes into a "
        "tensor that others still hold. Make a new one: `self.weights = self.weights - …`."
    )


def _begin(case: Case, number: int, want: dict[str, Any]) -> str:
    what = "a mean is there" if want["gave"] else "too few gradients are there"
    return f"{case.name}, turn {number + 1} ({what})"


def _tokens(tokens: Sequence[Any]) -> str:
    """Tokens in words."""
    if not tokens:
        return "no token"
    if any(token != tokens[0] for token in tokens):
        return f"the tokens {describe(list(tokens))}"
    return f"{count(len(tokens), 'token')} of step {describe(tokens[0])}"


def at_start(wrong_count: Callable[[Case], int], words: str) -> Any:
    """A recogniser for a wrong number of tokens at the start, and what to say to it."""

    def look(case: Case, seen: Observation) -> str | None:
        start = list(seen.values[0]["start"])
        if start == case.facts["start"] or start != [0] * wrong_count(case):
            return None
        return f"{case.name}, `start` put {_tokens(start)} in: " + words.format(**case.facts)

    return look


def list_at_start(case: Case, seen: Observation) -> str | None:
    start = list(seen.values[0]["start"])
    if not start or start != [case.facts["start"]]:
        return None
    return (
        f"{case.name}, `start` put the whole list in as one token. `append` puts in one thing, "
        "`extend` each of a list."
    )


def _asked(fault: str) -> Any:
    """A recogniser that is asked where the first wrong turn has this wrong."""

    def decorate(ask: Callable[[Case, Any, Any], str | None]) -> Any:
        def look(case: Case, seen: Observation) -> str | None:
            found = _first(case, seen)
            if found is None or _fault(case, *found[1:]) != fault:
                return None
            hint = ask(case, *found[1:])
            return f"{_begin(case, found[0], found[2])}: {hint}" if hint else None

        return look

    return decorate


@_asked("tokens")
def old_tokens(case: Case, got: Any, want: Any) -> str | None:
    if not want["gave"] or list(got["tokens"]) != [want["step"] - 1] * len(want["tokens"]):
        return None
    return (
        f"the tokens are of step {want['step'] - 1}, which is over: whatever is computed with them "
        "will be dropped. Raise the step before the tokens are made."
    )


@_asked("tokens")
def too_few(case: Case, got: Any, want: Any) -> str | None:
    facts, new = case.facts, len(got["tokens"])
    if not want["gave"] or len(set(got["tokens"])) > 1 or new >= len(want["tokens"]):
        return None
    if not new:
        return (
            f"no new token is in the queue, {len(want['tokens'])} should be. Put them into the "
            "queue that you were given, `self.queue.extend(…)`: workers look into no other."
        )
    if new == facts["aggregate"]:
        return (
            f"{count(new, 'token')} for {facts['total']} workers: the spare ones wait for ever. "
            "Each worker takes a token, whether its gradient counted or not."
        )
    if new == facts["total"]:
        return (
            f"{count(new, 'token')} for {facts['aggregate']} gradients: {facts['total']} workers "
            "have to give several each, and need a token for every one. Take the larger number."
        )
    return f"{count(new, 'token')} came into the queue, {len(want['tokens'])} should."


@_asked("tokens")
def all_in_one(case: Case, got: Any, want: Any) -> str | None:
    if list(got["tokens"]) != [want["tokens"]]:
        return None
    return (
        "the whole list came into the queue as one token. `append` puts in one thing, `extend` "
        "each of a list."
    )


@_asked("left")
def not_behind(case: Case, got: Any, want: Any) -> str | None:
    if got["left"] is None:
        return (
            "a token that nobody has taken yet is gone. The chief puts tokens in and takes none "
            "out: `extend` what is there."
        )
    return (
        "the new tokens stand ahead of one that was there before. They go in on the right, "
        "`extend`, and workers take on the left."
    )


@_asked("weights")
def no_rate(case: Case, got: Any, want: Any) -> str | None:
    mean = want["mean"]
    if mean is None or not close(got["weights"], want["before"] - mean, _TOLERANCE):
        return None
    return "the whole mean was subtracted: multiply it by the rate."


def is_it_there(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "Boolean value of Tensor" not in seen.text:
        return None
    return (
        f"{case.name}, a mean is a tensor of many numbers, which is neither true nor false. Ask "
        "whether there is one: `if mean is None`."
    )


def asks_for_more(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "'Scripted' object has no attribute" not in seen.text:
        return None
    return (
        f"{case.name}, the chief uses something of the accumulator that it does not have: "
        "`take_grad` is enough. It says by `None` that there is no mean yet."
    )


@_asked("tokens")
def for_nothing(case: Case, got: Any, want: Any) -> str | None:
    if want["gave"] or not got["tokens"]:
        return None
    return "tokens came into the queue without an update. `None` means that there is no mean yet."


@_asked("step")
def step_stays(case: Case, got: Any, want: Any) -> str | None:
    if not want["gave"] or got["step"] != want["step"] - 1:
        return None
    return "an update is made, but `global_step` stays as it was: raise it by one."


@_asked("step")
def step_for_nothing(case: Case, got: Any, want: Any) -> str | None:
    if want["gave"]:
        return None
    return "the step is raised without an update. `None` means that there is no mean yet: stop."


@_asked("asked")
def asks_for_all(case: Case, got: Any, want: Any) -> str | None:
    facts = case.facts
    if list(got["asked"]) != [facts["total"]]:
        return None
    return (
        f"the chief asked for {facts['total']} gradients, all workers', so that no worker is "
        f"spare. Ask for {facts['aggregate']}."
    )


@_asked("asked")
def asks_twice(case: Case, got: Any, want: Any) -> str | None:
    if len(got["asked"]) < 2:
        return None
    return (
        f"`take_grad` was called {len(got['asked'])} times. Each call empties the accumulator: "
        "call it once a turn and keep what it gives."
    )


@_asked("weights")
def uphill(case: Case, got: Any, want: Any) -> str | None:
    mean = want["mean"]
    if mean is None:
        return None
    if close(got["weights"], want["before"] + RATE * mean, _TOLERANCE):
        return "the weights went up the gradient: subtract rate · mean."
    if close(got["weights"], want["before"], _TOLERANCE):
        return "a mean was taken, but the weights stay as they were: subtract rate · mean."
    aggregate = case.facts["aggregate"]
    if close(got["weights"], want["before"] - RATE * mean / aggregate, _TOLERANCE):
        return f"the mean was divided by {aggregate} once more: `take_grad` has done that."
    return None


@_asked("gave")
def no_word(case: Case, got: Any, want: Any) -> str | None:
    return f"`turn` gave {describe(got['gave'])}; say whether an update was made, {want['gave']}."
