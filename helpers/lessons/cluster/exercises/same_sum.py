"""Exercise 17.6, a sum of gradients with the same bits on any number of ranks.

`ordered_sum(comm, mine, parts, like) -> total`: mine holds this rank's parts, {number: gradient};
`like` has a gradient's shape and type. The claim: on every rank zeros + part 0 + part 1 + …, bit
for bit, whoever has which part, on ranks without one too; mine and like stay as they are; no
message is left open. Any way to get there is right: a table and an all-reduce, or through rank 0.
What makes this file large are nine families of mistakes and 32 wrong answers.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.common import self_hint
from helpers.checks.compare import count, describe, is_array, listing, told_apart, worlds
from helpers.checks.drives.requests import CHANGED, not_waited, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.same_sum import ordered_sum as reference
from helpers.lessons.cluster.exercises.gradients import (
    FLAT,
    MATRIX,
    PLAIN,
    fault_of,
    gradients,
    in_parts,
    telling,
)
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring


def cases(seed: int) -> list[Case]:
    """Rank r has every N-th part; then ranks without a part, and parts that lie anywhere.

    Seed 0: 3 ranks with 20 parts, then 1, 2 and 5 ranks, in float64 and float32; then a matrix.
    """
    random = rng(seed, "17.6")
    more = 3 * int(random.integers(0, 3)) if seed else 0  # the first has unequal ranks
    settings = [
        (3, 20 + more, "float64", False), (1, 20 + more, "float32", False),
        (2, 18 + more, "float32", False), (5, 21 + more, "float64", False),
        (5, 3, "float32", False), (3, 11 + more, "float64", True), (1, 1, "float64", False),
        (2, 7, "float32", False),
    ]  # fmt: skip
    made = []
    for ranks, parts, kind, anywhere in settings:
        owner, order = [part % ranks for part in range(parts)], list(range(parts))
        if anywhere:
            owner = random.integers(0, ranks, parts).tolist()
            owner[:2] = [ranks - 1, 0]  # not as every N-th
        random.shuffle(order)  # of the parts in each rank's `mine`
        table = gradients(random, owner, ranks, kind)
        shape = MATRIX if parts == 7 else FLAT
        like = np.array(random.uniform(1, 9, table.shape[1]), kind).reshape(shape)
        each = table.reshape(parts, *shape)
        args = tuple(
            ({part: each[part] for part in order if owner[part] == rank}, parts, like)
            for rank in range(ranks)
        )
        name = f"On {count(ranks, 'rank')} with {count(parts, 'part')} in {kind}"
        name += ", which lie anywhere" if anywhere else ""
        name += f", of shape {shape}" if shape == MATRIX else ""
        want = table.cumsum(axis=0)[-1]
        facts = {"table": table, "owner": owner, "want": want, "shape": shape}
        made.append(Case(name, args, ranks, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The bits on every rank, nothing changed, no message left open."""
    for rank, value in enumerate(seen.values):
        if fault := fault_of(returned(value), case.facts["want"], case.facts["shape"]):
            yield f"rank {rank} {fault}."
    yield from changes(case, seen)
    yield not_waited(case, seen)


def rank_0_alone(case: Case, seen: Observation) -> str | None:
    """Rank 0 has it, another has not."""
    want, shape = case.facts["want"], case.facts["shape"]
    got = [returned(value) for value in seen.values]
    wrong = [rank for rank in range(case.ranks) if fault_of(got[rank], want, shape)]
    if 0 in wrong or not wrong:
        return None
    return (
        f"rank 0 has the right sum, and rank {wrong[0]} returned {describe(got[wrong[0]])}: every "
        "rank takes the step, so every rank needs the sum."
    )


def other_type(case: Case, seen: Observation) -> Iterator[str]:
    """A sum of another type than the gradients'."""
    want = case.facts["want"].dtype
    for rank, value in enumerate(seen.values):
        got = returned(value)
        if is_array(got) and got.dtype != want:
            yield (
                f"rank {rank} returned {got.dtype}, and the gradients are {want}. `torch.zeros(…)` "
                "is float32 where you give no type: `torch.zeros_like(like)` and "
                "`like.new_zeros(…)` take the type of `like`."
            )


def local_sums(case: Case, seen: Observation) -> str | None:
    """Each rank added its own first: elements that come out so, in whatever order that went."""
    table, owner, want = case.facts["table"], np.array(case.facts["owner"]), case.facts["want"]
    sure = np.arange(len(want)) >= PLAIN
    for rank in range(case.ranks):
        own = np.abs(table[owner == rank])
        sure &= (own < 1e6).all(axis=0) | ((own > 1e6).sum(axis=0) == (own > 0).sum(axis=0))
    exact = np.array([math.fsum(column) for column in table.T], want.dtype)
    told, got = sure & (exact != want), [np.ravel(returned(value)) for value in seen.values]
    alike = all(np.array_equal(each[told], exact[told]) for each in got)
    if not told.any() or not alike or np.array_equal(got[0][PLAIN:], exact[PLAIN:]):
        return None  # who sums exactly has these elements as well
    at = int(np.where(told, np.abs(exact - want), 0).argmax())
    has, should = told_apart(float(exact[at]), float(want[at]))
    return (
        "each rank added its own parts first, and then the ranks' sums were added: element "
        f"{at} is {has} instead of {should}. In which order numbers are added then depends on who "
        "has them. Send the parts themselves, and add them in order when all are there."
    )


