"""Schedules of pipelines: order, memory and time, for every number of stages and microbatches."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.pipelines.algorithms.instructions import Backward, Forward
from helpers.lessons.pipelines.algorithms.schedules import (
    bubble,
    gpipe,
    interleaved,
    naive,
    one_forward_one_backward,
    orders,
    validate,
)
from helpers.lessons.pipelines.algorithms.timetable import idle_share, makespan, timetable

some = settings(max_examples=25)
STAGES, MANY = st.integers(1, 12), st.integers(1, 40)
ALL = st.sampled_from([naive, gpipe, one_forward_one_backward])
COSTS = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])  # sums are exact


def check_order(streams, count, chunks=1):
    """Invariants that hold for every schedule, looked at on the clock."""
    validate(streams, count, chunks)
    table, size = timetable(streams), len(streams)
    start, end = {}, {}
    for rank, row in enumerate(table):
        for span in row:
            key = type(span.instruction), span.instruction.microbatch
            start[*key, span.instruction.chunk * size + rank] = span.start
            end[*key, span.instruction.chunk * size + rank] = span.end
    last = size * chunks - 1
    for m in range(count):
        for stage in range(last + 1):
            # Every microbatch goes forward before it goes backward, on every stage.
            assert end[Forward, m, stage] <= start[Backward, m, stage]
            if stage:
                # No stage is ahead of its input, and no gradient comes before it is made.
                assert end[Forward, m, stage - 1] <= start[Forward, m, stage]
                assert end[Backward, m, stage] <= start[Backward, m, stage - 1]


@some
@given(schedule=ALL, stages=STAGES, count=MANY)
def test_every_microbatch_in_order_on_every_stage(schedule, stages, count):
    check_order(orders(schedule, stages, count), count)


@some
@given(ranks=st.integers(1, 6), groups=st.integers(1, 5), chunks=st.integers(1, 4))
def test_interleaved_chunks_are_in_order_and_divide_the_bubble(ranks, groups, chunks):
    streams = orders(partial(interleaved, chunks=chunks), ranks, ranks * groups)
    check_order(streams, ranks * groups, chunks)
    share = idle_share(timetable(streams))
    assert share == pytest.approx(bubble(ranks, ranks * groups, chunks=chunks), abs=1e-12)


@some
@given(stages=STAGES, count=MANY, forward=COSTS, backward=COSTS)
def test_the_bubble_is_the_formula(stages, count, forward, backward):
    def cost(rank, instruction):
        return forward if isinstance(instruction, Forward) else backward

    for schedule in (gpipe, one_forward_one_backward):
        table = timetable(orders(schedule, stages, count), cost)
        assert makespan(table) == (count + stages - 1) * (forward + backward)
        assert idle_share(table) == pytest.approx(bubble(stages, count), abs=1e-12)
    table = timetable(orders(naive, stages, count), cost)
    assert idle_share(table) == pytest.approx(1 - 1 / stages, abs=1e-12)


def test_the_orders_of_the_papers():
    assert list(gpipe(1, 3, 2)) == [Forward(0), Forward(1), Backward(1), Backward(0)]
    first = list(one_forward_one_backward(0, 2, 3))
    assert first == [Forward(0), Forward(1), Backward(0), Forward(2), Backward(1), Backward(2)]
    # Narayanan et al. (2021), figure 4: four ranks, two chunks; the first rank starts with four
    # microbatches on its first chunk, then the same four on its second.
    warm = list(interleaved(0, 4, 8))[:10]
    assert warm == [Forward(m, c) for c in (0, 1) for m in range(4)] + [Forward(4), Forward(5)]


WAITING = [  # the first stage wants gradients in the order 0, 1 before it sends microbatch 1
    [Forward(0), Backward(0), Forward(1), Backward(1)],
    [Forward(0), Forward(1), Backward(1), Backward(0)],
]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *((lambda s=s: list(s(2, 2, 4)), "no stage 2 among 2") for s in (gpipe, interleaved)),
        *((lambda s=s: list(s(0, 2, 0)), "at least one microbatch") for s in (naive, interleaved)),
        (lambda: list(interleaved(0, 4, 6)), "groups of 4"),
        (lambda: list(interleaved(0, 2, 4, chunks=0)), "cannot hold 0 chunks"),
        (lambda: bubble(0, 4), "at least one stage"),
        (lambda: bubble(2, 4, 0, 0), "takes time, not 0 s forward and 0 s back"),
        (lambda: bubble(2, 4, -1, 2), "takes time, not -1 s forward"),
        (lambda: validate([WAITING[1], [Forward(0)]], 2), "Rank 1's schedule has 1 Forward"),
        (lambda: validate(WAITING, 2), "wait for each other: rank 0 cannot do Backward"),
    ],
)
def test_what_cannot_be_is_told(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()


def test_messages_take_time_between_ranks_only():
    assert makespan(timetable(orders(gpipe, 1, 2), message=5.0)) == 6
    # Forward, message, forward, backward, message, backward: 1 + 5 + 1 + 2 + 5 + 2.
    assert makespan(timetable(orders(gpipe, 2, 1), message=5.0)) == 16
