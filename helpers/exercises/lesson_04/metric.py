"""Exercise 04.4, a metric averaged over the ranks.

`average_metric(hvd, value, rows) -> float` to write. The claim: every rank gets the mean over all
ranks' rows, to 1e-6 (float32 will do), whatever the ranks' rows; a tensor that holds
one number counts as a float, and the praise says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count, describe, is_array, listing, number, worlds
from helpers.exercises.drives_frameworks_runs import on_metric
from helpers.exercises.lesson_04.prepare import not_all_come
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 60, 60 and 7 rows, then 1, 2 and 5; else other values and rows."""
    random, made = rng(seed, "04.4"), []
    shapes = {3: [60, 60, 7], 1: [8], 2: [30, 12], 5: [20, 20, 20, 20, 3]}
    for n in WORLDS:
        rows, values = shapes[n], [round(0.9 - 0.17 * r, 2) for r in range(n)]
        if seed:
            rows = sorted((int(r) for r in random.choice(range(3, 90), n, False)), reverse=True)
            values = [round(float(v), 3) for v in random.uniform(0.1, 2.0, n)]
        name = f"On {count(n, 'rank')} with {listing(rows)} rows"
        args = tuple(zip(values, rows, strict=True))
        made.append(Case(name, args, n, facts={"values": values, "rows": rows}))
    return made


def _want(case: Case) -> float:
    pairs = zip(case.facts["values"], case.facts["rows"], strict=True)
    return float(sum(v * r for v, r in pairs) / sum(case.facts["rows"]))


def _number(got: Any) -> float | None:
    """A number, also from a tensor that holds nothing else."""
    return number(got.reshape(()) if is_array(got) and got.size == 1 else got)


def _near(got: Any, want: float) -> bool:
    value = _number(got)
    return value is not None and abs(value - want) <= _TOLERANCE * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """The mean over all rows, on every rank."""
    for rank, got in enumerate(seen.values):
        if not _near(got, _want(case)):
            said = f"rank {rank} got {describe(got)}; it should get {_want(case):.6g}"
            return f"{case.name}, {said}, the mean over all rows."
    return None


def _if_all(want: Callable[[list[float], list[int], int], Sequence[float]], words: str) -> Any:
    """A recogniser for what the ranks got; want gives it, rank by rank, from values and rows."""

    def look(case: Case, seen: Observation) -> str | None:
        values, rows = case.facts["values"], case.facts["rows"]
        wanted = want(values, rows, case.ranks)
        if not all(_near(g, w) for g, w in zip(seen.values, wanted, strict=True)):
            return None
        return f"{case.name}, " + words.format(
            n=case.ranks, total=sum(rows), got=describe(seen.values[0]), most=rows[0], few=rows[-1]
        )

    return look


def _mean(values: Sequence[float], n: int) -> list[float]:
    return [sum(values) / n] * n


def _products(values: list[float], rows: list[int]) -> list[float]:
    return [v * r for v, r in zip(values, rows, strict=True)]


def _nothing(case: Case, seen: Observation) -> str | None:
    gone = [rank for rank, got in enumerate(seen.values) if _number(got) is None]
    if not gone:
        return None
    return (
        f"{case.name}, rank {gone[0]} gave {describe(seen.values[gone[0]])}: every rank returns "
        "the mean, as a float."
    )


def _plain_number(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "hvd sends tensors" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank}: {seen.text} Put the number into one, "
        "`torch.tensor([value], dtype=torch.float64)`."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    said = f"Passed on {worlds(cases)}: every row counts once, wherever it is."
    if any(is_array(value) for each in seen for value in each.values):
        said += " Yours is no plain float, which counts too; `float(…)` makes it what was promised."
    return said


def reference(hvd: Any, value: float, rows: int) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import average_metric

    return average_metric(hvd, value, rows)


def _reduce(hvd: Any, value: float, sums: bool = True) -> float:
    import torch

    given = torch.tensor([value], dtype=torch.float64)
    return float(hvd.allreduce(given, op=hvd.Sum if sums else hvd.Average))


def no_tensor(hvd: Any, value: float, rows: int) -> Any:
    """Gives Horovod numbers."""
    return hvd.allreduce(value * rows, op=hvd.Sum) / hvd.allreduce(rows, op=hvd.Sum)


def plain_mean(hvd: Any, value: float, rows: int) -> Any:
    """Every rank counts the same."""
    return _reduce(hvd, value, sums=False)


