"""Exercise 15.5, a test for arguments that are ignored.

`test_rollout(rollout)`: fails where `steps` or `discount` does not count. The claim: in every run
it fails on code that takes another value in the place of one of them, always or at some values, and
passes on code that follows both, up to the rounding of float32. The file is long because it holds
two dozen pieces of code to run tests on.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from helpers.checks.compare import listing, short, told_apart
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Observation, Size
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.exercises import under_test

DEFAULTS = {"steps": 20, "discount": 0.99}


class Rolled(NamedTuple):
    """rewards: of each step played. results: the one number that came back, or none."""

    steps: int
    discount: float
    rewards: list[float]
    results: list[float]


def rolling(text: str, notes: under_test.Notes) -> under_test.Code:
    """Notes a Rolled for each call."""
    code = under_test.compiled(text)

    def rollout(play: Callable[[], float], *args: Any, **options: Any) -> Any:
        given: dict[str, Any] = DEFAULTS | dict(zip(DEFAULTS, args, strict=False)) | options
        note = Rolled(given["steps"], given["discount"], [], [])
        notes.append(note)

        def noted() -> float:
            reward = play()
            note.rewards.append(float(reward))
            return reward

        result = code(noted, *args, **options)
        note.results.append(float(result))
        return result

    return rollout


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


FAULTY = """
`steps` is ignored
    | range(steps) => range(20)
    ! steps
`discount` is ignored
    | *= discount => *= 0.99
`steps` is ignored above 20
    | range(steps) => range(min(steps, 20))
    ! steps
a `discount` of 0 is ignored
    | *= discount => *= discount or 0.99
`steps` of 0 are ignored
    | range(steps) => range(steps or 20)
    ! steps
a `discount` above 0.99 is ignored
    | *= discount => *= min(discount, 0.99)
each step is discounted twice
    | *= discount => *= discount * discount
a `discount` of 1 counts as 0.999
    | *= discount => *= min(discount, 0.999)
at least one step is played
    | range(steps) => range(max(steps, 1))
    ! steps
a `discount` below 0.1 counts as 0.1
    | *= discount => *= max(discount, 0.1)
"""
HIDDEN_FAULTY = """
one of two settings is not renewed
    | total, => settings = {"steps": 20, "discount": 0.99}; settings["discount"] = discount; total,
    | range(steps) => range(int(settings["steps"]))
    | *= discount => *= settings["discount"]
    ! steps
an argument is not handed on
    | *= discount => *= (lambda discount=0.99: discount)()
`steps` is ignored below 20
    | range(steps) => range(max(steps, 20))
    ! steps
a `discount` of 0 counts as 1
    | *= discount => *= discount if discount > 0 else 1.0
`steps` is ignored above 20
    | range(steps) => range(min(steps, 20))
    ! steps
`steps` of 0 count as 1
    | range(steps) => range(steps or 1)
    ! steps
a `discount` above 0.998 counts as 0.998
    | *= discount => *= min(discount, 0.998)
the root of `discount` is taken
    | *= discount => *= discount**0.5
a `discount` below 0.15 counts as 0.15
    | *= discount => *= max(discount, 0.15)
"""
SOUND = """
adds up as it plays
    = in_a_loop
plays, then adds up from behind
    | for _ in range(steps): total += factor * play() factor *= discount
        => for reward in [play() for _ in range(steps)][::-1]: total = reward + discount * total
adds up in float32
    | 0.0, 1.0 => np.float32(0), np.float32(1)
    | total += factor * play() => total = np.float32(total + factor * np.float32(play()))
    | factor *= discount => factor = np.float32(factor * np.float32(discount))
    | return total => return float(total)
"""
HIDDEN_SOUND = """
a product of vectors in float32
    | for _ in range(steps): total += factor * play() factor *= discount
        => rewards = np.array([play() for _ in range(steps)], dtype=np.float32)
    | return total
        => return float(rewards @ np.power(float(discount), np.arange(steps)).astype(np.float32))
calls itself
    | for _ in range(steps): total += factor * play() factor *= discount
        => total = play() + discount * in_a_loop(play, steps - 1, discount) if steps else 0.0
powers of the discount
    | for _ in => for step in
    | factor * play() => discount**step * play()
