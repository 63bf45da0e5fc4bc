"""Off-policy actors and one learner: play and learn by a log of arrivals, and replay it.

A log of `stale_clock.arrivals` names every rollout that the learner took up: who played it, with
which copy of the policy, in which update it was used. That is all that the weights depend on, so
the same log gives the same weights, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import RmsProp
from helpers.lessons.actors.algorithms.v_trace import v_trace
from helpers.lessons.actors.experiments.actor_settings import Setting
from helpers.lessons.actors.experiments.actor_task import Correct, Judge, Weigh
from helpers.lessons.actors.experiments.games import Rollout, one_thread
from helpers.lessons.actors.experiments.shared_actors import Look
from helpers.lessons.actors.experiments.stale_clock import Arrival, arrivals, counted_staleness
from helpers.lessons.parameter_servers.experiments.step_times import StepTimes


class Learned(NamedTuple):
    """looks: at the weights on the way, after every so many rollouts."""

    weights: Tensor
    looks: tuple[Look, ...]


@one_thread()
def replay(
    log: Sequence[Arrival],
    setting: Setting,
    *,
    correct: Correct | None = v_trace,
    seed: int = 0,
    look: int = 0,
    returns: Judge = n_step_returns,
    losses: Weigh = actor_critic_losses,
) -> Learned:
    """Play and learn by a log, which may have been kept as JSON.

    correct: such as `v_trace`; None learns from every rollout as if the present policy had played
    it. seed: of the first weights, the games and the draws. look: keep the weights after every so
    many rollouts. The learning rate falls to 0 over the log, so that ways which make fewer updates
    of as many rollouts end at the same rate. Raises ValueError for a log that names a copy before
    it was made.
    """
    task = setting.task(seed, returns, losses)
    log = [Arrival(*each) for each in log]
    optimizer = RmsProp(setting._replace(updates=len(log)).rates(), setting.decay, setting.epsilon)
    copies, played = [task.initial()], dict.fromkeys((each.actor for each in log), 0)
    looks, taken = [], 0
    for update, together in groupby(log, key=lambda each: each.update):
        rollouts: list[Rollout] = []
        for each in together:
            if not 0 <= each.version < len(copies):
                raise ValueError(
                    f"Rollout {taken + len(rollouts)} of the log is played with copy "
                    f"{each.version}, when there are only copies 0 to {len(copies) - 1}."
                )
            step = played[each.actor]
            rollouts.append(task.play(copies[each.version], each.actor, step))
            played[each.actor] += 1
        if update is not None:
            gradient = task.slope(copies[-1], side_by_side(rollouts), correct)
            copies.append(optimizer.step(copies[-1], gradient, taken))
        before, taken = taken, taken + len(rollouts)
        if look and taken // look > before // look:
            steps = taken * setting.steps_per_update
            looks.append(Look(steps, each.seconds, copies[-1]))
    return Learned(copies[-1], tuple(looks))


def side_by_side(rollouts: Sequence[Rollout]) -> Rollout:
    """Rollouts of several actors as one of all their games."""
    return Rollout(*(torch.cat(parts, dim=1) for parts in zip(*rollouts, strict=True)))


class Way(NamedTuple):
    """A way to learn from actors. options: of `arrivals`."""

    label: str
    options: dict[str, Any]
    corrected: bool


class Curve(NamedTuple):
    """Of one way, a run a seed. staleness: the mean, counted. steps: at each look. scores: (seeds,
    looks), in the setting's unit. seconds: on the clock, until the last rollout was taken up."""

    way: Way
    staleness: float
    steps: tuple[int, ...]
    scores: tuple[tuple[float, ...], ...]
    seconds: float


def ways(fetch_every: int = 8, bound: int = 8) -> list[Way]:
    """The figure's five: A2C; asynchronous and of bounded staleness, each corrected and not."""
    late = {"mode": "asynchronous", "fetch_every": fetch_every}
    bounded = {"mode": "wait", "bound": bound}
    return [
        Way("synchronous (A2C)", {"mode": "synchronous"}, False),
        Way("asynchronous", late, False),
        Way("asynchronous, V-trace", late, True),
        Way(f"at most {bound} updates old", bounded, False),
        Way(f"at most {bound} updates old, V-trace", bounded, True),
    ]


def curves(
    setting: Setting,
    rollouts: int,
    actors: int = 16,
    *,
    seeds: Sequence[int] = (0,),
    tried: Sequence[Way] | None = None,
    looks: int = 10,
    games: int | None = None,
    times: StepTimes | None = None,
    correct: Correct = v_trace,
    returns: Judge = n_step_returns,
    losses: Weigh = actor_critic_losses,
) -> list[Curve]:
    """Scores by steps played, of each way, all with as many rollouts.

    tried: the ways, all of `ways` if None. looks: how many each run is looked at, by so many games.
    times, correct, returns, losses: as in `arrivals` and `replay`.
    """
    found = []
    for way in ways() if tried is None else tried:
        logs = [arrivals(rollouts, actors, times=times, seed=s, **way.options) for s in seeds]
        runs = [
            replay(log, setting, correct=correct if way.corrected else None, seed=seed,
                   look=rollouts // looks, returns=returns, losses=losses)
            for seed, log in zip(seeds, logs, strict=True)
        ]  # fmt: skip
        scores = (tuple(setting.score(look.weights, games) for look in run.looks) for run in runs)
        steps = tuple(look.steps for look in runs[0].looks)
        stale = counted_staleness([each for log in logs for each in log])
        found.append(Curve(way, stale, steps, tuple(scores), logs[0][-1].seconds))
    return found
