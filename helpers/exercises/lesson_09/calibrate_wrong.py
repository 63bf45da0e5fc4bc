"""Wrong answers to exercise 09.3: fits of step times that people really write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Triple = tuple[float, float, float]


def model(workers: Any, nbytes: float, bandwidth: float) -> np.ndarray:
    """What compute, latency and 1 / share are multiplied with, a row a run."""
    n = np.asarray(workers, float)
    steps = 2 * (n - 1)
    return np.stack([np.ones_like(n), steps, steps * nbytes / n / bandwidth], axis=1)


def _solved(columns: np.ndarray, wanted: np.ndarray) -> Any:
    return np.linalg.lstsq(columns, wanted, rcond=None)[0]


def _not_negative(columns: np.ndarray, wanted: np.ndarray) -> Any:
    """Least squares; without the columns whose coefficients would be below zero."""
    found = _solved(columns, wanted)
    kept = found > 0
    if kept.all() or not kept.any():
        return found
    found = np.zeros(len(found))
    found[kept] = _not_negative(columns[:, kept], wanted)
    return found


def _set_to_zero(columns: np.ndarray, wanted: np.ndarray) -> Any:
    return np.maximum(_solved(columns, wanted), 0.0)


def _without_signs(columns: np.ndarray, wanted: np.ndarray) -> Any:
    return np.abs(_solved(columns, wanted))


def _latency_alone(columns: np.ndarray, wanted: np.ndarray) -> Any:
    found = _solved(columns, wanted)
    if found[1] < 0:
        found[1], found[[0, 2]] = 0, _solved(columns[:, [0, 2]], wanted)
    return found


def _fit(
    columns: Callable[..., np.ndarray] = model,
    weight: float = 1.0,
    solve: Callable[..., Any] = _not_negative,
    end: Callable[[float, float, float, float], Any] = lambda c, a, slow, b: (c, a, 1 / slow),
    runs: slice = slice(None),
) -> Callable[..., Any]:
    """A right fit, with one thing exchanged.

    columns: of workers, bytes and bandwidth. weight: the power of the time that an equation is
    divided by. end: what is returned, of the coefficients and the bandwidth. runs: those that are
    used.
    """

    def fit_steps(
        workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
    ) -> Any:
        t = np.asarray(seconds[runs], float)
        rows = columns(workers[runs], nbytes, bandwidth) / t[:, None] ** weight
        with np.errstate(divide="ignore"):
            c, a, slow = solve(rows, t / t**weight)
            return tuple(map(float, end(c, a, slow, bandwidth)))

    return fit_steps


def _with(second: Callable[[Any], Any], third: Callable[[Any], Any]) -> Callable[..., np.ndarray]:
    """Other columns for latency and bytes, both of the number of workers."""

    def columns(workers: Any, nbytes: float, bandwidth: float) -> np.ndarray:
        n = np.asarray(workers, float)
        return np.stack([np.ones_like(n), second(n), third(n) * nbytes / bandwidth], axis=1)

    return columns


def _steps(n: Any) -> Any:
    return 2 * (n - 1)


def _parts(n: Any) -> Any:
    return 2 * (n - 1) / n


fitted: Callable[..., Triple] = _fit()
absolute = _fit(weight=0.0)
by_the_root = _fit(weight=0.5)
unbounded = _fit(solve=_solved)
clipped = _fit(solve=_set_to_zero)
sign_dropped = _fit(solve=_without_signs)
latency_alone = _fit(solve=_latency_alone)
no_share = _fit(end=lambda c, a, slow, b: (c, a, 1 / slow if slow else 0.0))
no_share_no_refit = _fit(
    solve=_latency_alone, end=lambda c, a, slow, b: (c, a, 1 / slow if slow > 0 else 0.0)
)
divides_by_0 = _fit(end=lambda c, a, slow, b: (c, a, 1 / float(slow)))
milliseconds = _fit(end=lambda c, a, slow, b: (c, 1000 * a, 1 / slow))
per_cent = _fit(end=lambda c, a, slow, b: (c, a, 100 / slow))
first_three = _fit(runs=slice(3))
slowness = _fit(end=lambda c, a, slow, b: (c, a, slow))
bytes_a_second = _fit(end=lambda c, a, slow, b: (c, a, b / slow))
seconds_a_byte = _fit(end=lambda c, a, slow, b: (c, a, slow / b))
latency_first = _fit(end=lambda c, a, slow, b: (a, c, 1 / slow))
share_second = _fit(end=lambda c, a, slow, b: (c, 1 / slow, a))
one_latency = _fit(_with(lambda n: 1.0 * (n > 1), _parts), solve=_solved)
one_half = _fit(_with(lambda n: n - 1, lambda n: (n - 1) / n))
whole_tensors = _fit(_with(_steps, _steps), solve=_solved)
one_chunk = _fit(_with(_steps, lambda n: (n > 1) / n))
bits = _fit(_with(_steps, lambda n: 8 * _parts(n)))


def no_latency(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> Any:
    t = np.asarray(seconds)
    compute, slow = _solved(model(workers, nbytes, bandwidth)[:, [0, 2]] / t[:, None], t / t)
    return float(compute), 0.0, float(1 / slow)


def alone_is_exact(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> Any:
    t, compute = np.asarray(seconds), seconds[list(workers).index(1)]
    rows = model(workers, nbytes, bandwidth)[:, 1:] / t[:, None]
    latency, slow = _not_negative(rows, 1 - compute / t)
    return compute, float(latency), float(1 / slow)


def ends(workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float) -> Any:
    picked = [workers[0], workers[-1]], [seconds[0], seconds[-1]]
    return _fit(solve=_solved)(*picked, nbytes, bandwidth)


def quickest(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> Any:
    best: dict[int, float] = {}
    for n, t in zip(workers, seconds, strict=True):
        best[n] = min(t, best.get(n, t))
    return fitted(list(best), list(best.values()), nbytes, bandwidth)


def last_of_each(workers: Any, seconds: Any, nbytes: float, bandwidth: float) -> Any:
    runs = dict(zip(workers, seconds, strict=True))
    return fitted(list(runs), list(runs.values()), nbytes, bandwidth)


def all_latencies(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> Any:
    compute, latency, share = fitted(workers, seconds, nbytes, bandwidth)
    return compute, 2 * (max(workers) - 1) * latency, share


def one_side(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> Any:
    t = np.asarray(seconds)
    compute, latency, slow = _solved(model(workers, nbytes, bandwidth) / t[:, None], t)
    return float(compute), float(latency), float(1 / slow)
