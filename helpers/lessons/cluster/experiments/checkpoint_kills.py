"""Trainings killed at random moments while they save: what is left, and how much is lost?"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import psutil
import torch

import helpers
from helpers.engine.errors import RankDied
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import latest
from helpers.lessons.cluster.algorithms.saving import Write
from helpers.lessons.cluster.experiments.checkpoint_run import USUAL, trains
from helpers.lessons.cluster.experiments.checkpoint_training import Setting
from helpers.lessons.cluster.experiments.checkpoint_ways import OWN, Means
from helpers.lessons.cluster.experiments.notes import Lines

POLL_SECONDS, FIRST_GUESS = 0.0005, 0.02
BEYOND = 1.5  # a kill comes within so many times what a save takes, after one has begun
SAME = 1e-6


@dataclass
class Kills:
    """What came of many kills.

    kills: that took place. writing: of them, while a rank was in the middle of a save. unloadable:
    after which there was no checkpoint at all. forgotten: after which one was gone whose save had
    returned. lost: the most steps that had to be taken again. every: steps from one checkpoint to
    the next. trainings: that came to their end. worst: the most by which a loss of theirs differs
    from that of the training that nobody killed. left: processes that were still there.
    """

    every: int
    kills: int = 0
    writing: int = 0
    unloadable: int = 0
    forgotten: int = 0
    lost: int = 0
    trainings: int = 0
    worst: float = 0.0
    left: int = 0


class Notes:
    """What the ranks of one training have noted, run after run, as `trains` does."""

    def __init__(self, path: Path) -> None:
        self.lines, self.told, self.first = Lines(path), list[dict[str, Any]](), 0

    def look(self) -> Self:
        """Read what is new."""
        self.told += self.lines.look()
        return self

    def begins(self) -> None:
        """A new run begins; `begun`, `pids` and `writing` are of the run alone."""
        self.first = len(self.look().told)

    def counted(self, what: str) -> Counter[int]:
        """How often each rank has noted something in this run."""
        return Counter(one["rank"] for one in self.told[self.first :] if one["what"] == what)

    @property
    def begun(self) -> int:
        """Saves that have begun in this run, on the rank that is ahead."""
        return max(self.counted("saving").values(), default=0)

    @property
    def writing(self) -> bool:
        """Whether a rank is in the middle of a save."""
        return bool(self.counted("saving") - self.counted("saved"))

    @property
    def pids(self) -> list[int]:
        """The processes of this run, as far as they are there."""
        return sorted({one["pid"] for one in self.told[self.first :]})

    def furthest(self, what: str) -> int:
        """The last step that was noted in any run for "step" or "saved"; −1 for none."""
        return max((one["step"] for one in self.told if one["what"] == what), default=-1)

    @property
    def seconds(self) -> float:
        """What the last save took on rank 0, or a guess."""
        mine = [one for one in self.told if one["rank"] == 0 and one["what"][:3] == "sav"]
        pairs = [(a, b) for a, b in pairwise(mine) if b["what"] == "saved"]
        return float(pairs[-1][1]["at"] - pairs[-1][0]["at"]) if pairs else FIRST_GUESS

    @property
    def losses(self) -> torch.Tensor:
        """Of each step, as it was taken last, (steps,)."""
        mine = [one for one in self.told if one["rank"] == 0 and one["what"] == "step"]
        last = {one["step"]: one["loss"] for one in mine}
        return torch.tensor([last[step] for step in sorted(last)], dtype=torch.float64)


class Killer:
    """Kills ranks of a run with SIGKILL, once, from a thread: at a moment in or after a save.

    It waits for the first or the second save of the run to begin, and then for a while. everybody:
    all ranks, as where a machine stops, or one that is drawn. A context.
    """

    def __init__(self, notes: Notes, chance: random.Random) -> None:
        self.notes, self.chance, self.killed = notes, chance, list[int]()
        self.at, self.delay = chance.randint(1, 2), chance.uniform(0, BEYOND * notes.seconds)
        self.everybody, self.writing = chance.random() < 0.5, False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="killer")

    def _run(self) -> None:
        while self.notes.look().begun < self.at:
            if self._stop.wait(POLL_SECONDS):
                return
        if self._stop.wait(self.delay):
            return
        pids = self.notes.look().pids
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

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def killed(
    path: str | Path,
    way: str = "sharded",
    kills: int = 20,
    ranks: int = 4,
    setting: Setting = USUAL,
    seed: int = 0,
    timeout: float = 120.0,
    write: Write = write_safely,
) -> Kills:
    """Train again and again until ranks were killed so often; every time go on from what is left.

    path: of a folder for all that is written. way: of the course's own. setting: of each
    training. seed: of the moments. timeout: seconds for a run. write: puts a file into a folder.
    What a training writes before its first step nobody disturbs: from there on there is always a
    checkpoint to go on from. Raises what `helpers.run` raises, but for a rank that was killed.
    """
    folder, chance = Path(path), random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    found, pids = Kills(setting.every), set[int]()

    def train(name: str, until: int | None = None, notes: str | None = None) -> list[float]:
        done = helpers.run(
            trains, folder / name, setting, way, until, notes, Means(write=write), ranks=ranks,
            show=False, timeout=timeout, device="cpu",
        )  # fmt: skip
        return list(done[0].losses)

    calm = torch.tensor(train("calm"), dtype=torch.float64)
    while found.kills < kills:
        name = f"training {found.trainings}"
        notes = Notes(folder / f"{name}.notes")
        train(name, until=0, notes=str(notes.lines.path))
        while True:
            notes.begins()
            killer = Killer(notes, chance)
            try:
                if found.kills < kills:
                    with killer:
                        train(name, notes=str(notes.lines.path))
                else:
                    train(name, notes=str(notes.lines.path))
                break
            except RankDied:
                if not killer.killed:
                    raise
                count(found, killer, latest(RealFolder(folder / name)).step)
            finally:
                pids.update(notes.look().pids)
        found.trainings += 1
        found.worst = max(found.worst, (notes.losses - calm).abs().max().item())
    found.left = sum(map(psutil.pid_exists, pids))
    return found


def count(found: Kills, killer: Killer, step: int | None) -> None:
    """Take up what a kill has left: the newest step that can be loaded."""
    found.kills += 1
    found.writing += killer.writing
    if step is None:
        found.unloadable += 1
        return
    notes = killer.notes.look()
    found.forgotten += step < notes.furthest("saved")
    found.lost = max(found.lost, notes.furthest("step") - step)


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
