"""Trainings that are killed while they save, and gone on with on other ranks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

import helpers
from helpers.engine.errors import RankFailed
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.algorithms.format import index_name, latest, part_name, read_part
from helpers.lessons.cluster.experiments.checkpoint_kills import (
    SAME,
    Kills,
    killed,
    resumed,
)
from helpers.lessons.cluster.experiments.checkpoint_training import Setting
from helpers.lessons.cluster.experiments.checkpoint_ways import OwnSaver, trains

SHORT = Setting(steps=6, every=2, hidden=(12,))


def check(found: Kills, kills: int, intervals: int = 1) -> None:
    """What holds after any number of kills."""
    assert found.kills >= kills and found.trainings >= 1
    # The claims of the lesson: a checkpoint is always there, and what was saved is not lost.
    assert found.unloadable == 0 and found.forgotten == 0
    assert found.lost <= intervals * found.every
    assert found.worst == 0.0  # on as many ranks as before, bit for bit


@pytest.mark.real
@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.thorough)])
def test_killed_ranks_leave_a_checkpoint_and_the_same_losses(kills: int, tmp_path: Path) -> None:
    check(killed(tmp_path, "sharded", kills, ranks=2 + kills // 2, setting=SHORT), kills)


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("way", "kills"), [("sharded", 200), ("in the background", 20)])
def test_many_kills_while_checkpoints_are_written(way: str, kills: int, tmp_path: Path) -> None:
    found = killed(tmp_path, way, kills, 4, Setting(steps=12, every=2), timeout=300)
    # What is written beside training is complete only later: up to one interval more is lost.
    check(found, kills, 2 if way == "in the background" else 1)
    assert way != "sharded" or found.writing > kills / 4


# --- on other ranks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "on", "stage"),
    [("sharded", (1, 3, 5), 1), ("sharded", (2,), 3), ("in the background", (2,), 1)],
)
def test_a_curve_goes_on_on_fewer_ranks_and_on_more(
    way: str, on: tuple[int, ...], stage: int, tmp_path: Path
) -> None:
    found = resumed(tmp_path, 4, on, way, "virtual", SHORT._replace(stage=stage))
    assert found.step == 2 and set(found.losses) == set(on)
    assert all(len(each) == 4 for each in found.losses.values())
    assert found.worst <= SAME


# --- the parts ------------------------------------------------------------------------------------


def test_a_training_goes_on_past_a_damaged_checkpoint(tmp_path: Path) -> None:
    where = {"engine": "virtual", "show": False}
    calm = helpers.run(trains, tmp_path / "calm", SHORT, ranks=2, **where)[0]
    helpers.run(trains, tmp_path / "a", SHORT, "sharded", 4, ranks=2, **where)
    folder = RealFolder(tmp_path / "a")
    folder.write(part_name(4, 1, 2), b"torn")
    assert latest(folder).step == 2 and list(latest(folder).passed) == [4]
    again = helpers.run(trains, tmp_path / "a", SHORT, ranks=2, **where)
    assert again[0] == calm[2:]
    # The damaged one has been replaced, and only so many are kept.
    assert latest(folder).step == 6 and not latest(folder).passed
    assert {name for name in folder.names() if name.endswith("index")} == {
        index_name(4),
        index_name(6),
    }


def test_what_the_background_cannot_write_is_told(tmp_path: Path) -> None:
    def full(comm: Any, path: Path) -> None:
        class Full(RealFolder):
            def write(self, name: str, data: bytes) -> None:
                raise OSError(28, "No space left on device")

        saves = OwnSaver(comm, Full(path), "in the background")
        saves.save(1, {"weights": torch.ones(2)})
        saves.finish()

    with pytest.raises(RankFailed, match="No space left on device"):
        helpers.run(full, tmp_path, ranks=1, engine="virtual", show=False)


def test_a_background_save_is_of_the_values_at_the_call(tmp_path: Path) -> None:
    def changes(comm: Any, path: Path) -> float:
        gate = threading.Event()

        class Waits(RealFolder):
            def write(self, name: str, data: bytes) -> None:
                gate.wait(30)
                super().write(name, data)

        saves, weights = OwnSaver(comm, Waits(path), "in the background"), torch.ones(3)
        saves.save(1, {"weights": weights, "more": [weights]})
        assert saves.advance() is None and latest(RealFolder(path)).step is None
        weights.fill_(2)
        gate.set()
        assert saves.finish() == 1 and saves.finish() is None
        found = latest(RealFolder(path)).checkpoint
        assert found is not None
        state = read_part(RealFolder(path), found, 0)
        return float(state["weights"].sum() + state["more"][0].sum())

    assert helpers.run(changes, tmp_path, ranks=1, engine="virtual", show=False) == [6.0]


def test_another_way_is_told(tmp_path: Path) -> None:
    with pytest.raises(RankFailed, match="no way 'tape' to save; there are: sharded, in the"):
        helpers.run(trains, tmp_path, SHORT, "tape", ranks=1, engine="virtual", show=False)
