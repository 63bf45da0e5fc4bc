"""Exercise 03.4, buckets: which gradients travel together, the last parameter's first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, listing
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
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
    random, models = rng(seed, "03.4"), list(_LAYERS)
    if seed:
        exact = 4 * int(random.integers(1, 9))  # buckets that hold the limit to the byte
        models = [([exact] * 6, 2 * exact)]
        for _ in range(12):
            sizes = [4 * int(s) for s in random.integers(1, 60, int(random.integers(1, 14)))]
            models.append((sizes, 4 * int(random.integers(1, 80))))
    return [
        Case(f"With sizes {s} and limit {n}", ((list(s), n),), facts={"want": reference(s, n)})
        for s, n in models
    ]


def _got(seen: Observation) -> list[list[int]]:
    return [list(bucket) for bucket in returned(seen.values[0])]


def claim(case: Case, seen: Observation) -> str | None:
    """Exactly these buckets, in this order."""
    if _got(seen) == case.facts["want"]:
        return _used_up(case, seen)
    got, want = _got(seen), case.facts["want"]
    if len(got) > len(want):
        return f"{case.name}, there is a bucket too many: {got} instead of {want}."
    at = next((i for i, (g, w) in enumerate(zip(got, want, strict=False)) if g != w), len(got))
    mine = got[at] if at < len(got) else "missing"
    return f"{case.name}, bucket {at} is {mine}; it should be {want[at]}."


def _used_up(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `sizes` is another list afterwards: whoever called needs it still. Take "
        "from a copy, `list(sizes)`, or count through the numbers."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The buckets, also where they are tuples; and whether `sizes` changed."""
    return [_got(seen), changed(seen.values[0])]


def _lost(case: Case, seen: Observation) -> str:
    lost = sorted(set(range(len(case.args[0][0]))) - {i for bucket in _got(seen) for i in bucket})
    return f"parameter {lost[0]} is" if len(lost) == 1 else f"parameters {listing(lost)} are"


def _empty(case: Case, seen: Observation) -> str | None:
    if [] not in _got(seen):
        return None
    return f"{case.name}, one bucket is empty. Open one only when there is a parameter for it."


def _closed_early(case: Case, seen: Observation) -> str | None:
    sizes, limit = case.args[0]
    held = [sum(sizes[i] for i in bucket) for bucket in _got(seen)]
    if any(h > limit and len(b) > 1 for h, b in zip(held, _got(seen), strict=True)):
        return None
    for this, (first, *_) in zip(held, _got(seen)[1:], strict=False):
        if this < limit < this + sizes[first]:
            return (
                f"{case.name}, a bucket was closed at {this} bytes, before the limit: a bucket "
                f"takes one more parameter as long as it holds less than {limit} bytes."
            )
    return None


def _closed_late(case: Case, seen: Observation) -> str | None:
    sizes, limit = case.args[0]
    for *others, last in _got(seen):
        before = sum(sizes[i] for i in others)
        if others and before >= limit:
            return (
                f"{case.name}, parameter {last} went into a bucket that held {before} bytes "
                f"already: a bucket is closed once it holds {limit} bytes or more"
                f"{' (≥, not >)' if before == limit else ''}."
            )
    return None


def _not_lists(case: Case, seen: Observation) -> str | None:
    got = returned(seen.values[0]) if seen.values else None
    if type(got) is list and all(
        type(b) in (list, tuple) and all(type(i) is int for i in b) for b in got
    ):
        return None
    return f"{case.name}, you returned {describe(got)}: return a list of lists of whole numbers."


def _last_first(sizes: list[int]) -> Iterable[int]:
    return reversed(range(len(sizes)))


def _buckets(
    order: Callable[[list[int]], Iterable[int]] = _last_first,
    full: Callable[[int, int, int], bool] = lambda held, size, limit: held >= limit,
    carried: Callable[[int, int], int] = lambda held, limit: 0,
) -> Callable[[list[int], int], Any]:
    """The course's own, or the parameters in another order, or buckets that are full otherwise:
    of the bytes that a bucket holds, those of the next parameter, and the limit. carried: what a
    full bucket hands on to the count of the next one."""

    def make_buckets(sizes: list[int], limit: int) -> list[list[int]]:
        found: list[list[int]] = []
        held = 0
        for number in order(sizes):
            if not found or full(held, sizes[number], limit):
                found.append([])
                held = carried(held, limit)
            found[-1].append(number)
            held += sizes[number]
        return found

    return make_buckets


def _but(change: Callable[[list[list[int]], list[int], int], Any]) -> Callable[..., Any]:
    """The reference whose buckets are then changed. change: of them, the sizes and the limit."""
    return lambda sizes, limit: change(reference(sizes, limit), sizes, limit)


