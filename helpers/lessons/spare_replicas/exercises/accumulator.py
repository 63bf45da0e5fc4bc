"""Exercise 07.4, the conditional accumulator.

`class ConditionalAccumulator` with `apply_grad(gradient, local_step) -> bool` and
`take_grad(required) -> mean or None` to write. The claim, move by move: a gradient counts unless
its local step is below the accumulator's; once enough are there the mean is over all that counted,
the accumulator is empty again and its step one higher. No gradient is changed,
and no mean afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.compare import (
    agree,
    close,
    count,
    describe,
    is_array,
    listing,
    numbers_in,
    rounded,
)
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.spare_replicas.algorithms.accumulators import (
    ConditionalAccumulator as reference,
)

Move = tuple[Any, ...]


@driver(0)
def accumulator_moves(fn: Function, moves: list[Move]) -> dict[str, Any]:
    """Make an accumulator by `fn()` and one move after the other.

    A move is `("push", gradient, local step)` or `("take", required)`. Gives `{"moves": […],
    "changed": numbers of moves whose gradient was changed, "later": of those that gave what was
    changed by later ones}`; a move is `{"gave", "step"}`, what the call returned and `global_step`
    afterwards. Once a mean is taken the workers write into the gradients that had come.
    """
    seen, pushed, means, changed = list[Any](), list[Any](), list[Any](), list[int]()
    accumulator = fn()
    for number, (kind, *rest) in enumerate(moves):
        if kind == "push":
            pushed.append((number, rest[0], rest[0].clone()))
            gave = accumulator.apply_grad(*rest)
        else:
            gave = accumulator.take_grad(*rest)
            means.append((number, gave, plain(gave)))
        seen.append({"gave": plain(gave), "step": plain(accumulator.global_step)})
        if (kind == "take" and gave is not None) or number == len(moves) - 1:
            changed += [at for at, mine, before in pushed if not torch.equal(mine, before)]
            for _, mine, _ in pushed:
                mine.fill_(-1)
            pushed = []
    later = [number for number, gave, before in means if not agree(plain(gave), before)]
    return {"moves": seen, "changed": changed, "later": later}


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 required, move by move, then 1, 2 and 5 at random; else all at random. Last, what
    gradients may be as well: matrices of float32, zero, equal, infinite, many, far ahead.
    """
    random, made = rng(seed, "07.4"), []
    if not seed:
        gradients = iter([np.round(random.uniform(1, 9, 3), 2) for _ in range(11)])
        # None where the mean is taken. Four that count have one ahead that is not the last.
        steps = (0, 0, None, 0, None, 1, 0, 2, 1, 1, None, 1, 2, 2, None)
        moves = [("take", 3) if step is None else ("push", next(gradients), step) for step in steps]
        made.append(_case(3, Plain(), moves))
    for required in (1, 2, 5) if not seed else (2, 1, 3, 5, 4):
        plain = Plain()
        made.append(_case(required, plain, _moves(random, required, plain)))
    return [*made, _case(0, Plain(), _others(random))]


def _others(random: np.random.Generator) -> Iterator[Move]:
    """Moves with matrices of float32: the mean of one, taken when 2 were asked for in vain; zeros;
    two equal ones; an infinite one; 12 of any steps ahead.
    """
    first, equal, *more = np.round(random.uniform(1, 9, (14, 2, 2)), 2).astype(np.float32)
    yield from (("push", first, 0), ("take", 2), ("take", 1))
    yield from (("push", each, 1) for each in (0 * equal, equal, equal.copy()))
    infinite = first.copy()
    infinite[0, 1] = np.inf
    yield from (("take", 3), ("push", infinite, 2), ("take", 1))
    yield from (("push", each, 3 + int(random.integers(0, 20))) for each in more)
    yield "take", 3


def _moves(random: np.random.Generator, required: int, made: Plain) -> Iterator[Move]:
    """Moves at random: some gradients come late, some are ahead, some takes too early."""
    for _ in range(12 + 6 * required):
        if (made.count >= required and random.random() < 0.6) or random.random() < 0.15:
            yield "take", required
        else:
            local = max(made.global_step + int(random.choice([-1, 0, 0, 0, 1])), 0)
            yield "push", np.round(random.uniform(1, 9, 3), 2), local


