"""What each rank did and when: the trace of a run, its totals, and a file for trace viewers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

Kind = Literal["computing", "sending", "waiting"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a rank did.

    start, end: seconds since the run began. lane: 0 for the rank's own thread, 1 for its
    communication thread. peer: the other rank, where there is one. bytes: of the message.
    """

    rank: int
    kind: Kind
    start: float
    end: float
    label: str = ""
    peer: int | None = None
    bytes: int = 0
    lane: int = 0


class RankStats(NamedTuple):
    """What one rank sent, and how long its function took on its own clock."""

    bytes: int
    messages: int
    seconds: float


class LinkBytes(NamedTuple):
    """The bytes of tensors that left a host by its link, and those that came in by it."""

    out: int
    into: int


class Stats(tuple[RankStats, ...]):
    """`stats[r]` is rank r's; `stats.bytes`, `.messages` and `.seconds` list one field by rank.

    sent: for each rank, the bytes to each other rank to which it sent any. hosts: by rank.
    """

    sent: list[dict[int, int]]
    _hosts: tuple[int, ...]

    def __new__(
        cls,
        rows: Iterable[RankStats],
        sent: Sequence[Mapping[int, int]] = (),
        hosts: Sequence[int] = (),
    ) -> Stats:
        self = super().__new__(cls, rows)
        self.sent, self._hosts = [dict(each) for each in sent], tuple(hosts)
        return self

    @property
    def links(self) -> list[LinkBytes]:
        """For each host, what went over its link: tensors that ranks sent to other hosts."""
        out = [0] * (max(self._hosts, default=-1) + 1)
        into = list(out)
        for source, each in enumerate(self.sent):
            for to, nbytes in each.items():
                if self._hosts[source] != self._hosts[to]:
                    out[self._hosts[source]] += nbytes
                    into[self._hosts[to]] += nbytes
        return [LinkBytes(*pair) for pair in zip(out, into, strict=True)]

    @property
    def bytes(self) -> list[int]:
        """Bytes sent by each rank."""
        return [row.bytes for row in self]

    @property
    def messages(self) -> list[int]:
        """Messages sent by each rank."""
        return [row.messages for row in self]

    @property
    def seconds(self) -> list[float]:
        """Seconds that each rank's function took."""
        return [row.seconds for row in self]

    def __repr__(self) -> str:
        lines = [f"{'rank':>4} {'bytes sent':>12} {'messages':>9} {'seconds':>10}"]
        for rank, row in enumerate(self):
            lines.append(f"{rank:>4} {row.bytes:>12} {row.messages:>9} {row.seconds:>10.6f}")
        return "\n".join(lines)


class Trace(tuple[Event, ...]):
    """The events of a run, by rank and time."""

    # Drawing is not the engine's: `helpers.notebook.shown` adds these.
    plot: Callable[..., Any]
    explore: Callable[[], None]

    size: int
    virtual: bool

    def __new__(cls, events: Iterable[Event], size: int = 0, virtual: bool = False) -> Trace:
        self = super().__new__(cls, sorted(events, key=lambda e: (e.rank, e.lane, e.start, e.end)))
        self.size, self.virtual = size, virtual
        return self

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, by rank, then by lane and time."""
        return tuple(self)

    def of(self, rank: int, kind: Kind | None = None, lane: int | None = None) -> list[Event]:
        """One rank's events, of one kind and lane where these are given."""
        return [
            e for e in self if e.rank == rank and kind in (None, e.kind) and lane in (None, e.lane)
        ]

    def seconds(self, rank: int, kind: Kind) -> float:
        """How long a rank spent on one kind, over both lanes."""
        return sum(e.end - e.start for e in self.of(rank, kind))

    @property
    def duration(self) -> float:
        """Seconds from the start of the run to the end of the last event."""
        return max((e.end for e in self), default=0.0)

    def save(self, path: str | Path) -> Path:
        """Write the trace in the format that Chrome's `about:tracing` and Perfetto open."""
        path = Path(path)
        path.write_text(json.dumps(self.chrome()), encoding="utf-8")
        return path

    def chrome(self) -> dict[str, Any]:
        """The trace as Chrome's trace-event format: complete events, times in microseconds."""
        events: list[dict[str, Any]] = []
        for rank in range(self.size):
            events.append(_named("process_name", rank, 0, f"rank {rank}"))
            for lane, name in enumerate(("rank", "communication thread")):
                events.append(_named("thread_name", rank, lane, name))
        for e in self:
            events.append(
                {
                    "ph": "X",
                    "name": e.label or e.kind,
                    "cat": e.kind,
                    "pid": e.rank,
                    "tid": e.lane,
                    "ts": e.start * 1e6,
                    "dur": (e.end - e.start) * 1e6,
                    "args": {"peer": e.peer, "bytes": e.bytes},
                }
            )
        return {"traceEvents": events, "displayTimeUnit": "ms"}


def _named(what: str, rank: int, lane: int, name: str) -> dict[str, Any]:
    """A row's name, as Chrome's format has it."""
    return {"ph": "M", "name": what, "pid": rank, "tid": lane, "ts": 0, "args": {"name": name}}


def with_computing(events: Iterable[Event], spans: Sequence[tuple[float, float]]) -> list[Event]:
    """Add a rank's computing: the time of lane 0 that no other event covers.

    events: what the ranks recorded. spans: when each rank's function began and ended.
    """
    events = list(events)
    filled = list(events)
    for rank, (begin, end) in enumerate(spans):
        mine = sorted((e.start, e.end) for e in events if e.rank == rank and e.lane == 0)
        at = begin
        for start, stop in [*mine, (end, end)]:
            if start > at:
                filled.append(Event(rank, "computing", at, start))
            at = max(at, stop)
    return filled


class Results(list[Any]):
    """What the ranks returned, in rank order, with what they did on the way.

    trace: when each rank computed, sent and waited. stats: bytes and messages sent, seconds, by
    rank. output: what each rank printed. job: of a cluster's run, what `helpers.attach` takes.
    """

    def __init__(
        self,
        values: Iterable[Any],
        trace: Trace,
        stats: Stats,
        output: Sequence[str] = (),
        job: str = "",
    ) -> None:
        super().__init__(values)
        self.trace = trace
        self.stats = stats
        self.output = list(output)
        self.job = job
