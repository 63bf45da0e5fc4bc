"""The mistakes of exercise 11.4, by what kind of best the bound is."""

from __future__ import annotations

import numpy as np

from helpers.exercises.compare import describe, is_array, number
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11.figures import Array, near, said
from helpers.exercises.spec import Case, Observation

ERRORS = ("squared", "absolute", "largest")
SLACK = 1.05  # of the least error
_ROUNDING = 1e-8  # of the values' mean square: where the least error is 0
_PARTS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999)
_DEVIATIONS = (1, 2, 2.5, 3, 3.5, 4, 5, 6)


def errors_of(values: Array, bound: float, bits: int) -> dict[str, float]:
    """What codes from −bound to bound leave: mean squared, mean absolute and largest error."""
    highest = 2 ** (bits - 1) - 1
    with np.errstate(all="ignore"):  # of a bound so small that it is lost
        steps = np.clip(np.round(values * (highest / bound)), -highest, highest)
        off = np.abs(steps * (bound / highest) - values)
    return {
        "squared": float(np.mean(off * off)),
        "absolute": float(off.mean()),
        "largest": float(off.max()),
    }


def bound_of(seen: Observation) -> float | None:
    """The number that was returned; None where it is none."""
    return number(returned(seen.values[0]))


def _values(case: Case) -> Array:
    return np.asarray(case.args[0][0], np.float64)


def error_of(case: Case, bound: float) -> float:
    """The mean squared error that a bound leaves."""
    return errors_of(_values(case), bound, case.facts["bits"])["squared"]


def limit(case: Case) -> float:
    """The mean squared error that a right bound leaves at most."""
    least: float = case.facts["least"]["squared"]
    return SLACK * least + _ROUNDING * float(np.mean(_values(case) ** 2))


def _highest(case: Case) -> int:
    return int(2 ** (case.facts["bits"] - 1) - 1)


def _about(case: Case) -> str:
    """The best bound, roughly."""
    return said(float(f"{case.facts['best']:.2g}"))


def _beside_the_best(case: Case, bound: float) -> str:
    """Both errors, such as "it leaves 0.19, and 1.5 leaves 0.04"."""
    facts = case.facts
    return (
        f"it leaves a mean squared error of {said(error_of(case, bound))}, where a bound of about "
        f"{_about(case)} leaves {said(facts['least']['squared'])}"
    )


def no_number(case: Case, seen: Observation) -> str | None:
    """Nothing that is one number."""
    value = returned(seen.values[0])
    bound = number(value)
    if bound is not None and np.isfinite(bound):
        return None
    if is_array(value) and value.size == 1 and bound is None:
        return f"{case.name}, you gave {describe(value)}: take the number out of it, by `float`."
    return f"{case.name}, `best_bound` gave {describe(value)}; one number was asked for."


def in_codes(case: Case, seen: Observation) -> str | None:
    """127 or 7."""
    bound, highest = bound_of(seen), _highest(case)
    if bound is None or not any(near(bound, code, 1e-9) for code in (highest, highest + 1)):
        return None
    return (
        f"{case.name}, the bound is {said(bound)}: that is the highest code, or the one after it. "
        "The bound is a value, which gets the highest code: the values here reach "
        f"{said(case.facts['top'])}."
    )


def place(case: Case, seen: Observation) -> str | None:
    """What argmin gives."""
    value = returned(seen.values[0])
    if type(value) is not int and not (is_array(value, ()) and value.dtype.kind in "iu"):
        return None
    return (
        f"{case.name}, you gave the whole number {value}: the place of a candidate in your list? "
        "Give the candidate that stands there."
    )


def least_error(case: Case, seen: Observation) -> str | None:
    """What min gives of the errors."""
    bound, facts = bound_of(seen), case.facts
    if bound is None or not near(bound, facts["least"]["squared"], 0.06):
        return None
    return (
        f"{case.name}, you gave {said(bound)}: that is the error itself, the least one. Give the "
        f"bound that leaves it, about {_about(case)}."
    )


