"""Exercise 07.4, the conditional accumulator.

`class ConditionalAccumulator` with `apply_grad(gradient, local_step) -> bool` and
`take_grad(required) -> mean or None` to write. The claim, move by move: a gradient counts unless
its local step is below the accumulator's; once enough are there the mean is over all that counted,
the accumulator is empty again and its step one higher. No gradient is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, listing
from helpers.exercises.drives_sync import accumulator_moves
from helpers.exercises.lesson_07 import accumulator_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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
    return f"{case.name}, move {number + 1}, {what} at global step {step} with {held} held"


def claim(case: Case, seen: Observation) -> str | None:
    """Every call returns what it should, the step is right, and no gradient is changed."""
    found = _first(case, seen)
    if found is not None:
        number, gave, step, fact = found
        start = _start(case, number, fact)
        if step != fact["step"]:
            return f"{start}: the global step is {describe(step)} then, not {fact['step']}."
        return f"{start}: it gave {describe(gave)} instead of {describe(fact['want'])}."
    changed = seen.values[0]["changed"]
    return f"{case.name}, the gradient of move {changed[0] + 1} was changed." if changed else None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong move, and the first gradient that was changed."""
    found, changed = _first(case, seen), seen.values[0]["changed"]
    said: dict[str, Any] = {"changed": changed[0] + 1 if changed else None}
    if found is not None:
        number, gave, _, fact = found
        said |= {"move": _start(case, number, fact), "gave": describe(gave), "held": fact["held"]}
    return said | {"required": case.facts["required"]}


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


def reference() -> Any:
    """The course's own."""
    from helpers.algorithms.servers.accumulators import ConditionalAccumulator

    return ConditionalAccumulator()


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
    mistakes=(Mistake("does not say whether it counts", _no_word),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "changes a worker's gradient",
            wrong.InPlace,
            "the gradient of move {changed} was changed, though it is the worker's: `+=` writes "
            "into it. Make a new tensor: `total = total + gradient`.",
        ),
        WrongAnswer(
            "counts stale gradients",
            wrong.counts_stale,
            "{move}: it counted, but its step is over. A gradient with a lower local step is "
            "stale.",
        ),
        WrongAnswer(
            "drops gradients of this step",
            wrong.drops_equal,
            "{move}: it was dropped, but it is for this very step: only a lower one is stale.",
        ),
        WrongAnswer(
            "drops gradients that are ahead",
            wrong.drops_ahead,
            "{move}: it was dropped, but a local step ahead is not stale: this variable's update "
            "is still to come. Compare with <, not with !=.",
        ),
        WrongAnswer(
            "does not raise the step",
            wrong.StepStays,
            "{move}: the mean was taken, but the global step stays, so late gradients would "
            "count: raise it.",
        ),
        WrongAnswer(
            "gives a mean too early",
            wrong.too_early,
            "{move}: it gave {gave}, before enough gradients are there. Give None until then.",
        ),
        WrongAnswer(
            "raises the step for nothing",
            wrong.StepForNothing,
            "{move}: nothing can be taken yet, and still the global step is raised: return None "
            "first.",
        ),
        WrongAnswer(
            "waits for exactly as many",
            wrong.exactly,
            "{move}: it gave None: more than required is enough too. Compare with <, not with !=.",
        ),
        WrongAnswer(
            "never raises the count",
            wrong.NeverCounts,
            "{move}: it gave None, though {held} are there, and that is enough. Raise `count` "
            "with each gradient that counts, and give None only where it is *below* what is "
            "required.",
        ),
        WrongAnswer(
            "divides by what is required",
            wrong.by_required,
            "{move}: the sum was divided by {required}, but {held} gradients are in it: a chief "
            "that comes late finds more than it asked for. Divide by the number that came.",
        ),
        WrongAnswer(
            "gives the sum",
            wrong.sums,
            "{move}: it gave the sum of the {held}, not their mean.",
        ),
        WrongAnswer(
            "takes the first ones alone",
            wrong.FirstAlone,
            "{move}: it took the first {required} alone; all {held} that came count.",
        ),
        WrongAnswer(
            "never emptied",
            wrong.NeverEmptied,
            "{move}: gradients of earlier steps are still in it. Start anew after each mean: no "
            "sum, no count.",
        ),
        WrongAnswer(
            "the sum is never emptied",
            wrong.sum_kept,
            "{move}: the count starts anew after a mean, but the sum does not.",
        ),
        WrongAnswer(
            "the count is never emptied",
            wrong.count_kept,
            "{move}: the sum starts anew after a mean, but the count does not.",
        ),
        WrongAnswer(
            "stale ones are counted",
            wrong.StaleCounted,
            "{move}: the sum was divided by more than the {held} that are in it: a stale gradient "
            "is not to be counted either. Compare the steps first.",
        ),
        WrongAnswer("says nothing", wrong.SaysNothing, hint="say whether the gradient counts"),
    ),
    ranked=False,
)