def changes(case: Case, seen: Observation) -> Iterator[str]:
    """The gradients, the dictionary or `like` were written into."""
    what = (
        "the gradients in `mine`: the total has to be a tensor of its own, which begins as zeros",
        "`mine` itself: put what comes from others into a dictionary of your own",
        "`like`, such as the weights: make zeros of your own, `torch.zeros_like(like)`",
    )
    for rank, value in enumerate(seen.values):
        if type(value) is dict and CHANGED in value:
            yield f"rank {rank} changed {what[value[CHANGED]]}."


def not_its_part(case: Case, seen: Observation) -> Iterator[str]:
    """A part was taken that is another rank's, or came from nowhere."""
    if seen.kind != "KeyError" or not seen.text.isdecimal():
        return
    part, owner = int(seen.text), case.facts["owner"]
    if part >= len(owner):
        yield f"rank {seen.rank} looks for part {part}; there are {len(owner)}."
    elif owner[part] != seen.rank:
        yield (
            f"rank {seen.rank} looks for part {part}, which rank {owner[part]} has (KeyError). Who "
            "has which part is not the same for ever: after a failure it may be any rank. Go by "
            "what is in `mine`, and send the parts' numbers with them where you need them."
        )


def without_a_part(case: Case, seen: Observation) -> str | None:
    """An exception of a rank that has none."""
    if seen.trouble != "failed" or seen.rank is None or seen.rank in case.facts["owner"]:
        return None
    told = f"{seen.kind}: {seen.text}".rstrip(": .")
    return (
        f"rank {seen.rank} has no part, and raised {told}. Its `mine` is empty: take the shape and "
        "the type from `like`."
    )


