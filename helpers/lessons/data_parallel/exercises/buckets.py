"""Exercise 03.4, buckets: which gradients travel together, the last parameter's first."""

from collections.abc import Iterator
from typing import Any

from helpers.checks.compare import describe, is_array, listing
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: small models; else random ones. In some a bucket is a byte short of the limit, or a
    parameter has no elements."""
    random, models = rng(seed, "03.4"), [([40, 8, 64, 16, 20, 4], 60), ([100, 10, 100, 10], 50)]
    models += [([8, 8, 8, 8], 16), ([7], 100), ([], 100), ([2, 1, 59], 60), ([0, 8, 4, 0], 8)]
    if seed:
        exact = 4 * int(random.integers(1, 9))  # buckets that hold the limit to the byte
        models = [([exact] * 6, 2 * exact), ([3, 2, exact], exact + 1), ([0, 0, exact, 0], exact)]
        for unit in [4] * 9 + [1] * 3:
            sizes = [unit * int(s) for s in random.integers(1, 60, int(random.integers(1, 14)))]
            models.append((sizes, unit * int(random.integers(1, 80))))
    return [
        Case(f"With sizes {s} and limit {n}", ((list(s), n),), facts={"want": reference(s, n)})
        for s, n in models
    ]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Exactly these buckets, in this order."""
    got, want = _got(seen), case.facts["want"]
    if len(got) > len(want):
        yield f"there is a bucket too many: {got} instead of {want}."
    for at, bucket in enumerate(want):
        if got[at : at + 1] != [bucket]:
            mine = got[at] if at < len(got) else "missing"
            yield f"bucket {at} is {mine}; it should be {bucket}."
    yield _not_whole(case, seen)
    yield _used_up(case, seen)


def _got(seen: Observation) -> list[list[int]]:
    return [list(bucket) for bucket in returned(seen.values[0])]


def _not_whole(case: Case, seen: Observation) -> str | None:
    numbers: list[Any] = [number for bucket in _got(seen) for number in bucket]
    for number in numbers:
        if type(number) is not int and not (is_array(number, ()) and number.dtype.kind in "iu"):
            return f"{number!r} is no whole number: a bucket lists the numbers of its parameters."
    return None


def _used_up(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        "`sizes` is another list afterwards: whoever called needs it still. Take from a copy, "
        "`list(sizes)`, or count through the numbers."
    )


def _empty(case: Case, seen: Observation) -> str | None:
    if [] not in _got(seen):
        return None
    return "one bucket is empty. Open one only when there is a parameter for it."


def _closed_early(case: Case, seen: Observation) -> Iterator[str]:
    (sizes, limit), got = case.args[0], _got(seen)
    held = [sum(sizes[i] for i in bucket) for bucket in got]
    if any(h > limit and len(b) > 1 for h, b in zip(held, got, strict=True)):
        return
    for this, (first, *_) in zip(held, got[1:], strict=False):
        if this < limit < this + sizes[first]:
            yield (
                f"a bucket was closed at {this} bytes, before the limit: a bucket takes one more "
                f"parameter as long as it holds less than {limit} bytes."
            )


def _closed_late(case: Case, seen: Observation) -> Iterator[str]:
    sizes, limit = case.args[0]
    for *others, last in _got(seen):
        before = sum(sizes[i] for i in others)
        if others and before >= limit:
            yield (
                f"parameter {last} went into a bucket that held {before} bytes already: a bucket "
                f"is closed once it holds {limit} bytes or more"
                f"{' (≥, not >)' if before == limit else ''}."
            )


def _not_lists(case: Case, seen: Observation) -> str | None:
    got = returned(seen.values[0])
    if type(got) in (list, tuple) and all(type(b) in (list, tuple) for b in got):
        return None
    return f"you returned {describe(got)}: return a list of lists of whole numbers."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    got = _got(seen)
    lost = sorted({*range(len(case.args[0][0]))}.difference(*got))
    who = f"parameter {lost[0]} is" if len(lost) == 1 else f"parameters {listing(lost)} are"
    return {"got": got, "lost": who}


def reference(sizes: list[int], limit: int) -> list[list[int]]:
    """The course's own."""
    found: list[list[int]] = []
    held = 0
    for number in reversed(range(len(sizes))):
        if not found or held >= limit:
            found.append([])
            held = 0
        found[-1].append(number)
        held += sizes[number]
    return found


WRONG = """
one flat list
    | return found => return [number for bucket in found for number in bucket]
    ? return a list of lists
uses up sizes
    | return found => sizes.clear(); return found
    ? another list afterwards
never above
    | held >= limit => held + sizes[number] > limit
    ? before the limit
only above
    | held >= limit => held > limit
    ? (≥, not >)
leaves an empty one
    | return found => return found if found and held < limit else [*found, []]
    ? one bucket is empty
carries the rest on
    | found.append([]) held = 0 => found.append([]); held = max(held - limit, 0)
    there is a bucket too many, {got}: bytes of a bucket that is closed are counted in the next one.
    Each begins at 0, also where the one before held more than the limit.
never counts anew
    | found.append([]) held = 0 => found.append([])
    ! carries the rest on
bytes for numbers
    | append(number) => append(sizes[number])
    the groups are right, and hold the parameters' bytes: a bucket lists their numbers.
looks sizes up
    | append(number) => append(sizes.index(sizes[number]))
    {got} names the first parameter of a size for all that are as large, as `sizes.index(…)` does:
    count the numbers along.
loses it
    | return found => return [b for b in found if sum(sizes[i] for i in b) >= limit]
    {lost} in no bucket: the last one is kept, full or not.
loses the first parameter
    | reversed(range(len(sizes))) => range(len(sizes) - 1, 0, -1)
    {lost} in no bucket: your count ends before it. `reversed(range(n))` ends with 0.
numbered from the end
    | append(number) => append(len(sizes) - 1 - number)
    the groups are right and the numbers count from the end, as those of
    `enumerate(reversed(sizes))` do: parameter 0 is the first of `sizes`.
turned round inside a bucket
    | append(number) => insert(0, number)
    the right parameters share a bucket, in another order: {got}. Inside a bucket too the last one
    comes first.
forward
    | reversed(range(len(sizes))) => range(len(sizes))
    bucket 0 starts with parameter 0. Take the last one first.
sorted by size
    | reversed(range(len(sizes))) => sorted(range(len(sizes)), key=lambda i: -sizes[i])
    the parameters are sorted by size. A bucket can start when its last gradient is there, so its
    members must follow each other in backward: last first.
sorted by size, the smallest first
    | reversed(range(len(sizes))) => sorted(range(len(sizes)), key=lambda i: -sizes[i])[::-1]
    ! sorted by size
"""

EXERCISE = Exercise(
    number="03.4",
    title="Buckets",
    size=Size(stars=1, minutes=10, points=2),
    function="make_buckets",
    asks=(
        "lists of parameter numbers, the last parameter first; a bucket is closed once it holds "
        "`limit` bytes or more, and the next parameter opens a new one."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    compared=lambda case, seen: [_got(seen), changed(seen.values[0])],
    mistakes=(
        Mistake("no list of lists", _not_lists),
        Mistake("uses up the list", _used_up),
        Mistake("an empty bucket", _empty),
        Mistake("closes too early", _closed_early),
        Mistake("closes too late", _closed_late),
    ),
    numbers=numbers,
    praise=lambda cases, seen: f"Passed: {cases[0].name.lower()} the buckets are {_got(seen[0])}.",
    reference=reference,
    wrong=wrong_answers("03.4", WRONG, reference),
    ranked=False,
)
