"""The virtual clock: times, bytes and order by formula, and the same on each run."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from on_virtual import ALPHA, BANDWIDTH, nothing_is_left, run

from helpers.engine.errors import RunError

__all__ = ["nothing_is_left"]


def test_a_receiver_that_comes_late_finds_the_message_there():
    def fn(comm):
        if comm.rank == 0:
            comm.send(torch.zeros(10), 1)
        else:
            comm.compute(1.0)
            comm.recv(0)
        return comm.time()

    results = run(fn)
    # The transfer is eager, so the receiver goes on at once; the sender waited for it.
    assert list(results) == [1.0, 1.0]
    kinds = [(e.kind, e.start, e.end) for e in results.trace.of(0)]
    arrival = pytest.approx(ALPHA + 40 / BANDWIDTH)
    assert kinds == [("sending", 0.0, arrival), ("waiting", arrival, 1.0)]
    assert results.trace.of(1, "waiting") == []


def test_a_link_carries_one_message_at_a_time():
    def fn(comm):
        if comm.rank:
            comm.isend(torch.zeros(250), 0).wait()
        else:
            for source in range(1, comm.size):
                comm.recv(source)
        return comm.time()

    results = run(fn, ranks=4)
    # 1000 B take 1 ms of the receiver's link each; the latency is not part of that.
    assert [round(t / 1e-3, 9) for t in results] == [3.1, 1.1, 2.1, 3.1]
    # Rank 3 waits for the link for 2 ms before its own message is under way.
    assert results.trace.seconds(3, "waiting") == pytest.approx(2e-3)
    assert results.trace.seconds(3, "sending") == pytest.approx(1.1e-3)


sends = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 500), st.integers(0, 5)),
    max_size=25,
)


@given(plan=sends)
@settings(deadline=None, max_examples=60)
def test_messages_take_the_links_in_the_order_of_time(plan):
    plan = [row for row in plan if row[0] != row[1]]

    def fn(comm):
        for source, to, nbytes, pause in plan:
            if source == comm.rank:
                comm.compute(pause * 1e-3)
                comm.isend(torch.zeros(nbytes, dtype=torch.uint8), to)
        asked = [comm.irecv(source) for source, to, *_ in plan if to == comm.rank]
        for request in asked:
            request.wait()
        return None

    # The model again, without ranks: all sends sorted by time, one after the other.
    clock, order = [0.0] * 4, []
    for number, (source, to, nbytes, pause) in enumerate(plan):
        clock[source] += pause * 1e-3
        order.append((clock[source], source, number, to, nbytes))
    out, into = [0.0] * 4, [0.0] * 4
    end = list(clock)
    for sent, source, _, to, nbytes in sorted(order):
        start = max(sent, out[source], into[to])
        out[source] = into[to] = start + nbytes / BANDWIDTH
        received = max(start + ALPHA + nbytes / BANDWIDTH, clock[to])
        end[source], end[to] = max(end[source], received), max(end[to], received)
    assert run(fn, ranks=4).stats.seconds == pytest.approx(end)


@given(plan=sends, blocking=st.booleans())
@settings(deadline=None, max_examples=60)
def test_matched_programs_end_in_order_and_the_same_each_time(plan, blocking):
    def fn(comm):
        got, open_requests = [], []
        # Every rank goes through the same list in the same order, so there is no circle.
        for number, (source, to, length, pause) in enumerate(plan):
            if source == to:
                continue
            comm.compute(pause * 1e-5)
            if source == comm.rank:
                tensor = torch.full((length + 1,), number)
                request = comm.isend(tensor, to)
                open_requests.append(request)
                if blocking:
                    request.wait()
            elif to == comm.rank:
                got.append(int(comm.recv(source)[0]))
        for request in open_requests:
            request.wait()
        return got

    first, second = run(fn, ranks=4), run(fn, ranks=4)
    for rank in range(4):
        # First in, first out, for every pair.
        assert first[rank] == [n for n, p in enumerate(plan) if p[1] == rank != p[0]]
    expected = [sum(8 * (p[2] + 1) for p in plan if p[0] == r != p[1]) for r in range(4)]
    assert first.stats.bytes == expected
    assert (list(first), first.stats, first.trace.events) == (
        list(second),
        second.stats,
        second.trace.events,
    )


def test_barrier_ends_log_n_latencies_after_the_last():
    def fn(comm):
        comm.compute(comm.rank)
        comm.barrier()
        return comm.time()

    for ranks, rounds in ((1, 0), (2, 1), (5, 3), (8, 3)):
        results = run(fn, ranks=ranks)
        assert all(t == pytest.approx(ranks - 1 + rounds * ALPHA) for t in results)
        assert results.stats.messages == [0] * ranks


def test_compute_moves_the_clock_and_refuses_nonsense():
    results = run(lambda comm: comm.compute(0.25 * comm.rank), ranks=3)
    assert results.stats.seconds == [0.0, 0.25, 0.5]
    assert results.trace.virtual
    assert [(e.kind, e.end) for e in results.trace] == [("computing", 0.25), ("computing", 0.5)]
    for bad in (-1, math.inf, math.nan):
        with pytest.raises(RunError, match="cannot compute for"):
            run(lambda comm, bad=bad: comm.compute(bad), ranks=1)


def test_options_are_checked():
    for option in ({"latency": -1}, {"latency": math.nan}, {"bandwidth": 0}):
        with pytest.raises(ValueError, match="is not possible"):
            run(lambda comm: None, **option)
