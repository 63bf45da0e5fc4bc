"""The cases of exercise 09.5: rows and values of each rank, and what their sum is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing, short
from helpers.exercises.lesson_09.sparse_wrong import added
from helpers.exercises.spec import Case

_COUNTED = 16  # bytes with which a rank may tell each other one how many rows it has
_LARGE = 20_000_000  # beyond float32's whole numbers
_TABLE = 90
_CANCEL = ", some of which cancel"


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with rows in common, then 1, 2 and 5, none at all, sums of 0, float64."""
    random, made = rng(seed, "09.5"), []
    shapes = [([4, 3, 5], ""), ([3], ""), ([3, 0], ""), ([2, 4, 0, 3, 1], ""), ([0, 0], "")]
    if seed:
        more = [int(k) for k in random.integers(0, 7, 5)]
        shapes = [([5, 4, 6], ""), ([int(random.integers(1, 6))], ""), (more, ""), ([0, 2], "")]
    shapes += [([3, 4, 3], _CANCEL), ([4, 4, 4], ", float64"), ([2, 3], ", indices beyond 2²⁴")]
    for counts, say in shapes:
        table, dtype = _TABLE, np.float64 if "float64" in say else np.float32
        rows = _rows(random, counts, table)
        if "beyond" in say:  # odd ones, which float32 has not
            rows = [2 * each + _LARGE + 1 for each in rows]
        width = 1 if "beyond" in say else 4
        values = _values(random, rows, width, dtype, say == _CANCEL)
        name = f"On {count(len(counts), 'rank')} with {listing(counts)} "
        name += f"{'row' if counts[-1] == 1 else 'rows'}{say}"
        args = tuple(zip(rows, values, strict=True))
        made.append(Case(name, args, len(counts), {"bandwidth": 1e6}, {"counts": counts}))
    return made


def _rows(random: Any, counts: Sequence[int], table: int) -> list[np.ndarray]:
    """Each rank's rows, in no order; the first ones are every rank's."""
    common = random.choice(table, 2, replace=False)
    others = np.setdiff1d(np.arange(0, table, 2), common)
    found = []
    for amount in counts:
        more = random.choice(others, max(amount - 2, 0), replace=False)
        found.append(random.permutation(np.concatenate([common, more])[:amount]))
    return found


def _values(
    random: Any, rows: list[np.ndarray], width: int, dtype: Any, cancel: bool
) -> list[np.ndarray]:
    """Each rank's numbers, for which the order of three additions shows in the last bits."""
    while True:
        made = [
            (random.standard_normal((len(each), width)) * 10 ** random.uniform(-1, 1)).astype(dtype)
            for each in rows
        ]
        if cancel:  # all that a row gets adds up to 0, in any order
            row = min(set(rows[0]) & set(rows[1]) & set(rows[2]))
            for values, each, part in zip(made, rows, (1.0, -3.0, 2.0), strict=True):
                values[each == row] = part
        given = [(r, v) for r, v in zip(rows, made, strict=True) if len(r) > 1]
        orders = [added(given[k:] + given[:k]) for k in range(len(given))]
        if len(given) < 3 or all(not np.array_equal(o, orders[0]) for o in orders[1:]):
            return made


def union_in(case: Case) -> np.ndarray:
    """The rows that any rank touched."""
    return np.unique(np.concatenate([rows for rows, _ in case.args])).astype(np.int64)


def most_touched(case: Case) -> tuple[int, int]:
    """A row that as many ranks as any touched, and how many these are."""
    union, often = np.unique(np.concatenate([rows for rows, _ in case.args]), return_counts=True)
    return (int(union[often.argmax()]), int(often.max())) if len(union) else (0, 0)


def sums_in(case: Case) -> np.ndarray:
    """What the sums are, in the values' type."""
    union, kind = union_in(case), case.args[0][1].dtype
    total = np.zeros((len(union), case.args[0][1].shape[1]))
    for rows, values in case.args:
        total[np.searchsorted(union, rows)] += values
    return total.astype(kind)


def most_in(case: Case) -> int:
    """Bytes that a rank may send."""
    largest = max(rows.nbytes + values.nbytes for rows, values in case.args)
    return (case.ranks - 1) * (largest + _COUNTED)


def other_rows(rows: np.ndarray, union: np.ndarray) -> str:
    """What is wrong about rows that are not the union."""
    missing, more = np.setdiff1d(union, rows), np.setdiff1d(rows, union)
    if len(missing):
        return f"{count(rows.size, 'row')}, and row {short(missing[0].item())} is missing"
    if len(more):
        return f"row {short(more[0].item())}, which no rank touched"
    again = "more than once" if rows.size > len(union) else "in another order than ascending"
    return f"the right rows, but {again}"
