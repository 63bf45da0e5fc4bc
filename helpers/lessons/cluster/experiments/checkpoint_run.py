"""A training that saves every few steps, and goes on from what it finds: on every rank."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from helpers.engine.comm import Comm
from helpers.lessons.cluster.experiments.checkpoint_training import Setting, Training
from helpers.lessons.cluster.experiments.checkpoint_ways import OWN, Means, saver
from helpers.lessons.cluster.experiments.notes import note

USUAL = Setting()


class Run(NamedTuple):
    """What a rank saw of a training. begin: the step that it went on from. losses: of each step."""

    begin: int
    losses: list[float]


def trains(
    comm: Comm,
    path: str | Path,
    setting: Setting = USUAL,
    way: str = "sharded",
    until: int | None = None,
    notes: str | None = None,
    means: Means = OWN,
) -> Run:
    """Train to the end, save every few steps, and go on from what is there: on every rank.

    path: of the folder of checkpoints. way: of `checkpoint_ways.WAYS`. until: the step to stop at,
    as a job whose time is up. notes: a file to note every step and every save in, where it may be
    killed. means: what files are written with, and a checkpoint cut for other ranks.
    Example: `helpers.run(trains, "checkpoints", ranks=4)`; then the same on 3 ranks goes on.
    """

    def tell(what: str, step: int | None, loss: float = 0.0) -> None:
        if notes and step is not None:
            note(notes, what=what, step=step, loss=loss, rank=comm.rank, pid=os.getpid())

    def save() -> None:
        tell("saving", training.step)
        saves.save(training.step, training.state())

    tell("begins", 0)
    training = Training(comm, setting)
    saves = saver(way, comm, path, setting.keep, means)
    found = saves.go_on(training)
    begin, losses = training.step, list[float]()
    last = setting.steps if until is None else min(until, setting.steps)
    if found is None:  # from here on there is something to go on from
        save()
    tell("saved", saves.advance())
    while training.step < last:
        losses.append(training.advance())
        tell("step", training.step, losses[-1])
        tell("saved", saves.advance())
        if training.step % setting.every == 0:
            tell("saved", saves.finish())
            save()
            tell("saved", saves.advance())
    tell("saved", saves.finish())
    return Run(begin, losses)
