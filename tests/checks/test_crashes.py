"""The driver that stops what writes to a folder: what it finds is what a crash leaves."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.judging import judge_all
from helpers.checks.spec import Case, Observation, Verdict
from helpers.lessons.cluster.algorithms.crashes import crashes
from helpers.lessons.cluster.algorithms.files import RealFolder
from helpers.lessons.cluster.exercises.crashes import (
    Folder,
    Noted,
    crashed,
    files_on,
    text_of,
)

Write = Callable[..., None]
EXERCISE = find("17.3")
WRONG: dict[str, Write] = {answer.name: answer.function for answer in EXERCISE.wrong}
CASE = EXERCISE.cases(0)[0]


def safely(folder: Any, name: str, data: bytes, temporary: str = "") -> None:
    """The right way, with a temporary name of one's own."""
    temporary = temporary or name + ".tmp"
    folder.write(temporary, data)
    folder.sync(temporary)
    folder.rename(temporary, name)
    folder.sync_names()


def seen(write: Write, case: Case = CASE) -> dict[str, Any]:
    observation = crashed(write, case)
    assert not observation.trouble, observation
    value: dict[str, Any] = observation.values[0]
    return value


def test_what_is_found_is_what_a_function_leaves_that_really_stops_there() -> None:
    files, name, data = CASE.args[0][:3]
    before = {each: text.encode() for each, text in files.items()}
    for which, does in {"": safely, **WRONG}.items():
        if which == "a temporary name never used again":
            continue  # its names are others each time
        told = [
            [crash.at, crash.outcome, files_on(crash.disk)]
            for crash in crashes(lambda disk, does=does: does(disk, name, data.encode()), before)
        ]
        assert seen(does)["found"] == told, which


@pytest.mark.parametrize(
    "make", [lambda path: Folder(Noted({}).do), RealFolder], ids=["in memory", "real"]
)
def test_its_folder_does_what_a_real_one_does(make: Any, tmp_path: Path) -> None:
    folder = make(tmp_path / "it")
    folder.write("a", bytes(range(256)))
    folder.write("b", memoryview(b"xy"))
    assert folder.read("a") == bytes(range(256)) and folder.size("b") == 2
    folder.sync("a")
    folder.rename("a", "b")
    folder.sync_names()
    assert folder.names() == ["b"] and folder.size("b") == 256
    folder.remove("b")
    assert folder.names() == []
    for ask in (folder.read, folder.size, folder.sync, folder.remove):
        with pytest.raises(FileNotFoundError):
            ask("b")
    with pytest.raises(FileNotFoundError):
        folder.rename("b", "c")
    for what in ("text", 5, None):
        with pytest.raises(TypeError):
            folder.write("c", what)


def test_only_a_folders_operations_are_done_on_the_disk() -> None:
    noted = Noted({"a": "b"})
    for what, *given in (("after", "killed"), ("_tick",), ("write", "a", b"c"), ("write", "a")):
        with pytest.raises((TypeError, ValueError)):
            noted.do(what, *given)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        noted.do("remove", "c")
    assert noted.done == [] and files_on(noted.disk) == [["a", "b"]]
    assert text_of(b"\xff\0") == "\xff\0"


def test_a_function_that_never_ends_or_writes_without_end_is_told() -> None:
    def waits(folder: Any, name: str, data: bytes) -> None:
        while name + ".lock" not in folder.names():
            pass

    def grows(folder: Any, name: str, data: bytes) -> None:
        for times in range(1, 40):
            folder.write(name, data * times)

    for write in (waits, grows):
        said = crashed(write, CASE)
        assert said.kind == "RuntimeError" and "takes a few operations" in said.text


def test_a_call_after_a_kill_that_raises_is_noted_and_one_that_is_not_done_ends() -> None:
    assert any(told == "FileExistsError: model is being written." for _, told in
               seen(WRONG["refuses"])["again"])  # fmt: skip
    calls: list[str] = []

    def forgets(folder: Any, name: str, data: bytes) -> None:
        calls.append(name)
        if len(calls) > 2:
            raise NotImplementedError("Exercise 17.3 is not done yet")
        folder.write(name, data)

    assert crashed(forgets, CASE).trouble == "not done"
    assert crashed(lambda folder, name: None, CASE).trouble == "signature"


# --- what is said to answers that no spec has -----------------------------------------------------


def said(write: Write) -> Verdict:
    cases = EXERCISE.cases(0)
    observations: list[Observation] = []
    for case in cases:
        observations.append(crashed(write, case))
        if judge_all(EXERCISE, cases[: len(observations)], observations).status != "passed":
            break
    return judge_all(EXERCISE, cases, observations)


def by_suffix(folder: Any, name: str, data: bytes) -> None:
    safely(folder, name, data, str(Path(name).with_suffix(".tmp")))


def in_place_where_none_is(folder: Any, name: str, data: bytes) -> None:
    (safely if name in folder.names() else WRONG["in place"])(folder, name, data)


def removes_unasked(folder: Any, name: str, data: bytes) -> None:
    folder.remove(name)
    safely(folder, name, data)


def unsynced_under_one_name(folder: Any, name: str, data: bytes) -> None:
    folder.write("partial", data)
    folder.rename("partial", name)
    folder.sync_names()


def first_half_first(folder: Any, name: str, data: bytes) -> None:
    folder.write(name + ".tmp", data[: len(data) // 2])
    folder.sync(name + ".tmp")
    folder.rename(name + ".tmp", name)
    safely(folder, name, data)


def by_process(folder: Any, name: str, data: bytes) -> None:
    safely(folder, name, data, f".{os.getpid()}-{name}")


def test_other_wrong_answers_are_told_what_is_true() -> None:
    for write, mistake, words in (
        (by_process, "a temporary name never used again", "in the middle of `write`"),
        (by_suffix, "one temporary name for all", "`step-00000040.tmp` is used for"),
        (in_place_where_none_is, "in place", "in the middle of `write`"),
        (removes_unasked, "removes the old file first", "after a kill right after `remove`"),
        (unsynced_under_one_name, "no sync of the bytes", "has 0 of 12 bytes"),
        (first_half_first, "", "after a kill right after `rename`, `model` has 6 of 12 bytes."),
    ):
        verdict = said(write)
        assert verdict.status == "wrong" and verdict.mistake == mistake and words in verdict.hint


def test_the_number_of_a_process_in_the_files_own_name_stays_as_it_is() -> None:
    number = os.getpid()

    def clears_its_own(folder: Any, name: str, data: bytes) -> None:
        for each in folder.names():
            if each.startswith(name + ".new-"):
                folder.remove(each)
        safely(folder, name, data, f"{name}.new-{os.getpid()}")

    case = Case("", (({}, f"part-{number}", "new", "later", "other"),))
    for write in (EXERCISE.reference, clears_its_own):
        assert EXERCISE.claim(case, crashed(write, case)) is None
