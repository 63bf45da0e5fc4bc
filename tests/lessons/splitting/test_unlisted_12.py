"""Wrong answers to lesson 12 that nobody's table lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch

from helpers.lessons.splitting.exercises import columns, halo, pay, waves
from tests.checks.table import is_told

MEMO: dict[Any, Any] = {}


def link_from_a_memo(rows: int, widths: list[int], ranks: int, *link: float) -> Any:
    key = (rows, tuple(widths), ranks)
    return MEMO.setdefault(key, pay.reference(rows, widths, ranks, *link))


def alike_layers_once(rows: int, widths: list[int], *rest: Any) -> Any:
    pairs = set(pairwise(widths))
    return sum(pay.reference(rows, list(pair), *rest) for pair in pairs)


def a_message_a_row(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    units = gradient.shape[1]
    mine = slice(comm.rank * units // comm.size, (comm.rank + 1) * units // comm.size)
    y = [columns.gathered(comm, row[None] @ weight.T + bias, 1) for row in x]
    return torch.cat(y), sum(columns.gathered(comm, (gradient[:, mine] @ weight)[None], 0))


def numpy_arrays(comm: Any, *given: Any) -> Any:
    return tuple(each.numpy() for each in columns.reference(comm, *given))


def slices_sent_twice(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    columns.gathered(comm, x @ weight.T + bias, 1)
    return columns.reference(comm, x, weight, bias, gradient)


def of_another_type(comm: Any, rows: Any, reach: int) -> Any:
    return halo.halo(comm, rows.double(), reach)


def reaches_two(comm: Any, rows: Any, reach: int) -> Any:
    return halo.halo(comm, rows, min(reach, 2))


def zeros_of_the_rows(comm: Any, rows: Any, reach: int) -> Any:
    wider = halo.halo(comm, rows, reach)
    if comm.rank == 0:
        wider[:reach] = 0 * rows[:reach]
    return wider


def no_zeros_below_one_rank(comm: Any, rows: Any, reach: int) -> Any:
    return halo.halo(comm, rows, reach)[: -reach if comm.size == 1 else None]


def a_message_a_row_of_the_border(comm: Any, rows: Any, reach: int) -> Any:
    up, down = comm.rank - 1, comm.rank + 1
    lent = [(down, rows[-reach:]), (up, rows[:reach])]
    there = [(rank, part) for rank, part in lent if 0 <= rank < comm.size]
    sending = [comm.isend(row, rank) for rank, part in there for row in part]
    nothing = rows.new_zeros(rows.shape[1])
    above = [comm.recv(up) if up >= 0 else nothing for _ in range(reach)]
    below = [comm.recv(down) if down < comm.size else nothing for _ in range(reach)]
    for request in sending:
        request.wait()
    return torch.cat([torch.stack(above), rows, torch.stack(below)])


def with_state(change: Callable[..., Any]) -> Callable[..., Any]:
    """The wave whose ranks change a state before they keep it."""

    def answer(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
        def changed(x: Any, state: Any) -> Any:
            out, new = layer(x, state)
            return out, change(new)

        return waves.reference(comm, changed, inputs, chunks)

    return answer


a_list_for_a_state = with_state(lambda s: list(s) if isinstance(s, tuple) else s)
half_of_the_state = with_state(lambda s: (s[0], s[1] * 0) if isinstance(s, tuple) else s)
a_pair_for_a_state = with_state(lambda s: (s[0], s[1]))


def all_before_the_first_message(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    if comm.rank or comm.size == 1:
        return waves.reference(comm, layer, inputs, chunks)
    for request in [comm.isend(each, 1) for each in layer(inputs, None)[0].tensor_split(chunks)]:
        request.wait()
    return None


def empty_chunks(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    if comm.rank or comm.size > 1:
        return waves.reference(comm, layer, inputs, chunks)
    size, state, outputs = -(-len(inputs) // chunks), None, []
    for k in range(chunks):
        out, state = layer(inputs[k * size : (k + 1) * size], state)
        outputs.append(out)
    return torch.cat(outputs)


def three_chunks(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    return waves.reference(comm, layer, inputs, min(chunks, 3))


def lends_fewer_than_it_has(comm: Any, rows: Any, reach: int) -> Any:
    if len(rows) <= reach:
        raise ValueError("too few rows")
    return halo.halo(comm, rows, reach)


def meets_at_a_barrier(comm: Any, rows: Any, reach: int) -> Any:
    comm.barrier()
    return halo.halo(comm, rows, reach)


def a_chunk_less(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    return waves.reference(comm, layer, inputs, max(1, chunks - 1))


def outputs_sent_back(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    outputs = waves.reference(comm, layer, inputs, chunks)
    if outputs is not None and comm.size > 1:
        comm.send(outputs, 0)
    elif comm.rank == 0 and comm.size > 1:
        comm.recv(comm.size - 1)
    return outputs


def each_chunk_twice(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    return waves.reference(comm, lambda x, s: (layer(x, s), layer(x, s))[1], inputs, chunks)


@pytest.mark.parametrize(
    ("number", "answer", "says"),
    [
        ("12.1", link_from_a_memo, "without α"),
        ("12.1", alike_layers_once, "widths [2049, 3, 3, 3]"),
        ("12.2", a_message_a_row, "messages were sent, where"),
        ("12.2", numpy_arrays, "rank 0's y is a numpy array"),
        ("12.2", slices_sent_twice, "2560 B were sent where 1760 B are enough"),
        ("12.4", of_another_type, "float64 where its rows are int64"),
        ("12.4", reaches_two, "a reach of 3"),
        ("12.4", zeros_of_the_rows, "something else than zeros"),
        ("12.4", no_zeros_below_one_rank, "7 rows where there should be 9"),
        ("12.4", a_message_a_row_of_the_border, "sent 2 messages and has 1 neighbour"),
        ("12.5", a_list_for_a_state, "something else than its state"),
        ("12.5", half_of_the_state, "the outputs are not those"),
        ("12.5", a_pair_for_a_state, "states of one tensor, rank 0 raised IndexError"),
        ("12.5", all_before_the_first_message, "in 1 call of `layer`"),
        ("12.5", empty_chunks, "a chunk without steps"),
        ("12.5", three_chunks, "rank 0 sent 3 messages"),
        ("12.4", lends_fewer_than_it_has, "On 9 ranks"),
        ("12.4", meets_at_a_barrier, "at a barrier"),
        ("12.5", a_chunk_less, "rank 0 sent 4 messages"),
        ("12.5", outputs_sent_back, "nobody comes after it"),
        ("12.5", each_chunk_twice, "ran over 44 steps"),
    ],
)
def test_it_is_wrong_and_told_what_was_seen(
    number: str, answer: Callable[..., Any], says: str
) -> None:
    is_told(number, answer, says)
