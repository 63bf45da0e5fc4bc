"""Exercise 15.5, a test for arguments that are ignored.

`test_rollout(rollout)`: fails where `steps` or `discount` does not count. The claim: in every run
it fails on code that takes another value in the place of one of them, always or at some values, and
passes on code that follows both, up to the rounding of float32. The file is long because it holds
two dozen pieces of code to run tests on.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import listing, short, told_apart
from helpers.exercises.drives.calling import Function, inside
from helpers.exercises.lesson_15 import under_test
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.exercises.table import wrong_answers

DEFAULTS = {"steps": 20, "discount": 0.99}
HEAD = "import numpy as np\nfrom typing import Any\n\n"


class Rolled(NamedTuple):
    """steps, discount: None where left out. rewards: of each step played. results: the one number
    that came back, or none."""

    steps: Any
    discount: Any
    rewards: list[float]
    results: list[float]


def rolling(text: str, notes: under_test.Notes) -> under_test.Code:
    """Notes a Rolled for each call."""
    code = under_test.compiled(text)

    def rollout(play: Callable[[], float], *args: Any, **options: Any) -> Any:
        given = {**dict(zip(("steps", "discount"), args, strict=False)), **options}
        note = Rolled(given.get("steps"), given.get("discount"), [], [])
        notes.append(note)

        def noted() -> float:
            reward = play()
            note.rewards.append(float(reward))
            return reward

        result = code(noted, *args, **options)
        note.results.append(float(result))
        return result

    return rollout


@inside
def on_rollouts(fn: Function, case: Case) -> Observation:
    """A test of code that plays steps and adds up what they bring; see `under_test.observed`."""
    return under_test.observed(fn, case, rolling, under_test.raises)


# --- code under test: r₀ + γ·r₁ + γ²·r₂ + … over `steps` steps, γ being `discount` ----------------
def in_a_loop(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = 0.0, 1.0
    for _ in range(steps):
        total += factor * play()
        factor *= discount
    return total


def from_behind(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards, total = [play() for _ in range(steps)], 0.0
    while rewards:
        total = rewards.pop() + discount * total
    return total


def by_a_product(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards = np.array([play() for _ in range(steps)], dtype=np.float32)
    powers = np.power(float(discount), np.arange(steps)).astype(np.float32)
    return float(rewards @ powers)


def by_itself(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    return play() + discount * by_itself(play, steps - 1, discount) if steps else 0.0


def in_halves(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    first = [play() for _ in range(steps // 2)]
    second = [play() for _ in range(steps - len(first))]
    early = sum(discount**step * reward for step, reward in enumerate(first))
    late = sum(discount**step * reward for step, reward in enumerate(second))
    return float(early + discount ** len(first) * late)


FAULTY = """
`steps` is ignored
    | range(steps) => range(20)
`discount` is ignored
    | *= discount => *= 0.99
    ! discount
`steps` is ignored above 20
    | range(steps) => range(min(steps, 20))
a `discount` of 0 is ignored
    | *= discount => *= discount or 0.99
    ! discount
`steps` of 0 are ignored
    | range(steps) => range(steps or 20)
a `discount` above 0.99 is ignored
    | *= discount => *= min(discount, 0.99)
    ! discount
each step is discounted twice
    | *= discount => *= discount * discount
    ! discount
a `discount` below 0.1 counts as 0.1
    | *= discount => *= max(discount, 0.1)
    ! discount
"""
HIDDEN_FAULTY = """
one of two settings is not renewed
    | total, => settings = {"steps": 20, "discount": 0.99}; settings["discount"] = discount; total,
    | range(steps) => range(int(settings["steps"]))
    | *= discount => *= settings["discount"]
an argument is not handed on
    | *= discount => *= (lambda discount=0.99: discount)()
    ! discount
`steps` is ignored below 20
    | range(steps) => range(max(steps, 20))
a `discount` of 0 counts as 1
    | *= discount => *= discount if discount > 0 else 1.0
    ! discount
`steps` is ignored above 20
    | range(steps) => range(min(steps, 20))
at least one step is played
    | range(steps) => range(max(steps, 1))
a `discount` of 1 counts as 0.999
    | *= discount => *= min(discount, 0.999)
    ! discount
the root of `discount` is taken
    | *= discount => *= discount**0.5
    ! discount
a `discount` below 0.15 counts as 0.15
    | *= discount => *= max(discount, 0.15)
    ! discount
"""
SOUND = """
adds up as it plays
    = in_a_loop
plays, then adds up from behind
    = from_behind
adds up in float32
    | 0.0, 1.0 => np.float32(0), np.float32(1)
    | total += factor * play() => total = np.float32(total + factor * np.float32(play()))
    | factor *= discount => factor = np.float32(factor * np.float32(discount))
    | return total => return float(total)
"""
HIDDEN_SOUND = """
a product of vectors in float32
    = by_a_product
calls itself
    = by_itself
powers of the discount
    | for _ in => for step in
    | factor * play() => discount**step * play()
in two halves
    = in_halves