def _order_by_size(sizes: list[int]) -> list[int]:
    return sorted(range(len(sizes)), key=lambda i: -sizes[i])


reference = _buckets()
_only_above = _buckets(full=lambda held, size, limit: held > limit)
_never_above = _buckets(full=lambda held, size, limit: held + size > limit)
_carries_on = _buckets(carried=lambda held, limit: max(held - limit, 0))
_never_empty = _buckets(carried=lambda held, limit: held)
_forward = _buckets(lambda sizes: range(len(sizes)))
_largest_first = _buckets(_order_by_size)
_smallest_first = _buckets(lambda sizes: _order_by_size(sizes)[::-1])
_counts_to_one = _buckets(lambda sizes: range(len(sizes) - 1, 0, -1))
_turned_inside = _but(lambda found, sizes, limit: [bucket[::-1] for bucket in found])
_from_the_end = _but(lambda found, sizes, limit: [[len(sizes) - 1 - i for i in b] for b in found])
_bytes_for_numbers = _but(lambda found, sizes, limit: [[sizes[i] for i in b] for b in found])
_looks_sizes_up = _but(
    lambda found, sizes, limit: [[sizes.index(sizes[i]) for i in b] for b in found]
)
_only_the_full = _but(
    lambda found, sizes, limit: [b for b in found if sum(sizes[i] for i in b) >= limit]
)
_opens_one_more = _but(
    lambda found, sizes, limit: (
        [*found, []] if not found or sum(sizes[i] for i in found[-1]) >= limit else found
    )
)
_one_flat_list = _but(lambda found, sizes, limit: [i for bucket in found for i in bucket])


def _uses_sizes_up(sizes: list[int], limit: int) -> Any:
    found = reference(sizes, limit)
    sizes.clear()
    return found


_FROM_0 = (
    "there is a bucket too many, {got}: bytes of a bucket that is closed are counted in the next "
    "one. Each begins at 0, also where the one before held more than the limit."
)
_SORTED = (
    "the parameters are sorted by size. A bucket can start when its last gradient is there, so its "
    "members must follow each other in backward: last first."
)

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
    drive=call_with_tensors,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("no list of lists", _not_lists),
        Mistake("uses up the list", _used_up),
        Mistake("an empty bucket", _empty),
        Mistake("closes too early", _closed_early),
        Mistake("closes too late", _closed_late),
    ),
    numbers=lambda case, seen: {"got": _got(seen), "lost": _lost(case, seen)},
    praise=lambda cases, seen: f"Passed: {cases[0].name.lower()} the buckets are {_got(seen[0])}.",
    reference=reference,
    wrong=(
        WrongAnswer("one flat list", _one_flat_list, hint="return a list of lists"),
        WrongAnswer("uses up sizes", _uses_sizes_up, hint="another list afterwards"),
        WrongAnswer("never above", _never_above, hint="before the limit"),
        WrongAnswer("only above", _only_above, hint="(≥, not >)"),
        WrongAnswer("leaves an empty one", _opens_one_more, hint="one bucket is empty"),
        WrongAnswer("carries the rest on", _carries_on, _FROM_0),
        WrongAnswer("never counts anew", _never_empty, _FROM_0),
        WrongAnswer(
            "bytes for numbers",
            _bytes_for_numbers,
            "the groups are right, and hold the parameters' bytes: a bucket lists their numbers.",
        ),
        WrongAnswer(
            "looks sizes up",
            _looks_sizes_up,
            "{got} names the first parameter of a size for all that are as large, as "
            "`sizes.index(…)` does: count the numbers along.",
        ),
        WrongAnswer(
            "loses it", _only_the_full, "{lost} in no bucket: the last one is kept, full or not."
        ),
        WrongAnswer(
            "loses the first parameter",
            _counts_to_one,
            "{lost} in no bucket: your count ends before it. `reversed(range(n))` ends with 0.",
        ),
        WrongAnswer(
            "numbered from the end",
            _from_the_end,
            "the groups are right and the numbers count from the end, as those of "
            "`enumerate(reversed(sizes))` do: parameter 0 is the first of `sizes`.",
        ),
        WrongAnswer(
            "turned round inside a bucket",
            _turned_inside,
            "the right parameters share a bucket, in another order: {got}. Inside a bucket too the "
            "last one comes first.",
        ),
        WrongAnswer(
            "forward", _forward, "bucket 0 starts with parameter 0. Take the last one first."
        ),
        WrongAnswer("sorted by size", _largest_first, _SORTED),
        WrongAnswer("sorted by size, the smallest first", _smallest_first, _SORTED),
    ),
    ranked=False,
)
