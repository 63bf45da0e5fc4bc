"""Exercise 09.5, only the rows that were touched: a sum of sparse gradients.

The claim: on every rank the rows that anybody touched, ascending, each once, as int64, and their
sums in the values' type, in the same bits; no rank sends more than the largest rank's rows take
once to each of the others; what is given stays as it is, and every message is waited for.
The file is long for three other ideas of a sum, and for what may be amiss with rows and values.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks import compare
from helpers.checks.common import self_hint
from helpers.checks.compare import close, count, describe, is_array, short, times
from helpers.checks.drives.arguments import left_alone
from helpers.checks.drives.requests import changed, not_waited, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.bandwidth.algorithms.sparse import in_rank_order, merged
from helpers.lessons.bandwidth.algorithms.sparse import sum_sparse as reference
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

Rows = list[np.ndarray]  # of each rank


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with rows in common, then 1, 2 and 5, none at all, sums of 0, float64."""
    random, made = rng(seed, "09.5"), []
    shapes = [([4, 3, 5], ""), ([3], ""), ([3, 0], ""), ([2, 4, 0, 3, 1], ""), ([0, 0], "")]
    if seed:
        more = [int(k) for k in random.integers(0, 7, 5)]
        shapes = [([5, 4, 6], ""), ([int(random.integers(1, 6))], ""), (more, ""), ([0, 2], "")]
    shapes += [([3, 4, 3], ", some of which cancel"), ([4, 4, 4], ", float64")]
    shapes += [([2, 3], ", indices beyond 2²⁴")]
    for counts, say in shapes:
        dtype = np.float64 if "float64" in say else np.float32
        common = random.choice(90, 2, replace=False)  # of a table of 90 rows
        others, rows = np.setdiff1d(np.arange(0, 90, 2), common), []
        for amount in counts:  # the first two are every rank's; they stand in no order
            own = random.choice(others, max(amount - 2, 0), replace=False)
            found = random.permutation(np.concatenate([common, own])[:amount])
            rows.append(found[::-1].copy() if (np.diff(found) > 0).all() else found)
        if "beyond" in say:  # odd ones, which float32 has not
            rows = [2 * each + 20_000_001 for each in rows]
        values = _values(random, rows, 1 if "beyond" in say else 4, dtype, "cancel" in say)
        name = f"On {count(len(counts), 'rank')} with {compare.listing(counts)} "
        name += f"{'row' if counts[-1] == 1 else 'rows'}{say}"
        args = tuple(zip(rows, values, strict=True))
        touched = Counter(sorted(np.concatenate(rows).tolist()))
        union = np.array([*touched], np.int64)
        sums = np.zeros((len(union), values[0].shape[1]))
        for each, part in args:
            sums[np.searchsorted(union, each)] += part
        # A rank may tell each other one in 16 bytes how many rows it has.
        most = (len(counts) - 1) * (16 + max(each.nbytes + part.nbytes for each, part in args))
        row, often = [*touched.most_common(1), (0, 0)][0]
        facts = {"counts": counts, "rows": union, "sums": sums.astype(dtype), "most": most}
        facts |= {"row": row, "often": often, "union": len(union), "all": sum(counts)}
        made.append(Case(name, args, len(counts), {"bandwidth": 1e6}, facts))
    return made


def _values(random: Any, rows: Rows, width: int, dtype: Any, cancel: bool) -> Rows:
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
        pairs = [[*map(torch.from_numpy, pair)] for pair in zip(rows, made, strict=True)]
        given = [pair for pair in pairs if len(pair[0]) > 1]
        turned = [zip(*given[k:], *given[:k], strict=True) for k in range(len(given))]
        orders = [merged(*map(list, each))[1] for each in turned]
        if len(given) < 3 or all(not torch.equal(o, orders[0]) for o in orders[1:]):
            return made


def pair_of(value: Any) -> tuple[Any, ...] | None:
    """What an answer returned, where it is two things."""
    value = returned(returned(value))
    return tuple(value) if type(value) in (tuple, list) and len(value) == 2 else None