def came_back_at_once(case: Case, seen: Observation) -> str | None:
    """Ranks without a part returned, and the others wait for them."""
    without = [rank for rank in range(case.ranks) if rank not in case.facts["owner"]]
    if seen.trouble != "deadlock" or not without or set(without) & set(seen.waiting):
        return None
    have = "has" if len(without) == 1 else "have"
    return (
        f"{listing(f'rank {rank}' for rank in without)} {have} no part and returned at once, and "
        "the others wait for them: in an all-reduce every rank takes part, also with zeros alone."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first rank that is not right, and an element of it."""
    want = case.facts["want"]
    named = {"n": case.ranks, "parts": len(case.facts["owner"]), "type": str(want.dtype)}
    named["shape"] = case.facts["shape"]
    for rank, value in enumerate(seen.values):
        got = returned(value)
        named |= {"rank": rank, "returned": describe(got)}
        if not is_array(got, case.facts["shape"]):
            break
        got = got.ravel()
        if (got != want).any():
            at, has, should = telling(got, want)
            named["told"] = f"rank {rank} has {has} as element {at} instead of {should}"
            break
    return named


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


def by_table(comm: Any, mine: Any, parts: int, like: Any) -> Any:
    """The reference in one piece."""
    table = like.new_zeros(parts, *like.shape)
    for part, gradient in mine.items():
        table[part] = gradient
    all_reduce_ring(comm, table)
    total = torch.zeros_like(like)
    for row in table:
        total += row
    return total


WRONG = """
rank after rank
    | in table: => in table[[p for r in range(comm.size) for p in range(r, parts, comm.size)]]:
    {told}: you added rank 0's parts first, then rank 1's, and so on. Which parts these are depends
    on the number of ranks; go by the parts' numbers. In a table, the row is the part's number.
in the order of arrival
    | in table: => in table[[*mine, *(part for part in range(parts) if part not in mine)]]:
    {told}: you added the parts as they lie in `mine`, which is any order. Go by their numbers, `for
    part in range(parts)`.
from the last part on
    | in table: => in table.flip(0):
    {told}: you began with the last part. Begin with part 0.
sorted as texts
    | in table: => in table[sorted(range(parts), key=str)]:
    {told}: you sorted the parts as texts, in which "10" comes before "2". Sort their numbers.
in pairs
    | for row in table: total += row
        => while len(table) > 1: table = [sum(table[at : at + 2]) for at in range(0, len(table), 2)]
    | return total => return table[0]
    {told}: you added neighbours, then the sums of neighbours, as a tree. That has the same bits on
    any number of ranks too, but others than were asked for: one part after the other.
added in float64
    | torch.zeros_like(like) => torch.zeros_like(like, dtype=torch.float64)
    | return total => return total.to(like.dtype)
    {told}: you added in float64 and rounded at the end. That is more exact and depends on no order
    here, but has other bits than additions in {type}, which were asked for.
exact sums
    | return total
        => return like.new_tensor([math.fsum(each.tolist()) for each in table.flatten(1).T])
    {told}: you summed exactly and rounded once, as `math.fsum` does. That has the same bits on any
    number of ranks too, but others than were asked for: one part after the other, rounded each
    time.
torch's sum
    | return total => return table.sum(0)
    {told}: that is just what `sum(0)` of a table gives. torch adds the rows in an order of its own,
    which changes with the table's size and with the version. Add them one by one, in a loop.
rows in the order of the ranks
    | part, gradient in mine.items() => place, part in enumerate(sorted(mine))
    | table[part] = gradient => table[comm.rank * len(mine) + place] = mine[part]
    {told}: part k of rank r stands in row r · len(mine) + k of your table. The row is the part's
    number, whoever has it.
rows from 0 on
    | part, gradient in mine.items() => place, part in enumerate(sorted(mine))
    | table[part] = gradient => table[place] = mine[part]
    {told}: every rank fills rows 0, 1, … of its table, so that the all-reduce adds parts of
    different numbers. The row is the part's number.
the total all-reduced
    | return total => return all_reduce_ring(comm, total)
    {told}: every rank had the total, and an all-reduce added it {n} times. One all-reduce, of the
    table, is enough.
the table all-reduced twice
    | all_reduce_ring(comm, table) => all_reduce_ring(comm, all_reduce_ring(comm, table))
    {told}: after the first all-reduce every rank had all rows, and the second added each {n} times.
divides by the ranks
    | return total => return total / comm.size
    you divided by {n} ranks: then the number of ranks is in the result. Asked for is the sum.
divides by the parts
    | return total => return total / parts
    you divided by {parts} parts. Asked for is the sum; the mean is taken after it.
its own parts alone
    | in table: => in table[sorted(mine)]:
    {told}: that is the sum of its own parts. Those of the other ranks belong in it too.
loses the rest
    | in table: => in table[: parts // comm.size * comm.size]:
    {told}: the last parts are missing. Ranks do not all have `parts // size` of them.
without its own parts
    | in table: => in table[[part for part in range(parts) if part not in mine]]:
    {told}: that is the sum of the other ranks' parts, without its own.
starts from `like`
    | torch.zeros_like(like) => like.clone()
    {told}: you began with what is in `like`, such as the weights. It has the shape and the type;
    begin with zeros, `torch.zeros_like(like)`.
the table itself
    | return total => return table
    rank {rank} returned {returned}, a row for each part. Add the rows, and return one gradient.
a row of a matrix
    | return total => return total.flatten()
    rank {rank} returned {returned}: a gradient has the shape {shape} here, and so has their sum.
float32 on the way
    | += row => += row.float()
    {told}: something was float32 on the way, and gradients in float64 lost their last digits there.
    `torch.zeros(…)` is float32 where you give no type; `like.new_zeros(…)` takes the type of
    `like`.
sums before it sends
    | all_reduce_ring(comm, table) =>
    | in table: => in table[sorted(mine)]:
    | return total => return all_reduce_ring(comm, total)
    ? its own parts first
a table of float32
    | like.new_zeros(parts, *like.shape) => torch.zeros(parts, *like.shape)
    | torch.zeros_like(like) => torch.zeros(like.shape)
    ? `torch.zeros(…)` is
nothing elsewhere
    | return total => return None if comm.rank else total
    ? returned None: every
its own elsewhere
    | in table: => in table[sorted(mine)] if comm.rank else table:
    ? returned a tensor
adds into a part
    | torch.zeros_like(like) => mine[0] if 0 in mine else table[0]
    | in table: => in table[1:]:
    ? changed the gradients in `mine`
fills `mine` up
    | return total => mine.update(enumerate(table)); return total
    ? changed `mine` itself
adds into `like`
    | torch.zeros_like(like) => like.zero_()
    | return total => return total.clone()
    ? changed `like`
does not wait
    | all_reduce_ring(comm, table)
        => [comm.isend(table, r) for r in range(comm.size) if r != comm.rank];
        table = sum([comm.recv(r) for r in range(comm.size) if r != comm.rank], table)
    ? without waiting for
every N-th part
    | part, gradient in mine.items() => part in range(comm.rank, parts, comm.size)
    | = gradient => = mine[part]
    ? Go by what is in `mine`
a type of its own parts
    | table = like.new_zeros => table = next(iter(mine.values())).new_zeros
    ? has no part
goes away without a part
    | all_reduce_ring(comm, table) => mine and all_reduce_ring(comm, table)
    ? returned at once
sends to itself
    | all_reduce_ring(comm, table)
        => [comm.send(table, other) for other in range(comm.size)];
        table = sum(comm.recv(other) for other in range(comm.size))
    ? without sending it
"""

EXERCISE = Exercise(
    number="17.6",
    title="The same sum on any number of ranks",
    size=Size(stars=3, minutes=15, points=3),
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
    wrong=wrong_answers("17.6", WRONG, by_table),
    figure=0,
)
