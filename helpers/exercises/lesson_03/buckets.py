"""Exercise 03.4, buckets: which gradients travel together.

`make_buckets(sizes, limit) -> list[list[int]]`: sizes are the parameters' bytes, in the model's
order; a bucket is a list of parameter numbers. Parameters are taken last first, because backward
reaches the last layer first; a bucket is closed once it holds `limit` bytes or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, listing
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LAYERS: tuple[tuple[list[int], int], ...] = (
    ([40, 8, 64, 16, 20, 4], 60),
    ([100, 10, 100, 10], 50),
    ([8, 8, 8, 8], 16),
    ([7], 100),
    ([], 100),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: five small models; else random ones."""
    random = rng(seed, "03.4")
    models = [(list(sizes), limit) for sizes, limit in _LAYERS]
    if seed:
        models = []
        for _ in range(12):
            sizes = [4 * int(s) for s in random.integers(1, 60, int(random.integers(1, 14)))]
            models.append((sizes, 4 * int(random.integers(1, 80))))
        exact = 4 * int(random.integers(1, 9))  # buckets that hold the limit to the byte
        models.append(([exact] * 6, 2 * exact))
    return [
        Case(
            f"With sizes {sizes} and limit {limit}",
            ((sizes, limit),),
            facts={"want": group(sizes, limit)},
        )
        for sizes, limit in models
    ]


def group(sizes: list[int], limit: int) -> list[list[int]]:
    """What is wanted."""
    found: list[list[int]] = []
    held = limit
    for number in reversed(range(len(sizes))):
        if held >= limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += sizes[number]
    return found


def _got(seen: Observation) -> list[list[int]]:
    return [list(bucket) for bucket in seen.values[0]]


def claim(case: Case, seen: Observation) -> str | None:
    """Exactly these buckets, in this order."""
    if _got(seen) == case.facts["want"]:
        return None
    got, want = _got(seen), case.facts["want"]
    if len(got) > len(want):
        return f"{case.name}, there is a bucket too many: {got} instead of {want}."
    at = next((i for i, (g, w) in enumerate(zip(got, want, strict=False)) if g != w), len(got))
    mine = got[at] if at < len(got) else "missing"
    return f"{case.name}, bucket {at} is {mine}; it should be {want[at]}."


def _parts(case: Case) -> tuple[list[int], int]:
    sizes, limit = case.args[0]
    return sizes, limit


def _forward(case: Case, seen: Observation) -> str | None:
    got = [i for bucket in _got(seen) for i in bucket]
    if len(got) < 2 or got != sorted(got):
        return None
    return (
        f"{case.name}, bucket 0 starts with parameter 0. Backward comes to the last layer first: "
        "take the parameters from the last to the first, so that bucket 0 is full first."
    )


def _sorted_by_size(case: Case, seen: Observation) -> str | None:
    sizes, _ = _parts(case)
    got = [sizes[i] for bucket in _got(seen) for i in bucket]
    if len(set(sizes)) < 3 or got not in (sorted(sizes), sorted(sizes, reverse=True)):
        return None
    if [i for bucket in _got(seen) for i in bucket] == list(reversed(range(len(sizes)))):
        return None
    return (
        f"{case.name}, the parameters are sorted by size. A bucket can start when its last "
        "gradient is there, so its members must follow each other in backward: last first."
    )


def _lost(case: Case, seen: Observation) -> str | None:
    sizes, _ = _parts(case)
    missing = sorted(set(range(len(sizes))) - {i for bucket in _got(seen) for i in bucket})
    if not missing:
        return None
    return (
        f"{case.name}, {'parameter' if len(missing) == 1 else 'parameters'} {listing(missing)} "
        "are in no bucket: the last bucket is kept too, though it is not full."
    )


def _empty(case: Case, seen: Observation) -> str | None:
    if [] not in _got(seen):
        return None
    return (
        f"{case.name}, one bucket is empty. Open a new bucket only when there is a parameter to "
        "put into it."
    )