def _case(required: int, made: Plain, moves: Iterable[Move]) -> Case:
    """A case with, for each move, how a hint begins and what is wanted. made: makes them."""
    given, facts = list[Move](), list[dict[str, Any]]()
    for number, move in enumerate(moves, 1):
        kind, *rest = move
        held, step = made.count, made.global_step
        is_push = kind == "push"
        needed = required if is_push else rest[0]
        what = f"a gradient of local step {rest[-1]}" if is_push else f"`take_grad({needed})`"
        begin = f"move {number}, {what} at global step {step} with {count(held, 'gradient')} held"
        want = made.apply_grad(*rest) if is_push else made.take_grad(*rest)
        fact = {"move": begin, "held": held, "required": needed}
        facts.append({**fact, "want": want, "step": made.global_step})
        given.append(move)
    name = f"With {count(required, 'gradient')} required" if required else "With float32 matrices"
    return Case(name, ((given,),), facts={"want": facts})


def _first(case: Case, seen: Observation) -> tuple[int, Any, dict[str, Any]] | None:
    """The first wrong move: its number, what was seen, and the facts."""
    pairs = zip(seen.values[0]["moves"], case.facts["want"], strict=True)
    for number, (got, fact) in enumerate(pairs):
        want, gave = fact["want"], got["gave"]
        if not same(gave, want) or got["step"] != fact["step"]:
            return number, got, fact
    return None


def same(gave: Any, want: Any) -> bool:
    """Whether a value is what was wanted; an array of its type, numbers that are none included."""
    if not is_array(want):
        return gave is want
    finite = np.isfinite(want)
    if not is_array(gave, want.shape) or gave.dtype != want.dtype:
        return False
    exact = np.array_equal(gave[~finite], want[~finite], equal_nan=True)
    return exact and close(gave[finite], want[finite], 1e-9 if want.itemsize == 8 else 1e-6)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every call returns what it should, the step is right, and no gradient is changed."""
    found, changed = _first(case, seen), seen.values[0]["changed"]
    if found is not None:
        _, got, fact = found
        move, gave, want, step = fact["move"], got["gave"], fact["want"], describe(got["step"])
        if same(gave, want):
            yield f"{move}: the step is {step} then, not {fact['step']}, one more a mean."
        if is_array(want) and numbers_in(gave, len(want)):
            yield f"{move}: it gave a {type(gave).__name__} of numbers; give the mean as a tensor."
        if is_array(want) and is_array(gave, want.shape) and gave.itemsize > want.itemsize:
            yield f"{move}: it gave a mean of {gave.dtype}, where the gradients are {want.dtype}."
        why = rounded([gave], [want]) if is_array(gave) else ""
        yield f"{move}: it gave {_words(gave)} instead of {_words(want)}{why}."
    if changed:
        yield f"the gradient of move {changed[0] + 1} was changed."
    yield from _changes_later(case, seen)


def _words(value: Any) -> str:
    """As `describe`; of a small matrix its rows."""
    return describe(value.tolist() if is_array(value, (2, 2)) else value)


def _changes_later(case: Case, seen: Observation) -> Iterator[str]:
    later = seen.values[0]["later"]
    if later and _first(case, seen) is None:
        yield (
            f"the mean that move {later[0] + 1} gave was right and changed later: it is a tensor "
            "in which the accumulator sums on, or a gradient, into which its worker writes again. "
            "Give a new one, as `total / count` is."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong move, and the first gradient that was changed."""
    found, changed = _first(case, seen), seen.values[0]["changed"]
    return {"changed": changed[0] + 1 if changed else None, **(found[2] if found else {})}


def compared(case: Case, seen: Observation) -> Any:
    """The moves as far as they are right and the first that is not; what was changed."""
    found, value = _first(case, seen), seen.values[0]
    return value | {"moves": value["moves"][: found[0] + 1 if found else None]}


def _no_word(case: Case, seen: Observation) -> Iterator[str]:
    _, got, fact = _first(case, seen) or (0, {"gave": True}, {"want": None})
    if type(fact["want"]) is bool and type(got["gave"]) is not bool:
        gave = ("the tensor " if is_array(got["gave"]) else "") + describe(got["gave"])
        yield f"{fact['move']}: it gave {gave}; say whether the gradient counts, True or False."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    moves = [fact for case in cases for fact in case.facts["want"]]
    late = sum(fact["want"] is False for fact in moves)
    more = sum(is_array(fact["want"]) and fact["held"] > fact["required"] for fact in moves)
    needed = listing(sorted({fact["required"] for fact in moves} - {0}))
    return (
        f"Passed with {needed} required: {late} "
        f"stale gradients dropped, {more} means over more than were required."
    )


