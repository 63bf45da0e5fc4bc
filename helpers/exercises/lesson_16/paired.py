"""Exercise 16.6, whether one classifier is better than another: the paired test.

`paired_p_value(first, second) -> float`: how likely two that are equally good differ so much, by
the rows on which just one of them is right. The claim: twice the binomial tail, 1 at most, to nine
digits. McNemar (1947), with the binomial distribution itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.search.validation import paired_p_value as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number, told_apart
from helpers.exercises.drives_search import call_kept
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Rights = Sequence[bool]


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 and 9 of 60 rows first; then more the other way, as many, few and none."""
    random = rng(seed, "16.6")
    made = []
    counts = [(2, 9, 60), (14, 6, 90), (60, 45, 500), (3, 3, 20), (1, 0, 5), (5, 0, 5), (0, 0, 9)]
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
    got, want = _number(seen), case.facts["want"]
    if got is None:
        gave = describe(returned(seen.values[0]))
        return f"{case.name}, your function gave {gave}; one number from 0 to 1 was asked for."
    if abs(got - want) <= 1e-9 * want:
        return _changed(case, seen)
    one, other = told_apart(got, want)
    return f"{case.name}, you say {one}; it should be {other}."


def _number(seen: Observation) -> float | None:
    """The number that was given, also by who changed the lists."""
    return number(returned(seen.values[0]))


