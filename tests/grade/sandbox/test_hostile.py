"""The bank of hostile submissions: each verdict as it has to be, the judge alive, nobody harmed.

Attacks come one after the other to the same judge, most with right answers beside them; those that
reach for the machine are followed by a right answer alone, which has to get all its points. After
the bank no process is left and no file. Everyday the first of each kind comes, since a kind goes
through one gate; with --all the whole bank.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile.among_ranks import AMONG_RANKS
from hostile.cheats import cheats, leak, of_lesson_03
from hostile.endings import ENDINGS
from hostile.files import FILES, File
from hostile.leftovers import LEFTOVERS, Leftover
from hostile.output import WORDS
from hostile.patches import PATCHES
from hostile.reaching import REACHING
from hostile.replies import REPLIES
from hostile.submission import NUMBERS, OVER, Attack, good
from hostile.traces import marked
from hostile.values import VALUES
from in_sandbox import gone

from helpers.engine.own_time import descendants
from helpers.grade.judge import Budgets, Judge
from helpers.grade.sandbox import missing
from tests.selection import everyday

EACH_KIND = (VALUES, PATCHES, REPLIES, REACHING, ENDINGS, WORDS, AMONG_RANKS, cheats())
BANK = [attack for kind in EACH_KIND for attack in everyday(kind, len(kind))]
SLOT = 17
MORE = 2**30  # bytes that an attack may cost the judge
# What does not come to an end is to cost these tests little.
SHORT = Budgets(step=3.0, cells=8.0, call=4.0, exercise=14.0, submission=60.0)

LACK = missing()
pytestmark = [pytest.mark.real, pytest.mark.skipif(LACK is not None, reason=str(LACK))]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with pytest.MonkeyPatch.context() as patch, Judge("02", slot=SLOT, budgets=SHORT) as made:
        patch.setenv("COURSE_SECRET", "an environment that nobody may read")
        yield made


@pytest.fixture(scope="module")
def other() -> Iterator[Judge]:
    with Judge("03", slot=SLOT + 1, budgets=SHORT) as made:
        yield made


def hold(judge: Judge, attack: Attack, path: Path) -> dict[str, Any]:
    """Grade a file and hold the grade against what the attack has to get."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    files = len(os.listdir("/proc/self/fd"))
    grade = judge.grade(path, attack.name, 20_26_11_21).grade.as_json()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MORE // 1024
    assert len(os.listdir("/proc/self/fd")) < files + 50
    by_number = {e["number"]: e for e in grade["exercises"]}
    full = {NUMBERS[f] for f in attack.full}
    full |= {NUMBERS[f] for f in attack.either if by_number[NUMBERS[f]]["points"]}
    for number, exercise in by_number.items():
        wanted = exercise["max"] if number in full else 0
        assert exercise["points"] == wanted, f"{number}: {exercise}"
        assert (exercise["outcome"] == "passed") == (number in full), f"{number}: {exercise}"
    assert full <= by_number.keys()
    for function in attack.finished:
        said = by_number[NUMBERS[function]]
        assert OVER in said["hint"] + said["reason"], f"{attack.name} was cut short: {said}"
    for function, outcomes in attack.outcomes.items():
        said = by_number[NUMBERS[function]]
        assert not outcomes or said["outcome"] in outcomes, f"{function}: {said}"
    json.dumps(grade, ensure_ascii=False).encode()  # no half of a surrogate pair
    return grade


def submit(judge: Judge, attack: Attack, folder: Path) -> dict[str, Any]:
    return hold(judge, attack, attack.write(folder))


def next_student(judge: Judge, folder: Path) -> None:
    """A right answer after an attack has all its points."""
    submit(judge, good(judge.lesson), folder)


@pytest.mark.parametrize("attack", BANK, ids=lambda a: a.name)
def test_an_attack_changes_no_verdict(attack: Attack, judge: Judge, tmp_path: Path) -> None:
    submit(judge, attack, tmp_path / "attack")
    if attack in REACHING or attack in ENDINGS:
        next_student(judge, tmp_path / "next")


@pytest.mark.parametrize("leftover", everyday(LEFTOVERS, len(LEFTOVERS)), ids=lambda e: e.name)
def test_nothing_is_left_for_the_next(leftover: Leftover, judge: Judge, tmp_path: Path) -> None:
    submit(judge, leftover.plants, tmp_path / "plants")
    submit(judge, leftover.looks, tmp_path / "looks")
    next_student(judge, tmp_path / "next")


@pytest.mark.parametrize("file", everyday(FILES, len(FILES)), ids=lambda each: each.name)
def test_a_file_is_read_as_data(file: File, judge: Judge, tmp_path: Path) -> None:
    grade = hold(judge, Attack(file.name, [], full=file.full), file.build(tmp_path))
    assert bool(grade["note"]) == file.noted


@pytest.mark.thorough
def test_a_hint_does_not_tell_hidden_inputs(judge: Judge, tmp_path: Path) -> None:
    grade = submit(judge, leak(), tmp_path)
    fit = next(e for e in grade["exercises"] if e["number"] == "02.4")
    assert "leak []" in fit["hint"]


@pytest.mark.thorough
@pytest.mark.parametrize("attack", of_lesson_03(), ids=lambda a: a.name)
def test_an_attack_on_lesson_03(attack: Attack, other: Judge, tmp_path: Path) -> None:
    submit(other, attack, tmp_path / "attack")
    next_student(other, tmp_path / "next")


def test_after_the_bank_nothing_is_left(judge: Judge, tmp_path: Path) -> None:
    next_student(judge, tmp_path)
    pids = [pid for box in judge.sandboxes if box.pid for pid in descendants(box.pid)]
    judge.close()
    assert pids and gone(pids)
    assert marked() == []
