"""Trainings killed at random moments while they save: what is left, and how much is lost?"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import psutil
import torch

import helpers
from helpers.engine.errors import RankDied
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import latest
from helpers.lessons.cluster.algorithms.saving import Write
from helpers.lessons.cluster.experiments.checkpoint_notes import Notes
from helpers.lessons.cluster.experiments.checkpoint_run import USUAL, trains
from helpers.lessons.cluster.experiments.checkpoint_training import Setting
from helpers.lessons.cluster.experiments.checkpoint_ways import OWN, Means

POLL_SECONDS, FIRST_GUESS = 0.0005, 0.02
BEYOND = 1.5  # a kill comes within so many times what a save takes, after one has begun
SAME = 1e-6


class Kills(NamedTuple):
    """What came of many kills.

    kills: that took place. writing: of them, while a rank was in the middle of a save. everybody:
    of them, of all ranks at once. cut_off: after how many the newest step could not be loaded, so
    that an older one had to be taken. unloadable: after which there was no checkpoint at all.
    forgotten: after which one was gone whose save had returned. lost: the most steps that had to be
    taken again. every: steps from one checkpoint to the next. trainings: that came to their end.
    worst: the most by which a loss of theirs differs from that of the training that nobody killed.
    left: processes that were still there.
    """

    way: str
    kills: int
    writing: int
    everybody: int
    cut_off: int
    unloadable: int
    forgotten: int
    lost: int
    every: int
    trainings: int
    worst: float
    left: int


class Killer:
    """Kills ranks of a run with SIGKILL, once, from a thread: at a moment in or after a save.

    at: the number of the save, counted in this run, after whose begin it waits for `delay` seconds.
    everybody: all ranks, as where a machine stops, or one that is drawn. A context.
    """

    def __init__(
        self, notes: Notes, at: int, delay: float, everybody: bool, chance: random.Random
    ) -> None:
        self.notes, self.at, self.delay, self.everybody = notes, at, delay, everybody
        self.chance, self.writing, self.killed = chance, False, list[int]()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="killer")

    def _run(self) -> None:
        while self.notes.begun < self.at:
            if self._stop.wait(POLL_SECONDS):
                return
        if self._stop.wait(self.delay):
            return
        pids = self.notes.pids
        self.writing = self.notes.writing
        for pid in pids if self.everybody else [self.chance.choice(pids)]:
            try:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)
            except ProcessLookupError:  # it has come to its end
                pass

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()


def killed(
    path: str | Path,
    way: str = "sharded",
    kills: int = 20,
    ranks: Sequence[int] = (4,),
    setting: Setting = USUAL,
    seed: int = 0,
    timeout: float = 120.0,
    write: Write = write_safely,
) -> Kills:
    """Train again and again until ranks were killed so often; every time go on from what is left.

    path: of a folder for all that is written. way: of `checkpoint_ways.WAYS`. ranks: of one run
    after the other, in turn: with one number alone, losses are those of the calm training bit for
    bit. setting: of each training. seed: of the moments. timeout: seconds for a run. write: puts a
    file into a folder. What a training writes before its first step nobody disturbs: from there on
    there is always a checkpoint to go on from. Raises what `helpers.run` raises, but for a rank
    that was killed.
    """
    folder, chance = Path(path), random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    means = Means(write=write)
    calm = losses(folder / "calm", way, ranks[0], setting, timeout, means)
    found = _Found(folder, way, setting, timeout, calm, means)
    while found.kills < kills or found.notes is not None:
        if found.notes is None:
            found.begin(ranks[0])
        may_kill = found.kills < kills
        found.run(ranks[found.runs % len(ranks)], chance if may_kill else None)
    left = [pid for pid in found.pids if psutil.pid_exists(pid)]
    return Kills(
        way, found.kills, found.writing, found.everybody, found.cut_off, found.unloadable,
        found.forgotten, found.lost, setting.every, found.trainings, found.worst, len(left),
    )  # fmt: skip


class _Found:
    """What is counted, and the training that is under way: `notes`, None where there is none."""

    def __init__(
        self, folder: Path, way: str, setting: Setting, timeout: float, calm: torch.Tensor,
        means: Means,
    ) -> None:  # fmt: skip
        self.folder, self.way, self.setting, self.timeout = folder, way, setting, timeout
        self.calm, self.means, self.notes = calm, means, None
        self.runs = self.kills = self.writing = self.everybody = self.cut_off = 0
        self.unloadable = self.forgotten = self.lost = self.trainings = 0
        self.worst, self.pids = 0.0, set[int]()

    notes: Notes | None

    @property
    def here(self) -> Path:
        """The folder of the training under way."""
        return self.folder / f"training {self.trainings}"

    def begin(self, ranks: int) -> None:
        """A new training: its first checkpoint, of step 0, is written in peace."""
        file = self.folder / f"training {self.trainings}.notes"
        self.notes = Notes(file, self.setting.steps)
        self._train(ranks, until=0)

    def _train(self, ranks: int, until: int | None = None) -> None:
        file = self.folder / f"training {self.trainings}.notes"
        helpers.run(
            trains, self.here, self.setting, self.way, until, str(file), self.means, ranks=ranks,
            show=False, timeout=self.timeout, device="cpu",
        )  # fmt: skip

    def run(self, ranks: int, chance: random.Random | None) -> None:
        """Go on with the training, with a kill on the way or, without `chance`, in peace."""
        notes = self.notes
        assert notes is not None
        notes.begins()
        self.runs += 1
        if chance is None:
            self._train(ranks)
            self.end(notes)
            return
        usual = notes.seconds or FIRST_GUESS
        delay, everybody = chance.uniform(0, BEYOND * usual), chance.random() < 0.5
        killer = Killer(notes, chance.randint(1, 2), delay, everybody, chance)
        try:
            with killer:
                self._train(ranks)
        except RankDied:
            if not killer.killed:
                raise
            self.count(notes, killer)
        else:
            self.end(notes)
        self.pids.update(notes.pids)

    def count(self, notes: Notes, killer: Killer) -> None:
        """Look at what a kill has left."""
        self.kills += 1
        self.writing += killer.writing
        self.everybody += killer.everybody
        step, passed = newest(self.here, self.way)
        self.cut_off += bool(passed)
        if step is None:
            self.unloadable += 1
            return
        self.forgotten += step < notes.saved
        self.lost = max(self.lost, notes.reached - step)

    def end(self, notes: Notes) -> None:
        """A training has come to its end: hold its losses against the calm one's."""
        off = (torch.tensor(notes.losses.tolist(), dtype=torch.float64) - self.calm).abs().max()
        self.worst = max(self.worst, off.nan_to_num(torch.inf).item())
        self.trainings += 1
        self.notes = None


