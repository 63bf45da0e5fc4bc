"""What of a watched folder is whole: looked at with a clock of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_grader import FILE, hand_in, notebook

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.arrivals import BROKEN, QUICK, STILL, Arrivals, can_be_parsed
from helpers.instructor.grading.discover import Submission


class Watched:
    """A folder, looked at once a second. taken: what came to rest, by name and contents."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 0.0
        self.arrivals = Arrivals(folder, "02", lambda: self.now)
        self.taken: list[tuple[str, object]] = []
        folder.mkdir(exist_ok=True)

    def take(self, one: Submission, held: bytes | OSError | None) -> None:
        self.taken.append((one.name, held if held is None else str(held.decode())))  # type: ignore[union-attr]

    def look(self, seconds: float = 0.0) -> bool:
        """Look once a second for so long; whether the last look saw something new."""
        new = self.arrivals.look(self.take)
        for _ in range(int(seconds)):
            self.now += 1
            new = self.arrivals.look(self.take)
        return new

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.taken]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "in")


def test_a_notebook_is_taken_when_it_is_still_and_once(watched: Watched) -> None:
    hand_in(watched.folder, "ann")
    watched.look(STILL - 1)
    assert watched.taken == [] and len(watched.arrivals.coming) == 1
    watched.look(1)
    assert watched.names == ["ann"] and not watched.arrivals.coming
    assert not watched.look(60)
    assert watched.names == ["ann"]


def test_a_copy_that_grows_is_waited_for(watched: Watched) -> None:
    whole = notebook(note="x" * 100)
    path = hand_in(watched.folder, "ann")
    for size in range(10, len(whole), 25):
        path.write_text(whole[:size])
        watched.look(1)
    path.write_text(whole)
    watched.look(STILL)
    assert watched.taken == [("ann", whole)]


def test_a_copy_that_rests_halfway_is_waited_for_longer(watched: Watched) -> None:
    whole = notebook()
    path = hand_in(watched.folder, "ann")
    path.write_text(whole[: len(whole) // 2])
    watched.look(BROKEN - 1)
    path.write_text(whole)
    watched.look(STILL)
    assert watched.taken == [("ann", whole)]


def test_what_stays_broken_is_taken_as_it_is(watched: Watched) -> None:
    path = hand_in(watched.folder, "ann")
    path.write_text("{")
    watched.look(BROKEN)
    assert watched.taken == [("ann", "{")]


def test_places_that_are_reserved_first_are_no_notebook_yet(watched: Watched) -> None:
    whole = notebook().encode()
    path = hand_in(watched.folder, "ann")
    path.write_bytes(bytes(len(whole)))
    os.utime(path, (1, 1))
    watched.look(STILL + 1)
    assert watched.taken == []
    path.write_bytes(whole)
    os.utime(path, (1, 1))  # size and time are those of before: only the contents are whole now
    watched.look(1)
    assert watched.names == ["ann"]


@pytest.mark.parametrize(
    "name",
    [
        f"{FILE}.part",
        f"{FILE}.crdownload",
        f".{FILE}.swp",
        f"{FILE}~",
        f".~{FILE}",
        "02_messages.zip",
    ],
)
def test_downloads_and_editors_names_are_no_notebooks(watched: Watched, name: str) -> None:
    (watched.folder / name).write_text(notebook())
    (watched.folder / "ann").mkdir()
    (watched.folder / "ann" / name).write_text(notebook())
    watched.look(BROKEN)
    assert watched.taken == [("ann", None)]  # as grade has it: the folder holds no notebook
    (watched.folder / "ann" / name).replace(watched.folder / "ann" / FILE)
    watched.look(STILL)
    assert watched.taken[1:] == [("ann", notebook())]


def test_handed_in_again_renamed_and_removed(watched: Watched) -> None:
    path = hand_in(watched.folder, "ann")
    watched.look(STILL)
    path.write_text(notebook(note="better"))
    watched.look(1)
    (identity,) = watched.arrivals.here
    assert watched.arrivals.coming == {identity}
    watched.look(STILL)
    assert watched.taken[1:] == [("ann", notebook(note="better"))]

    path.parent.rename(watched.folder / "anna")
    watched.look()
    assert {one.name for one in watched.arrivals.here.values()} == {"ann", "anna"}
    watched.look(STILL)
    assert watched.names == ["ann", "ann", "anna"]
    assert [one.name for one in watched.arrivals.here.values()] == ["anna"]


def test_a_file_that_is_replaced_is_never_missed_out(watched: Watched) -> None:
    path = hand_in(watched.folder, "ann")
    hand_in(watched.folder, "bob")
    watched.look(STILL)
    path.unlink()  # an editor that saves: it is gone for a moment
    watched.look(1)
    assert all(one.path for one in watched.arrivals.here.values())
    path.write_text(notebook(note="saved"))
    watched.look(STILL)
    assert watched.taken[2:] == [("ann", notebook(note="saved"))]


def test_a_folder_that_vanishes_leaves_all_as_it_was(watched: Watched) -> None:
    hand_in(watched.folder, "ann")
    watched.look(STILL)
    away = watched.folder.with_name("away")
    watched.folder.rename(away)
    with pytest.raises(GradingError, match="There is no folder"):
        watched.look()
    watched.folder.mkdir()  # where a drive was
    with pytest.raises(GradingError, match="All submissions are gone"):
        watched.look()
    assert len(watched.arrivals.here) == 1
    watched.folder.rmdir()
    away.rename(watched.folder)
    assert not watched.look(60) and watched.names == ["ann"]


def test_what_is_no_notebook_at_all_can_not_be_parsed() -> None:
    whole = notebook().encode()
    assert can_be_parsed(whole) and can_be_parsed(b"\xef\xbb\xbf" + whole)
    assert not any(can_be_parsed(whole[:size]) for size in range(len(whole)))
    for data in (b"[]", b"\xff", b"[" * 10**5, b" " * QUICK + whole):
        assert not can_be_parsed(data)
