"""An asynchronous server and its workers in SimPy, the way SimPy is used and the quickest way."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

Found = list[tuple[float, int]]  # (seconds, worker) of each arrival


def with_resources(times: np.ndarray, push: float, pull: float, latency: float) -> Found:
    """Each direction of the link is a Resource that messages queue for, as SimPy's guide does."""
    import simpy

    env = simpy.Environment()
    into, out = simpy.Resource(env), simpy.Resource(env)
    spent, found = env.event(), []

    def carry(link: Any, seconds: float) -> Generator[Any, Any, Any]:
        with link.request() as request:
            yield request
            yield env.timeout(seconds)
        yield env.timeout(latency)

    def worker(number: int, times: list[float]) -> Generator[Any, Any, Any]:
        for left, seconds in enumerate(times, 1 - len(times)):
            yield from carry(out, pull)
            yield env.timeout(seconds)
            yield from carry(into, push)
            found.append((env.now, number))
            if not left:
                spent.succeed()

    for number in range(times.shape[1]):
        env.process(worker(number, times[:, number].tolist()))
    env.run(until=spent)
    return found


def with_timeouts(times: np.ndarray, push: float, pull: float, latency: float) -> Found:
    """A number says when each direction is free, so that a message is a single event."""
    import simpy

    env = simpy.Environment()
    spent, found = env.event(), []
    into = out = 0.0

    def worker(number: int, times: list[float]) -> Generator[Any, Any, Any]:
        nonlocal into, out
        timeout = env.timeout
        for left, seconds in enumerate(times, 1 - len(times)):
            out = max(env.now, out) + pull
            yield timeout(out + latency - env.now)
            yield timeout(seconds)
            into = max(env.now, into) + push
            yield timeout(into + latency - env.now)
            found.append((env.now, number))
            if not left:
                spent.succeed()

    for number in range(times.shape[1]):
        env.process(worker(number, times[:, number].tolist()))
    env.run(until=spent)
    return found