def not_the_sum(case: Case, seen: Observation) -> Iterator[str]:
    """What is wrong about a rank's rows or values."""
    union, sums = case.facts["rows"], case.facts["sums"]
    tolerance = 1e-6 if sums.dtype == np.float32 else 1e-12
    for rank, value in enumerate(seen.values):
        pair = pair_of(value)
        if pair is None:
            gave = describe(returned(returned(value)))
            yield f"rank {rank} returned {gave}: give the pair (rows, values)."
            continue
        rows, values = pair
        gave = f"{describe(rows)} and {describe(values)}"
        if not (is_array(rows) and is_array(values)):
            yield f"rank {rank} returned {gave}: give two tensors."
        elif rows.ndim != 1 or values.shape[:1] != rows.shape:
            yield f"rank {rank} gave {gave}: give (k,) rows and (k, width) values."
        elif not np.array_equal(rows, union):
            for row in np.setdiff1d(union, rows).tolist():
                yield f"rank {rank} has {count(rows.size, 'row')}, and row {short(row)} is missing."
            for row in np.setdiff1d(rows, union).tolist():
                yield f"rank {rank} has row {short(row)}, which no rank touched."
            how = "more than once" if rows.size > len(union) else "in another order than ascending"
            yield f"rank {rank} has the right rows, but {how}."
        elif rows.dtype != union.dtype:
            yield f"rank {rank}'s rows are {rows.dtype}; row indices are int64."
        elif not close(values, sums, tolerance):
            why = compare.rounded([values], [sums])
            yield f"rank {rank}'s values are not the sums over all ranks{why}."
        elif values.dtype != sums.dtype:
            yield (
                f"rank {rank}'s sums are {values.dtype}, and the values that came are "
                f"{sums.dtype}: make the sums in the values' type."
            )


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The union and its sums on every rank, by few bytes."""
    yield from not_the_sum(case, seen)
    for rank, sent in enumerate(seen.bytes):
        if sent > case.facts["most"]:
            yield (
                f"the sums are right, but rank {rank} sent {sent} B. The most that any rank has, "
                f"once to each of the others, are {case.facts['most']} B: let each rank's rows and "
                "values travel as they are, in no table, and to each rank once."
            )
    yield from other_bits(case, seen)
    yield from overwrites(case, seen)
    yield not_waited(case, seen)


def other_bits(case: Case, seen: Observation) -> Iterator[str]:
    """Right, and not the same on all ranks."""
    pairs = [] if any(not_the_sum(case, seen)) else [pair_of(value) for value in seen.values]
    for rank, pair in enumerate(pairs):
        if pair and pairs[0] and not np.array_equal(pair[1], pairs[0][1]):
            yield (
                f"the sums of rank 0 and rank {rank} differ in their last bits: they add in "
                "different orders, such as each its own rows first, and then the models drift "
                "apart. Add in the order of the ranks everywhere."
            )


def one_of_them(case: Case, seen: Observation) -> Iterator[str]:
    """The right rows, each with the values that one of the ranks has for it."""
    union, often = case.facts["rows"], case.facts["often"]
    if often < 2 or not any(not_the_sum(case, seen)):
        return
    for pair in map(pair_of, seen.values):
        if pair is None or not np.array_equal(pair[0], union):
            return
        for each, got in zip(union, pair[1], strict=True):
            if not any(close(got, v[0], 1e-6) for r, w in case.args if len(v := w[r == each])):
                return
    yield (
        f"row {case.facts['row']}, which {often} ranks touched, has the values of one alone: "
        "`sums[places] += values` writes each place once, however often it is named. Use "
        "`sums.index_add_(0, places, values)`."
    )


def overwrites(case: Case, seen: Observation) -> Iterator[str]:
    """An argument that is not what it was."""
    for rank, value in enumerate(seen.values):
        place = changed(value)
        if place is not None:
            yield (
                f"rank {rank}'s `{('rows', 'values')[place]}` are not what they were: you wrote "
                "into them. They are this rank's gradient and belong to the caller, so add into a "
                "tensor of your own."
            )


def takes_no_part(case: Case, seen: Observation) -> Iterator[str]:
    """Others wait for a rank that has no rows and has returned."""
    for rank, amount in enumerate(case.facts["counts"]):
        named = any(f"rank {rank}" in words for words in seen.waiting.values())
        if named and not amount and rank not in seen.waiting:
            yield (
                f"rank {rank} has no rows and took no part, and others wait for it. It needs the "
                "sums as well: let it send its empty tensors as if they were full."
            )


def no_room(case: Case, seen: Observation) -> Iterator[str]:
    """A tensor to receive into of the right type and another number of rows."""
    found = re.search(r"sent \((\d+),.*\) (\w+), but .* into \((\d+),.*\) \2\.", seen.text)
    counts, rank = case.facts["counts"], seen.rank or 0
    if found and counts[rank] == int(found[3]) != int(found[1]) and int(found[1]) in counts:
        yield (
            f"rank {rank} made room for {count(counts[rank], 'row')}, as many as it has itself, "
            f"and {found[1]} came: counts differ by rank. `comm.recv(source)` without `into` gives "
            "what came, in its own shape."
        )


def compared(case: Case, seen: Observation) -> Any:
    """What each rank gave; the pair alone."""
    return [pair_of(value) or returned(value) for value in seen.values]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent, and a row that several ranks touched."""
    sent = max(seen.bytes, default=0)
    named = {"n": case.ranks, "sent": sent, "times": times(sent, case.facts["most"] or 1)}
    return {**case.facts, **named}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {compare.worlds(cases)}, with counts that differ and counts of 0; on 3 ranks "
        f"no rank sent more than {max(seen[0].bytes)} B, whatever the size of the table."
    )


