"""Exercise 17.6, a sum of gradients with the same bits on any number of ranks.

`ordered_sum(comm, mine, parts, like) -> total`: mine holds this rank's parts, {number: gradient};
`like` has a gradient's shape and type. The claim: on every rank zeros + part 0 + part 1 + …, bit
for bit, whoever has which part, on ranks without one too; mine and like stay as they are; no
message is left open. Any way to get there is right: a table and an all-reduce, or through rank 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.failures.same_sum import ordered_sum as reference
from helpers.exercises.common import self_hint
from helpers.exercises.compare import describe, is_array, told_apart, worlds
from helpers.exercises.drives_launching import in_parts
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_17 import same_sum_wrong as wrong
from helpers.exercises.lesson_17.same_sum_cases import cases
from helpers.exercises.lesson_17.same_sum_reason import (
    came_back_at_once,
    changes,
    fault_of,
    local_sums,
    not_its_part,
    other_type,
    rank_0_alone,
    telling,
    without_a_part,
)
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def claim(case: Case, seen: Observation) -> str | None:
    """The bits on every rank, nothing changed, no message left open."""
    want = case.facts["want"]
    for rank, value in enumerate(seen.values):
        fault = fault_of(returned(value), want)
        if fault:
            return f"{case.name}, rank {rank} {fault}."
    return changes(case, seen) or not_waited(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first rank that is not right, and an element of it."""
    want = case.facts["want"]
    named = {"n": case.ranks, "parts": len(case.facts["owner"]), "type": str(want.dtype)}
    for rank, value in enumerate(seen.values):
        got = returned(value)
        named |= {"rank": rank, "returned": describe(got)}
        if is_array(got, want.shape) and (got != want).any():
            at = telling(got, want)
            has, should = told_apart(float(got[at]), float(want[at]))
            return named | {"at": at, "got": has, "want": should}
        if not is_array(got, want.shape):
            break
    return named | {"at": "", "got": "", "want": ""}


def compared(case: Case, seen: Observation) -> Any:
    """What the ranks returned."""
    return [returned(value) for value in seen.values]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    table = cases[0].facts["table"]
    other = int((cases[0].facts["want"] != table[::-1].cumsum(axis=0)[-1]).sum())
    return (
        f"Passed on {worlds(cases)}, bit for bit and on every rank, whoever had which part. Added "
        f"from the last part on, {other} of {table.shape[1]} elements would have other bits."
    )


_OTHER_ORDER = "rank {rank} has {got} as element {at} instead of {want}: "

