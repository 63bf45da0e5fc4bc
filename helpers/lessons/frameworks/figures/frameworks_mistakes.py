"""Replicas with one thing wrong: by pieces for a real run, and quickly together for a widget."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
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
    return lambda hvd, *others: prepare(Silent(hvd), *others)


def averaging_twice(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The same `prepare`, and each gradient is divided by the number of ranks once more."""

    def twice(hvd: Any, model: Any, optimizer: Any) -> Any:
        for parameter in model.parameters():
            parameter.register_hook(lambda gradient: gradient / hvd.size())
        return prepare(hvd, model, optimizer)

    return twice


class Course(NamedTuple):
    """Of each step: the mean loss of the ranks and one process's; the largest difference between
    rank 0's weights and another rank's (apart), and between rank 0's and one process's (away).
    """

    losses: list[float]
    alone: list[float]
    apart: list[float]
    away: list[float]


@cache
def train_wrong(mistake: str, ranks: int, rate: float = setting.RATE) -> Course:
    """Replicas of the lesson's setting with one of MISTAKES, for 50 steps; all ranks at once."""
    whole = _task()
    replicas = _stacked([rank if mistake == "no broadcast" else 0 for rank in range(ranks)])
    alone = _stacked([0])
    scale = {"averaged twice": 1 / ranks, "summed": float(ranks)}.get(mistake, 1.0)
    seen = Course([], [], [], [])
    for x, y in zip(whole.x, whole.y, strict=True):
        losses, slopes = _slopes(replicas, x.reshape(ranks, -1, x.shape[1]), y.reshape(ranks, -1))
        if mistake != "not averaged":
            slopes = [scale * slope.mean(0, keepdims=True) for slope in slopes]
        replicas = [w - rate * slope for w, slope in zip(replicas, slopes, strict=True)]
        loss, slopes = _slopes(alone, x[None], y[None])
        alone = [w - rate * slope for w, slope in zip(alone, slopes, strict=True)]
        seen.losses.append(float(losses.mean()))
        seen.alone.append(float(loss[0]))
        seen.apart.append(max(float(np.abs(w - w[0]).max()) for w in replicas))
        pairs = zip(replicas, alone, strict=True)
        seen.away.append(max(float(np.abs(w[0] - one[0]).max()) for w, one in pairs))
    return seen


@cache
def _task() -> setting.Task:
    return setting.task(50)


def _stacked(seeds: list[int]) -> Arrays:
    """The weights of several replicas, by their seeds, along a dimension more."""
    starts = zip(*(setting.weights(seed) for seed in seeds), strict=True)
    return [np.stack(same).astype(float) for same in starts]


def _slopes(weights: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Arrays]:
    """Each replica's mean cross-entropy over its rows, and its gradients, in torch's layout."""
    first, first_bias, last, last_bias = weights
    hidden = np.tanh(x @ first.swapaxes(1, 2) + first_bias[:, None])
    out = hidden @ last.swapaxes(1, 2) + last_bias[:, None]
    out -= out.max(axis=2, keepdims=True)
    log = out - np.log(np.exp(out).sum(axis=2, keepdims=True))
    right = np.eye(out.shape[2])[y]
    losses = -(log * right).sum(axis=2).mean(axis=1)
    delta = (np.exp(log) - right) / y.shape[1]
    back = delta @ last * (1 - hidden**2)
    slopes = [back.swapaxes(1, 2) @ x, back.sum(axis=1), delta.swapaxes(1, 2) @ hidden]
    return losses, [*slopes, delta.sum(axis=1)]
