"""Replicas with one thing wrong: by pieces for a real run, and quickly in numpy for a widget."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.frameworks.experiments import setting

MISTAKES = ("no broadcast", "averaged twice", "summed", "not averaged", "nothing")

Arrays = list[np.ndarray]


class Silent:
    """Horovod with broadcasts that do nothing."""

    def __init__(self, hvd: Any) -> None:
        self._hvd = hvd

    def __getattr__(self, name: str) -> Any:
        if name.startswith("broadcast"):
            return lambda *args, **options: None
        return getattr(self._hvd, name)


def without_broadcast(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The same `prepare(hvd, model, optimizer)`, and nobody hears a broadcast."""
    return partial(_silent, prepare)


def _silent(prepare: Callable[..., Any], hvd: Any, *others: Any) -> Any:
    return prepare(Silent(hvd), *others)


def averaging_twice(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The same `prepare`, and each gradient is divided by the number of ranks once more."""
    return partial(_twice, prepare)


def _twice(prepare: Callable[..., Any], hvd: Any, model: Any, optimizer: Any) -> Any:
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient / hvd.size())
    return prepare(hvd, model, optimizer)


class Course(NamedTuple):
    """Of each step: the mean loss of the ranks and one process's; the largest difference between
    rank 0's weights and another rank's (apart), and between rank 0's and one process's (away).
    """

    losses: list[float]
    alone: list[float]
    apart: list[float]
    away: list[float]


@cache
def train_wrong(mistake: str, ranks: int, rate: float = setting.RATE, steps: int = 50) -> Course:
    """Replicas of the lesson's setting with one of MISTAKES, in numpy, on `ranks` ranks."""
    whole = _task(steps)
    starts = [setting.weights(0 if mistake != "no broadcast" else r) for r in range(ranks)]
    now = [[w.astype(float) for w in start] for start in starts]
    alone = [w.astype(float) for w in setting.weights(0)]
    scale = {"averaged twice": 1 / ranks, "summed": float(ranks)}.get(mistake, 1.0)
    seen = Course([], [], [], [])
    for x, y in zip(whole.x, whole.y, strict=True):
        cuts = [slice(r * len(y) // ranks, (r + 1) * len(y) // ranks) for r in range(ranks)]
        found = [_slopes(now[r], x[cut], y[cut]) for r, cut in enumerate(cuts)]
        shares = [(cut.stop - cut.start) / len(y) for cut in cuts]
        mean = [
            scale * sum(s * g for s, g in zip(shares, same, strict=True))
            for same in zip(*[gradients for _, gradients in found], strict=True)
        ]
        for r in range(ranks):
            used = found[r][1] if mistake == "not averaged" else mean
            now[r] = [w - rate * g for w, g in zip(now[r], used, strict=True)]
        loss, slopes = _slopes(alone, x, y)
        alone = [w - rate * g for w, g in zip(alone, slopes, strict=True)]
        seen.losses.append(sum(s * loss for s, (loss, _) in zip(shares, found, strict=True)))
        seen.alone.append(loss)
        seen.apart.append(max(_furthest(now[0], other) for other in now))
        seen.away.append(_furthest(now[0], alone))
    return seen


@cache
def _task(steps: int) -> setting.Task:
    return setting.task(steps)


def _furthest(one: Arrays, other: Arrays) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))


def _slopes(weights: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[float, Arrays]:
    """The mean cross-entropy of these rows, and its gradients in torch's layout."""
    first, first_bias, last, last_bias = weights
    hidden = np.tanh(x @ first.T + first_bias)
    out = hidden @ last.T + last_bias
    out -= out.max(axis=1, keepdims=True)
    log = out - np.log(np.exp(out).sum(axis=1, keepdims=True))
    rows = np.arange(len(y))
    loss = -float(log[rows, y].mean())
    delta = np.exp(log)
    delta[rows, y] -= 1
    delta /= len(y)
    back = delta @ last * (1 - hidden**2)
    return loss, [back.T @ x, back.sum(axis=0), delta.T @ hidden, delta.sum(axis=0)]
