"""Exercise 18.4, a paired comparison: how much two ways differ on the same seeds, and how surely.

`compare(a, b) -> (difference, low, high, p)`: the mean of b − a pair by pair, its 95 % interval by
Student's t, and the two-sided p of the paired t-test. The claim: the four numbers, to six digits; a
ValueError where there are no pairs, fewer than two, or a run that never arrived.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from helpers.checks.compare import describe, is_array, numbers_in, told_apart
from helpers.checks.drives.calling import Function, plain_call
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.capstone.algorithms.paired import compare as reference

NAMES = ("difference", "lower end of the interval", "upper end of the interval", "p")
Pair = tuple[list[float], list[float]]
Four = tuple[float, float, float, float]


def cases(seed: int) -> list[Case]:
    """Seed 0: five seeds whose seconds scatter more than the ways differ, errors, two seeds,
    twelve, one way twice, equal differences, lists of different length, one pair and none, runs of
    one or of both that never arrived; else others."""
    random = rng(seed, "18.4")

    def some(n: int, level: float, spread: float, gain: float, noise: float) -> Pair:
        shared = level + spread * random.standard_normal(n)
        first = [round(float(x), 2) for x in shared]
        other = shared + gain + noise * random.standard_normal(n)
        return first, [round(float(x), 2) for x in other]

    kinds: list[tuple[str, Pair]] = [
        ("With five seeds that scatter widely", some(5, 60, 15, -6, 3)),
        ("With errors of five seeds", some(5, 9, 1, 0.2, 0.9)),
        ("With two seeds", some(2, 4, 0.5, 0.6, 0.2)),
        ("With twelve seeds", some(12, 300, 40, 25, 30)),
        ("With one way twice", ([4.5, 6.25, 5.0],) * 2),
        ("With four and five seeds", (some(4, 9, 1, 0, 1)[0], some(5, 9, 1, 0, 1)[0])),
        ("With one seed", ([4.5], [6.5])),
    ]
    (a, b), at = some(5, 60, 15, -6, 3), int(random.integers(0, 5))
    lost, longer = ([*x[:at], math.inf, *x[at + 1 :]] for x in (a, b)), some(5, 9, 1, 0, 1)
    first, second = lost
    kinds += [
        ("With a run that never arrived", (a, second)),
        ("With a run of a that never arrived", (first, b)),
        ("With a seed on which neither arrived", (first, second)),
        ("With five and four seeds", (longer[0], longer[1][:4])),
        ("With no seed", ([], [])),
        ("With differences that are all equal", ([4.5, 6.25, 5.0], [7.0, 8.75, 7.5])),
    ]
    made = []
    for name, (a, b) in kinds:
        facts: dict[str, Any] = {"want": "ValueError"}
        with suppress(ValueError):
            facts = {"want": list(reference(a, b)), "apart": list(unpaired(a, b))}
        options = {"refuses": facts["want"] == "ValueError"}
        made.append(Case(name, ((a, b),), options=options, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Four numbers, or a ValueError."""
    value, want = seen.values[0], case.facts["want"]
    if want == "ValueError":
        yield not_refused(case, seen)
        return
    four = _four(value)
    if four is None:
        yield f"you gave {describe(value)}; (difference, low, high, p) was asked for, four numbers."
    elif wrong := _first_wrong(four, want):
        name, has, should = wrong
        yield f"your {name} is {has}; it should be {should}."


def _first_wrong(four: Sequence[float], want: Sequence[float]) -> tuple[str, str, str] | None:
    """The first of the four numbers that is not right: its name, itself, and the right one."""
    for name, got, should in zip(NAMES, four, want, strict=False):
        if not abs(got - should) <= 1e-6 * max(abs(should), 1e-3):
            return name, *told_apart(got, should)
    return None


def not_refused(case: Case, seen: Observation) -> str | None:
    """Numbers where there can be none."""
    if case.facts["want"] != "ValueError" or seen.values[0] == "ValueError":
        return None
    why = "which seed belongs to which is lost"
    if "arrived" in case.name:
        why = (
            "infinity less a number is no mean of anything, and to leave the pair out would leave "
            "out what speaks against that way"
        )
    elif case.name in ("With one seed", "With no seed"):
        why = "one difference, or none, says nothing of how much differences scatter"
    if seen.values[0] == "without a sentence":
        return "your ValueError says nothing. Give it a sentence that says why."
    return f"you gave {describe(seen.values[0])}; {why}. Raise ValueError with a sentence."


