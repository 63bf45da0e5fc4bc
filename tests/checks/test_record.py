"""The file of a learner's progress: what it outlives, and what it says when it cannot be used."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import rooms as index
from helpers.checks import everything
from helpers.course import cli
from helpers.course.setup import places
from helpers.notebook import record
from helpers.notebook.standing import next_lesson, standings, together
from helpers.rooms import Entry

TWO = index.index()["02"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a learner who has an empty data folder."""
    monkeypatch.delenv(record.SWITCH)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "distributed-course" / "progress.json"


def said(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What `./course progress` prints; nothing of it on stderr."""
    cli.main(["progress", *options])
    shown = capsys.readouterr()
    assert shown.err == ""
    return " ".join(shown.out.split())


def test_the_index_is_what_the_specs_say() -> None:
    found = [entry for entries in index.index().values() for entry in entries]
    assert found == [Entry(e.number, e.title, e.points) for e in everything()]


def test_what_has_passed_stays_passed(kept: Path) -> None:
    assert record.note("02.1", "wrong", TWO) and record.load(kept).answers["02.1"].passed == ""
    record.note("02.1", "passed", TWO)
    first = record.load(kept).answers["02.1"].passed
    assert first.endswith("+00:00")
    for status in ("passed", "not attempted"):
        record.note("02.1", status, TWO)
        assert record.load(kept).answers["02.1"] == record.Answer(first, status)
    two = standings(record.load(kept))["02"]
    assert (two.done, two.points, two.slipped) == (1, TWO[0].points, ["02.1"])


def test_points_are_todays_and_what_is_gone_does_not_count(kept: Path) -> None:
    record.note("02.1", "passed", [Entry("02.1", "Scatter", 99)])
    record.note("02.99", "passed", [Entry("02.99", "Gone", 50)])
    two = standings(record.load(kept))["02"]
    assert (two.done, two.points, two.most) == (1, TWO[0].points, sum(e.points for e in TWO))


def test_a_lesson_that_is_elsewhere_is_known_by_what_was_checked(kept: Path) -> None:
    lesson = [Entry("77.1", "One", 3), Entry("77.2", "Two", 4)]
    record.note("77.1", "passed", lesson)
    found = standings(record.load(kept))
    assert [(found["77"].done, found["77"].points, found["77"].most)] == [(1, 3, 7)]
    assert together(found.values()).most == 7 + sum(exercise.points for exercise in everything())


def pass_some(numbers: list[str]) -> None:
    for number in numbers:
        record.note(number, "passed", index.index()[number[:2]])


@pytest.mark.real
def test_two_kernels_at_once_lose_nothing(kept: Path) -> None:
    numbers = [entry.number for entries in index.index().values() for entry in entries]
    parts = [numbers[::2], numbers[1::2]]
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=pass_some, args=(part,)) for part in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert sorted(record.load(kept).answers) == sorted(numbers)
    assert {path.name for path in kept.parent.iterdir()} == {kept.name, f"{kept.name}.lock"}


def test_a_write_that_is_cut_off_leaves_the_file_of_before(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record.note("02.1", "passed", TWO)
    before = kept.read_bytes()

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not record.note("02.2", "passed", TWO)
    assert kept.read_bytes() == before and not kept.with_name("progress.json.part").exists()


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[]", b"\xff\xfe", b'{"version": 1}', b"[" * 100_000),
        b'{"version": 0, "answers": {}, "lessons": {}}',
        b'{"version": 1, "answers": {"02.1": {"passed": 3, "said": ""}}, "lessons": {}}',
        b'{"version": 1, "answers": {"x": {"passed": "", "said": ""}}, "lessons": {}}',
        b'{"version": 1, "answers": {}, "lessons": {"02": {"02.1": Infinity}}}',
    ],
)
def test_a_broken_file_is_kept_beside(
    text: bytes, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.parent.mkdir(parents=True)
    for number in ("", "2"):
        kept.write_bytes(text)
        assert "is not what the course writes. The next check sets it aside" in said(capsys)
        record.note("02.1", "passed", TWO)
        assert kept.with_name(f"progress.json.broken{number}").read_bytes() == text
        assert "02.1" in record.load(kept).answers
    assert "progress.json.broken2 could not be read and was set aside" in said(capsys)


def test_a_newer_file_is_left_alone(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text('{"version": 2, "all": "else"}', encoding="utf-8")
    assert not record.note("02.1", "passed", TWO)
    assert kept.read_text(encoding="utf-8") == '{"version": 2, "all": "else"}'
    assert "was written by a newer version of the course, and stays as it is" in said(capsys)


def test_where_nothing_can_be_written_a_sentence_says_so(
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # A folder below a file cannot be made by root either, who may write to read-only folders.
    (tmp_path / "data").touch()
    assert not record.note("02.1", "passed", TWO)
    assert capfd.readouterr() == ("", "")
    assert cli.main(["progress"]) == 1
    assert "cannot be read (Not a directory). Name another with COURSE_PROGRESS=" in " ".join(
        capfd.readouterr().out.split()
    )
    monkeypatch.setattr("helpers.notebook.record.writable", lambda folder: False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "read-only"))
    assert cli.main(["progress"]) == 0
    assert "cannot be written to: what passes now is not kept." in capfd.readouterr().out


def test_it_may_be_named_or_switched_off(
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(record.SWITCH, str(tmp_path / "mine.json"))
    assert record.note("02.1", "passed", TWO) and (tmp_path / "mine.json").exists()
    monkeypatch.setenv(record.SWITCH, "off")
    assert not record.note("02.2", "passed", TWO) and not kept.exists()
    assert said(capsys) == "COURSE_PROGRESS is off: no progress is kept."


@pytest.mark.parametrize("where", ["solutions", "nbgrader"])
def test_nothing_is_kept_of_what_is_nobodys_progress(
    where: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == "solutions":
        monkeypatch.chdir(places.ROOT / "solutions")
    else:
        monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert not record.note("02.1", "passed", TWO) and not kept.parent.exists()


def test_on_a_mac_it_lies_in_its_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert places.data() == tmp_path / ".local" / "share" / "distributed-course"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert places.data() == tmp_path / "Library" / "Application Support" / "distributed-course"


def test_the_command_tells_all_and_what_comes_next(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Next: exercise 00.1 (" in said(capsys)
    pass_some(["02.1", "02.2"])
    record.note("02.2", "wrong", TWO)
    shown = said(capsys)
    points = TWO[0].points + TWO[1].points
    assert f"02 Messages 2 of {len(TWO)} {points} of {sum(e.points for e in TWO)}" in shown
    assert f"total 2 of {len(everything())} {points} of" in shown
    assert "Passed before, but not when checked last: 02.2." in shown
    assert f"Next: exercise 02.3 ({TWO[2].title}), in lessons/02_messages.ipynb" in shown

    assert cli.main(["progress", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["total"]["done"], told["total"]["points"]) == (2, points)
    assert told["next"]["exercise"] == "02.3" and told["file"] == str(kept)
    two = next(one for one in told["lessons"] if one["lesson"] == "02")
    assert [one["said"] for one in two["exercises"][:3]] == ["passed", "wrong", None]

    pass_some([entry.number for entries in index.index().values() for entry in entries])
    assert "All exercises that are here are done." in said(capsys)


def test_one_goes_on_where_an_exercise_passed_last() -> None:
    answers = {
        "00.1": record.Answer("2026-01-01T00:00:00+00:00", "passed"),
        "03.1": record.Answer("2026-01-03T00:00:00+00:00", "passed"),
    }
    found = standings(record.Record(answers))
    assert next_lesson(found, [*found]) == "03"
    assert next_lesson(found, ["01", "02"]) == "01"
    assert next_lesson(found, ["00", "05"]) == "05"
    assert next_lesson(found, ["00"]) is None
