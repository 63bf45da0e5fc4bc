"""Traces: totals, the file for viewers, and a rank's time without a gap."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.engine.trace import Event, RankStats, Stats, Trace, with_computing

EVENTS = [
    Event(1, "waiting", 0.0, 2.0, "receive from 0", 0),
    Event(0, "sending", 1.0, 2.0, "send to 1", 1, 40),
    Event(0, "computing", 0.0, 1.0, "compute"),
    Event(0, "computing", 0.5, 2.5, "all_reduce", lane=1),
]


def test_events_come_by_rank_lane_and_time():
    trace = Trace(EVENTS, 2)
    assert [(e.rank, e.lane, e.start) for e in trace] == [
        (0, 0, 0.0), (0, 0, 1.0), (0, 1, 0.5), (1, 0, 0.0)
    ]  # fmt: skip
    assert trace.of(0, "computing") == [EVENTS[2], EVENTS[3]]
    assert trace.of(0, "computing", lane=1) == [EVENTS[3]]
    assert trace.seconds(0, "computing") == 3.0
    assert (trace.duration, Trace([], 1).duration) == (2.5, 0.0)
    assert (len(trace), trace[0], trace.events[-1]) == (4, EVENTS[2], EVENTS[0])


def test_the_file_is_in_the_format_of_trace_viewers(tmp_path):
    path = Trace(EVENTS, 2).save(tmp_path / "trace.json")
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    assert len(complete) == len(EVENTS)
    # Times in microseconds; a process a rank, a thread a lane.
    sending = next(e for e in complete if e["cat"] == "sending")
    assert (sending["name"], sending["ts"], sending["dur"]) == ("send to 1", 1e6, 1e6)
    assert (sending["pid"], sending["tid"], sending["args"]) == (0, 0, {"peer": 1, "bytes": 40})
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert names == ["rank 0", "rank 1"]
    assert {e["ph"] for e in events} == {"M", "X"}


def test_stats_by_rank_and_by_field():
    stats = Stats([RankStats(40, 1, 0.5), RankStats(0, 0, 0.25)])
    assert (stats.bytes, stats.messages, stats.seconds) == ([40, 0], [1, 0], [0.5, 0.25])
    assert stats[0].bytes == 40
    assert len(stats) == 2
    assert stats == Stats(list(stats))
    assert hash(stats) == hash(Stats(list(stats)))
    assert stats != Stats([])
    lines = repr(stats).splitlines()
    assert lines[0].split() == ["rank", "bytes", "sent", "messages", "seconds"]
    assert lines[1].split() == ["0", "40", "1", "0.500000"]


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 3)), max_size=8),
    st.floats(0, 2),
    st.floats(0, 12),
)
def test_what_no_event_covers_is_computing(rows, begin, length):
    end = begin + length
    events = [Event(0, "waiting", a, a + b) for a, b in rows if begin <= a and a + b <= end]
    filled = with_computing([*events, Event(0, "waiting", begin, end, lane=1)], [(begin, end)])
    computing = sorted((e.start, e.end) for e in filled if e.kind == "computing")
    assert all(start < stop for start, stop in computing)
    # The pieces overlap neither each other nor an event, and with the events leave no gap.
    pieces = sorted([*computing, *((e.start, e.end) for e in events)])
    at = begin
    for start, stop in pieces:
        assert start <= at
        at = max(at, stop)
    assert at == pytest.approx(end)
    for start, stop in computing:
        assert all(e.end <= start or e.start >= stop for e in events if e.end > e.start)