def scale(case: Case, seen: Observation) -> str | None:
    """The best bound over the highest code."""
    bound, highest = bound_of(seen), _highest(case)
    if bound is None or not 0 < bound * highest <= case.facts["top"] * 1.05:
        return None
    if error_of(case, bound * highest) > limit(case):
        return None
    return (
        f"{case.name}, you gave {said(bound)}: that is a scale, one step of a good grid. The bound "
        f"is as far as its highest code reaches, {highest} steps."
    )


def fixed_size(case: Case, seen: Observation) -> str | None:
    """The largest magnitude or more, where the values are far smaller than the candidates."""
    bound, top = bound_of(seen), case.facts["top"]
    if bound is None or top > 0.01 or bound < top * (1 - 1e-5):
        return None
    return (
        f"{case.name}, the bound is {said(bound)}, and the values reach only {said(top)}, as small "
        "as a weight's may be. Are your candidates of a fixed size? Make them parts of the largest "
        "magnitude."
    )


def always_all(case: Case, seen: Observation) -> str | None:
    """The largest magnitude."""
    bound, top = bound_of(seen), case.facts["top"]
    if bound is None or not near(bound, top, 1e-5):
        return None
    return (
        f"{case.name}, the bound is the largest magnitude, {said(top)}. Nothing is cut off, and "
        f"all steps are coarse for the sake of a few values: {_beside_the_best(case, bound)}."
    )


def largest_value(case: Case, seen: Observation) -> str | None:
    """The best bound up to the largest value, which lies below the largest magnitude."""
    bound, top = bound_of(seen), case.facts["top"]
    largest = float(_values(case).max())
    if bound is None or largest > 0.99 * top or not 0 < bound <= largest * (1 + 1e-6):
        return None
    least = min(error_of(case, largest * n / 100) for n in range(1, 101))
    if error_of(case, bound) > SLACK * least:
        return None
    return (
        f"{case.name}, the bound is {said(bound)}. The values end at {said(largest)}, which is the "
        f"largest value, and they reach down to {said(-top)}: a bound holds on both sides of 0. "
        "Look for it up to the largest magnitude, `values.abs().max()`."
    )


def deviations(case: Case, seen: Observation) -> str | None:
    """So many standard deviations."""
    bound, values = bound_of(seen), _values(case)
    if bound is None or values.size < 2:
        return None
    for times in _DEVIATIONS:
        for ddof in (0, 1):
            for middle in (0.0, float(values.mean()), abs(float(values.mean()))):
                if near(bound, middle + times * float(values.std(ddof=ddof)), 1e-5):
                    return (
                        f"{case.name}, the bound {said(bound)} is {times:g} standard deviations, "
                        "whatever the bits and the shape of the values: "
                        f"{_beside_the_best(case, bound)}. Try bounds and compare their errors."
                    )
    return None


def percentile(case: Case, seen: Observation) -> str | None:
    """A quantile, or simply one of the magnitudes."""
    bound, values = bound_of(seen), _values(case)
    if bound is None or bound <= 0 or bound >= case.facts["top"]:
        return None
    magnitudes = np.abs(values)
    known = [np.quantile(of, part) for of in (magnitudes, values) for part in _PARTS]
    known += list(np.quantile(values, [1 - part for part in _PARTS]) * -1)
    if not (
        any(near(bound, float(other)) for other in known)
        or np.any(np.abs(magnitudes - bound) <= 1e-6 * bound)
    ):
        return None
    within = 100 * float(np.mean(magnitudes <= bound * (1 + 1e-6)))
    return (
        f"{case.name}, {within:.4g} % of the magnitudes lie within the bound {said(bound)}; as a "
        f"rule for all values and bits that cannot be best: here {_beside_the_best(case, bound)}. "
        "Try bounds and compare their errors."
    )


