"""The bank of hostile submissions: each verdict as it has to be, the judge alive, nobody harmed.

Attacks come one after the other in the same slot, most with right answers beside them; those that
reach for the machine are followed by a right answer alone, which has to get all its points. After
the bank no process is left and no file changed. Everyday the first of each kind comes, since a kind
goes through one gate; with --all the whole bank.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile.among_ranks import AMONG_RANKS
from hostile.bench import Bench, descendants, ended, processes_of
from hostile.broken import BROKEN
from hostile.cheats import cheats, leak, of_lesson_03
from hostile.endings import ENDINGS
from hostile.files import File
from hostile.hogs import HOGS
from hostile.leftovers import LEFTOVERS
from hostile.lies import LIES
from hostile.machine import MACHINE
from hostile.network import CODE, network
from hostile.notebooks import FILES
from hostile.output import WORDS
from hostile.pairs import Leftover
from hostile.patches import PATCHES
from hostile.reading import READING
from hostile.replies import REPLIES
from hostile.strange import STRANGE
from hostile.submission import ROOT, Attack
from hostile.surroundings import SURROUNDINGS
from hostile.traces import Listeners, listeners, marked, snapshot

from helpers.grade.sandbox import FIRST_UID, missing
from tests.selection import everyday

REACHING = [*READING, *MACHINE, *ENDINGS, *HOGS]
EACH_KIND = (
    *(LIES, STRANGE, PATCHES, REPLIES, READING, MACHINE, ENDINGS, HOGS, WORDS, AMONG_RANKS),
    cheats(),
)
BANK = [attack for kind in EACH_KIND for attack in everyday(kind, len(kind))]
PAIRS = [*LEFTOVERS, *SURROUNDINGS]
ALL_FILES = [*FILES, *BROKEN]
SLOT = 17
MEMORY = 2 * 2**30  # of the judge, with torch loaded

LACK = missing()
pytestmark = [pytest.mark.real, pytest.mark.skipif(LACK is not None, reason=str(LACK))]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="course-bank-"))
    for name in ("helpers", "lessons", "solutions"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, made / "course" / name, ignore=ignored)
    (made / "home").mkdir()
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def before(folder: Path) -> dict[str, tuple[int, int, str]]:
    return snapshot(folder / "course", folder / "home")


@pytest.fixture(scope="module")
def bench(folder: Path, before: object) -> Iterator[Bench]:
    made = Bench("02", SLOT, folder / "home", folder / "course")
    yield made
    made.close()


@pytest.fixture(scope="module")
def other(folder: Path, before: object) -> Iterator[Bench]:
    made = Bench("03", SLOT + 1, folder / "home", folder / "course")
    yield made
    made.close()


@pytest.fixture(scope="module")
def outside(folder: Path) -> Iterator[Listeners]:
    with listeners(folder) as made:
        yield made


@pytest.mark.parametrize("attack", BANK, ids=lambda a: a.name)
def test_an_attack_changes_no_verdict(attack: Attack, bench: Bench, tmp_path: Path) -> None:
    told = bench.submit(attack, tmp_path / "attack")
    if attack in REACHING:
        bench.next_student(tmp_path / "next")
    assert told["peak"] < MEMORY
    assert told["open_files"] < 100


@pytest.mark.parametrize("leftover", everyday(PAIRS, len(PAIRS)), ids=lambda each: each.name)
def test_nothing_is_left_for_the_next(leftover: Leftover, bench: Bench, tmp_path: Path) -> None:
    bench.submit(leftover.plants, tmp_path / "plants")
    bench.submit(leftover.looks, tmp_path / "looks")
    bench.next_student(tmp_path / "next")


@pytest.mark.parametrize("file", everyday(ALL_FILES, len(ALL_FILES)), ids=lambda each: each.name)
def test_a_file_is_read_as_data(file: File, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "attack").mkdir()
    told = bench.hold(Attack(file.name, [], full=file.full), file.build(tmp_path / "attack"))
    assert bool(told["grade"]["note"]) == file.noted
    assert told["peak"] < MEMORY


@pytest.mark.parametrize("key", everyday(list(CODE), len(CODE)))
def test_nobody_is_reached(key: str, bench: Bench, outside: Listeners, tmp_path: Path) -> None:
    attack = network(outside.tcp, outside.name, outside.path)[key]
    bench.submit(attack, tmp_path / "attack")
    bench.next_student(tmp_path / "next")
    assert outside.heard() == 0


@pytest.mark.thorough
def test_a_hint_does_not_tell_hidden_inputs(bench: Bench, tmp_path: Path) -> None:
    told = bench.submit(leak(), tmp_path)
    fit = next(e for e in told["grade"]["exercises"] if e["number"] == "02.4")
    assert "leak []" in fit["hint"]


@pytest.mark.thorough
@pytest.mark.parametrize("attack", of_lesson_03(), ids=lambda a: a.name)
def test_an_attack_on_lesson_03(attack: Attack, other: Bench, tmp_path: Path) -> None:
    told = other.submit(attack, tmp_path / "attack")
    other.next_student(tmp_path / "next")
    assert told["peak"] < MEMORY


def test_after_the_bank_nothing_is_left(
    bench: Bench,
    other: Bench,
    folder: Path,
    before: dict[str, tuple[int, int, str]],
    tmp_path: Path,
) -> None:
    bench.next_student(tmp_path)
    other.close()
    pids = descendants(bench.slot.pid) if bench.slot is not None else set[int]()
    bench.close()
    assert not ended(pids)
    if os.getuid() == 0:
        assert not processes_of(FIRST_UID + 5 * SLOT, FIRST_UID + 5 * (SLOT + 2))
    after = snapshot(folder / "course", folder / "home")
    assert {p for p in after.keys() | before.keys() if after.get(p) != before.get(p)} == set()
    assert marked() == []