def own(hvd: Any, value: float, rows: int) -> Any:
    """Does not ask the others."""
    return value


def sums(hvd: Any, value: float, rows: int) -> Any:
    """Adds the means up."""
    return _reduce(hvd, value)


def without_product(hvd: Any, value: float, rows: int) -> Any:
    """Sums values and rows as they are."""
    return _reduce(hvd, value) / _reduce(hvd, rows)


def never_divides(hvd: Any, value: float, rows: int) -> Any:
    """Weighs with the rows and does not divide."""
    return _reduce(hvd, value * rows)


def by_own_rows(hvd: Any, value: float, rows: int) -> Any:
    """Divides by its own rows, times the ranks."""
    return _reduce(hvd, value * rows) / (rows * hvd.size())


def averaged_twice(hvd: Any, value: float, rows: int) -> Any:
    """The mean of the weighted values, divided by all rows."""
    return _reduce(hvd, value * rows, sums=False) / _reduce(hvd, rows)


def on_rank_0(hvd: Any, value: float, rows: int) -> Any:
    """Asks on rank 0 alone."""
    if hvd.rank() == 0:
        return reference(hvd, value, rows)
    return value


def returns_on_rank_0(hvd: Any, value: float, rows: int) -> Any:
    """Only rank 0 says it."""
    found = reference(hvd, value, rows)
    return found if hvd.rank() == 0 else None


EXERCISE = Exercise(
    number="04.4",
    title="A metric of all ranks",
    stars=1,
    minutes=8,
    points=2,
    function="average_metric",
    asks="every rank gets Σ value · rows / Σ rows over the ranks.",
    cases=cases,
    drive=on_metric,
    claim=claim,
    mistakes=(
        Mistake("not every rank takes part", not_all_come, unfinished=True),
        Mistake("no tensor", _plain_number, unfinished=True),
        Mistake("no number", _nothing),
        Mistake(
            "own value",
            _if_all(
                lambda v, r, n: v,
                "every rank gave its own value: what rank 0 prints is the loss of its rows alone.",
            ),
        ),
        Mistake(
            "every rank counts the same",
            _if_all(
                lambda v, r, n: _mean(v, n),
                "a rank with {few} rows counts as much as one with {most}: {got} is the mean of "
                "the ranks' means. Let each value count with its rows.",
            ),
        ),
        Mistake(
            "sum of the means",
            _if_all(lambda v, r, n: [sum(v)] * n, "{got} is the sum over {n} ranks, no mean."),
        ),
        Mistake(
            "no product",
            _if_all(
                lambda v, r, n: [sum(v) / sum(r)] * n,
                "the sum of the values was divided by {total} rows: a value is a mean already. "
                "Multiply it by its rows before you sum.",
            ),
        ),
        Mistake(
            "never divides",
            _if_all(
                lambda v, r, n: [sum(_products(v, r))] * n,
                "{got} is a sum over rows: divide it by the {total} rows of all ranks.",
            ),
        ),
        Mistake(
            "averaged twice",
            _if_all(
                lambda v, r, n: [sum(_products(v, r)) / n / sum(r)] * n,
                "averaged twice: the mean over {n} ranks was divided by all rows. Sum both, "
                "value · rows and rows, then divide the one by the other.",
            ),
        ),
        Mistake(
            "divides by its own rows",
            _if_all(
                lambda v, r, n: [sum(_products(v, r)) / n / own for own in r],
                "the sum was divided by a rank's own rows times {n}; the others have other "
                "numbers of rows. Sum the rows as well: {total}.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("plain mean", plain_mean, hint="the mean of the ranks' means"),
        WrongAnswer("own value", own, hint="every rank gave its own value"),
        WrongAnswer("sums", sums, hint="no mean"),
        WrongAnswer("without the product", without_product, hint="Multiply it by its rows"),
        WrongAnswer("never divides", never_divides, hint="a sum over rows"),
        WrongAnswer("divides by its own rows", by_own_rows, hint="Sum the rows as well"),
        WrongAnswer("averages twice", averaged_twice, hint="averaged twice"),
        WrongAnswer("rank 0 asks", on_rank_0, hint="also by those that only receive"),
        WrongAnswer("rank 0 says it", returns_on_rank_0, hint="every rank returns"),
        WrongAnswer("no tensor", no_tensor, hint="Put the number into one"),
    ),
)