EXERCISE = Exercise(
    number="17.6",
    title="The same sum on any number of ranks",
    stars=3,
    minutes=15,
    points=3,
    function="ordered_sum",
    asks=(
        "on every rank the sum of all parts' gradients, added in the order 0, 1, …, parts − 1 from "
        "zeros on, with the same bits on any number of ranks, whoever has which part."
    ),
    cases=cases,
    drive=in_parts,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(
        Mistake("each rank's own first", local_sums),
        Mistake("another type", other_type),
        Mistake("not on every rank", rank_0_alone),
        Mistake("changes what it is given", changes),
        Mistake("messages not waited for", not_waited),
        Mistake("a part that it does not have", not_its_part, unfinished=True),
        Mistake("a rank without a part goes away", came_back_at_once, unfinished=True),
        Mistake("a rank without a part", without_a_part, unfinished=True),
        Mistake("sends to itself", self_hint, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "rank after rank",
            wrong.by_ranks,
            _OTHER_ORDER + "you added rank 0's parts first, then rank 1's, and so on. Which parts "
            "these are depends on the number of ranks; go by the parts' numbers. In a table, the "
            "row is the part's number.",
        ),
        WrongAnswer(
            "in the order of arrival",
            wrong.as_they_come,
            _OTHER_ORDER + "you added the parts as they lie in `mine`, which is any order. Go by "
            "their numbers, `for part in range(parts)`.",
        ),
        WrongAnswer(
            "from the last part on",
            wrong.backwards,
            _OTHER_ORDER + "you began with the last part. Begin with part 0.",
        ),
        WrongAnswer(
            "sorted as texts",
            wrong.as_texts,
            _OTHER_ORDER + 'you sorted the parts as texts, in which "10" comes before "2". Sort '
            "their numbers.",
        ),
        WrongAnswer(
            "in pairs",
            wrong.in_pairs,
            _OTHER_ORDER + "you added neighbours, then the sums of neighbours, as a tree. That has "
            "the same bits on any number of ranks too, but others than were asked for: one part "
            "after the other.",
        ),
        WrongAnswer(
            "added in float64",
            wrong.in_float64,
            _OTHER_ORDER + "you added in float64 and rounded at the end. That is more exact and "
            "depends on no order here, but has other bits than additions in {type}, which were "
            "asked for.",
        ),
        WrongAnswer(
            "exact sums",
            wrong.exactly,
            _OTHER_ORDER + "you summed exactly and rounded once, as `math.fsum` does. That has the "
            "same bits on any number of ranks too, but others than were asked for: one part after "
            "the other, rounded each time.",
        ),
        WrongAnswer(
            "torch's sum",
            wrong.torchs_sum,
            _OTHER_ORDER + "that is just what `sum(0)` of a table gives. torch adds the rows in an "
            "order of its own, which changes with the table's size and with the version. Add them "
            "one by one, in a loop.",
        ),
        WrongAnswer(
            "rows in the order of the ranks",
            wrong.rank_by_rank,
            _OTHER_ORDER + "part k of rank r stands in row r · len(mine) + k of your table. The "
            "row is the part's number, whoever has it.",
        ),
        WrongAnswer(
            "rows from 0 on",
            wrong.by_place,
            _OTHER_ORDER + "every rank fills rows 0, 1, … of its table, so that the all-reduce "
            "adds parts of different numbers. The row is the part's number.",
        ),
        WrongAnswer(
            "the total all-reduced",
            wrong.total_twice,
            "rank {rank} has {got} as element {at} instead of {want}: every rank had the total, "
            "and an all-reduce added it {n} times. One all-reduce, of the table, is enough.",
        ),
        WrongAnswer(
            "the table all-reduced twice",
            wrong.table_twice,
            "rank {rank} has {got} as element {at} instead of {want}: after the first all-reduce "
            "every rank had all rows, and the second added each {n} times.",
        ),
        WrongAnswer(
            "divides by the ranks",
            wrong.by_size,
            "you divided by {n} ranks: then the number of ranks is in the result. Asked for is the "
            "sum.",
        ),
        WrongAnswer(
            "divides by the parts",
            wrong.by_parts,
            "you divided by {parts} parts. Asked for is the sum; the mean is taken after it.",
        ),
        WrongAnswer(
            "its own parts alone",
            wrong.own_alone,
            "rank {rank} has {got} as element {at} instead of {want}: that is the sum of its own "
            "parts. Those of the other ranks belong in it too.",
        ),
        WrongAnswer(
            "loses the rest",
            wrong.loses_rest,
            "rank {rank} has {got} as element {at} instead of {want}: the last parts are missing. "
            "Ranks do not all have `parts // size` of them.",
        ),
        WrongAnswer(
            "without its own parts",
            wrong.others_alone,
            "rank {rank} has {got} as element {at} instead of {want}: that is the sum of the other "
            "ranks' parts, without its own.",
        ),
        WrongAnswer(
            "starts from `like`",
            wrong.from_like,
            "rank {rank} has {got} as element {at} instead of {want}: you began with what is in "
            "`like`, such as the weights. It has the shape and the type; begin with zeros, "
            "`torch.zeros_like(like)`.",
        ),
        WrongAnswer(
            "the table itself",
            wrong.the_table,
            "rank {rank} returned {returned}, a row for each part. Add the rows, and return one "
            "gradient.",
        ),
        WrongAnswer(
            "float32 on the way",
            wrong.rounds_to_float32,
            _OTHER_ORDER + "something was float32 on the way, and gradients in float64 lost their "
            "last digits there. `torch.zeros(…)` is float32 where you give no type; "
            "`like.new_zeros(…)` takes the type of `like`.",
        ),
        WrongAnswer("sums before it sends", wrong.sums_before, hint="its own parts first"),
        WrongAnswer("a table of float32", wrong.table_of_float32, hint="`torch.zeros(…)` is"),
        WrongAnswer("nothing elsewhere", wrong.nothing_elsewhere, hint="returned None: every"),
        WrongAnswer("its own elsewhere", wrong.own_elsewhere, hint="returned a tensor"),
        WrongAnswer("adds into a part", wrong.into_a_part, hint="changed the gradients in `mine`"),
        WrongAnswer("fills `mine` up", wrong.fills_up, hint="changed `mine` itself"),
        WrongAnswer("adds into `like`", wrong.into_like, hint="changed `like`"),
        WrongAnswer("does not wait", wrong.no_wait, hint="without waiting for"),
        WrongAnswer("every N-th part", wrong.every_nth, hint="Go by what is in `mine`"),
        WrongAnswer("a type of its own parts", wrong.like_its_first, hint="has no part"),
        WrongAnswer("goes away without a part", wrong.away_without, hint="returned at once"),
        WrongAnswer("sends to itself", wrong.to_itself, hint="without sending it"),
    ),
    figure=0,
)
