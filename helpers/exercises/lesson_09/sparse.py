"""Exercise 09.5, only the rows that were touched: a sum of sparse gradients.

The claim: on every rank the rows that anybody touched, ascending, each once, as int64, and their
sums in the values' type, in the same bits; no rank sends more than the largest rank's rows take
once to each of the others; what is given stays as it is, and every message is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.messages.sparse import sum_sparse as reference
from helpers.exercises.common import self_hint
from helpers.exercises.compare import times, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import left_alone, returned
from helpers.exercises.lesson_09 import sparse_families as families
from helpers.exercises.lesson_09 import sparse_wrong as wrong
from helpers.exercises.lesson_09.sparse_cases import cases, most_in, most_touched, union_in
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def claim(case: Case, seen: Observation) -> str | None:
    """The union and its sums on every rank, by few bytes."""
    fault = families.not_the_sum(case, seen)
    if fault:
        return fault
    for rank, sent in enumerate(seen.bytes):
        if sent > most_in(case):
            return (
                f"{case.name}, the sums are right, but rank {rank} sent {sent} B. The most that "
                f"any rank has, once to each of the others, are {most_in(case)} B: let each rank's "
                "rows and values travel as they are, in no table, and to each rank once."
            )
    left = families.other_bits(case, seen) or families.overwrites(case, seen)
    return left or not_waited(case, seen)


def compared(case: Case, seen: Observation) -> Any:
    """What each rank gave; the pair alone."""
    return [families.pair_of(value) or returned(value) for value in seen.values]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent, and a row that several ranks touched."""
    row, often = most_touched(case)
    return {
        "n": case.ranks,
        "row": row,
        "often": often,
        "union": len(union_in(case)),
        "all": sum(case.facts["counts"]),
        "sent": max(seen.bytes, default=0),
        "most": most_in(case),
        "times": times(max(seen.bytes, default=0), most_in(case)) if most_in(case) else "",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}, with counts that differ and counts of 0; on 3 ranks no "
        f"rank sent more than {max(seen[0].bytes)} B, whatever the size of the table."
    )


EXERCISE = Exercise(
    number="09.5",
    title="Only the rows that were touched",
    stars=2,
    minutes=15,
    points=3,
    function="sum_sparse",
    asks=(
        "(rows, values) on every rank: the rows that any rank touched, int64, ascending and each "
        "once, and the sums of all ranks' values for each, in the values' type and in the same "
        "bits on every rank; no rank sends more than the largest rank's rows, and their count, "
        "once to each of the others, and the arguments stay as they are."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("takes no part without rows", families.takes_no_part, unfinished=True),
        Mistake("room for as many rows as its own", families.no_room, unfinished=True),
        Mistake("one rank's values in place of the sum", families.one_of_them),
        Mistake("sums in other orders", families.other_bits),
        Mistake("writes into what it is given", families.overwrites),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "equal rows not merged",
            wrong.unmerged,
            "all {all} rows are listed, row {row} {often} times. Each row comes once, with the sum "
            "of what all ranks add to it: there are {union}.",
        ),
        WrongAnswer(
            "in order of arrival",
            wrong.unsorted,
            "the rows and their sums are right, but stand in the order in which they came. "
            "Ascending was asked for: the ranks' results are compared row by row.",
        ),
        WrongAnswer(
            "its own rows missing",
            wrong.own_missing,
            "each rank summed what came from the others and left its own rows out: they are not "
            "sent to itself, so add them too.",
        ),
        WrongAnswer(
            "its own rows twice",
            wrong.own_twice,
            "each rank's own rows count twice: they stand first in its list, and once more at its "
            "own place among the ranks.",
        ),
        WrongAnswer(
            "only the rows of its own",
            wrong.own_rows_only,
            "each rank has sums for the rows that it touched itself. The others' rows change in "
            "its copy of the table as well: return all {union}.",
        ),
        WrongAnswer(
            "only the rows that all touched",
            wrong.common_only,
            "only rows that every rank touched are there. A row that one rank touched has a "
            "gradient too: the union was asked for, {union} rows.",
        ),
        WrongAnswer(
            "rank 0 alone has the sum",
            wrong.rank_0_alone,
            "rank 0 has the sums and the other ranks have their own rows still: every rank "
            "changes its copy of the table, so all need them.",
        ),
        WrongAnswer(
            "a mean",
            wrong.mean,
            "the sums are divided by {n}: the sum was asked for, and whoever wants a mean divides "
            "afterwards.",
        ),
        WrongAnswer(
            "the whole table",
            wrong.dense,
            "the sums are right, but a rank sent {sent} B, {times} what is enough: a table was "
            "filled with zeros and summed whole. Let the rows and their values travel as they are.",
        ),
        WrongAnswer(
            "tables of different lengths",
            wrong.tables_of_own,
            "each rank's table ends at its own largest row, so the tables differ in length and "
            "cannot be summed. Fill no tables: let the rows and their values travel as they are.",
        ),
        WrongAnswer(
            "row indices summed",
            wrong.summed_in_place,
            "an all-reduce adds the first row's index of one rank to the first of another, and "
            "there is not one for each: row indices say where values belong and are not summed.",
        ),
        WrongAnswer(
            "passes on what it has merged",
            wrong.passes_on_sums,
            "values are counted more than once: each rank passes on its sums, in which what came "
            "before is contained already. Pass on what came, and add up at the end.",
        ),
        WrongAnswer(
            "the neighbour's rows alone",
            wrong.one_step,
            "each rank has its own rows and those of the rank to its left. After one step round a "
            "ring of {n} the others' are still to come: it takes N − 1, each passing on what came.",
        ),
        WrongAnswer(
            "through rank 0",
            wrong.through_rank_0,
            "the sums are right, but rank 0 sent {sent} B where {most} B are enough: it sends the "
            "sums of everybody's rows to each. Let each rank's rows go to all, and each sum them "
            "for itself.",
        ),
        WrongAnswer(
            "rows that sum to zero dropped",
            wrong.drops_zeros,
            "row {row} is missing: its values add up to 0, and it was touched all the same. Ask "
            "for the rows that are named, not for values that are not 0.",
        ),
        WrongAnswer(
            "sums in float32",
            wrong.in_float32,
            "the sums are float32 and the values float64: `torch.zeros(…)` is float32 where no "
            "`dtype` is given. Use `values.new_zeros(…)`.",
        ),
        WrongAnswer(
            "row indices as float32",
            wrong.rows_as_floats,
            "row indices came out as others: float32 holds whole numbers to 2²⁴ = 16777216 alone, "
            "so do not send them in one tensor with the values. Send two.",
        ),
        WrongAnswer("no part without rows", wrong.skips_empty, hint="took no part"),
        WrongAnswer("one rank's values", wrong.overwrites, hint="writes each place once"),
        WrongAnswer("own rows first", wrong.own_first, hint="in their last bits"),
        WrongAnswer("into its own values", wrong.in_place, hint="you wrote into them"),
        WrongAnswer("counts taken to be equal", wrong.equal_counts, hint="counts differ by rank"),
        WrongAnswer("to itself", wrong.to_itself, hint="waits for a message from rank 0"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
    ),
    figure=0,
)