def cut_is_free(case: Case, seen: Observation) -> str | None:
    """So small a bound that most values are cut off."""
    bound = bound_of(seen)
    if bound is None or not 0 < bound < 0.5 * case.facts["best"]:
        return None
    beyond = 100 * float(np.mean(np.abs(_values(case)) > bound))
    if beyond < 40:
        return None
    return (
        f"{case.name}, the bound {said(bound)} cuts off {beyond:.0f} % of the values. These lose "
        "more than all others gain by finer steps: compare with the values themselves, all of "
        f"them, before any was cut; {_beside_the_best(case, bound)}."
    )


def _least_by(case: Case, bound: float | None, kind: str, slack: float) -> bool:
    if bound is None or not 0 < bound <= case.facts["top"] * (1 + 1e-6):
        return False
    if error_of(case, case.facts["bests"][kind]) <= limit(case):
        return False  # here both are best, and the mistake is another
    got = errors_of(_values(case), bound, case.facts["bits"])[kind]
    return bool(got <= slack * case.facts["least"][kind])


def eight_bits(case: Case, seen: Observation) -> str | None:
    """The best bound of 8 bits, where there are fewer."""
    bound, facts = bound_of(seen), case.facts
    if bound is None or not 0 < bound <= facts["top"] * (1 + 1e-6) or facts["bits"] == 8:
        return None
    best, least = facts["of 8 bits"]
    if errors_of(_values(case), bound, 8)["squared"] > 1.03 * least:
        return None
    if error_of(case, best) <= limit(case):
        return None
    return (
        f"{case.name}, the bound {said(bound)} would be best for codes of 8 bits. With "
        f"{facts['bits']} bits the steps are coarser, and more is worth cutting: hand `bits` on."
    )


def absolute(case: Case, seen: Observation) -> str | None:
    """The least mean absolute error."""
    bound = bound_of(seen)
    if bound is None or not _least_by(case, bound, "absolute", 1.02):
        return None
    return (
        f"{case.name}, the bound {said(bound)} has the least mean absolute error, which hardly "
        f"minds a few values far off; the squared one does: {_beside_the_best(case, bound)}."
    )


def largest_error(case: Case, seen: Observation) -> str | None:
    """The least of the largest errors."""
    bound = bound_of(seen)
    if bound is None or not _least_by(case, bound, "largest", 1.04):
        return None
    return (
        f"{case.name}, the bound {said(bound)} makes the largest single error as small as can be, "
        f"for the sake of one value; the mean over all was asked for: "
        f"{_beside_the_best(case, bound)}."
    )


def without_the_top(case: Case, seen: Observation) -> str | None:
    """Just below the largest magnitude, where that is best."""
    bound, facts = bound_of(seen), case.facts
    if bound is None or error_of(case, facts["top"]) > limit(case):
        return None
    if not 0.965 * facts["top"] < bound < facts["best"]:
        return None
    return (
        f"{case.name}, the bound is {said(bound)}, and nothing is to be cut here: the largest "
        f"magnitude, {said(facts['top'])}, belongs among the candidates."
    )


def beyond(case: Case, seen: Observation) -> str | None:
    """Further than any value."""
    bound, top = bound_of(seen), case.facts["top"]
    if bound is None or not bound > top * (1 + 1e-6):
        return None
    return (
        f"{case.name}, the bound is {said(bound)}, and no value lies beyond {said(top)}: codes "
        "would be wasted on values that do not occur."
    )


def coarse(case: Case, seen: Observation) -> str | None:
    """Near the best bound, and not near enough."""
    bound, best = bound_of(seen), case.facts["best"]
    if bound is None or not best / 2 < bound < 2 * best or error_of(case, bound) <= limit(case):
        return None
    return (
        f"{case.name}, the bound {said(bound)} is the right size and not yet the best: "
        f"{_beside_the_best(case, bound)}. Your candidates may lie too far apart: take a hundred "
        "or more, up to the largest magnitude."
    )


def written(case: Case, seen: Observation) -> str | None:
    """The argument was changed."""
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `best_bound` wrote into `values`: whoever called it may need them still. "
        "Functions whose names end in `_`, and `out=`, change their tensor."
    )
