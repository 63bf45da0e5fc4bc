"""Exercise 15.5, a test for arguments that are ignored.

`test_rollout(rollout)`: fails where `steps` or `discount` does not count. The
claim: in every run it fails on code that takes another value in the place of one of them, always or
at some values, and passes on code that follows both, up to the rounding of float32.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import listing, short, told_apart
from helpers.exercises.drives_under_test import Run, on_rollouts
from helpers.exercises.drives_watched import Rolled
from helpers.exercises.lesson_15 import rollouts_code as code
from helpers.exercises.lesson_15 import rollouts_wrong as wrong
from helpers.exercises.lesson_15 import under_test
from helpers.exercises.lesson_15.under_test import Piece
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

DEFAULTS = {"steps": 20, "discount": 0.99}
_FAULTY = (
    Piece(code.deaf_to_steps, "`steps` is ignored", "steps"),
    Piece(code.deaf_to_discount, "`discount` is ignored", "discount"),
    Piece(code.at_most_twenty, "`steps` is ignored above 20", "steps"),
    Piece(code.falls_back, "a `discount` of 0 is ignored", "discount"),
    Piece(code.falls_back_to_twenty, "`steps` of 0 are ignored", "steps"),
    Piece(code.at_most_default, "a `discount` above 0.99 is ignored", "discount"),
    Piece(code.twice_a_step, "each step is discounted twice", "discount"),
    Piece(code.at_least_a_tenth, "a `discount` below 0.1 counts as 0.1", "discount"),
)
_SOUND = (
    Piece(code.in_a_loop, "adds up as it plays"),
    Piece(code.from_behind, "plays, then adds up from behind"),
    Piece(code.in_single_precision, "adds up in float32"),
)
_HIDDEN_FAULTY = (
    Piece(code.settings_of_old, "one of two settings is not renewed", "steps"),
    Piece(code.inner_default, "an argument is not handed on", "discount"),
    Piece(code.at_least_twenty, "`steps` is ignored below 20", "steps"),
    Piece(code.one_for_none, "a `discount` of 0 counts as 1", "discount"),
    Piece(code.at_most_twenty, "`steps` is ignored above 20", "steps"),
    Piece(code.one_at_least, "at least one step is played", "steps"),
    Piece(code.below_one, "a `discount` of 1 counts as 0.999", "discount"),
    Piece(code.of_the_root, "the root of `discount` is taken", "discount"),
    Piece(code.never_below, "a `discount` below 0.15 counts as 0.15", "discount"),
)
_HIDDEN_SOUND = (
    Piece(code.by_a_product, "a product of vectors in float32"),
    Piece(code.by_itself, "calls itself"),
    Piece(code.with_powers, "powers of the discount"),
    Piece(code.in_halves, "in two halves"),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: eight faults and three sound pieces; else others, in another order."""
    if not seed:
        return under_test.pieces(code.HEAD, _FAULTY, _SOUND, None)
    return under_test.pieces(code.HEAD, _HIDDEN_FAULTY, _HIDDEN_SOUND, rng(seed, "15.5"))


def claim(case: Case, seen: Observation) -> str | None:
    """It fails in every run on a fault, and in none on sound code."""
    return under_test.claim(case, seen)


def _calls(run: Run) -> list[Rolled]:
    return [Rolled(*call) for call in run.calls]


def _value(call: Rolled, name: str) -> Any:
    given = getattr(call, name)
    return DEFAULTS[name] if given is None else given


def _right(call: Rolled) -> float:
    """What a call should have given, of what its steps brought."""
    first = call.rewards[: int(_value(call, "steps"))]
    return sum(float(_value(call, "discount")) ** step * r for step, r in enumerate(first))


def _is_right(call: Rolled, tolerance: float = 1e-5) -> bool:
    want, played = _right(call), len(call.rewards) == _value(call, "steps")
    near = [abs(result - want) <= tolerance * (1 + abs(want)) for result in call.results]
    return played and near == [True]


def _not_shown(case: Case, run: Run) -> str | None:
    """Why every call came out right, though the code ignores an argument."""
    calls, name = _calls(run), case.facts["argument"]
    if all(_value(call, name) == DEFAULTS[name] for call in calls):
        return f"default {name}"
    wrong = [call for call in calls if not _is_right(call)]
    if wrong and all(_is_near(call) for call in wrong):
        return "by little"
    if wrong and not all(_weighs_little(call) for call in wrong):
        return None
    if not any(any(call.rewards[1:]) for call in calls):
        return "no rewards"
    return "weighs little" if wrong else "few values"


def _is_near(call: Rolled) -> bool:
    """Whether a result is wrong, and by less than a half, though as much was played as asked for.

    What is that near can hide behind a tolerance.
    """
    off = [abs(result - _right(call)) for result in call.results]
    wrong = off and off[0] > 1e-4 * (1 + abs(_right(call)))
    return bool(wrong) and off[0] < 0.5 and len(call.rewards) == _value(call, "steps")


