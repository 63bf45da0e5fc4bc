"""What is wrong in turns of a chief; the course's own chief, and some wrong in one part (07.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import fails_with
from helpers.exercises.compare import close, count, describe
from helpers.exercises.drives_sync import LEFT
from helpers.exercises.spec import Case, Mistake, Observation

_TOLERANCE = 1e-9


def first(case: Case, seen: Observation) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
    """The first turn that is not as it should be: its number, what it was, what it should be."""
    pairs = zip(seen.values[0]["turns"], case.facts["turns"], strict=True)
    for number, (got, want) in enumerate(pairs):
        if fault(case, got, want):
            return number, got, want
    return None


def fault(case: Case, got: dict[str, Any], want: dict[str, Any]) -> str:
    """What of a turn is wrong, "" where nothing is."""
    if [*got["asked"]] != [case.facts["aggregate"]]:
        return "asked"
    if got["step"] != want["step"]:
        return "step"
    if not close(got["weights"], want["weights"], _TOLERANCE):
        return "weights"
    if new(got) != want["tokens"]:
        return "tokens"
    if [*got["tokens"]] != [LEFT, *want["tokens"]]:
        return "left"
    return "" if got["gave"] is want["gave"] else "gave"


def new(turn: dict[str, Any]) -> list[Any]:
    """The tokens of a turn, without the one that was there before."""
    old = next((at for at, one in enumerate(turn["tokens"]) if describe(one) == str(LEFT)), None)
    return [token for at, token in enumerate(turn["tokens"]) if at != old]


def begin(case: Case, number: int, want: dict[str, Any]) -> str:
    """Which turn it is, in words."""
    what = "a mean is there" if want["gave"] else "too few gradients are there"
    return f"{case.name}, turn {number + 1} ({what})"


def no_whole_numbers(case: Case, seen: Observation) -> str | None:
    """What is said where tokens or steps are floats, which count as well as whole numbers."""
    turns = seen.values[0]["turns"]
    counted = [*seen.values[0]["start"], *(one for t in turns for one in (t["step"], *t["tokens"]))]
    odd = next((one for one in counted if np.asarray(one).dtype.kind not in "iu"), None)
    return (
        None
        if odd is None
        else (
            f"{case.name}, {odd} is a {type(odd).__name__} where steps are counted: a token and "
            "`global_step` are whole numbers."
        )
    )


def in_words(tokens: Sequence[Any]) -> str:
    """Tokens in words."""
    if not tokens:
        return "no token"
    if any(token != tokens[0] for token in tokens):
        return f"the tokens {describe(list(tokens))}"
    return f"{count(len(tokens), 'token')} of step {describe(tokens[0])}"


_asks_for_more = fails_with(
    "'Scripted' object has no attribute",
    "the chief uses something of the accumulator that it does not have: `take_grad` is "
    "enough. It says by `None` that there is no mean yet.",
)


def _no_word(case: Case, seen: Observation) -> str | None:
    found = first(case, seen)
    if found is None or fault(case, *found[1:]) != "gave":
        return None
    number, got, want = found
    said = f"`turn` gave {describe(got['gave'])}; say whether an update was made, {want['gave']}."
    return f"{begin(case, number, want)}: {said}"


FAMILIES = (
    Mistake("asks the accumulator for more", _asks_for_more, unfinished=True),
    Mistake("does not say whether it updated", _no_word),
)


# --- chiefs ---------------------------------------------------------------------------------------


class Chief:
    """It works on one accumulator and a queue that it is given."""

    at_start: Any = staticmethod(lambda chief, asked: chief.aggregate if asked == -1 else asked)
    take: Any = staticmethod(lambda chief: chief.accumulator.take_grad(chief.aggregate))
    updated: Any = staticmethod(lambda chief, mean: chief.weights - chief.rate * mean)
    new: Any = staticmethod(lambda total, aggregate: max(total, aggregate))  # tokens an update
    put: Any = staticmethod(lambda chief, tokens: chief.queue.extend(tokens))

    def __init__(
        self, accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
    ) -> None:
        self.accumulator, self.queue = accumulator, queue
        self.weights, self.rate = weights, rate
        self.aggregate, self.total = aggregate, total
        self.global_step = 0

    def start(self, num_tokens: int) -> None:
        """The tokens with which training starts."""
        self.queue.extend([self.global_step] * self.at_start(self, num_tokens))

    def turn(self) -> Any:
        """Make an update if there is a mean for it."""
        mean = self.take(self)
        if mean is None:
            return False
        self.update(mean)
        self.advance()
        return True

    def update(self, mean: Any) -> None:
        """One step of plain SGD."""
        self.weights = self.updated(self, mean)

    def advance(self) -> None:
        """The next step, and tokens for it."""
        self.global_step += 1
        self.put(self, self.tokens())

    def tokens(self) -> list[int]:
        """Those that an update puts in."""
        return [self.global_step] * self.new(self.total, self.aggregate)


def _with(**parts: Callable[..., Any]) -> type[Chief]:
    return type("Chief", (Chief,), {name: staticmethod(part) for name, part in parts.items()})


def _takes_twice(chief: Chief) -> Any:
    ask = chief.accumulator.take_grad
    return None if ask(chief.aggregate) is None else ask(chief.aggregate)


def _empties(chief: Chief, tokens: list[int]) -> None:
    chief.queue.clear()
    chief.queue.extend(tokens)


none_at_start = _with(at_start=lambda chief, asked: asked)
total_at_start = _with(at_start=lambda chief, asked: chief.total if asked == -1 else asked)
always_default = _with(at_start=lambda chief, asked: chief.aggregate)
asks_for_all = _with(take=lambda chief: chief.accumulator.take_grad(chief.total))
asks_twice = _with(take=_takes_twice)
aggregate_tokens = _with(new=lambda total, aggregate: aggregate)
total_tokens = _with(new=lambda total, aggregate: total)
appends = _with(put=lambda chief, tokens: chief.queue.append(tokens))
floats = _with(put=lambda chief, tokens: chief.queue.extend(map(float, tokens)))
on_the_left = _with(put=lambda chief, tokens: chief.queue.extendleft(tokens))
own_queue = _with(put=lambda chief, tokens: setattr(chief, "queue", tokens))
empties = _with(put=_empties)
no_rate = _with(updated=lambda chief, mean: chief.weights - mean)
uphill = _with(updated=lambda chief, mean: chief.weights + chief.rate * mean)
no_update = _with(updated=lambda chief, mean: chief.weights)
divides_again = _with(updated=lambda me, mean: me.weights - me.rate * mean / me.aggregate)


class AppendsAtStart(Chief):
    def start(self, num_tokens: int) -> None:
        self.queue.append([0] * self.at_start(self, num_tokens))


class OldTokens(Chief):
    def advance(self) -> None:
        self.queue.extend(self.tokens())
        self.global_step += 1


class StepStays(Chief):
    def advance(self) -> None:
        super().advance()
        self.global_step -= 1


class StepForNothing(Chief):
    def turn(self) -> Any:
        self.global_step += 1
        mean = self.take(self)
        if mean is not None:
            self.update(mean)
            self.queue.extend(self.tokens())
        return mean is not None


class ForNothing(Chief):
    def turn(self) -> Any:
        mean = self.take(self)
        if mean is not None:
            self.update(mean)
            self.global_step += 1
        self.queue.extend(self.tokens())
        return mean is not None


class IfNotMean(Chief):
    def turn(self) -> Any:
        mean = self.take(self)
        if not mean:
            return False
        self.update(mean)
        self.advance()
        return True


class CountsFirst(Chief):
    def turn(self) -> Any:
        return self.accumulator.count >= self.aggregate and super().turn()


class InPlace(Chief):
    def update(self, mean: Any) -> None:
        self.weights -= self.rate * mean


class NoWord(Chief):
    def turn(self) -> None:
        super().turn()
