"""The widget of lesson 15: what makes an actor's data old, and what makes a learner busy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from helpers.lessons.actors.experiments.stale_clock import arrivals
from helpers.lessons.actors.figures.actors_view import in_words
from helpers.lessons.parameter_servers.experiments.step_times import Gamma
from helpers.notebook.style import BLUE, GREY, axes, fix_layout, measured, modelled

PLAY = 1.0  # seconds that an actor plays for a rollout
MOST = 32  # actors


@lru_cache(maxsize=8)
def clock_run(actors: int, learning_ms: float, fetch_every: int) -> tuple[tuple[int, ...], float]:
    """Staleness of each rollout of a run, and rollouts learned from in a second.

    Actors play a second for a rollout, give or take a fifth. The start is left out.
    """
    many = max(300, 5 * actors * fetch_every)
    times = Gamma(PLAY, 0.2)
    log = arrivals(many, actors, times=times, learning=learning_ms / 1e3, fetch_every=fetch_every)[
        many // 5 :
    ]
    rate = (len(log) - 1) / (log[-1].seconds - log[0].seconds)
    return tuple(each.staleness for each in log), rate


def picture(actors: int, learning_ms: float, fetch_every: int) -> Any:
    """Left, how old rollouts are; right, how many are learned from a second, by actors."""
    ages, rate = clock_run(actors, learning_ms, fetch_every)
    late = np.array(ages)
    figure, (left, right) = axes(columns=2, width=8.6, height=3.4)
    fix_layout(figure, left=0.085, right=0.985, bottom=0.15, top=0.92, wspace=0.22)
    top = int(max(late.max(), 4))
    counts = np.bincount(late, minlength=top + 1) / len(late)
    left.stairs(100 * counts, np.arange(top + 2) - 0.5, fill=True, color=BLUE)
    formula = actors * (fetch_every + 1) / 2
    left.axvline(formula, **{k: v for k, v in modelled().items() if k not in ("label", "marker")})
    left.set(
        xlabel="staleness (updates)", ylabel="rollouts (%)", xlim=(-0.6, max(top, formula) + 1)
    )
    left.set_title(f"counted mean {late.mean():.1f}; dashed: formula {formula:g}", fontsize=10)
    many = np.arange(1, MOST + 1)
    limit = 1e3 / learning_ms
    right.plot(many, np.minimum(many / (PLAY + learning_ms / 1e3), limit), **modelled())
    right.plot([actors], [rate], **measured(label="on the clock"))
    right.axhline(limit, color=GREY, linestyle=":", linewidth=1.5, label="the learner's limit")
    right.set(xlabel="actors", ylabel="rollouts learned from a second", ylim=(0, None))
    right.legend(fontsize=9, loc="lower right")
    return figure


def words(actors: int, learning_ms: float, fetch_every: int) -> str:
    """What `picture` shows."""
    ages, rate = clock_run(actors, learning_ms, fetch_every)
    late = np.array(ages)
    formula, limit = actors * (fetch_every + 1) / 2, 1e3 / learning_ms
    idle = max(0.0, 1 - rate / limit)  # of the learner's time
    busy = "is busy all the time" if idle < 0.03 else f"waits {100 * idle:.0f} % of the time"
    return (
        f"Left, how many updates old a rollout of {in_words(actors)} is when it is "
        f"learned from, with a fresh copy of the weights for every {_nth(fetch_every)} rollout: on "
        f"average {late.mean():.1f}, at most {late.max()}; by the formula {formula:g}. Right, "
        f"rollouts learned from a second by actors: {rate:.1f} of the {limit:.0f} that a learner "
        f"with {learning_ms:g} ms for each can take up; it {busy}."
    )


def _nth(number: int) -> str:
    return {1: "single", 2: "second", 3: "third"}.get(number, f"{number}th")
