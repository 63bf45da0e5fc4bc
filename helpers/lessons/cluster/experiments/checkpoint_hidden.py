"""What saving costs a training: while it waits, and while it goes on.

All save the same training, on real ranks. In each run a stretch of steps without a save is followed
by one with a save, so that what else the machine does hits both. The disk is this machine's, or one
of a given rate a rank: a file system that a thousand ranks share gives each of them little.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.saving import Write
from helpers.lessons.cluster.experiments.checkpoint_torch import TorchSaver
from helpers.lessons.cluster.experiments.checkpoint_training import Setting, Training
from helpers.lessons.cluster.experiments.checkpoint_ways import Means, OwnSaver, Saver

WAYS = ("blocking", "in the background", "torch", "torch, asynchronous")
BIG = Setting(steps=48, every=8, batch=256, hidden=(512, 512), keep=1)


class PacedFolder(RealFolder):
    """A folder on a disk that takes so many bytes a second."""

    def __init__(self, path: str | Path, rate: float) -> None:
        super().__init__(path)
        self.rate = rate

    def write(self, name: str, data: bytes) -> None:
        """As in `Folder`, and as long as such a disk takes."""
        begin = time.perf_counter()
        super().write(name, data)
        time.sleep(max(0.0, len(data) / self.rate - (time.perf_counter() - begin)))


class Cost(NamedTuple):
    """What a way to save costs: medians over the stretches of one run, on rank 0.

    quiet: seconds a step of a stretch without a save. step: of one that begins with a save and ends
    when it is complete. waited: seconds for which the save held training up at its call. every:
    steps of a stretch. nbytes: of a rank's part.
    """

    quiet: float
    step: float
    waited: float
    every: int
    nbytes: int

    @property
    def added(self) -> float:
        """Seconds that a save adds to the training."""
        return (self.step - self.quiet) * self.every


def trains_paced(
    comm: Comm, path: str, way: str, setting: Setting, rate: float | None, write: Write
) -> Cost:
    """Train, with a save at the begin of every second stretch: what it cost on this rank."""
    training = Training(comm, setting)
    saves: Saver
    if way.startswith("torch"):
        saves = TorchSaver(comm, path, way != "torch", rate)
    else:
        folder = RealFolder(path) if rate is None else PacedFolder(path, rate)
        own = "sharded" if way == "blocking" else way
        saves = OwnSaver(comm, folder, own, setting.keep, Means(write=write))
    training.advance()  # the first step makes the optimizer's state
    steps: dict[bool, list[float]] = {False: [], True: []}  # without a save, and with one
    waited: list[float] = []
    for stretch in range(setting.steps // setting.every):
        comm.barrier()
        begin = time.perf_counter()
        if stretch % 2:
            saves.save(training.step, training.state())
            waited.append(time.perf_counter() - begin)
        for _ in range(setting.every):
            training.advance()
            saves.advance()
        saves.finish()
        steps[bool(stretch % 2)].append((time.perf_counter() - begin) / setting.every)
    rows = training.state()["rows"].values()
    nbytes = sum(v.nbytes for row in rows for v in row["values"].values())
    calm, step, held = map(statistics.median, (steps[False], steps[True], waited))
    return Cost(calm, step, held, setting.every, nbytes)


def costs(
    ways: Sequence[str] = WAYS,
    rounds: int = 1,
    ranks: int = 2,
    setting: Setting = BIG,
    rate: float | None = 20e6,
    write: Write = write_safely,
) -> dict[str, list[Cost]]:
    """Each way on real ranks, in turn, so that what else the machine does hits all.

    setting: of two stretches or more. rate: bytes a second that a rank's disk takes; None for this
    machine's. write: puts a file into a folder, for the course's own ways.
    """
    found: dict[str, list[Cost]] = {way: [] for way in ways}
    for way in [*ways] * rounds:
        with tempfile.TemporaryDirectory() as folder:
            ran = helpers.run(
                trains_paced, folder, way, setting, rate, write, ranks=ranks, show=False,
                device="cpu", timeout=300.0,
            )  # fmt: skip
        found[way].append(ran[0])
    return found


def added_words(cost: Cost) -> str:
    """What a save adds, in words: noise may make stretches with one the quicker ones."""
    return f"{1e3 * cost.added:.0f} ms" if cost.added > 0 else "nothing that is seen"


def hidden(found: dict[str, list[Cost]], way: str, beside: str = "blocking") -> float:
    """The share of a blocking save's time that a way hides: 1 is all of it, 0 nothing.

    Of the medians of the rounds: what a save of `way` adds, over what one of `beside` adds. NaN
    where `beside` adds nothing that could be hidden.
    """
    added = {name: statistics.median(each.added for each in rows) for name, rows in found.items()}
    return 1 - added[way] / added[beside] if added[beside] > 0 else math.nan


def hidden_words(found: dict[str, list[Cost]], way: str, beside: str = "blocking") -> str:
    """`hidden` in words, "87 %": noise may take it below nothing or beyond all."""
    share = hidden(found, way, beside)
    if math.isnan(share):
        return "an unknown part (the blocking save added nothing here)"
    return f"{100 * min(1.0, share):.0f} %" if share > 0 else "nothing"