def normal(case: Case, seen: Observation) -> str | None:
    """The interval of many runs, whatever p is."""
    a, b = case.args[0]
    four = None if case.options["refuses"] else _four(seen.values[0])
    error = statistics.stdev(y - x for x, y in zip(a, b, strict=True)) / math.sqrt(len(a))
    reach = (four[2] - four[1]) / 2 / error if four and error else 0.0
    if not 1.9599 < reach < 1.9601:
        return None
    return (
        f"your interval is 1.96 standard errors to each side, which hold for many runs. With "
        f"{len(a)}, their spread is known badly itself: Student's t with n − 1 degrees of freedom."
    )


def above_one(case: Case, seen: Observation) -> str | None:
    """The larger side, twice."""
    four, want = _four(seen.values[0]), case.facts["want"]
    if case.options["refuses"] or not four or not math.isclose(four[3], 2 - want[3], rel_tol=1e-6):
        return None
    if four[3] <= 1 or _first_wrong(four[:3], want[:3]):
        return None
    return (
        f"your p is {four[3]:.5g}, and no probability is above 1: that is the larger side, twice. "
        "Asked for is what lies beyond the *absolute* value, on both sides."
    )


def _four(value: Any) -> list[float] | None:
    return numbers_in(value.tolist() if is_array(value) else value, 4)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first of the four numbers that is not right."""
    four, want = _four(seen.values[0]), case.facts["want"]
    wrong = _first_wrong(four, want) if four and want != "ValueError" else None
    what, got, should = wrong or ("", "", "")
    return {"told": f"your {what} is {got} instead of {should}", "n": len(case.args[0][0])}


def compared(case: Case, seen: Observation) -> Any:
    """The four numbers."""
    return _four(seen.values[0]) or seen.values[0]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    difference, low, high, p = cases[0].facts["want"]
    a, apart = cases[0].args[0][0], cases[0].facts["apart"]
    return (
        f"Passed: {difference:+.1f} s, from {low:+.1f} to {high:+.1f}, p = {p:.3f}, on {len(a)} "
        f"seeds that scatter by {max(a) - min(a):.0f} s. Without pairs it would be "
        f"{apart[1]:+.1f} to {apart[2]:+.1f}, p = {apart[3]:.2f}."
    )


def tries_lists(fn: Function, case: Case) -> Observation:
    """Call `fn(a, b)`: `values[0]` is what it gives, or "ValueError" where the case's option
    `refuses` says that one is to be raised, and it was."""
    seen = plain_call(fn, case)
    if not case.options["refuses"] or seen.kind != "ValueError":
        return seen
    return Observation(values=["ValueError" if seen.text.strip() else "without a sentence"])


def student(mean: float, error: float, degrees: float) -> Four:
    """A mean, its 95 % interval, and the p of its being 0."""
    from scipy.stats import t  # type: ignore[import-untyped]

    reach = float(t.ppf(0.975, degrees)) * error
    p = 2 * float(t.sf(abs(mean) / error, degrees)) if error else float(mean == 0)
    return mean, mean - reach, mean + reach, p


def unpaired(a: Sequence[float], b: Sequence[float]) -> Four:
    """The comparison of two lists whose runs have nothing to do with each other."""
    x, y = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    more = statistics.mean(b) - statistics.mean(a)
    return student(more, math.sqrt(x + y), len(a) + len(b) - 2)


def compare(a: Sequence[float], b: Sequence[float]) -> Four:
    """What the patches change: the course's own, in parts."""
    reference(a, b)  # raises what is to be raised
    d = [y - x for x, y in zip(a, b, strict=True)]
    mean, error = statistics.mean(d), statistics.stdev(d) / math.sqrt(len(d))
    return student(mean, error, len(d) - 1)


