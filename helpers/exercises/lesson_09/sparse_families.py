"""What is asked of any answer to exercise 09.5, and hints for families of wrong ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from helpers.exercises.compare import close, count, describe, is_array, rounded
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_09.sparse_cases import most_touched, other_rows, sums_in, union_in
from helpers.exercises.spec import Case, Observation


def pair_of(value: Any) -> tuple[Any, Any] | None:
    """What an answer returned, where it is two things."""
    value = returned(returned(value))
    if type(value) not in (tuple, list) or len(value) != 2:
        return None
    return value[0], value[1]


def not_the_sum(case: Case, seen: Observation) -> str | None:
    """What is wrong about a rank's rows or values."""
    union, sums = union_in(case), sums_in(case)
    tolerance = 1e-6 if sums.dtype == np.float32 else 1e-12
    for rank, value in enumerate(seen.values):
        pair = pair_of(value)
        if pair is None:
            gave = describe(returned(returned(value)))
            return f"{case.name}, rank {rank} returned {gave}: give the pair (rows, values)."
        rows, values = pair
        if not (is_array(rows) and is_array(values)):
            gave = f"{describe(rows)} and {describe(values)}"
            return f"{case.name}, rank {rank} returned {gave}: give two tensors."
        if rows.ndim != 1 or values.shape[:1] != rows.shape:
            gave = f"{describe(rows)} and {describe(values)}"
            return f"{case.name}, rank {rank} gave {gave}: give (k,) rows and (k, width) values."
        if not (is_array(rows, union.shape) and np.array_equal(rows, union)):
            return f"{case.name}, rank {rank} has {other_rows(rows, union)}."
        if rows.dtype != union.dtype:
            return f"{case.name}, rank {rank}'s rows are {rows.dtype}; row indices are int64."
        if not close(values, sums, tolerance):
            why = rounded([values], [sums])
            return f"{case.name}, rank {rank}'s values are not the sums over all ranks{why}."
        if values.dtype != sums.dtype:
            return (
                f"{case.name}, rank {rank}'s sums are {values.dtype}, and the values that came "
                f"are {sums.dtype}: make the sums in the values' type."
            )
    return None


def other_bits(case: Case, seen: Observation) -> str | None:
    """Right, and not the same on all ranks."""
    pairs = [pair_of(value) for value in seen.values]
    if not_the_sum(case, seen) or pairs[0] is None:
        return None
    for rank, pair in enumerate(pairs):
        if pair is not None and not np.array_equal(pair[1], pairs[0][1]):
            return (
                f"{case.name}, the sums of rank 0 and rank {rank} differ in their last bits: they "
                "add in different orders, such as each its own rows first, and then the models "
                "drift apart. Add in the order of the ranks everywhere."
            )
    return None


def one_of_them(case: Case, seen: Observation) -> str | None:
    """The right rows, each with the values that one of the ranks has for it."""
    union, args = union_in(case), case.args
    row, often = most_touched(case)
    if often < 2 or not not_the_sum(case, seen):
        return None
    for pair in map(pair_of, seen.values):
        if pair is None or not np.array_equal(pair[0], union):
            return None
        for each, got in zip(union, pair[1], strict=True):
            if not any(close(got, v[0], 1e-6) for r, w in args if len(v := w[r == each])):
                return None
    return (
        f"{case.name}, row {row}, which {often} ranks touched, has the values of one alone: "
        "`sums[places] += values` writes each place once, however often it is named. Use "
        "`sums.index_add_(0, places, values)`."
    )


def overwrites(case: Case, seen: Observation) -> str | None:
    """An argument that is not what it was."""
    for rank, value in enumerate(seen.values):
        place = changed(value)
        if place in (0, 1):
            return (
                f"{case.name}, rank {rank}'s `{('rows', 'values')[place]}` are not what they were: "
                "you wrote into them. They are this rank's gradient and belong to the caller, so "
                "add into a tensor of your own."
            )
    return None


def takes_no_part(case: Case, seen: Observation) -> str | None:
    """Others wait for a rank that has no rows and has returned."""
    counts = case.facts["counts"]
    for words in seen.waiting.values():
        rank = next((r for r in range(case.ranks) if f"rank {r}" in words.rstrip(".")), None)
        if rank is not None and counts[rank] == 0 and rank not in seen.waiting:
            return (
                f"{case.name}, rank {rank} has no rows and took no part, and others wait for it. "
                "It needs the sums as well: let it send its empty tensors as if they were full."
            )
    return None


def no_room(case: Case, seen: Observation) -> str | None:
    """A tensor to receive into of the right type and another number of rows."""
    found = re.search(r"sent \((\d+),.*\) (\w+), but .* into \((\d+),.*\) (\w+)\.", seen.text)
    counts, rank = case.facts["counts"], seen.rank or 0
    if found is None or found[2] != found[4] or int(found[3]) != counts[rank]:
        return None
    if int(found[1]) == counts[rank] or int(found[1]) not in counts:
        return None
    return (
        f"{case.name}, rank {rank} made room for {count(counts[rank], 'row')}, as many as it has "
        f"itself, and {found[1]} came: counts differ by rank. `comm.recv(source)` without `into` "
        "gives what came, in its own shape."
    )
