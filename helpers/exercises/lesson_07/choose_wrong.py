"""The reference of exercise 07.2, and choices with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _search(
    times: Any, iterations: Any, seconds: Callable[[Any, int], Any], unit: float = 3600
) -> tuple[int, float]:
    hours = {n: iterations[n] * float(seconds(times, n)) / unit for n in iterations}
    best = min(hours, key=lambda n: hours[n])
    return times.shape[1] - best, hours[best]


def _to(times: Any, n: int) -> Any:
    return times.sort(dim=1).values[:, n - 1].mean()


def reference(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """The course's own."""
    return _search(times, iterations, _to)


def gives_n(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Returns N instead of b."""
    spares, hours = _search(times, iterations, _to)
    return times.shape[1] - spares, hours


def hours_first(times: Any, iterations: dict[int, int]) -> tuple[float, int]:
    """The other way round."""
    spares, hours = _search(times, iterations, _to)
    return hours, spares


def _from(workers: int, times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """As if there were this many workers."""
    spares, hours = _search(times, iterations, _to)
    return workers - (times.shape[1] - spares), hours


def from_the_largest(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Takes the largest N for the number of workers."""
    return _from(max(iterations), times, iterations)


def from_the_entries(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Takes the number of entries for the number of workers."""
    return _from(len(iterations), times, iterations)


def from_the_steps(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Takes rows for columns."""
    return _from(times.shape[0], times, iterations)


def every_n(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Asks for every N from 1."""
    return _search(times, {n: iterations[n] for n in range(1, times.shape[1] + 1)}, _to)


def every_n_between(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Asks for every N between the least and the largest."""
    between = range(min(iterations), max(iterations) + 1)
    return _search(times, {n: iterations[n] for n in between}, _to)


def waits_for_all(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Takes the time of the slowest for every N."""
    return _search(times, iterations, lambda t, n: t.max(dim=1).values.mean())


def no_spares(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Takes N workers, all of which are waited for."""
    return _search(times, iterations, lambda t, n: t[:, :n].max(dim=1).values.mean())


def shortest_step(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Looks at the time of a step alone."""
    n = min(iterations)
    return times.shape[1] - n, iterations[n] * float(_to(times, n)) / 3600


def in_seconds(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """Never divides by 3600."""
    return _search(times, iterations, _to, 1)


def one_late(times: Any, iterations: dict[int, int]) -> tuple[int, float]:
    """The time to gradient N + 1."""
    last = times.shape[1] - 1
    return _search(times, iterations, lambda t, n: t.sort(dim=1).values[:, min(n, last)].mean())
