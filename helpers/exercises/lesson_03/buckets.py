"""Exercise 03.4, buckets: which gradients travel together.

`make_buckets(sizes, limit) -> list[list[int]]`: sizes are the parameters' bytes, in the model's
order; a bucket is a list of parameter numbers. Parameters are taken last first, because backward
reaches the last layer first; a bucket is closed once it holds `limit` bytes or more.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, listing
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_03 import buckets_wrong as wrong
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
            facts={"want": wrong.reference(sizes, limit)},
        )
        for sizes, limit in models
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


def _parts(case: Case) -> tuple[list[int], int]:
    sizes, limit = case.args[0]
    return sizes, limit


def _used_up(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `sizes` is another list afterwards: whoever called needs it still. Take "
        "from a copy, `list(sizes)`, or count through the numbers."
    )


def _numbered_from_the_end(case: Case, seen: Observation) -> str | None:
    last = len(_parts(case)[0]) - 1
    if last < 1 or [[last - i for i in bucket] for bucket in _got(seen)] != case.facts["want"]:
        return None
    return (
        f"{case.name}, the groups are right and the numbers are not: they count from the end. "
        "Parameter 0 is the first of `sizes`; `enumerate(reversed(sizes))` numbers the reversed "
        "list."
    )


def _turned_inside(case: Case, seen: Observation) -> str | None:
    got, want = _got(seen), case.facts["want"]
    if [sorted(bucket) for bucket in got] != [sorted(bucket) for bucket in want]:
        return None
    return (
        f"{case.name}, the right parameters share a bucket, in another order: {got}. Inside a "
        "bucket too the last parameter comes first, as backward comes to them."
    )


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


def _bytes(case: Case, seen: Observation) -> str | None:
    sizes, _ = _parts(case)
    if not sizes or _got(seen) != [[sizes[i] for i in b] for b in case.facts["want"]]:
        return None
    return (
        f"{case.name}, the groups are right, and hold the parameters' bytes: a bucket is a list of "
        "their numbers."
    )


def _lost(case: Case, seen: Observation) -> str | None:
    sizes, _ = _parts(case)
    missing = sorted(set(range(len(sizes))) - {i for bucket in _got(seen) for i in bucket})
    if not missing:
        return None
    who = (
        f"parameter {missing[0]} is" if len(missing) == 1 else f"parameters {listing(missing)} are"
    )
    if missing == sorted(case.facts["want"][-1]):
        why = "the last bucket is kept too, though it is not full."
    elif missing == [0]:
        why = "your count ends before it. `reversed(range(n))` ends with 0."
    else:
        why = "each belongs into one."
    return f"{case.name}, {who} in no bucket: {why}"


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
    got = returned(seen.values[0]) if seen.values else None
    if type(got) is list and all(
        type(b) in (list, tuple) and all(type(i) is int for i in b) for b in got
    ):
        return None
    return f"{case.name}, you returned {describe(got)}: return a list of lists of whole numbers."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    sizes, limit = _parts(cases[0])
    return f"Passed: sizes {sizes} with limit {limit} make the buckets {_got(seen[0])}."


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
    mistakes=(
        Mistake("no list of lists", _not_lists),
        Mistake("uses up the list", _used_up),
        Mistake("an empty bucket", _empty),
        Mistake("bytes for numbers", _bytes),
        Mistake("loses the last bucket", _lost),
        Mistake("numbered from the end", _numbered_from_the_end),
        Mistake("turned round inside a bucket", _turned_inside),
        Mistake("first parameter first", _forward),
        Mistake("sorted by size", _sorted_by_size),
        Mistake("closes too early", _never_above),
        Mistake("closes too late", _one_more),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("first first", wrong.forward, hint="Backward comes to the last layer first"),
        WrongAnswer(
            "numbers from the end", wrong.numbered_from_the_end, hint="they count from the end"
        ),
        WrongAnswer(
            "bytes for numbers", wrong.bytes_for_numbers, hint="hold the parameters' bytes"
        ),
        WrongAnswer("turned inside", wrong.turned_inside, hint="Inside a bucket too"),
        WrongAnswer("uses up sizes", wrong.used_up, hint="another list afterwards"),
        WrongAnswer("by size", wrong.by_size, hint="sorted by size"),
        WrongAnswer("loses the last", wrong.loses_last, hint="though it is not full"),
        WrongAnswer("counts to 1", wrong.counts_to_one, hint="your count ends before it"),
        WrongAnswer("leaves an empty one", wrong.leaves_empty, hint="one bucket is empty"),
        WrongAnswer("never above", wrong.never_above, hint="before the limit"),
        WrongAnswer("only above", wrong.only_above, hint="(≥, not >)"),
    ),
    ranked=False,
)