def _weighs_little(call: Rolled) -> bool:
    """Whether it played too few steps or too many, and these cannot be seen in the result."""
    steps, discount = int(_value(call, "steps")), float(_value(call, "discount"))
    few, many = sorted((steps, len(call.rewards)))
    most = max(map(abs, call.rewards), default=1.0) * (many / (few or 1))  # rewards may grow
    want, missed = _right(call), sum(discount**step for step in range(few, many)) * most
    near = [abs(result - want) <= 1e-4 * (1 + abs(want)) for result in call.results]
    return few < many and near == [True] and missed <= 1e-4 * (1 + abs(want))


def _alarmed(case: Case, run: Run) -> str | None:
    """Why a test may fail on sound code."""
    calls = _calls(run)
    if _goes_on([call for call in calls if call.rewards]):
        return "goes on"
    if calls[-1].results and calls[-1].results[0] != _right(calls[-1]):
        return "exact"
    return "exact" if any(not _is_right(call, 1e-12) for call in calls) else None


def _goes_on(calls: list[Rolled]) -> bool:
    """Whether each call's rewards begin behind those of the call before, as one iterator's do."""
    pairs = list(pairwise(calls))
    return bool(pairs) and all(later.rewards[0] > before.rewards[-1] for before, later in pairs)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what was asked for, and the call that tells most."""
    found = under_test.said(case, seen)
    run, name = under_test.wrong_run(case, seen), case.facts["argument"] or "steps"
    found |= {"what": "passed" if case.facts["fault"] else "failed", "name": name}
    if run is None or not run.calls:
        return found
    calls = _calls(run)
    off = [call for call in calls if not _is_right(call, 1e-12)]
    told = next(
        (c for c in off if _weighs_little(c) and _value(c, "discount")), (off or calls[-1:])[0]
    )
    result, want = told.results[0] if told.results else None, _right(told)
    gave = short(result), short(want)
    if result is not None and result != want:
        gave = told_apart(result, want)
    return {
        **found,
        "default": DEFAULTS[name],
        "values": listing(sorted({_value(call, name) for call in calls})),
        "call": f"steps={_value(told, 'steps')}, discount={_value(told, 'discount')}",
        "gave": gave[0].replace("-", "−"),
        "want": gave[1].replace("-", "−"),
        "played": len(told.rewards),
        "first": short(next((c.rewards[0] for c in reversed(calls) if c.rewards), 0.0)),
        "least": min(len(told.rewards), int(_value(told, "steps"))),
        "discount": _value(told, "discount"),
    }


def reference(rollout: Any) -> None:
    """Values below and above the defaults, and 0."""
    for steps in (0, 3, 20, 30):
        for discount in (0.0, 0.5, 0.99, 1.0):
            rewards = iter(range(1, 100))
            found = rollout(lambda rewards=rewards: next(rewards), steps, discount)
            want = sum(discount**step * (step + 1) for step in range(steps))
            assert abs(found - want) <= 1e-4 * (1 + want), (steps, discount, found, want)


EXERCISE = Exercise(
    number="15.5",
    title="An argument that nobody heard",
    stars=1,
    minutes=8,
    points=2,
    function="test_rollout",
    asks=(
        "it fails, in every run, where `rollout(play, steps, discount)` does not "
        "follow `steps` or `discount`, whatever their values, and passes, in every run, where it "
        "does, up to rounding."
    ),
    cases=cases,
    drive=on_rollouts,
    claim=claim,
    praise=under_test.praise,
    reference=reference,
    numbers=numbers,
    compared=under_test.compared(_not_shown, _alarmed),
    wrong=(
        WrongAnswer("never fails", wrong.never_fails, under_test.NEVER_CALLED),
        WrongAnswer("always fails", wrong.always_fails, under_test.NEVER_CALLED),
        WrongAnswer("breaks off", under_test.breaks_off, under_test.BROKE_OFF),
        WrongAnswer("one of the two", wrong.steps_alone, wrong.STEPS_ALONE),
        WrongAnswer("the defaults alone", wrong.defaults, wrong.DEFAULTS_ALONE),
        WrongAnswer("a few values", wrong.few_values, wrong.FEW_VALUES),
        WrongAnswer("rewards of nothing", wrong.no_rewards, wrong.NO_REWARDS),
        WrongAnswer("what weighs nothing", wrong.light, wrong.LIGHT),
        WrongAnswer("allows for much", wrong.tolerant, wrong.TOLERANT),
        WrongAnswer("counts the steps alone", wrong.counts, wrong.COUNTS),
        WrongAnswer("returns its verdict", wrong.returns, under_test.RETURNED),
        WrongAnswer("swallows its own error", wrong.swallows, under_test.SWALLOWED),
        WrongAnswer("to the last bit", wrong.exact_each, wrong.EXACT),
        WrongAnswer("one iterator for all calls", wrong.one_iterator, wrong.ONE_ITERATOR),
        WrongAnswer("fails where both count", wrong.the_wrong_way, wrong.THE_WRONG_WAY),
        WrongAnswer("too few rewards", wrong.too_few, wrong.TOO_FEW),
    ),
    ranked=False,
)
