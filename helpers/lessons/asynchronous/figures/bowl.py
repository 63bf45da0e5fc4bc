"""Asynchronous training so small that it redraws behind sliders: two weights in a bowl.

The rules and cures are the real ones, and so is the order of arrivals: step times are drawn, and
whoever is ready first arrives first. Only the model is tiny: the loss is half the sum of
curvature · w², and a batch's gradient is off by noise that falls with the root of its rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.engine.servers.rule import Rule
from helpers.notebook.style import BLUE, GREY, RED, axes, fix_layout, ticks

CURVATURE = np.array([1.0, 0.12])
START = np.array([-3.0, 2.2])
NOISE, ROWS = 0.5, 32
FAR = 100.0  # a weight beyond this has left the bowl for good


@dataclass(frozen=True)
class Descent:
    """What happened. path: (updates + 1, 2) weights. seconds, losses: at each of them.

    staleness: of every applied gradient. dropped: gradients that were never used.
    """

    path: np.ndarray
    seconds: np.ndarray
    losses: np.ndarray
    staleness: np.ndarray
    dropped: int

    @property
    def lost(self) -> bool:
        """Whether it left the bowl."""
        return bool(np.abs(self.path[-1]).max() > FAR)

    @property
    def rest(self) -> float:
        """The mean loss over the last quarter."""
        return float(self.losses[-len(self.losses) // 4 :].mean())

    @property
    def words(self) -> str:
        """How it ended."""
        mean = self.staleness.mean() if len(self.staleness) else 0.0
        late = f"mean staleness {mean:.1f}"
        drops = f", {self.dropped} dropped" if self.dropped else ""
        if self.lost:
            return f"diverged after {len(self.path) - 1} updates; {late}{drops}"
        return f"rests at a loss of {self.rest:.2g}; {late}{drops}"


def descend(
    make_rule: Callable[[Any], Rule], spread: float = 0.2, updates: int = 300, seed: int = 0
) -> Descent:
    """Train the two weights with a rule. spread: of step times, relative to their mean of 1 s.

    A batch of other than 32 rows takes as many times as long. Ends early where the weights leave
    the bowl, and after three times as many gradients as updates.
    """
    rule = make_rule(START)
    random = np.random.default_rng(seed)
    shape = 1 / max(spread, 1e-3) ** 2
    steps = iter(random.gamma(shape, 1 / shape, 4 * updates + 200).tolist())
    noise = iter(NOISE * random.standard_normal((4 * updates + 200, 2)))
    path, seconds = [START], [0.0]
    staleness: list[int] = []
    dropped = 0
    ready: list[tuple[float, int]] = []
    pulled: dict[int, tuple[Any, int]] = {}

    def begin(worker: int, now: float) -> None:
        pulled[worker] = rule.pull(worker)
        heapq.heappush(ready, (now + next(steps) * (rule.rows or ROWS) / ROWS, worker))

    for worker in rule.start():
        begin(worker, 0.0)
    for _ in range(3 * updates):
        now, worker = heapq.heappop(ready)
        weights, version = pulled.pop(worker)
        off = next(noise) / ((rule.rows or ROWS) / ROWS) ** 0.5
        decision = rule.arrive(worker, CURVATURE * weights + off, version)
        dropped += len(decision.dropped)
        if decision.applied:
            staleness += [push.staleness for push in decision.applied]
            path.append(rule.weights)
            seconds.append(now)
        for other in decision.release:
            begin(other, now)
        if len(path) > updates or np.abs(rule.weights).max() > FAR or not ready:
            break
    points = np.array(path)
    losses = (CURVATURE * points**2).sum(axis=1) / 2
    return Descent(points, np.array(seconds), losses, np.array(staleness), dropped)


def draw_descent(run: Descent, title: str) -> Any:
    """The way through the bowl, and the loss against time. title: the setting in words."""
    figure, (left, right) = axes(columns=2, width=8.4, height=3.3)
    fix_layout(figure, left=0.07, right=0.985, bottom=0.16, top=0.9, wspace=0.26)
    angle = np.linspace(0, 2 * np.pi, 60)
    for loss in (0.1, 0.5, 1.5, 4, 9):
        round_ = np.sqrt(2 * loss / CURVATURE)
        left.plot(round_[0] * np.cos(angle), round_[1] * np.sin(angle), color=GREY, linewidth=0.6)
    inside = np.abs(run.path).max(axis=1) < 3 * 5
    path = run.path[: len(inside) if inside.all() else int(inside.argmin()) + 1]
    left.plot(*path.T, color=BLUE, linewidth=0.8, marker=".", markersize=3)
    left.plot(*START, marker="s", color=BLUE)
    left.plot(*np.clip(run.path[-1], [-4.9, -3.9], [4.9, 3.9]), marker="X", color=RED, markersize=9)
    left.set(xlim=(-5, 5), ylim=(-4, 4), xlabel="w₁ (steep)", ylabel="w₂ (flat)")
    left.set_title(title, fontsize=9)
    left.grid(visible=False)
    right.plot(run.seconds, np.clip(run.losses, 1e-3, 1e3), color=BLUE, linewidth=1.2)
    right.set(xlabel="time on the clock (s)", ylabel="loss", yscale="log", ylim=(1e-3, 1e3))
    ticks(right.yaxis, [1e-3, 1e-2, 0.1, 1, 10, 100])
    right.set_title(run.words, fontsize=9)
    return figure