WRONG = """
without pairs
    | student(mean, error, len(d) - 1) => unpaired(a, b)
    {told}: you compared the two lists as if their runs had nothing to do with each other. Runs of
    one seed begin with the same weights and see the same batches: take the difference of each pair.
without pairs, Welch's
    | student(mean, error, len(d) - 1) => unpaired(a, b)
    | len(a) + len(b) - 2 => (x + y) ** 2 / (x**2 / (len(a) - 1) + y**2 / (len(b) - 1))
    {told}: that is Welch's test of two lists that have nothing to do with each other. Runs of one
    seed belong together: take the difference of each pair.
p without pairs
    | student(mean, error, len(d) - 1) => *reference(a, b)[:3], unpaired(a, b)[3]
    {told}: your p is that of two lists without pairs (`ttest_ind`). Runs of one seed belong
    together: `ttest_rel`, or `ttest_1samp` of the differences.
the other way round
    | y - x for => x - y for
    {told}: you took a − b. Asked for is b − a: how much more b takes.
sorted before
    | zip(a, b, strict=True) => zip(sorted(a), sorted(b), strict=True)
    {told}: you sorted the lists, and so paired the quickest with the quickest, whatever their
    seeds.
the normal distribution
    | t.ppf(0.975, degrees) => 1.96
    {told}: 1.96 standard errors hold for many runs. With {n}, their spread is known badly itself:
    Student's t with n − 1 degrees of freedom.
n degrees of freedom
    | len(d) - 1 => len(d)
    {told}: you took n degrees of freedom. One is used up by the mean: n − 1.
degrees of freedom of two lists
    | len(d) - 1 => 2 * len(d) - 2
    {told}: you took 2 n − 2 degrees of freedom, those of two lists. There are n differences: n − 1.
divides by n
    | statistics.stdev => statistics.pstdev
    {told}: your standard deviation divides by n, as `numpy.std` does. From a sample it is n − 1
    (`ddof=1`).
the spread for the error
    | / math.sqrt(len(d)) =>
    {told}: your interval is that of single differences. Their mean is known better: the standard
    deviation over √n.
one-sided p
    | mean + reach, p => mean + reach, p / 2
    {told}: that is the p of one side. Before the runs nobody knew which way it would go: double it.
one-sided interval
    | 0.975 => 0.95
    {told}: with t at 0.95 there are 5 % on each side, which makes 90 % between. Take t at 0.975.
in per cent
    | y - x for => (y - x) / statistics.mean(a) for
    {told}: you divided by the mean of a. Asked for is the difference itself, in the unit of the
    lists.
medians
    | student(mean, error, len(d) - 1)
        => statistics.median(b) - statistics.median(a), *reference(a, b)[1:]
    {told}: that is the difference of the medians. Asked for is the mean of the differences, whose
    interval it has to lie in.
the normal distribution for p
    | 2 * float(t.sf(abs(mean) / error, degrees)) => math.erfc(abs(mean) / error / math.sqrt(2))
    {told}: that is the p of many runs, by the normal distribution. With {n}, it is Student's t with
    n − 1 degrees of freedom.
equal ones are never told apart
    | float(mean == 0) => 1.0
    {told}: where every seed says the same, and it is not 0, nothing is left to chance: p is 0.
equal ones are always told apart
    | float(mean == 0) => 0.0
    {told}: where nothing differs, nothing speaks for a difference: p is 1.
1 − p
    | mean + reach, p => mean + reach, 1 - p
    {told}: you give 1 − p. p is how likely so large a difference is where there is none.
t for p
    | student(mean, error, len(d) - 1) => *reference(a, b)[:3], mean / error if error else 0.0
    {told}: your last number is t itself. p is how likely it is that |t| is as large where there is
    no difference.
without an absolute value
    | abs(mean) / error => mean / error
    ? no probability is above 1
1.96, and its p
    | t.ppf(0.975, degrees) => 1.959963984540054
    | 2 * float(t.sf(abs(mean) / error, degrees)) => math.erfc(abs(mean) / error / math.sqrt(2))
    ? 1.96 standard errors to each side
leaves pairs out
    | reference(a, b) => a, b = zip(*(p for p in zip(a, b, strict=True) if max(p) < math.inf));
        reference(a, b)
    ? speaks against that way
cuts the longer list
    | reference(a, b) => n = min(len(a), len(b)); a, b = a[:n], b[:n]; reference(a, b)
    ? which seed belongs to which
one pair
    | reference(a, b) => if len(a) == len(b) == 1: return (b[0] - a[0],) * 3 + (1.0,)
    ? one difference, or none, says nothing
"""

EXERCISE = Exercise(
    number="18.4",
    title="On the same seeds",
    size=Size(stars=2, minutes=15, points=3),
    function="compare",
    asks=(
        "(difference, low, high, p): the mean of b − a over pairs, its 95 % interval with "
        "Student's t for n − 1 degrees of freedom, and the two-sided p of the paired t-test; "
        "ValueError where there are no pairs, fewer than two, or a run that never arrived."
    ),
    cases=cases,
    drive=tries_lists,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(
        Mistake("does not refuse", not_refused),
        Mistake("1.96 in the interval", normal),
        Mistake("the larger side", above_one),
    ),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("18.4", WRONG, (compare, unpaired, student)),
    ranked=False,
)