"""


def _pieces(table: str) -> list[under_test.Piece]:
    others = (from_behind, by_a_product, by_itself, in_halves)
    return under_test.pieces_of("15.5", table, in_a_loop, *others)


def cases(seed: int) -> list[Case]:
    """Seed 0: eight faults and three sound pieces; else others, in another order."""
    if not seed:
        return under_test.pieces(HEAD, _pieces(FAULTY), _pieces(SOUND), None)
    hidden = _pieces(HIDDEN_FAULTY), _pieces(HIDDEN_SOUND)
    return under_test.pieces(HEAD, *hidden, rng(seed, "15.5"))


def _calls(run: under_test.Run) -> list[Rolled]:
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


def _not_shown(case: Case, run: under_test.Run) -> str | None:
    """Why every call came out right, though the code ignores an argument."""
    calls, name = _calls(run), case.facts["argument"] or "steps"
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


def _alarmed(case: Case, run: under_test.Run) -> str | None:
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


def many(rollout: Any) -> None:
    """Nearly the reference: it makes all calls before it says anything."""
    near = []
    for steps in (0, 3, 20, 30):
        for discount in (0.0, 0.5, 0.99, 1.0):
            rewards = [1.5 * (1 + step) for step in range(50)]
            left = iter(rewards)
            found = rollout(lambda left=left: next(left), steps, discount)
            want = sum(discount**step * rewards[step] for step in range(steps))
            near.append(abs(found - want) <= 1e-4 * (1 + abs(want)))
    assert all(near)


def swallows(rollout: Any) -> None:
    try:
        many(rollout)
    except AssertionError as error:
        str(error)


def too_few(rollout: Any) -> None:
    rewards = iter([1.0, 2.0, 3.0])
    assert rollout(lambda: next(rewards), 5, 0.5) > 0


WRONG = """
never fails
    | (0, 3, 20, 30) => ()
    ! never_called
always fails
    | (0, 3, 20, 30) => ()
    | assert => assert not
    ! never_called
breaks off
    = breaks_off
    ! broke_off
one of the two
    | (0.0, 0.5, 0.99, 1.0) => [0.99]
    your test never gave another `{name}` than {default}, the default. Each of the two arguments
    needs values that are not its default.
the defaults alone
    | (0, 3, 20, 30) => [20]
    | (0.0, 0.5, 0.99, 1.0) => [0.99]
    | , steps, discount) => )
    your test never gave another `{name}` than {default}, the default. Code that ignores it does
    just the same there: give values of your own.
a few values
    | (0, 3, 20, 30) => [3]
    | (0.0, 0.5, 0.99, 1.0) => [0.5]
    your test gave `{name}` the values {values}, and with these the code is right. It goes wrong
    elsewhere: try values below the default and above it, and 0.
rewards of nothing
    | 1.5 * => 0.0 *
    in your test no step after the first brings anything, so that nothing depends on `{name}`: what
    comes out is right by accident. Let `play` give numbers that are not 0.
what weighs nothing
    | (0, 3, 20, 30) => (0, 3, 30)
    | (0.0, 0.5, 0.99, 1.0) => (0.0, 0.5)
    rollout(play, {call}) played {played} steps, and your test passed: with discount {discount} what
    comes after step {least} weighs less than your tolerance, so the result is right to that. Put
    discount 1 with steps above 20, or count how often it plays.
allows for much
    | (0, 3, 20, 30) => (0, 3, 30)
    | (0.0, 0.5, 0.99, 1.0) => (0.0, 0.5, 1.0)
    | 1.5 * (1 + step) => 1.0 + step
    | <= 1e-4 * (1 + abs(want)) => <= 0.5
    rollout(play, {call}) gave {gave} where {want} was right, and your test passed. Rounding is far
    smaller: allow for one part in ten thousand, `1e-4 * (1 + abs(want))`, and compare with what
    should come out.
counts the steps alone
    | (0.0, 0.5, 0.99, 1.0) => [0.5]
    | 1.5 * (1 + step) => 1.0
    | abs(found - want) <= 1e-4 * (1 + abs(want)) => len(list(left)) == 50 - steps
    rollout(play, {call}) played {played} steps and gave {gave}; it should give {want}. Your test
    passed: look at both, how often it played and what came of it.
returns its verdict
    | assert => return
    ! returned
swallows its own error
    = swallows
    ! swallowed
to the last bit
    | (0.0, 0.5, 0.99, 1.0) => (0.0, 0.3, 0.9, 1.0)
    | 1.5 * (1 + step) => 1.0 + step
    | near.append(abs(found - want) <= 1e-4 * (1 + abs(want))) => assert found == want
    rollout(play, {call}) gave {gave}, where doubles give {want}, and your test failed ({said}).
    Sums in another order or in float32 differ in their last digits: allow for that, by `abs(found -
    want) <= 1e-4 * (1 + abs(want))`.
one iterator for all calls
    | 1.5 * (1 + step) => 1 + step
    | iter(rewards) => left if near else iter(range(1, 1000))
    | abs(want))) => abs(want))); assert all(near)
    your test failed ({said}), though each call gave what its own rewards are worth. They go on from
    call to call, as one iterator for all calls has it: in the last call the first was {first}. Make
    a new iterator for each call.
fails where both count
    | assert => assert not
    all came out right (rollout(play, {call}) gave {gave}), and your test failed ({said}). An
    `assert` names what has to hold in sound code.
too few rewards
    = too_few
    your test broke off{at} ({said}). `play` is called once for each of `steps` steps and has to
    give a number each time.
"""

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
    claim=under_test.claim,
    praise=under_test.praise,
    reference=reference,
    numbers=numbers,
    compared=under_test.compared(_not_shown, _alarmed),
    wrong=wrong_answers(
        "15.5",
        WRONG,
        many,
        under_test.breaks_off,
        swallows,
        too_few,
        never_called=under_test.NEVER_CALLED,
        broke_off=under_test.BROKE_OFF,
        returned=under_test.RETURNED,
        swallowed=under_test.SWALLOWED,
    ),
    ranked=False,
)