in two halves
    | for _ in range(steps): total += factor * play() factor *= discount
        => halves = [[play() for _ in range(n)] for n in (steps // 2, steps - steps // 2)]
    | return total => early, late = (sum(discount**k * r for k, r in enumerate(half))
        for half in halves); return float(early + discount ** (steps // 2) * late)
"""


def cases(seed: int) -> list[Case]:
    """Seed 0: ten faults and three sound pieces; else others, in another order."""
    tables = FAULTY, SOUND, HIDDEN_FAULTY, HIDDEN_SOUND
    return under_test.cases_of("15.5", seed, tables, [in_a_loop])


def _right(call: Rolled) -> float:
    """What a call should have given, of what its steps brought."""
    return sum(call.discount**step * r for step, r in enumerate(call.rewards[: call.steps]))


def _off(call: Rolled) -> float:
    """By how much a result is wrong, as a share of 1 and the right one; ∞ where there is none."""
    want = _right(call)
    return abs(call.results[0] - want) / (1 + abs(want)) if call.results else math.inf


def _is_right(call: Rolled, tolerance: float = 1e-5) -> bool:
    return len(call.rewards) == call.steps and _off(call) <= tolerance


def _not_shown(case: Case, run: under_test.Run) -> str | None:
    """Why every call came out right, though the code ignores an argument."""
    name = case.facts["hangs on"] or "discount"
    if all(getattr(call, name) == DEFAULTS[name] for call in run.calls):
        return f"default {name}"
    wrong = [call for call in run.calls if not _is_right(call)]
    if wrong and all(map(_is_near, wrong)):
        return "by little"
    if wrong and not all(map(_weighs_little, wrong)):
        return None
    if not any(any(call.rewards[1:]) for call in run.calls):
        return "no rewards"
    return "weighs little" if wrong else "few values"


def _is_near(call: Rolled) -> bool:
    """Whether a result is wrong, and by less than a half or a fifth, though as much was played as
    asked for.

    What is that near can hide behind a tolerance.
    """
    off = _off(call)
    near = off > 1e-4 and (off < 0.2 or abs(call.results[0] - _right(call)) < 0.5)
    return near and len(call.rewards) == call.steps


def _weighs_little(call: Rolled) -> bool:
    """Whether it played too few steps or too many, and these cannot be seen in the result."""
    few, many = sorted((call.steps, len(call.rewards)))
    most = max(map(abs, call.rewards), default=1.0) * (many / (few or 1))  # rewards may grow
    missed = sum(call.discount**step for step in range(few, many)) * most
    return few < many and _off(call) <= 1e-4 and missed <= 1e-4 * (1 + abs(_right(call)))


def _alarmed(case: Case, run: under_test.Run) -> str | None:
    """Why a test may fail on sound code."""
    # Each call's rewards begin behind those of the call before, as a growing iterator's do.
    rewards = [reward for call in run.calls for reward in call.rewards]
    if all(before < after for before, after in pairwise(rewards)) and run.calls[:-1]:
        return "goes on"
    last = run.calls[-1]
    exact = last.results and last.results[0] != _right(last)
    return "exact" if exact or not all(_is_right(call, 1e-12) for call in run.calls) else None


def told(case: Case, run: under_test.Run) -> dict[str, Any]:
    """What the hints name: what was asked for, and the call that tells most."""
    name, calls = case.facts["hangs on"] or "discount", run.calls
    off = [call for call in calls if not _is_right(call, 1e-12)]
    light = [call for call in off if _weighs_little(call) and call.discount]
    heavy = [call for call in off if not _weighs_little(call)]
    call = [*heavy, *light, *off, calls[-1]][0]
    result, want = call.results[0] if call.results else None, _right(call)
    gave = (short(result), short(want)) if result in (None, want) else told_apart(result, want)
    return {
        "name": name,
        "default": DEFAULTS[name],
        "values": listing(sorted({getattr(each, name) for each in calls})),
        "call": f"steps={call.steps}, discount={call.discount}",
        "gave": gave[0].replace("-", "−"),
        "want": gave[1].replace("-", "−"),
        "played": len(call.rewards),
        "first": short(next((each.rewards[0] for each in reversed(calls) if each.rewards), 0.0)),
        "least": min(len(call.rewards), call.steps),
        "discount": call.discount,
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
a first step that brings nothing
    | 1.5 * (1 + step) => 1.5 * step
    rollout(play, {call}) played other steps than it was asked for, and your test passed: what they
    bring is 0. Let every step bring something, the first one, too.
allows for much
    | (0, 3, 20, 30) => (0, 3, 30)
    | (0.0, 0.5, 0.99, 1.0) => (0.0, 0.5, 1.0)
    | 1.5 * (1 + step) => 1.0 + step
    | <= 1e-4 * (1 + abs(want)) => <= 0.5 + 0.05 * abs(want)
    rollout(play, {call}) gave {gave} where {want} was right, and your test passed. Rounding is far
    smaller: allow for one part in ten thousand, `1e-4 * (1 + abs(want))`, and compare with what
    should come out.
counts the steps alone
    | (0.0, 0.5, 0.99, 1.0) => [0.5]
    | 1.5 * (1 + step) => 1.0
    | abs(found - want) <= 1e-4 * (1 + abs(want)) => len(list(left)) == 50 - steps
    rollout(play, {call}) played {played} steps and gave {gave}; it should give {want}. Your test
    passed: look at both, how often it played and what came of it. {no}
looks, and says nothing
    | assert all(near) => all(near) or str(near)
    ! counts the steps alone
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
    | range(50) => range(5)
    your test broke off{at} ({said}). `play` is called once for each of `steps` steps and has to
    give a number each time.
"""

EXERCISE = Exercise(
    number="15.5",
    title="An argument that nobody heard",
    size=Size(stars=1, minutes=8, points=2),
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
    numbers=under_test.numbers(Rolled, told),
    compared=under_test.compared(Rolled, _not_shown, _alarmed),
    wrong=wrong_answers("15.5", WRONG, many, *under_test.also_wrong(many), **under_test.SAID),
    ranked=False,
)
