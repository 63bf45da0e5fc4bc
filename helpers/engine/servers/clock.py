"""A clock that jumps from event to event, and links that carry one message after another."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Any


class Clock:
    """Virtual time. Events at the same moment happen in the order in which they were set."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._numbers = count()

    def at(self, time: float, act: Callable[..., None], *args: Any) -> None:
        """Call `act(*args)` at `time`, in seconds, not before now."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), act, args))

    def step(self) -> bool:
        """Go to the next event and let it happen. Returns False where there is none."""
        if not self._events:
            return False
        self.now, _, act, args = heapq.heappop(self._events)
        act(*args)
        return True

    @property
    def next(self) -> float:
        """When the next event happens; infinity where there is none."""
        return self._events[0][0] if self._events else float("inf")


class Link:
    """One direction of a server's link: messages that meet there go one after the other.

    latency: seconds. bandwidth: bytes a second. carried: bytes so far.
    """

    def __init__(self, latency: float, bandwidth: float) -> None:
        if not latency >= 0 or not bandwidth > 0:
            raise ValueError(
                f"A link has a latency of 0 s or more and a bandwidth above 0 bytes/s, "
                f"not {latency} s and {bandwidth} bytes/s."
            )
        self.latency, self.bandwidth = latency, bandwidth
        self.carried = 0
        self._free = 0.0

    def send(self, now: float, size: float) -> float:
        """Start a message of `size` bytes as soon as the link is free. Returns: its arrival."""
        self._free = max(now, self._free) + size / self.bandwidth
        self.carried += round(size)  # parts of a padded message need not be whole
        return self._free + self.latency
