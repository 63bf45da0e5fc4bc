"""Wrong answers to lesson 12 that nobody's table lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helpers.checks import find
from helpers.lessons.splitting.exercises import halo, waves
from tests.checks.table import verdict


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
    found = verdict(find(number), answer)
    assert found.status == "wrong" and says in found.hint
