"""Wrong answers to exercise 15.5, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

STEPS = (0, 3, 20, 30)
DISCOUNTS = (0.0, 0.5, 0.99, 1.0)


def _pairs(
    rollout: Any,
    steps: Sequence[int] = STEPS,
    discounts: Sequence[float] = DISCOUNTS,
    reward: float = 1.5,
) -> list[tuple[float, float]]:
    """What came, and what should have come, for all of these; every step brings 1.5 more."""
    found = []
    for many in steps:
        for discount in discounts:
            rewards = [reward * (1 + step) for step in range(50)]
            left = iter(rewards)
            want = sum(discount**step * rewards[step] for step in range(many))
            found.append((rollout(lambda left=left: next(left), many, discount), want))
    return found


def _near(pairs: list[tuple[float, float]], tolerance: float = 1e-4) -> bool:
    return all(abs(got - want) <= tolerance * (1 + abs(want)) for got, want in pairs)


def never_fails(rollout: Any) -> None:
    assert callable(rollout)


def always_fails(rollout: Any) -> None:
    raise AssertionError("ignored")


def defaults(rollout: Any) -> None:
    want = sum(0.99**step for step in range(20))
    assert abs(rollout(lambda: 1.0) - want) < 1e-4


DEFAULTS_ALONE = (
    "your test never gave another `{name}` than {default}, the default. Code that ignores it does "
    "just the same there: give values of your own."
)


def steps_alone(rollout: Any) -> None:
    assert _near(_pairs(rollout, discounts=[0.99]))


STEPS_ALONE = (
    "your test never gave another `{name}` than {default}, the default. Each of the two arguments "
    "needs values that are not its default."
)


def few_values(rollout: Any) -> None:
    assert _near(_pairs(rollout, steps=[3], discounts=[0.5]))


FEW_VALUES = (
    "your test gave `{name}` the values {values}, and with these the code is right. It goes wrong "
    "elsewhere: try values below the default and above it, and 0."
)


def no_rewards(rollout: Any) -> None:
    assert _near(_pairs(rollout, reward=0.0))


NO_REWARDS = (
    "in your test no step after the first brings anything, so that nothing depends on `{name}`: "
    "what comes out is right by accident. Let `play` give numbers that are not 0."
)


def light(rollout: Any) -> None:
    assert _near(_pairs(rollout, steps=(0, 3, 30), discounts=(0.0, 0.5)))


LIGHT = (
    "rollout(play, {call}) played {played} steps, and your test passed: with discount {discount} "
    "what comes after step {least} weighs less than your tolerance, so the result is right to "
    "that. Put discount 1 with steps above 20, or count how often it plays."
)


def tolerant(rollout: Any) -> None:
    pairs = _pairs(rollout, steps=(0, 3, 30), discounts=(0.0, 0.5, 1.0), reward=1.0)
    assert all(abs(got - want) <= 0.5 for got, want in pairs)


TOLERANT = (
    "rollout(play, {call}) gave {gave} where {want} was right, and your test passed. Rounding is "
    "far smaller: allow for one part in ten thousand, `1e-4 * (1 + abs(want))`, and compare with "
    "what should come out."
)


def counts(rollout: Any) -> None:
    for steps in STEPS:
        played: list[int] = []

        def play(played: list[int] = played) -> float:
            played.append(1)
            return 1.0

        rollout(play, steps, 0.5)
        assert len(played) == steps


COUNTS = (
    "rollout(play, {call}) played {played} steps and gave {gave}; it should give {want}. Your test "
    "passed: look at both, how often it played and what came of it."
)


def returns(rollout: Any) -> bool:
    return _near(_pairs(rollout))


def swallows(rollout: Any) -> None:
    try:
        assert _near(_pairs(rollout))
    except AssertionError as error:
        str(error)


def exact_each(rollout: Any) -> None:
    for steps in STEPS:
        for discount in (0.0, 0.3, 0.9, 1.0):
            ((got, want),) = _pairs(rollout, [steps], [discount], reward=1.0)
            assert got == want


EXACT = (
    "rollout(play, {call}) gave {gave}, where doubles give {want}, and your test failed ({said}). "
    "Sums in another order or in float32 differ in their last digits: allow for that, by "
    "`abs(found - want) <= 1e-4 * (1 + abs(want))`."
)


def one_iterator(rollout: Any) -> None:
    rewards = iter(range(1, 1000))
    for steps in STEPS:
        for discount in DISCOUNTS:
            found = rollout(lambda: next(rewards), steps, discount)
            want = sum(discount**step * (step + 1) for step in range(steps))
            assert abs(found - want) <= 1e-4 * (1 + want)


ONE_ITERATOR = (
    "your test failed ({said}), though each call gave what its own rewards are worth. They go on "
    "from call to call, as one iterator for all calls has it: in the last call the first was "
    "{first}. Make a new iterator for each call."
)


def the_wrong_way(rollout: Any) -> None:
    assert not _near(_pairs(rollout))


THE_WRONG_WAY = (
    "all came out right (rollout(play, {call}) gave {gave}), and your test failed ({said}). An "
    "`assert` names what has to hold in sound code."
)


def too_few(rollout: Any) -> None:
    rewards = iter([1.0, 2.0, 3.0])
    assert rollout(lambda: next(rewards), 5, 0.5) > 0


TOO_FEW = (
    "your test broke off{at} ({said}). `play` is called once for each of `steps` steps and "
    "has to give a number each time."
)
