"""What `./course test --all` has done by now, so that it may be interrupted and goes on.

It takes hours. Each test is noted as it ends, under the commit that was tested, so a run that was
ended loses the one test that ran. The next one on the same commit leaves out what passed, and runs
what failed, was skipped or never ran.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from helpers.course.testing.changed import git

KEPT = ".pytest_cache/all"  # from the course's folder; git ignores it, and no clone has it
MODULES = 8  # that the account names


class Ended(NamedTuple):
    """How a test ended last: passed, failed or skipped, and why it was skipped."""

    how: str
    why: str


class Notes:
    """A folder with what was chosen and how each test ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "ended.jsonl"

    def choose(self, kind: str, tests: Iterable[str]) -> None:
        """Write down all tests of a kind that there are to run."""
        text = "".join(f"{test}\n" for test in tests)
        (self.folder / f"{kind}.txt").write_text(text, encoding="utf-8")

    def chosen(self, kind: str) -> list[str] | None:
        """All tests of a kind; None where they were never collected."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
        return None

    def note(self, test: str, how: str, why: str = "") -> None:
        """Write down how a test ended."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([test, how, why]) + "\n")

    def ended(self) -> dict[str, Ended]:
        """How each test ended when it ran last."""
        found = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._file.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # the last line, if a kill came in the middle
                    test, how, why = json.loads(line)
                    found[test] = Ended(how, why)
        return found

    def begin(self) -> None:
        """Have what did not pass run again; in files, so that all workers leave out the same."""
        passed = [(test, *end) for test, end in self.ended().items() if end.how == "passed"]
        text = "".join(json.dumps(line) + "\n" for line in passed)
        self._file.write_text(text, encoding="utf-8")
        names = json.dumps([test for test, *_ in passed])
        (self.folder / "left_out.json").write_text(names, encoding="utf-8")

    def left_out(self) -> set[str]:
        """What had passed before this run."""
        return set(json.loads((self.folder / "left_out.json").read_text(encoding="utf-8")))


def notes_of_this_commit(root: Path) -> Notes | None:
    """The notes on the commit that is checked out in a folder; those on others are thrown away.

    None where something is not committed, for nobody could tell what was tested.
    """
    commit = git("rev-parse", "-q", "--verify", "HEAD", root=root)
    if not commit or git("status", "--porcelain", root=root):
        return None
    folder = root / KEPT / commit[0]
    for other in (root / KEPT).glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return Notes(folder)


def account(notes: Notes, kinds: Iterable[str]) -> tuple[bool, list[str]]:
    """Whether all has passed that can run here, and lines that say what has not."""
    ended, lines, never, counted = notes.ended(), [], [], Counter[str]()
    skipped: Counter[str] = Counter()
    for kind in kinds:
        chosen = notes.chosen(kind)
        if chosen is None:
            lines.append(f"never run: every {kind} test")
            continue
        for test in chosen:
            how, why = ended.get(test, Ended("never run", ""))
            counted[how] += 1
            if how == "never run":
                never.append(test)
            elif how == "skipped":
                skipped[why] += 1
    whole = not lines and not never and not counted["failed"]
    if never:
        lines.append(f"never run: {_by_module(never)}")
    failed = [test for test, end in ended.items() if end.how == "failed"]
    lines += [f"failed: {test}" for test in failed]
    lines += [f"skipped: {n:,} × {why}" for why, n in skipped.most_common()]
    words = ("passed", "failed", "skipped", "never run")
    return whole, [", ".join(f"{counted[word]:,} {word}" for word in words), *lines]


def _by_module(tests: Iterable[str]) -> str:
    """How many tests of which modules, the modules with most first."""
    of = Counter(test.partition("::")[0] for test in tests)
    named = [f"{module} ({n:,})" for module, n in of.most_common(MODULES)]
    rest = len(of) - len(named)
    return ", ".join([*named, *[f"and {rest} other modules"] * bool(rest)])
