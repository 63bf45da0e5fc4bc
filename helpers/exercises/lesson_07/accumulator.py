"""Exercise 07.4, the conditional accumulator.

`class ConditionalAccumulator` with `apply_grad(gradient, local_step) -> bool` and
`take_grad(required) -> mean or None` to write. The claim, move by move: a gradient counts unless
its local step is below the accumulator's; once enough are there the mean is over all that counted,
the accumulator is empty again and its step one higher. No gradient is changed,
and no mean afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.accumulators import ConditionalAccumulator as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, listing, rounded
from helpers.exercises.drives.sync import accumulator_moves
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers

_TOLERANCE = 1e-9
Move = tuple[Any, ...]


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 required, move by move, then 1, 3 and 5 at random; else all at random."""
    random = rng(seed, "07.4")
    made = []
    if not seed:
        gradients = iter([np.round(random.uniform(1, 9, 3), 2) for _ in range(8)])
        steps = (0, None, 0, None, 1, 0, 1, 2, None, 1, 2, None)  # None where the mean is taken
        made.append(
            _case(2, [("take", 2) if s is None else ("push", next(gradients), s) for s in steps])
        )
    for required in (1, 3, 5) if not seed else (2, 1, 3, 5, 4):
        made.append(_case(required, _moves(random, required, 12 + 6 * required)))
    return made


def _moves(random: np.random.Generator, required: int, length: int) -> list[Move]:
    """Moves at random: some gradients come late, some are ahead, some takes too early."""
    moves: list[Move] = []
    step = held = 0
    while len(moves) < length:
        if (held >= required and random.random() < 0.6) or random.random() < 0.15:
            moves.append(("take", required))
            if held >= required:
                step, held = step + 1, 0
            continue
        local = max(step + int(random.choice([-1, 0, 0, 0, 1])), 0)
        moves.append(("push", np.round(random.uniform(1, 9, 3), 2), local))
        held += local >= step
    return moves


def _case(required: int, moves: list[Move]) -> Case:
    """A case with, for each move, what is wanted."""
    held, step, facts = list[np.ndarray](), 0, list[dict[str, Any]]()
    for kind, *rest in moves:
        fact: dict[str, Any] = {"kind": kind, "held": len(held), "before": step}
        if kind == "push":
            fact |= {"local": rest[1], "want": rest[1] >= step}
            held += [rest[0]] * fact["want"]
        elif len(held) < required:
            fact["want"] = None
        else:
            fact["want"] = sum(held) / len(held)
            held, step = [], step + 1
        facts.append({**fact, "step": step})
    name = f"With {count(required, 'gradient')} required"
    return Case(name, ((moves,),), facts={"moves": facts, "required": required})


def _first(case: Case, seen: Observation) -> tuple[int, Any, int, dict[str, Any]] | None:
    """The first wrong move: its number, what it gave, the step then, and the facts."""
    for number, (got, fact) in enumerate(
        zip(seen.values[0]["moves"], case.facts["moves"], strict=True)
    ):
        want, gave = fact["want"], got["gave"]
        right = close(gave, want, _TOLERANCE) if is_array(want) else gave is want
        if not right or got["step"] != fact["step"]:
            return number, gave, got["step"], fact
    return None


def _start(case: Case, number: int, fact: dict[str, Any]) -> str:
    step, held = fact["before"], count(fact["held"], "gradient")
    if fact["kind"] == "push":
        what = f"a gradient of local step {fact['local']}"
    else:
        what = f"`take_grad({case.facts['required']})`"
    return f"move {number + 1}, {what} at global step {step} with {held} held"


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every call returns what it should, the step is right, and no gradient is changed."""
    found, changed = _first(case, seen), seen.values[0]["changed"]
    if found is not None:
        number, gave, step, fact = found
        start = _start(case, number, fact)
        if step != fact["step"]:
            yield (
                f"{start}: the step is {describe(step)} then, not {fact['step']}, one more a mean."
            )
        why = rounded([gave], [fact["want"]])
        yield f"{start}: it gave {describe(gave)} instead of {describe(fact['want'])}{why}."
    if changed:
        yield f"the gradient of move {changed[0] + 1} was changed."
    yield _changes_later(case, seen)


def _changes_later(case: Case, seen: Observation) -> str | None:
    later = seen.values[0]["later"]
    if not later or _first(case, seen) is not None:
        return None
    return (
        f"the mean that move {later[0] + 1} gave was right and changed later: what is given is the "
        "tensor in which the accumulator sums on. Give a new one, `total / count`, or begin the "
        "next sum in a new one."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong move, and the first gradient that was changed."""
    found, changed = _first(case, seen), seen.values[0]["changed"]
    said: dict[str, Any] = {"changed": changed[0] + 1 if changed else None}
    if found is not None:
        number, gave, _, fact = found
        said |= {"move": _start(case, number, fact), "gave": describe(gave), "held": fact["held"]}
    return said | {"required": case.facts["required"]}


def compared(case: Case, seen: Observation) -> Any:
    """The moves as far as they are right and the first that is not; what was changed."""
    found, value = _first(case, seen), seen.values[0]
    moves = value["moves"]
    return value | {"moves": moves if found is None else moves[: found[0] + 1]}


def _no_word(case: Case, seen: Observation) -> str | None:
    found = _first(case, seen)
    if found is None or found[3]["kind"] != "push" or type(found[1]) is bool:
        return None
    number, gave, _, fact = found
    said = f"it gave {describe(gave)}; say whether the gradient counts, True or False."
    return f"{_start(case, number, fact)}: {said}"


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    moves = [fact for case in cases for fact in case.facts["moves"]]
    late = sum(fact["want"] is False for fact in moves)
    asked = [case.facts["required"] for case in cases]
    more = sum(
        is_array(fact["want"]) and fact["held"] > required
        for case, required in zip(cases, asked, strict=True)
        for fact in case.facts["moves"]
    )
    return (
        f"Passed with {listing(sorted(asked))} required: {late} stale gradients dropped, {more} "
        "means over more than were required."
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


_ALL_COUNT = "{move}: all {held} count, not {required}."
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
    come. Compare with <, not with !=.
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
    {move}: it gave None, though {held} are there, and that is enough. Raise `count` with each
    gradient that counts, and give None only where it is *below* what is required.
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
    ! all_count
last ones alone
    | self.total + gradient => [*(self.total or ()), gradient]
    | self.total / self.count => sum(self.total[-required:]) / required
    ! all_count
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
    stars=2,
    minutes=15,
    points=3,
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
    wrong=wrong_answers("07.4", WRONG, Plain, all_count=_ALL_COUNT),
    ranked=False,
    unseen={"later": "whether an earlier result is written into"},
)
