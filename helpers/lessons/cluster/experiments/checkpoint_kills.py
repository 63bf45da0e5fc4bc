"""Trainings killed at random moments while they save: what is left, and how much is lost?"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import helpers
from helpers.engine.errors import RankDied
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import latest
from helpers.lessons.cluster.algorithms.saving import Write
from helpers.lessons.cluster.experiments.checkpoint_training import Setting
from helpers.lessons.cluster.experiments.checkpoint_ways import OWN, USUAL, Kill, Means, trains
from helpers.lessons.cluster.experiments.notes import Lines

BEYOND = 1.5  # a kill comes within so many times what a save takes, after one has begun
SAME = 1e-6


@dataclass
class Kills:
    """What came of many kills.

    every: steps from one checkpoint to the next. kills: that took place. writing: of them, while a
    killed rank was in the middle of a save. unloadable: after which there was no checkpoint at all.
    forgotten: after which one was gone whose save had returned. lost: the most steps that had to be
    taken again. trainings: that came to their end. worst: the most by which a loss of theirs
    differs from that of the training that nobody killed.
    """

    every: int
    kills: int = 0
    writing: int = 0
    unloadable: int = 0
    forgotten: int = 0
    lost: int = 0
    trainings: int = 0
    worst: float = 0.0

    def count(self, kill: Kill, notes: Notes, step: int | None) -> None:
        """Take up what a kill has left: the newest step that can be loaded."""
        self.kills += 1
        self.writing += notes.writing(kill.ranks)
        if step is None:
            self.unloadable += 1
            return
        self.forgotten += step < notes.furthest("saved")
        self.lost = max(self.lost, notes.furthest("step") - step)


class Notes:
    """What the ranks of one training have noted, run after run, as `trains` does."""

    def __init__(self, path: Path) -> None:
        self.lines, self.all, self.run = Lines(path), list[dict[str, Any]](), list[dict[str, Any]]()

    def look(self) -> None:
        """Read what a run has noted, which is over."""
        self.run = self.lines.look()
        self.all += self.run

    def writing(self, ranks: Sequence[int]) -> bool:
        """Whether one of these ranks ended in the middle of a save."""
        counted = {
            what: Counter(n["rank"] for n in self.run if n["what"] == what and n["rank"] in ranks)
            for what in ("saving", "saved")
        }
        return bool(counted["saving"] - counted["saved"])

    def furthest(self, what: str) -> int:
        """The last step that was noted in any run for "step" or "saved"; −1 for none."""
        return max((one["step"] for one in self.all if one["what"] == what), default=-1)

    def a_save(self) -> float:
        """What rank 0's first save took, in seconds."""
        ends = {one["what"]: one["at"] for one in reversed(self.all) if one["rank"] == 0}
        return float(ends["saved"] - ends["saving"])

    def losses(self) -> list[float]:
        """Of each step, as it was taken last."""
        mine = [one for one in self.all if one["rank"] == 0 and one["what"] == "step"]
        last = {one["step"]: one["loss"] for one in mine}
        return [last[step] for step in sorted(last)]


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

    path: of a folder for all that is written. way: of `checkpoint_ways.WAYS`. setting: of each
    training. seed: of the moments, and of who is killed: all ranks, as where a machine stops, or
    one. timeout: seconds for a run. write: puts a file into a folder.
    What a training writes before its first step nobody disturbs: from there on there is always a
    checkpoint to go on from. Raises what `helpers.run` raises, but for a rank that was killed.
    """
    folder, chance, found = Path(path), random.Random(seed), Kills(setting.every)
    folder.mkdir(parents=True, exist_ok=True)

    def train(name: str, *more: Any) -> list[float]:
        done = helpers.run(
            trains, folder / name, setting, way, *more,
            ranks=ranks, show=False, timeout=timeout, device="cpu",
        )  # fmt: skip
        return list(done[0])

    means = Means(write=write)
    calm = train("calm", None, means)
    while found.kills < kills:
        name = f"training {found.trainings}"
        notes = Notes(folder / f"{name}.notes")
        train(name, 0, means, notes.lines.path)
        notes.look()
        ended = False
        while not ended:
            who = tuple(range(ranks)) if chance.random() < 0.5 else (chance.randrange(ranks),)
            kill = Kill(who, chance.randint(1, 2), chance.uniform(0, BEYOND * notes.a_save()))
            try:
                more = [kill] if found.kills < kills else []
                train(name, None, means, notes.lines.path, *more)
                ended = True
            except RankDied as error:
                if not more or not set(error.ranks) <= set(who):
                    raise
            notes.look()
            if not ended:
                found.count(kill, notes, latest(RealFolder(folder / name)).step)
        found.trainings += 1
        apart = (abs(a - b) for a, b in zip(notes.losses(), calm, strict=True))
        found.worst = max(found.worst, *apart)
    return found


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
    or "virtual". means: what files are written with, and how a
    checkpoint is cut for other ranks. Example:
    `resumed("checkpoints", 4, on=(2, 3)).worst` is the greatest difference of a loss.
    """
    folder = Path(path)
    step = max(setting.every, setting.steps // 2 // setting.every * setting.every)
    options: dict[str, Any] = {"engine": engine, "show": False, "timeout": timeout}
    if engine == "processes":  # the CPU alone, as sums on a GPU have another order
        options["device"] = "cpu"

    def run(name: str, size: int, until: int | None = None) -> list[float]:
        return list(
            helpers.run(trains, folder / name, setting, way, until, means, ranks=size, **options)[0]
        )

    calm = run("calm", ranks)
    run("stopped", ranks, step)
    found = {}
    for size in on:
        shutil.copytree(folder / "stopped", folder / f"on {size}")
        found[size] = run(f"on {size}", size)
    pairs = [(a, b) for each in found.values() for a, b in zip(each, calm[step:], strict=True)]
    return Resumed(step, calm, found, max(abs(a - b) for a, b in pairs))
