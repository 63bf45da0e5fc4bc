"""Deadlocks: found at once, told as who waits for whom, with the likely reason."""

from __future__ import annotations

import pytest
import torch
from on_virtual import nothing_is_left, run

from helpers.engine import deadlock as d
from helpers.engine.deadlock import State
from helpers.engine.errors import Deadlock

__all__ = ["nothing_is_left"]

ONES = torch.ones(10)


def deadlock(fn, ranks):
    """The deadlock that a function ends in."""
    with pytest.raises(Deadlock) as caught:
        run(fn, ranks=ranks)
    assert caught.value.ranks == tuple(caught.value.waiting)
    return caught.value


def test_everybody_sends_first():
    def fn(comm):
        comm.compute(350e-6)
        if comm.rank < 2:
            comm.send(ONES, 1 - comm.rank)
            comm.recv(1 - comm.rank)

    error = deadlock(fn, 3)
    first, place, reason = error.report.splitlines()
    assert first == (
        "Deadlock at 0.35 ms: rank 0 waits to send 40 B to rank 1; "
        "rank 1 waits to send 40 B to rank 0; rank 2 has returned."
    )
    assert place.startswith("  ranks 0 and 1: tests/engine/test_deadlock.py, line ")
    assert place.endswith("in fn: comm.send(ONES, 1 - comm.rank)")
    assert "Each of ranks 0 and 1 sends before it receives" in reason
    assert error.waiting == {
        0: "waits to send 40 B to rank 1", 1: "waits to send 40 B to rank 0"
    }  # fmt: skip


def skips_a_barrier(comm):
    if comm.rank != 2:
        comm.barrier()


def receives_nothing(comm):
    if comm.rank == 1:
        comm.isend(ONES, 0)


def sends_nothing(comm):
    if comm.rank:
        comm.recv(0)


def differ(comm):
    comm.barrier() if comm.rank else comm.shared((1,))


@pytest.mark.parametrize(
    ("fn", "ranks", "reasons"),
    [
        (skips_a_barrier, 4, ["ranks 0, 1 and 3 wait for rank 2 to come to the barrier",
                              "Rank 2 has returned without coming to the barrier"]),
        (receives_nothing, 2, ["1 waits to send 40 B", "message for rank 0 that nobody receives"]),
        (sends_nothing, 2, ["Rank 0 has come to the end of its function without sending"]),
        (differ, 3, ["The ranks are in different collectives"]),
    ],
)  # fmt: skip
def test_the_likely_reason_is_told(fn, ranks, reasons):
    report = deadlock(fn, ranks).report
    assert all(reason in report for reason in reasons), report


def test_background_work_that_waits_for_ever():
    def work(comm):
        comm.recv(1 - comm.rank)

    def fn(comm):
        if comm.rank == 0:
            comm.background(work).wait()
        else:
            comm.send(ONES, 0)

    error = deadlock(fn, 2)
    assert error.waiting[0] == "waits for its background work, which waits to receive from rank 1"
    assert "background functions reach only background functions" in error.report


def test_a_deadlock_of_many_ranks_stays_readable():
    error = deadlock(lambda comm: comm.recv((comm.rank + 1) % comm.size), 64)
    assert len(error.waiting) == 64
    assert "and so on for 56 more" in error.report
    assert len(error.report) < 1500


# --- from states alone, as another engine would have them -----------------------------------------


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        (
            [State(0, "receiving", 1), State(1, "receiving", 2), State(2, "receiving", 0)],
            "Each of ranks 0 to 2 receives before it sends",
        ),
        ([State(0, "receiving", 0), State(1, "returned")], "Rank 0 waits for itself"),
        (
            [State(0, "barrier"), State(1, "receiving", 0)],
            "Rank 1 cannot come to the barrier, since it waits to receive from rank 0, and rank 0",
        ),
        (
            [State(0, "receiving", 1), State(1, "sending", 2, 8), State(2, "sending", 0, 8)],
            "Rank 0 waits to receive from rank 1, but rank 1 is about to send 8 B to rank 2",
        ),
        ([State(0, "sending", 1, 8), State(1, "returned")], "without receiving what rank 0"),
    ],
)
def test_known_patterns_are_recognised(states, reason):
    report, waiting = d.tell(states)
    assert report.startswith("Deadlock: ")
    assert reason in report
    assert set(waiting) == {s.rank for s in states if s.waits}


def test_a_background_function_waits_beside_its_rank():
    behind = State(0, "sending", 1, 20_000)
    states = [State(0, "receiving", 1, background=behind), State(1, "returned")]
    _, waiting = d.tell(states)
    assert waiting[0] == (
        "waits to receive from rank 1; its background function waits to send 20 kB to rank 1"
    )


def test_words():
    assert d.rank_words([3]) == "rank 3"
    assert d.rank_words([0, 1]) == "ranks 0 and 1"
    assert d.rank_words([0, 1, 2, 3]) == "ranks 0 to 3"
    assert d.rank_words([0, 2, 5]) == "ranks 0, 2 and 5"
    assert d.rank_words(range(0, 40, 2)) == "ranks 0, 2, 4, 6, 8, 10, 12 and 13 more"
    assert [d.amount(n) for n in (0, 40, 9999, 12_345, 4_000_000, 2_500_000_000)] == [
        "0 B", "40 B", "9999 B", "12.3 kB", "4 MB", "2.5 GB"
    ]  # fmt: skip
    assert [d.duration(s) for s in (0, 2, 0.35e-3, 5e-5)] == ["0 s", "2 s", "0.35 ms", "50 µs"]