def direct(comm: Any, rows: Any, values: Any) -> Any:
    """The sum without a ring, for patches: each rank sends its own to all the others."""
    found, sums = [rows], [values]
    for step in range(1, comm.size):
        right, left = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        sending = [comm.isend(rows, right), comm.isend(values, right)]
        found.append(comm.recv(left))
        sums.append(comm.recv(left))
        for request in sending:
            request.wait()
    return merged(in_rank_order(found, comm.rank), in_rank_order(sums, comm.rank))


def at_rank_0(comm: Any, rows: Any, values: Any) -> Any:
    if comm.rank:
        comm.send(rows, 0)
        comm.send(values, 0)
        return rows, values
    came = [(comm.recv(other), comm.recv(other)) for other in range(1, comm.size)]
    return merged([rows, *(r for r, _ in came)], [values, *(v for _, v in came)])


def through_0(comm: Any, rows: Any, values: Any) -> Any:
    found = at_rank_0(comm, rows, values)
    if comm.rank:
        return comm.recv(0), comm.recv(0)
    for other in range(1, comm.size):
        comm.send(found[0], other)
        comm.send(found[1], other)
    return found


def dense(comm: Any, rows: Any, values: Any) -> Any:
    own = rows.new_tensor([[rows.max() + 1 if len(rows) else 0]])
    lengths, _ = direct(comm, own[0], own[:, :0])
    table = values.new_zeros(int(lengths.max()), values.shape[1] + 1)
    table[rows] = torch.cat([values, values.new_ones(len(rows), 1)], 1)
    all_reduce_ring(comm, table)
    touched = table[:, -1].nonzero().view(-1)
    return touched, table[touched, :-1]


