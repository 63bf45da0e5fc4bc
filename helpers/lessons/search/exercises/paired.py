"""Exercise 16.6, whether one classifier is better than another: the paired test.

`paired_p_value(first, second) -> float`: how likely two that are equally good differ so much, by
the rows on which just one of them is right. The claim: twice the binomial tail, 1 at most, to nine
digits. McNemar (1947), with the binomial distribution itself.
"""

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import describe, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.search.algorithms.validation import paired_p_value as reference
from helpers.lessons.search.exercises.chosen import given, if_changed


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 and 9 of 60 rows first; then more the other way, as many, few, none, and 1105."""
    random = rng(seed, "16.6")
    made = []
    counts = [(2, 9, 60), (14, 6, 90), (60, 45, 500), (3, 3, 20), (1, 0, 5), (5, 0, 5), (0, 0, 9)]
    counts.append((532, 573, 1400))  # 2 to the power of so many rows apart is beyond every float
    for one, two, rows in counts:
        if seed and one != two:
            one, two = one + int(random.integers(0, 4)), two + int(random.integers(0, 2))
            rows += int(random.integers(0, 30))
            one, two = min(one, rows - two), two
        both = int(0.8 * (rows - one - two))
        pairs = [(True, False)] * one + [(False, True)] * two + [(True, True)] * both
        pairs += [(False, False)] * (rows - len(pairs))
        pairs = [pairs[at] for at in random.permutation(rows)]
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        name = f"On {rows} rows, {one} of which only the first has right, and {two} only the second"
        facts = {"want": reference(first, second), "counts": (one, two, rows)}
        made.append(Case(name, ((first, second),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits, and the lists as they were."""
    got, want = given(seen), case.facts["want"]
    if got is None:
        gave = describe(returned(seen.values[0]))
        return f"your function gave {gave}; one number from 0 to 1 was asked for."
    if abs(got - want) <= 1e-9 * want:
        return _changed(case, seen)
    one, other = told_apart(got, want)
    return f"you say {one}; it should be {other}."


_changed = if_changed(
    "your function changes a list that it was given: whoever compares `first` with another one "
    "after it finds other rows. Count without `pop` and without writing."
)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    one, two, rows = case.facts["counts"]
    got, want = told_apart(given(seen) or 0.0, case.facts["want"])
    many = {"one": one, "few": min(one, two), "apart": one + two, "same": rows - one - two}
    return {"said": f"you say {got} instead of {want}", "rows": rows, **many}


def _no_rows(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("ZeroDivisionError", "ValueError") or sum(case.facts["counts"][:2]):
        return None
    return (
        f"your function raised {seen.kind}: nothing tells the two apart, so the "
        "difference is as likely as can be, 1.0. The sum over k from 0 to 0 gives that by itself."
    )


def _beyond_floats(case: Case, seen: Observation) -> str | None:
    if seen.kind != "OverflowError":
        return None
    apart = sum(case.facts["counts"][:2])
    return (
        f"your function raised OverflowError: with m = {apart} the ways, or 2 to the power of m, "
        "are beyond every float. Python's whole numbers have no end: add up, multiply by 2, and "
        "divide by `2**m` last."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    one, two, rows = cases[0].facts["counts"]
    got = float(given(seen[0]) or 0.0)
    return (
        f"Passed: {one} rows against {two} of {rows} come about in {100 * got:.1f} % of cases if "
        "both are equally good; 1 row against none always does."
    )


WRONG = """
0 for no difference
    | return min => return apart and min
    {said}: where nothing tells the two apart, the difference is as likely as can be.
one side
    | min(1.0, 2 * tail / 2**apart) => tail / 2**apart
    {said}: that is one side. The other one could have come out as far ahead, so it counts twice.
over 1
    | min(1.0, 2 * tail / 2**apart) => 2 * tail / 2**apart
    {said}: a probability is 1 at most. With as many rows on either side both tails hold the middle,
    which is then counted twice.
all rows
    | apart = only_first + only_second => apart = len(first)
    {said}: you count all {rows} rows. On {same} of them both are right or both are wrong, which
    says nothing of who is better: m is {apart}.
a normal distribution
    | min(1.0, 2 * tail / 2**apart)
        => math.erfc(abs(only_first - only_second) / math.sqrt(2 * apart or 1))
    {said}: that is the tail of a normal distribution, which {apart} rows do not follow well. Count
    the ways with `math.comb`.
a normal distribution, corrected
    | min(1.0, 2 * tail / 2**apart)
        => math.erfc(max(abs(only_first - only_second) - 1, 0) / math.sqrt(2 * apart or 1))
    {said}: that is a normal distribution’s tail with its correction of one row. Count the ways with
    `math.comb`, which is exact.
not so many themselves
    | only_second) + 1) => only_second))
    {said}: you count fewer than {few} rows alone. It is {few} or fewer: `range(few + 1)`.
just so many
    | 2 * tail => 2 * math.comb(apart, only_first)
    {said}: that is twice the chance of just {few} rows. As far apart or farther counts: {few} or
    fewer.
numpy's whole numbers
    | return min(1.0, 2 * tail / 2**apart) => with np.errstate(all="ignore"):
        return min(1.0, float(2 * tail / np.int64(2) ** apart))
    {said}: m is one of numpy’s whole numbers, and 2 to the power of {apart} is beyond its 64 bits,
    where it becomes 0. Make m a Python int: `m = int(m)`.
the first one's rows
    | min(only_first, only_second) + 1 => only_first + 1
    {said}: you count the ways that give the first one {one} rows or fewer. The tail is that of the
    worse of the two, {few} or fewer, whichever it is.
uses up the rows
    | return min => first.clear(); second.clear(); return min
    ? changes a list
from the other end
    | min(only_first => max(only_first
    {said}: what comes out as 1 or more was cut to it. A sum up to the better one’s rows is nearly
    everything, and one that is not divided by 2 to the power of {apart} is far beyond 1. The tail
    ends at the worse one’s, {few}, and is a share.
unpaired
    | return min(1.0, 2 * tail / 2**apart)
        => n, one, two = len(first), sum(first), sum(second); share = (one + two) / (2 * n);
        return math.erfc(abs(one - two) / n / math.sqrt(max(share * (1 - share), 1e-12) * 4 / n))
    {said}: you compare two shares as if each had rows of its own. Both were asked the same rows:
    what counts are the {apart} on which just one is right.
the rest to 1
    | return min => return 1 - min
    {said}: that is 1 minus it. Few ways, a small number.
a difference of shares
    | min(1.0, 2 * tail / 2**apart) => abs(only_first - only_second) / len(first)
    {said}: that is by how much their shares of right rows differ, and not how likely that is.
two as a float
    | 2**apart => 2.0**apart
    ? beyond every float
divides by none
    | tail = => share = min(only_first, only_second) / apart; tail =
    ? nothing tells the two apart, so
"""

EXERCISE = Exercise(
    number="16.6",
    title="Better, or luckier?",
    size=Size(stars=2, minutes=10, points=2),
    function="paired_p_value",
    asks=(
        "twice the share of the 2ᵐ ways in which m rows fall that give the worse one as few rows "
        "or fewer, 1 at most; m are the rows on which just one of the two is right."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("divides by no rows", _no_rows, unfinished=True),
        Mistake("beyond floats", _beyond_floats, unfinished=True),
        Mistake("changes a list", _changed),
    ),
    numbers=numbers,
    compared=lambda case, seen: given(seen),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("16.6", WRONG, reference),
    ranked=False,
)