def newest(path: Path, way: str) -> tuple[int | None, dict[int, str]]:
    """The newest step that can be loaded of those that a way has saved, and what is passed over."""
    if way.startswith("torch"):
        from helpers.lessons.cluster.experiments.checkpoint_torch import torch_latest

        return torch_latest(path)
    found = latest(RealFolder(path))
    return found.step, found.passed


def losses(
    path: Path, way: str, ranks: int, setting: Setting, timeout: float = 120.0, means: Means = OWN
) -> torch.Tensor:
    """The losses of a training that nobody disturbs, (steps,)."""
    ran = helpers.run(
        trains, path, setting, way, None, None, means, ranks=ranks, show=False, timeout=timeout,
        device="cpu",
    )  # fmt: skip
    return torch.tensor(ran[0].losses, dtype=torch.float64)


# --- on other ranks -------------------------------------------------------------------------------


class Resumed(NamedTuple):
    """A training that went on on other numbers of ranks.

    step: where it was stopped. calm: the losses of one that was not. losses: for each number of
    ranks, those from `step` on. worst: the most by which one of these differs from the calm one's.
    """

    step: int
    calm: list[float]
    losses: dict[int, list[float]]
    worst: float

    @property
    def goes_on(self) -> bool:
        """Whether every curve goes on within 1e-6."""
        return self.worst <= SAME


def resumed(
    path: str | Path,
    ranks: int = 4,
    on: Sequence[int] = (2, 3),
    way: str = "sharded",
    engine: str = "processes",
    setting: Setting = USUAL,
    timeout: float = 120.0,
    means: Means = OWN,
) -> Resumed:
    """Train on some ranks, stop at the middle checkpoint, and go on from there on others.

    path: of a folder for all that is written. way: of `checkpoint_ways.WAYS`. engine: "processes"
    or "virtual"; torch's ways need real ranks. means: what files are written with, and how a
    checkpoint is cut for other ranks. Example:
    `resumed("checkpoints", 4, on=(2, 3)).worst` is the greatest difference of a loss.
    """
    import shutil

    folder = Path(path)
    step = max(setting.every, setting.steps // 2 // setting.every * setting.every)
    # On real ranks the CPU alone, as sums on a GPU have another order.
    where = {"device": "cpu"} if engine == "processes" else {}

    def run(name: str, size: int, until: int | None = None) -> list[float]:
        done = helpers.run(
            trains, folder / name, setting, way, until, None, means, ranks=size,
            engine=engine, show=False, timeout=timeout, **where,
        )  # fmt: skip
        return list(done[0].losses)

    calm = run("calm", ranks)
    run("stopped", ranks, step)
    found = {}
    for size in on:
        shutil.copytree(folder / "stopped", folder / f"on {size}")
        found[size] = run(f"on {size}", size)
    pairs = [(a, b) for each in found.values() for a, b in zip(each, calm[step:], strict=True)]
    return Resumed(step, calm, found, max(abs(a - b) for a, b in pairs))