class Plain:
    """The course's own, without what it says to callers who are wrong."""

    def __init__(self) -> None:
        self.global_step = self.count = 0
        self.total: Any = 0.0

    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        if local_step < self.global_step:
            return False
        self.total, self.count = self.total + gradient, self.count + 1
        return True

    def take_grad(self, required: int) -> Any:
        if self.count < required:
            return None
        mean = self.total / self.count
        self.total, self.count = 0.0, 0
        self.global_step += 1
        return mean


WRONG = """
changes a worker's gradient
    | self.total + gradient => self.total.add_(gradient) if self.count else gradient
    the gradient of move {changed} was changed, though it is the worker's: `+=` writes into it. Make
    a new tensor: `total = total + gradient`.
counts stale
    | local_step < self.global_step => False
    {move}: a lower step is stale: drop it.
drops gradients of this step
    | local_step < => local_step <=
    {move}: it was dropped, but it is for this very step: only a lower one is stale.
drops gradients that are ahead
    | local_step < => local_step !=
    {move}: it was dropped, but a local step ahead is not stale: this variable's update is still to
    come. Only a lower one is stale.
the step stays
    | self.global_step += 1 => pass
    {move}: raise the global step.
too early
    | self.count < required => self.count < 1
    {move}: give None before enough are there.
raises the step for nothing
    | return None => self.global_step += 1; return
    {move}: nothing can be taken yet, and still the global step is raised: return None first.
exactly
    | self.count < required => self.count != required
    {move}: more than required is enough too: use <.
never raises the count
    | self.count + 1 => self.count
    {move}: it gave None, though with {held} there are enough. Each gradient that counts
    raises `count`, which a None leaves as it is; give None only where it is *below* what is
    required.
divides by what is required
    | / self.count => / required
    {move}: the sum was divided by {required}, but {held} gradients are in it: a chief that comes
    late finds more than it asked for. Divide by the number that came.
a sum
    | / self.count =>
    {move}: it gave the sum of the {held}, not the mean.
first ones alone
    | self.total + gradient => [*(self.total or ()), gradient]
    | self.total / self.count => sum(self.total[:required]) / required
    {move}: all {held} count, not {required}.
last ones alone
    | self.total + gradient => [*(self.total or ()), gradient]
    | self.total / self.count => sum(self.total[-required:]) / required
    ! first ones alone
not emptied
    | self.count < required => self.count - getattr(self, "taken", 0) < required
    | self.total, self.count = 0.0, 0 => self.taken = self.count
    {move}: earlier steps are in it. Start anew.
the sum is kept
    | self.total, self.count = 0.0, 0 => self.count = 0
    {move}: the old sum is still there.
count is kept
    | self.total, self.count = 0.0, 0 => self.total = 0.0
    {move}: the old count is still there.
stale ones are counted
    | return False => self.count += 1; return False
    {move}: the sum was divided by more than the {held} that are in it: a stale gradient is not to
    be counted either. Compare the steps first.
its own buffer
    | self.total + gradient
        => vars(self).setdefault("own", gradient.clone()).mul_(self.count > 0).add_(gradient)
    | return mean => return self.own.copy_(mean)
    ? sums on
says nothing
    | return False => return
    | return True => return
    ? say whether the gradient counts
"""

EXERCISE = Exercise(
    number="07.4",
    title="The conditional accumulator",
    size=Size(stars=2, minutes=15, points=3),
    function="ConditionalAccumulator",
    asks=(
        "`apply_grad` counts a gradient unless its local step is below the global step; "
        "`take_grad` gives None until enough count, then the mean of all that do, and starts anew "
        "with the next global step."
    ),
    cases=cases,
    drive=accumulator_moves,
    claim=claim,
    mistakes=(
        Mistake("does not say whether it counts", _no_word),
        Mistake("a mean that changes later", _changes_later),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("07.4", WRONG, Plain),
    ranked=False,
)