WRONG = """
equal rows not merged
    | .unique(return_inverse=True) => .sort(stable=True)
    | sums.index_add_(0, places, torch.cat(values)) => torch.cat(values)[places]
    all {all} rows are listed, row {row} {often} times. Each row comes once, with the sum of what
    all ranks add to it: there are {union}.
in order of arrival
    | return union, => came = list(dict.fromkeys(places.tolist())); return union[came],
    | torch.cat(values)) => torch.cat(values))[came]
    the rows and their sums are right, but stand in the order in which they came. Ascending was
    asked for: the ranks' results are compared row by row.
its own rows missing
    | return merged => found[0], sums[0] = rows[:0], values[:0]; return merged
    each rank summed what came from the others and left its own rows out: they are not sent to
    itself, so add them too.
its own rows twice
    | (in_rank_order(found => ([rows] + in_rank_order(found
    | , in_rank_order(sums => , [values] + in_rank_order(sums
    each rank's own rows count twice: they stand first in its list, and once more at its own place
    among the ranks.
only the rows of its own
    | return merged => u, total = merged
    | comm.rank)) => comm.rank)); own = torch.isin(u, rows); return u[own], total[own]
    each rank has sums for the rows that it touched itself. The others' rows change in its copy of
    the table as well: return all {union}.
only the rows that all touched
    | return union, sums.index_add_(0, places, torch.cat(values))
        => kept = [all(row in each for each in rows) for row in union];
        return union[kept], sums.index_add_(0, places, torch.cat(values))[kept]
    only rows that every rank touched are there. A row that one rank touched has a gradient too: the
    union was asked for, {union} rows.
rank 0 alone has the sum
    = at_rank_0
    rank 0 has the sums and the other ranks have their own rows still: every rank changes its copy
    of the table, so all need them.
a mean
    | torch.cat(values)) => torch.cat(values)) / len(values)
    the sums are divided by {n}: the sum was asked for, and whoever wants a mean divides afterwards.
the whole table
    = dense
    the sums are right, but a rank sent {sent} B, {times} what is enough: a table was filled with
    zeros and summed whole. Let the rows and their values travel as they are.
tables of different lengths
    | found, sums = [rows], [values]
        => table = values.new_zeros(int(rows.max()) + 1 if len(rows) else 0, values.shape[1]);
        table[rows] = values; all_reduce_ring(comm, table); touched = table.any(1).nonzero()[:, 0];
        return touched, table[touched]
    each rank's table ends at its own largest row, so the tables differ in length and cannot be
    summed. Fill no tables: let the rows and their values travel as they are.
row indices summed
    | found, sums = [rows], [values]
        => return all_reduce_ring(comm, rows.clone()), all_reduce_ring(comm, values.clone())
    an all-reduce adds the first row's index of one rank to the first of another, and there is not
    one for each: row indices say where values belong and are not summed.
passes on what it has merged
    | comm.rank + step => comm.rank + 1
    | comm.rank - step => comm.rank - 1
    | sums.append(comm.recv(left)) => sums.append(comm.recv(left));
        rows, values = merged(found, sums); found, sums = [rows], [values]
    values are counted more than once: each rank passes on its sums, in which what came before is
    contained already. Pass on what came, and add up at the end.
the neighbour's rows alone
    | range(1, comm.size) => range(1, min(comm.size, 2))
    each rank has its own rows and those of the rank to its left. After one step round a ring of {n}
    the others' are still to come: it takes N − 1, each passing on what came.
through rank 0
    = through_0
    the sums are right, but rank 0 sent {sent} B where {most} B are enough: it sends the sums of
    everybody's rows to each. Let each rank's rows go to all, and each sum them for itself.
rows that sum to zero dropped
    | return union, sums.index_add_ => sums.index_add_
    | torch.cat(values)) => torch.cat(values)); kept = sums.any(1); return union[kept], sums[kept]
    row {row} is missing: its values add up to 0, and it was touched all the same. Ask for the rows
    that are named, not for values that are not 0.
sums in float32
    | , dtype=values[0].dtype =>
    | torch.cat(values)) => torch.cat(values).float())
    the sums are float32 and the values float64: `torch.zeros(…)` is float32 where no `dtype` is
    given. Use `values.new_zeros(…)`.
row indices as float32
    | found, sums = [rows], [values]
        => rows, values = torch.cat([rows[:, None].to(values.dtype), values], 1), values[:0];
        found, sums = [rows], [values]
    | return merged => sums = [both[:, 1:] for both in found];
        found = [both[:, 0].long() for both in found]; return merged
    row indices came out as others: float32 holds whole numbers to 2²⁴ = 16777216 alone, so do not
    send them in one tensor with the values. Send two.
no part without rows
    | range(1, comm.size) => range(1, comm.size if len(rows) else 1)
    ? took no part
one rank's values
    | return union, sums.index_add_(0, places, torch.cat(values))
        => sums[places] += torch.cat(values); return union, sums
    ? writes each place once
own rows first
    | [(rank - other) % len(came)] => [other]
    ? in their last bits
into its own values
    | return merged => u, t = merged
    | comm.rank)) => comm.rank)); values[:] = t[torch.searchsorted(u, rows)]; return u, t
    ? you wrote into them
counts taken to be equal
    | found.append(comm.recv(left => found.append(comm.recv(left, into=torch.empty_like(rows)
    | sums.append(comm.recv(left => sums.append(comm.recv(left, into=torch.empty_like(values)
    ? counts differ by rank
to itself
    | range(1, comm.size) => range(comm.size)
    ? waits for a message from rank 0
never waits
    | request.wait() => pass
    ? returned without waiting for
"""

EXERCISE = Exercise(
    number="09.5",
    title="Only the rows that were touched",
    size=Size(stars=2, minutes=15, points=3),
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
        Mistake("takes no part without rows", takes_no_part, unfinished=True),
        Mistake("room for as many rows as its own", no_room, unfinished=True),
        Mistake("one rank's values in place of the sum", one_of_them),
        Mistake("sums in other orders", other_bits),
        Mistake("writes into what it is given", overwrites),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers(
        "09.5", WRONG, (direct, in_rank_order, merged), at_rank_0, dense, through_0
    ),
    figure=0,
)