def _never_above(case: Case, seen: Observation) -> str | None:
    sizes, limit = _parts(case)
    for bucket in _got(seen):
        if len(bucket) > 1 and sum(sizes[i] for i in bucket) > limit:
            return None
    for first, second in zip(_got(seen), _got(seen)[1:], strict=False):
        held = sum(sizes[i] for i in first)
        if held < limit and held + sizes[second[0]] > limit:
            return (
                f"{case.name}, a bucket was closed at {held} bytes, before the limit: a bucket "
                f"takes one more parameter as long as it holds less than {limit} bytes."
            )
    return None


def _one_more(case: Case, seen: Observation) -> str | None:
    sizes, limit = _parts(case)
    for bucket in _got(seen):
        before = sum(sizes[i] for i in bucket[:-1])
        if len(bucket) > 1 and before >= limit:
            return (
                f"{case.name}, parameter {bucket[-1]} went into a bucket that held {before} bytes "
                f"already: a bucket is closed once it holds {limit} bytes or more (≥, not >)."
            )
    return None


def _not_lists(case: Case, seen: Observation) -> str | None:
    got = seen.values[0] if seen.values else None
    if type(got) is list and all(
        type(b) in (list, tuple) and all(type(i) is int for i in b) for b in got
    ):
        return None
    return f"{case.name}, you returned {describe(got)}: return a list of lists of whole numbers."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    sizes, limit = _parts(cases[0])
    return f"Passed: sizes {sizes} with limit {limit} make the buckets {_got(seen[0])}."


def reference(sizes: list[int], limit: int) -> list[list[int]]:
    """The course's own."""
    return group(sizes, limit)


def forward(sizes: list[int], limit: int) -> Any:
    """First parameter first."""
    last = len(sizes) - 1
    return [[last - i for i in bucket] for bucket in group(sizes[::-1], limit)]


def by_size(sizes: list[int], limit: int) -> Any:
    """Sorts by size."""
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    return [[order[-1 - i] for i in b] for b in group([sizes[i] for i in reversed(order)], limit)]


def loses_last(sizes: list[int], limit: int) -> Any:
    """Appends a bucket only when it is full."""
    found, bucket = [], []
    for number in reversed(range(len(sizes))):
        bucket.append(number)
        if sum(sizes[i] for i in bucket) >= limit:
            found.append(bucket)
            bucket = []
    return found


def leaves_empty(sizes: list[int], limit: int) -> Any:
    """Opens the next bucket as soon as one is full."""
    found: list[list[int]] = [[]]
    for number in reversed(range(len(sizes))):
        found[-1].append(number)
        if sum(sizes[i] for i in found[-1]) >= limit:
            found.append([])
    return found


def never_above(sizes: list[int], limit: int) -> Any:
    """Closes a bucket before it would go above the limit."""
    found: list[list[int]] = []
    held = 0
    for number in reversed(range(len(sizes))):
        if not found or held + sizes[number] > limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += sizes[number]
    return found


def only_above(sizes: list[int], limit: int) -> Any:
    """Closes a bucket only when it is above the limit."""
    return group(sizes, limit + 1)


EXERCISE = Exercise(
    number="03.4",
    title="Buckets",
    stars=1,
    minutes=10,
    points=2,
    function="make_buckets",
    asks=(
        "lists of parameter numbers, the last parameter first; a bucket is closed once it holds "
        "`limit` bytes or more, and the next parameter opens a new one."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("no list of lists", _not_lists),
        Mistake("an empty bucket", _empty),
        Mistake("loses the last bucket", _lost),
        Mistake("first parameter first", _forward),
        Mistake("sorted by size", _sorted_by_size),
        Mistake("closes too early", _never_above),
        Mistake("closes too late", _one_more),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("first first", forward, "Backward comes to the last layer first"),
        WrongAnswer("by size", by_size, "sorted by size"),
        WrongAnswer("loses the last", loses_last, "in no bucket"),
        WrongAnswer("leaves an empty one", leaves_empty, "one bucket is empty"),
        WrongAnswer("never above", never_above, "before the limit"),
        WrongAnswer("only above", only_above, "(≥, not >)"),
    ),
    ranked=False,
)
