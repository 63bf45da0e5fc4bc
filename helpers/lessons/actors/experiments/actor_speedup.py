"""What more actors bring: steps a second, steps until a score is reached, and both together.

    seconds to a score = steps to the score / steps a second

The second factor is compute: it follows from cores, and from what is done one after the other. The
first is data efficiency: with more actors, a gradient is older and others have come between. The
paper's table gives seconds to a score, so a speedup there holds both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import torch

from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.experiments.actor_settings import Setting
from helpers.lessons.actors.experiments.actor_task import Judge, Weigh
from helpers.lessons.actors.experiments.games import one_thread
from helpers.lessons.actors.experiments.shared_actors import Look, train_shared
from helpers.notebook.published import load

PAPER = "a3c_table2_speedup_by_threads"


class Rate(NamedTuple):
    """Steps a second that so many actors played: the median, and what each round gave."""

    actors: int
    steps_per_second: float
    rounds: tuple[float, ...]


class Costs(NamedTuple):
    """Seconds for one update of one actor alone: its steps and their gradient, and the update."""

    play: float
    update: float

    @property
    def share(self) -> float:
        """Of the time, what passes in the shared memory."""
        return self.update / (self.play + self.update)


class Row(NamedTuple):
    """So many actors. steps: until a score was reached."""

    actors: int
    steps_per_second: float
    steps: float

    @property
    def seconds(self) -> float:
        """Until the score was reached."""
        return self.steps / self.steps_per_second


class Speedup(NamedTuple):
    """Over one actor. compute: steps a second. data: how many times fewer steps to the score (below
    1 if more). time: their product, as the paper's table has it."""

    actors: int
    compute: float
    data: float
    time: float


def measured(
    setting: Setting,
    actors: Sequence[int] = (1, 2),
    updates: int = 200,
    rounds: int = 3,
    locked: bool = False,
    threads: int = 1,
    returns: Judge = n_step_returns,
    losses: Weigh = actor_critic_losses,
) -> list[Rate]:
    """Steps a second of real actors, in as many rounds, each of all numbers of actors in turn.

    updates: of all actors together, in each round. threads: torch's, in each actor. The rest is as
    in `train_shared`.
    """
    short = setting._replace(updates=updates)
    found: dict[int, list[float]] = {count: [] for count in actors}
    for seed in range(rounds):
        for count, rates in found.items():
            done = train_shared(
                short, count, locked=locked, threads=threads, seed=seed, returns=returns,
                losses=losses,
            )  # fmt: skip
            rates.append(done.steps_per_second)
    return [Rate(n, statistics.median(rates), tuple(rates)) for n, rates in found.items()]


def costs(
    setting: Setting,
    updates: int = 50,
    returns: Judge = n_step_returns,
    losses: Weigh = actor_critic_losses,
) -> Costs:
    """What an update takes, measured in this process on one thread, as medians."""
    task = setting.task(0, returns, losses)
    weights = task.initial()
    squares = torch.zeros_like(weights)
    play, update = [], []
    with one_thread():
        for step in range(updates):
            begin = time.perf_counter()
            gradient = task.gradient(weights, task.rows(0, step, 0))
            between = time.perf_counter()
            shared_rms_prop(weights, squares, gradient, setting.rate)
            play.append(between - begin)
            update.append(time.perf_counter() - between)
    return Costs(statistics.median(play), statistics.median(update))


def modelled(actors: int, cores: int, locked_share: float = 0.0) -> float:
    """Steps a second over those of one actor.

    No more actors work at once than there are cores. locked_share: of one actor's time, what only
    one may do at a time; whoever finds it taken waits, and the queue is worked out one actor after
    the other (mean value analysis). With many cores it tends to 1 / locked_share. Raises
    ValueError for what no machine is. Source: Reiser and Lavenberg, "Mean-Value Analysis of Closed
    Multichain Queuing Networks" (1980).
    """
    if min(actors, cores) < 1 or not 0 <= locked_share <= 1:
        raise ValueError(
            f"{actors} actors on {cores} cores, {locked_share} of the time under a lock: give 1 or "
            "more of both, and a share from 0 to 1."
        )
    rate, waiting = 0.0, 0.0
    for busy in range(1, min(actors, cores) + 1):
        served = locked_share * (1 + waiting)
        rate = busy / (1 - locked_share + served)
        waiting = rate * served
    return rate


def steps_to_score(
    looks: Sequence[Look], setting: Setting, goal: float | None = None, games: int | None = None
) -> int | None:
    """The steps at the first look whose weights reach the goal; None if none does.

    goal: the setting's own where none is given. games: that a look's weights play.
    """
    goal = setting.goal if goal is None else goal
    return next((each.steps for each in looks if setting.score(each.weights, games) >= goal), None)


def speedups(rows: Sequence[Row]) -> list[Speedup]:
    """Each row over the first, which is of one actor."""
    first = rows[0]
    return [
        Speedup(
            row.actors,
            row.steps_per_second / first.steps_per_second,
            first.steps / row.steps,
            first.seconds / row.seconds,
        )
        for row in rows
    ]


def paper() -> dict[int, float]:
    """Mnih et al. (2016), table 2: A3C's speedup by the number of threads."""
    data = load(PAPER).data
    return dict(zip(data["threads"], data["A3C"], strict=True))
