"""Exercise 04.4, a metric averaged over the ranks.

The claim: the mean over all ranks' rows, to 1e-6 (float32 will do); a tensor that holds one number
counts as a float, and the praise says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.devices.framework_steps import average_metric as reference
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count, describe, is_array, listing, number, worlds
from helpers.exercises.drives_frameworks_runs import on_metric
from helpers.exercises.lesson_04.replicas import not_all_come
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


def claim(case: Case, seen: Observation) -> str | None:
    """The mean over all rows, on every rank."""
    want = _want(case)
    for rank, got in enumerate(seen.values):
        value = _number(got)
        if value is None or not abs(value - want) <= _TOLERANCE * abs(want):
            said = f"rank {rank} got {describe(got)}; it should get {want:.6g}"
            return f"{case.name}, {said}, the mean over all rows."
    return None


def _plain_number(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "hvd sends tensors" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank}: {seen.text} Put the number into one, "
        "`torch.tensor([value], dtype=torch.float64)`."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever they are."""
    found = [_number(got) for got in seen.values]
    return "no number" if None in found else found


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    gone = [rank for rank, got in enumerate(seen.values) if _number(got) is None]
    rows = case.facts["rows"]
    return {
        "n": case.ranks,
        "total": sum(rows),
        "most": rows[0],
        "few": rows[-1],
        "got": describe(seen.values[0]),
        "rank": gone[0] if gone else None,
        "gave": describe(seen.values[gone[0]]) if gone else "",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    said = f"Passed on {worlds(cases)}: every row counts once, wherever it is."
    if any(is_array(value) for each in seen for value in each.values):
        said += " Yours is no plain float, which counts too; `float(…)` makes it what was promised."
    return said


def _changed(
    result: Callable[[float, float, int, int], float],
    given: Callable[[float, int], Sequence[float]] = lambda value, rows: (value * rows, rows),
) -> Callable[..., Any]:
    """The reference with something else given to the sum, or with another result: of the two sums,
    of the number of ranks, and of a rank's own rows."""

    def average_metric(hvd: Any, value: float, rows: int) -> Any:
        import torch

        mine = torch.tensor(given(value, rows), dtype=torch.float64)
        total, everybody = hvd.allreduce(mine, op=hvd.Sum).tolist()
        return result(total, everybody, hvd.size(), rows)

    return average_metric


def _as_they_are(value: float, rows: int) -> Sequence[float]:
    return value, rows


_plain_mean = _changed(lambda total, everybody, n, rows: total / n, _as_they_are)
_sum_of_means = _changed(lambda total, everybody, n, rows: total, _as_they_are)
_rounded = _changed(
    lambda total, everybody, n, rows: total / everybody,
    lambda value, rows: (round(value * rows), rows),
)
_cut_off = _changed(
    lambda total, everybody, n, rows: total / everybody,
    lambda value, rows: (int(value * rows), rows),
)
_without_product = _changed(lambda total, everybody, n, rows: total / everybody, _as_they_are)
_never_divides = _changed(lambda total, everybody, n, rows: total)
_by_own_rows = _changed(lambda total, everybody, n, rows: total / (rows * n))
_averaged_twice = _changed(lambda total, everybody, n, rows: total / n / everybody)


def _own_value(hvd: Any, value: float, rows: int) -> Any:
    reference(hvd, value, rows)
    return value


def _no_tensor(hvd: Any, value: float, rows: int) -> Any:
    return hvd.allreduce(value * rows, op=hvd.Sum) / hvd.allreduce(rows, op=hvd.Sum)


def _an_array(hvd: Any, value: float, rows: int) -> Any:
    total, everybody = hvd.allreduce(np.array([value * rows, rows]), op=hvd.Sum)
    return float(total / everybody)


def _asks_on_rank_0(hvd: Any, value: float, rows: int) -> Any:
    return value if hvd.rank() else reference(hvd, value, rows)


def _says_it_on_rank_0(hvd: Any, value: float, rows: int) -> Any:
    found = reference(hvd, value, rows)
    return None if hvd.rank() else found


_WHOLE = "value · rows was made a whole number: a metric need not count anything. Sum floats."
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
        Mistake("gives plain numbers", _plain_number, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "every rank counts the same",
            _plain_mean,
            "a rank with {few} rows counts as much as one with {most}: {got} is the mean of the "
            "ranks' means. Let each value count with its rows.",
        ),
        WrongAnswer("own value", _own_value, "every rank gave its own value, of its rows alone."),
        WrongAnswer("sum of the means", _sum_of_means, "{got} is the sum over {n} ranks, no mean."),
        WrongAnswer(
            "no product",
            _without_product,
            "the sum of the values was divided by {total} rows: a value is a mean already. "
            "Multiply it by its rows before you sum.",
        ),
        WrongAnswer(
            "never divides", _never_divides, "{got} is a sum: divide it by all {total} rows."
        ),
        WrongAnswer(
            "divides by its own rows",
            _by_own_rows,
            "the sum was divided by a rank's own rows times {n}; the others have other numbers of "
            "rows. Sum the rows as well: {total}.",
        ),
        WrongAnswer(
            "averaged twice",
            _averaged_twice,
            "averaged twice: the mean over {n} ranks was divided by all rows. Sum both, "
            "value · rows and rows, then divide the one by the other.",
        ),
        WrongAnswer("rounded", _rounded, _WHOLE),
        WrongAnswer("cut off", _cut_off, _WHOLE),
        WrongAnswer("rank 0 asks", _asks_on_rank_0, hint="also by those that only receive"),
        WrongAnswer(
            "no number", _says_it_on_rank_0, "rank {rank} gave {gave}: each returns a float."
        ),
        WrongAnswer("no tensor", _no_tensor, hint="given a float"),
        WrongAnswer("an array", _an_array, hint="given a ndarray"),
    ),
)
