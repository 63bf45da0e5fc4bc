"""What a training with parameter servers gives back, whichever engine ran it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helpers.engine.servers.parameter_server import Message
from helpers.engine.servers.rule import Push, Rule
from helpers.engine.trace import Trace

Array = Any
MakeRule = Callable[[Array], Rule]


class Point(NamedTuple):
    """One look at the model. seconds: since the start. updates: made by then. error: test, in %."""

    seconds: float
    updates: int
    error: float


@dataclass
class ServerRecord:
    """What one server did.

    log: the messages in the order in which it took them up. updates: the gradients of each
    update. dropped: those never used. bytes_in, bytes_out: of gradients and weights through it; on
    real processes until its last update, because how long workers go on then is chance. lost:
    updates that were lost when it was restarted. story: such events in words.
    """

    log: list[Message]
    updates: list[tuple[Push, ...]]
    dropped: list[Push]
    version: int
    bytes_in: int = 0
    bytes_out: int = 0
    lost: int = 0
    story: list[str] = field(default_factory=list)


@dataclass
class Training:
    """A training that has ended.

    weights: the last ones, whole. seconds: of the engine's clock. curve: the test error now and
    then. servers: what each did. died: workers that died, in words. trace: what the workers did,
    where it was asked for.
    """

    weights: Array
    seconds: float
    curve: list[Point]
    servers: list[ServerRecord]
    error: float
    died: dict[int, str] = field(default_factory=dict)
    trace: Trace | None = None

    @property
    def updates(self) -> int:
        """How many updates every server has made."""
        return min(server.version for server in self.servers)

    @property
    def staleness(self) -> np.ndarray:
        """How many updates late each applied gradient was, (gradients,), as server 0 saw it."""
        return np.array([p.staleness for update in self.servers[0].updates for p in update], int)

    @property
    def drops(self) -> int:
        """Gradients that server 0 never used."""
        return len(self.servers[0].dropped)

    @property
    def lost(self) -> int:
        """Updates that were lost when servers were restarted."""
        return sum(server.lost for server in self.servers)

    @property
    def story(self) -> list[str]:
        """What went wrong and how it went on, in words."""
        return [*self.died.values(), *(line for server in self.servers for line in server.story)]

    def seconds_to(self, target: float) -> float | None:
        """When the test error was at or below `target` % for the first time; None for never."""
        return next((p.seconds for p in self.curve if p.error <= target), None)

    def __repr__(self) -> str:
        stale = self.staleness
        late = f", {stale.mean():.1f} updates late on average" if len(stale) else ""
        drops = f", {self.drops} gradients dropped" if self.drops else ""
        return (
            f"{self.updates} updates in {self.seconds:.4g} s{late}{drops}; "
            f"test error {self.error:.1f} %"
        )


def bytes_of(array: Array | None) -> int:
    """Bytes of an array's elements, 0 for none."""
    return 0 if array is None else int(array.nbytes)
