"""Off-policy actors and one learner: play and learn by a log of arrivals, and replay it.

A log of `stale_clock.arrivals` names every rollout that the learner took up: who played it, with
which copy of the policy, in which update it was used. That is all that the weights depend on, so
the same log gives the same weights, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.algorithms.v_trace import v_trace
from helpers.lessons.actors.experiments.actor_settings import Setting
from helpers.lessons.actors.experiments.actor_task import Correct, Judge, Weigh
from helpers.lessons.actors.experiments.games import Rollout
from helpers.lessons.actors.experiments.shared_actors import Look
from helpers.lessons.actors.experiments.stale_clock import Arrival
from helpers.lessons.parameter_servers.experiments.train import one_thread


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
    of as many rollouts end at the same rate.
    """
    task = setting.task(seed, returns, losses)
    log = [Arrival(*each) for each in log]
    rates = setting._replace(updates=len(log)).rates()
    copies, played = [task.initial()], Counter[int]()
    squares = torch.zeros_like(copies[0])
    looks, taken = [], 0
    for _, together in groupby(log, key=lambda each: each.update):
        rollouts: list[Rollout] = []
        for each in together:
            step = played[each.actor]
            rollouts.append(task.play(copies[each.version], each.actor, step))
            played[each.actor] += 1
        gradient = task.slope(copies[-1], side_by_side(rollouts), correct)
        copies.append(copies[-1].clone())
        shared_rms_prop(copies[-1], squares, gradient, rates(taken))
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


def ways() -> list[Way]:
    """The figure's five: A2C; asynchronous and of bounded staleness, each corrected and not."""
    late = {"mode": "asynchronous", "fetch_every": 8}
    bounded = {"mode": "wait", "bound": 8}
    return [
        Way("synchronous (A2C)", {"mode": "synchronous"}, False),
        Way("asynchronous", late, False),
        Way("asynchronous, V-trace", late, True),
        Way("at most 8 updates old", bounded, False),
        Way("at most 8 updates old, V-trace", bounded, True),
    ]
