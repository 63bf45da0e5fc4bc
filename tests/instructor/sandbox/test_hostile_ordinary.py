"""What reaches for the machine, once more where an ordinary user grades, if root runs the tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.bench import Bench, descendants, ended, processes_of
from hostile.leftovers import LEFTOVERS
from hostile.ordinary import UID, as_user, why_not
from hostile.pairs import Leftover
from hostile.submission import ROOT, Attack
from hostile.surroundings import SURROUNDINGS
from hostile.traces import snapshot
from test_hostile import MEMORY, REACHING

from helpers.instructor.sandbox import missing
from tests.selection import everyday

PAIRS = [*LEFTOVERS, *SURROUNDINGS]
pytestmark = [pytest.mark.real, pytest.mark.thorough]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    reason = missing() or why_not()
    if reason:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="course-bank-", dir="/tmp"))
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("helpers", "lessons", "tests"):
        shutil.copytree(ROOT / name, folder / "course" / name, ignore=ignored)
    (folder / "home").mkdir()
    os.chown(folder / "home", UID, UID)
    folder.chmod(0o755)
    before = snapshot(folder)
    made = Bench("02", 1, folder / "home", folder / "course", as_user())
    made.beside = folder / "course" / "tests"
    yield made
    pids = descendants(made.slot.pid) if made.slot else set()
    made.close()
    after = snapshot(folder)
    shutil.rmtree(folder)
    assert not ended(pids)
    assert not processes_of(UID, UID + 1)
    assert after == before


@pytest.fixture
def handed_in(bench: Bench) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="course-bank-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.parametrize("attack", everyday(REACHING, len(REACHING)), ids=lambda a: a.name)
def test_an_attack_changes_no_verdict(attack: Attack, bench: Bench, handed_in: Path) -> None:
    told = bench.submit(attack, handed_in / "attack")
    bench.next_student(handed_in / "next")
    assert told["peak"] < MEMORY


@pytest.mark.parametrize("leftover", everyday(PAIRS, len(PAIRS)), ids=lambda each: each.name)
def test_nothing_is_left_for_the_next(leftover: Leftover, bench: Bench, handed_in: Path) -> None:
    bench.submit(leftover.plants, handed_in / "plants")
    bench.submit(leftover.looks, handed_in / "looks")
    bench.next_student(handed_in / "next")
