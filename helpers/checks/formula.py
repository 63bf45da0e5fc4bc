"""What exercises hold of a number that a formula gives: it is right to nine digits."""

from helpers.checks.compare import describe, number, told_apart
from helpers.checks.spec import Case, Observation


def wrong_number(case: Case, seen: Observation, said: str, unit: str = "") -> str | None:
    """What is not so, None where all is. said, unit: behind the number that was given, and that
    which is wanted."""
    got, want = number(seen.values[0]), case.facts["want"]
    if got is None:
        gave = describe(seen.values[0])
        gave = f"the text {gave!r}" if type(seen.values[0]) is str else gave
        return f"{case.name}, your function gave {gave}; a number was asked for."
    if not abs(got - want) <= 1e-9 * want:
        has, should = told_apart(got, want)
        return f"{case.name}, you say {has}{said}; it should be {should}{unit}."
    return None


def compared(case: Case, seen: Observation) -> float | None:
    """The number, whatever holds it."""
    return number(seen.values[0])
