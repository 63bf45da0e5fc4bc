"""Exercise 17.6, a sum of gradients with the same bits on any number of ranks.

`ordered_sum(comm, mine, parts, like) -> total`: mine holds this rank's parts, {number: gradient};
`like` has a gradient's shape and type. The claim: on every rank zeros + part 0 + part 1 + …, bit
for bit, whoever has which part, on ranks without one too; mine and like stay as they are; no
message is left open. Any way to get there is right: a table and an all-reduce, or through rank 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.failures.same_sum import ordered_sum as reference
from helpers.exercises.common import self_hint
from helpers.exercises.compare import describe, is_array, told_apart, worlds
from helpers.exercises.drives_launching import in_parts
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_17 import same_sum_wrong as wrong
from helpers.exercises.lesson_17.same_sum_cases import PLAIN, cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def _fault(got: Any, want: np.ndarray) -> str | None:
    """What is not so of one rank's sum."""
    if not is_array(got) or got.shape != want.shape:
        return f"returned {describe(got)}; a gradient has the shape ({len(want)},)"
    if got.dtype != want.dtype:
        return f"returned {got.dtype}; the gradients are {want.dtype}"
    if not (got != want).any():
        return None
    at = _telling(got, want)
    has, should = told_apart(float(got[at]), float(want[at]))
    return (
        f"has {has} as element {at}; added one by one in the order of the parts, from zeros on, it "
        f"is {should}. {int((got != want).sum())} of {len(want)} elements have other bits"
    )


def _telling(got: np.ndarray, want: np.ndarray) -> int:
    """The element that is furthest off, of those in which nothing large is left."""
    with np.errstate(all="ignore"):
        off = np.where(np.abs(got) < 1e6, np.abs(got - want), 0)
    return int(off.argmax()) if off.max() > 0 else int((got != want).argmax())


def claim(case: Case, seen: Observation) -> str | None:
    """The bits on every rank, nothing changed, no message left open."""
    want = case.facts["want"]
    for rank, value in enumerate(seen.values):
        fault = _fault(returned(value), want)
        if fault:
            return f"{case.name}, rank {rank} {fault}."
    return wrong.changes(case, seen) or not_waited(case, seen)


def _right(case: Case, seen: Observation) -> list[bool]:
    want = case.facts["want"]
    return [_fault(returned(value), want) is None for value in seen.values]


def rank_0_alone(case: Case, seen: Observation) -> str | None:
    """Rank 0 has it, another has not."""
    right = _right(case, seen)
    if not right[0] or all(right):
        return None
    rank = right.index(False)
    return (
        f"{case.name}, rank 0 has the right sum, and rank {rank} returned "
        f"{describe(returned(seen.values[rank]))}: every rank takes the step, so every rank needs "
        "the sum."
    )


def other_type(case: Case, seen: Observation) -> str | None:
    """A sum of another type than the gradients'."""
    want = case.facts["want"].dtype
    for rank, value in enumerate(seen.values):
        got = returned(value)
        if is_array(got) and got.dtype != want:
            return (
                f"{case.name}, rank {rank} returned {got.dtype}, and the gradients are {want}. "
                "`torch.zeros(…)` is float32 where you give no type: `torch.zeros_like(like)` and "
                "`like.new_zeros(…)` take the type of `like`."
            )
    return None


def local_sums(case: Case, seen: Observation) -> str | None:
    """Each rank added its own first: elements that come out so, in whatever order that went."""
    table, owner, want = case.facts["table"], np.array(case.facts["owner"]), case.facts["want"]
    sure = np.arange(len(want)) >= PLAIN
    for rank in range(case.ranks):
        own = np.abs(table[owner == rank])
        sure &= (own < 1e6).all(axis=0) | ((own > 1e6).sum(axis=0) == (own > 0).sum(axis=0))
    exact = np.array([math.fsum(column) for column in table.T], want.dtype)
    told, got = sure & (exact != want), [returned(value) for value in seen.values]
    alike = all(np.array_equal(each[told], exact[told]) for each in got)
    if not told.any() or not alike or np.array_equal(got[0][PLAIN:], exact[PLAIN:]):
        return None  # who sums exactly has these elements as well
    at = int(np.where(told, np.abs(exact - want), 0).argmax())
    has, should = told_apart(float(exact[at]), float(want[at]))
    return (
        f"{case.name}, each rank added its own parts first, and then the ranks' sums were added: "
        f"element {at} is {has} instead of {should}. In which order numbers are added then depends "
        "on who has them. Send the parts themselves, and add them in order when all are there."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first rank that is not right, and an element of it."""
    want = case.facts["want"]
    named = {"n": case.ranks, "parts": len(case.facts["owner"]), "type": str(want.dtype)}
    for rank, value in enumerate(seen.values):
        got = returned(value)
        named |= {"rank": rank, "returned": describe(got)}
        if is_array(got, want.shape) and (got != want).any():
            at = _telling(got, want)
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
    minutes=14,
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
        Mistake("changes what it is given", wrong.changes),
        Mistake("messages not waited for", not_waited),
        Mistake("a part that it does not have", wrong.not_its_part, unfinished=True),
        Mistake("a rank without a part", wrong.without_a_part, unfinished=True),
        Mistake("sends to itself", self_hint, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "rank after rank",
            wrong.by_ranks,
            _OTHER_ORDER + "you added rank 0's parts first, then rank 1's, and so on. Which parts "
            "these are depends on the number of ranks; go by the parts' numbers.",
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
        WrongAnswer("sends to itself", wrong.to_itself, hint="without sending it"),
    ),
    figure=0,
)
