"""A kill at any byte, and what a power cut forgets: the last good checkpoint is always there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from helpers.lessons.cluster.algorithms import saving
from helpers.lessons.cluster.algorithms.crashes import OUTCOMES, Disk, crashes
from helpers.lessons.cluster.algorithms.files import Folder, RealFolder
from helpers.lessons.cluster.algorithms.folder import write_safely
from helpers.lessons.cluster.algorithms.format import (
    Damaged,
    Latest,
    index_name,
    latest,
    opened,
    part_bytes,
    part_name,
    read_part,
)

PARTS = (b"first rank", b"second", b"", b"the fourth rank's part")


def save_parts(
    folder: Folder, step: int, keep: int = 2, write: saving.Write = write_safely
) -> None:
    """What ranks do in turn, in one process: parts, then the index, then old ones go."""
    saving.make_way(folder, step)
    contents = [str(step).encode() + part for part in PARTS]
    parts = [
        saving.write_part(folder, step, number, len(contents), data, write)
        for number, data in enumerate(contents)
    ]
    saving.write_index(folder, step, parts, write)
    saving.delete_old(folder, keep)


def files(disk: Disk) -> dict[str, bytes]:
    return {name: disk.read(name) for name in disk.names()}


@pytest.fixture(scope="module")
def saved() -> dict[str, bytes]:
    disk = Disk()
    for step in (10, 20):
        save_parts(disk, step)
    return files(disk.after("nothing unsynced"))


@pytest.mark.parametrize("keep", [1, 3])
def test_a_set_is_there_after_a_crash_at_any_byte(saved: dict[str, bytes], keep: int) -> None:
    seen = set()
    last = list(crashes(lambda disk: save_parts(disk, 30, keep), saved))
    for crash in last:
        found = latest(crash.disk)
        assert found.step in (20, 30), crash
        assert found.checkpoint is not None
        for number, part in enumerate(PARTS):
            content = str(found.step).encode() + part
            assert part_bytes(crash.disk, found.checkpoint, number) == content
        seen.add((crash.outcome, found.step))
    # Both are found with every outcome, and what `save` returned from is never lost.
    assert seen == {(outcome, step) for outcome in OUTCOMES for step in (20, 30)}
    assert all(latest(crash.disk).step == 30 for crash in last[-len(OUTCOMES) :])


# --- what a disk is -------------------------------------------------------------------------------


def test_a_disk_forgets_what_was_not_synced() -> None:
    disk = Disk({"a": b"old"})
    disk.write("a", b"newer")
    disk.write("b", b"xy")
    disk.sync("b")
    assert files(disk.after("killed")) == {"a": b"newer", "b": b"xy"}
    assert files(disk.after("nothing unsynced")) == {"a": b"old"}
    assert files(disk.after("names alone")) == {"a": b"old", "b": b"xy"}
    assert files(disk.after("zeros")) == {"a": bytes(5), "b": b"xy"}
    disk.remove("a")
    disk.rename("b", "c")
    assert files(disk.after("nothing unsynced")) == {"a": b"old"}
    assert files(disk.after("removals alone")) == {}
    assert files(disk.after("names alone")) == {"c": b"xy"}
    disk.sync_names()
    assert files(disk.after("nothing unsynced")) == {"c": b"xy"}


def test_a_real_folder_does_what_a_disk_does(tmp_path: Path) -> None:
    def use(folder: Folder) -> tuple[list[str], bytes, int, Latest]:
        write_safely(folder, "a", b"one")
        write_safely(folder, "a", b"three")
        folder.write("b", b"xy")
        folder.rename("b", "a")
        save_parts(folder, 5)
        save_parts(folder, 6, keep=1)
        return sorted(folder.names()), folder.read("a"), folder.size("a"), latest(folder)

    assert use(RealFolder(tmp_path / "made" / "here")) == use(Disk())


# --- what is found --------------------------------------------------------------------------------


def test_every_reason_to_pass_over_is_told(saved: dict[str, bytes]) -> None:
    disk = Disk(saved)
    for step in (30, 40, 50, 60, 70):
        save_parts(disk, step, keep=9)
    disk.write(part_name(30, 0, 4), b"")
    disk.write(part_name(40, 1, 4), b"40sECOND")
    disk.remove(part_name(50, 3, 4))
    disk.write(index_name(60), disk.read(index_name(60))[:-9])
    disk.remove(index_name(70))
    disk.write(part_name(70, 0, 2), b"of another attempt")
    disk.write(index_name(80) + ".tmp", b"{}")
    disk.write("notes.txt", b"mine")
    found = latest(disk)
    assert found.step == 20 and list(found.passed) == [80, 70, 60, 50, 40, 30]
    for step, words in {
        30: "part-0-of-4 has 0 of 12 bytes",
        40: "part-1-of-4 has the right size, but its checksum is wrong",
        50: "part-3-of-4 is not there",
        60: "its index cannot be read",
        70: "it has no index, and 4 of 4 parts and 1 of 2 parts ready: a save was cut off",
        80: "it has no index, and no part ready",
    }.items():
        assert words in found.passed[step]


def test_the_last_ones_are_kept_and_a_damaged_one_is_not_counted() -> None:
    disk = Disk()
    for step in (1, 2, 3):
        save_parts(disk, step, keep=3)
    disk.write(part_name(2, 0, 4), b"")
    save_parts(disk, 4, keep=3)
    assert {int(n[5:13]) for n in disk.names()} == {1, 3, 4}
    disk.write("step-00000009.part-0-of-4.tmp", b"in the making")
    saving.delete_old(disk, 1)
    assert {int(n[5:13]) for n in disk.names()} == {4, 9}


def test_a_good_checkpoint_is_not_written_over() -> None:
    disk = Disk()
    for step in (1, 2, 3):
        save_parts(disk, step, keep=3)
    with pytest.raises(FileExistsError, match="step 2 already"):
        save_parts(disk, 2)
    disk.write(part_name(2, 0, 4), b"")
    save_parts(disk, 2)  # a damaged one makes way
    assert latest(disk).step == 3 and opened(disk, 2).step == 2


def test_no_code_in_a_checkpoint_is_run() -> None:
    import io

    data = io.BytesIO()
    torch.save({"path": Path("somewhere")}, data)  # a class: pickle would call it
    disk = Disk()
    parts = [saving.write_part(disk, 1, 0, 1, data.getvalue())]
    saving.write_index(disk, 1, parts)
    with pytest.raises(Damaged, match="its content cannot be read"):
        read_part(disk, opened(disk, 1), 0)


@pytest.mark.parametrize(("step", "keep"), [(-1, 2), (3, 0)])
def test_what_cannot_be_is_told(step: int, keep: int) -> None:
    with pytest.raises(ValueError, match="A checkpoint has a step from 0 up"):
        saving.begin(None, Disk(), step, keep)  # type: ignore[arg-type]