def _changed(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, your function changes a list that it was given: whoever compares `first` "
        "with another one after it finds other rows. Count without `pop` and without writing."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    one, two, rows = case.facts["counts"]
    got, want = told_apart(_number(seen) or 0.0, case.facts["want"])
    few, apart = min(one, two), one + two
    return {
        **{"got": got, "want": want, "one": one, "two": two, "rows": rows},
        **{"few": few, "apart": apart, "same": rows - apart},
    }


def _no_rows(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("ZeroDivisionError", "ValueError") or sum(case.facts["counts"][:2]):
        return None
    return (
        f"{case.name}, your function raised {seen.kind}: nothing tells the two apart, so the "
        "difference is as likely as can be, 1.0. The sum over k from 0 to 0 gives that by itself."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    one, two, rows = cases[0].facts["counts"]
    got = float(_number(seen[0]) or 0.0)
    return (
        f"Passed: {one} rows against {two} of {rows} come about in {100 * got:.1f} % of cases if "
        "both are equally good; 1 row against none always does."
    )


def _tail(apart: int, up_to: int) -> float:
    return sum(math.comb(apart, k) for k in range(up_to + 1)) / 2**apart


def _of(formula: Callable[[int, int, int], float]) -> Callable[[Rights, Rights], float]:
    """An answer by the rows that only one has right, those that only the other has, and all."""

    def paired_p_value(first: Rights, second: Rights) -> float:
        one = sum(a and not b for a, b in zip(first, second, strict=True))
        two = sum(b and not a for a, b in zip(first, second, strict=True))
        return float(formula(one, two, len(first)))

    return paired_p_value


def _unpaired(first: Rights, second: Rights) -> float:
    n, (one, two) = len(first), (sum(first), sum(second))
    share = (one + two) / (2 * n)
    spread = math.sqrt(max(share * (1 - share), 1e-12) * 2 / n)
    return math.erfc(abs(one - two) / n / spread / math.sqrt(2))


def _normal(one: int, two: int, less: int = 0) -> float:
    if one + two == 0:
        return 1.0
    return math.erfc(max(abs(one - two) - less, 0) / math.sqrt(2 * (one + two)))


_one_sided = _of(lambda one, two, n: _tail(one + two, min(one, two)))
_over_1 = _of(lambda one, two, n: 2 * _tail(one + two, min(one, two)))
_all_rows = _of(lambda one, two, n: min(1.0, 2 * _tail(n, min(one, two))))
_normal_plain = _of(lambda one, two, n: _normal(one, two))
_normal_corrected = _of(lambda one, two, n: _normal(one, two, 1))
_without_itself = _of(lambda one, two, n: min(1.0, 2 * _tail(one + two, min(one, two) - 1)))
_just_so = _of(lambda one, two, n: min(1.0, 2 * math.comb(one + two, one) / 2 ** (one + two)))
_first_alone = _of(lambda one, two, n: min(1.0, 2 * _tail(one + two, one)))
_from_above = _of(lambda one, two, n: min(1.0, 2 * _tail(one + two, max(one, two))))
_otherwise = _of(lambda one, two, n: 1 - min(1.0, 2 * _tail(one + two, min(one, two))))
_difference = _of(lambda one, two, n: abs(one - two) / n)
_none_is_0 = _of(
    lambda one, two, n: min(1.0, 2 * _tail(one + two, min(one, two))) if one + two else 0.0
)


def _divides(first: Rights, second: Rights) -> float:
    one = sum(a and not b for a, b in zip(first, second, strict=True))
    two = sum(b and not a for a, b in zip(first, second, strict=True))
    share = min(one, two) / (one + two)
    return min(1.0, 2 * _tail(one + two, round(share * (one + two))))


def _overflows(first: Rights, second: Rights) -> float:
    one, two = (np.array(a) & ~np.array(b) for a, b in ((first, second), (second, first)))
    apart, few = one.sum() + two.sum(), min(one.sum(), two.sum())
    ways = sum(math.comb(apart, k) for k in range(few + 1))
    with np.errstate(all="ignore"):
        return min(1.0, float(2 * ways / np.int64(2) ** apart))


def _pops(first: Any, second: Any) -> float:
    pairs = [(first.pop(), second.pop()) for _ in range(len(first))]
    return reference([a for a, _ in pairs], [b for _, b in pairs])


def _known(name: str, answer: Callable[..., float], what: str) -> WrongAnswer:
    return WrongAnswer(name, answer, f"you say {{got}} instead of {{want}}: {what}")


EXERCISE = Exercise(
    number="16.6",
    title="Better, or luckier?",
    stars=2,
    minutes=10,
    points=2,
    function="paired_p_value",
    asks=(
        "twice the share of the 2ᵐ ways in which m rows fall that give the worse one as few rows "
        "or fewer, 1 at most; m are the rows on which just one of the two is right."
    ),
    cases=cases,
    drive=call_kept,
    claim=claim,
    mistakes=(
        Mistake("divides by no rows", _no_rows, unfinished=True),
        Mistake("changes a list", _changed),
    ),
    numbers=numbers,
    compared=lambda case, seen: _number(seen),
    praise=praise,
    reference=reference,
    wrong=(
        _known(
            "0 for no difference",
            _none_is_0,
            "where nothing tells the two apart, the difference is as likely as can be.",
        ),
        _known(
            "one side",
            _one_sided,
            "that is one side. The other one could have come out as far ahead, so it counts twice.",
        ),
        _known(
            "over 1",
            _over_1,
            "a probability is 1 at most. With as many rows on either side both tails hold the "
            "middle, which is then counted twice.",
        ),
        _known(
            "all rows",
            _all_rows,
            "you count all {rows} rows. On {same} of them both are right or both are wrong, which "
            "says nothing of who is better: m is {apart}.",
        ),
        _known(
            "a normal distribution",
            _normal_plain,
            "that is the tail of a normal distribution, which {apart} rows do not follow well. "
            "Count the ways with `math.comb`.",
        ),
        _known(
            "a normal distribution, corrected",
            _normal_corrected,
            "that is a normal distribution’s tail with its correction of one row. Count the ways "
            "with `math.comb`, which is exact.",
        ),
        _known(
            "not so many themselves",
            _without_itself,
            "you count fewer than {few} rows alone. It is {few} or fewer: `range(few + 1)`.",
        ),
        _known(
            "just so many",
            _just_so,
            "that is twice the chance of just {few} rows. As far apart or farther counts: {few} or "
            "fewer.",
        ),
        _known(
            "numpy's whole numbers",
            _overflows,
            "m is one of numpy’s whole numbers, and 2 to the power of {apart} is beyond its 64 "
            "bits, where it becomes 0. Make m a Python int: `m = int(m)`.",
        ),
        _known(
            "the first one's rows",
            _first_alone,
            "you count the ways that give the first one {one} rows or fewer. The tail is that of "
            "the worse of the two, {few} or fewer, whichever it is.",
        ),
        WrongAnswer("uses up the rows", _pops, hint="changes a list"),
        _known(
            "from the other end",
            _from_above,
            "what comes out as 1 or more was cut to it. A sum up to the better one’s rows is "
            "nearly everything, and one that is not divided by 2 to the power of {apart} is far "
            "beyond 1. The tail ends at the worse one’s, {few}, and is a share.",
        ),
        _known(
            "unpaired",
            _unpaired,
            "you compare two shares as if each had rows of its own. Both were asked the same rows: "
            "what counts are the {apart} on which just one is right.",
        ),
        _known("the rest to 1", _otherwise, "that is 1 minus it. Few ways, a small number."),
        _known(
            "a difference of shares",
            _difference,
            "that is by how much their shares of right rows differ, and not how likely that is.",
        ),
        WrongAnswer("divides by none", _divides, hint="nothing tells the two apart, so"),
    ),
    ranked=False,
)
