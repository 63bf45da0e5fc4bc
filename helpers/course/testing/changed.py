"""What a change reaches: the tests that `./course test --changed` runs.

A test module runs where it imports, over others too, what differs from the last commit that
passed. What is tested lesson by lesson runs for the lessons and exercises that a difference
reaches: through their specs, and through what their notebooks import. A notebook counts as reached
by figures and engines, not by algorithms, which have tests of their own: so a change there
takes a minute, and the everyday command runs all notebooks.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from helpers.course.build import imports
from helpers.course.setup.places import ROOT
from helpers.rooms import number_of

PASSED = "refs/course/passed"  # the last commit on which the everyday tests passed
UPSTREAM = "origin/HEAD"
ALGORITHMS = re.compile(r"helpers\.lessons\.\w+\.algorithms\b")
SPECS = re.compile(r"helpers\.lessons\.\w+\.exercises\b")
COMMANDS = "helpers.course.cli"
# A difference in one of these may change anything.
ALL = ("pyproject.toml", "constraints.txt", "tests/conftest.py")
_TEXT = (".md", ".cff", ".svg", ".png", ".txt", ".yml")
_NOTEBOOK = re.compile(r"(?:solutions|lessons)/(\d\d)_\w+\.ipynb")
_TEST = re.compile(r"tests/(?:\w+/)*test_\w+\.py")
_NUMBER = re.compile(r'number="(\d\d\.\d+)"')


@dataclass(frozen=True)
class Reach:
    """What differs, and what it reaches.

    files: the test modules to run, by their paths from the course's folder. whole: those of them
    that run for every lesson. lessons, exercises: the numbers of those that are reached.
    everything: where no test can be left out. left: notebooks that use what differs and do not run.
    """

    differs: tuple[str, ...]
    files: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    lessons: frozenset[str] = frozenset()
    exercises: frozenset[str] = frozenset()
    everything: bool = False
    left: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether no test is reached at all."""
        return not (self.everything or self.files or self.lessons or self.exercises)


def base() -> str:
    """The commit to compare with: the last that passed here, else where the work was fetched.

    Raises LookupError with a sentence where there is no commit at all.
    """
    for name in (PASSED, UPSTREAM, "HEAD"):
        found = git("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
        if found:
            return found[0]
    raise LookupError("This folder has no commits to compare with: run ./course test instead.")


def note_passed() -> None:
    """Note that the everyday tests passed on this commit, if there is nothing beside it."""
    if not git("status", "--porcelain") and git("rev-parse", "-q", "--verify", "HEAD"):
        git("update-ref", PASSED, "HEAD")


def differences(since: str) -> tuple[str, ...]:
    """The files that differ from a commit, those that no commit has yet among them."""
    changed = git("diff", "--name-only", "--no-renames", since, "--")
    return tuple(sorted({*changed, *git("ls-files", "--others", "--exclude-standard")}))


def git(*arguments: str, root: Path | None = None) -> list[str]:
    """The lines that git prints; none where it fails or is not there. root: the course's folder."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(
            command, cwd=root or ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return []
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def reach(differs: Iterable[str]) -> Reach:
    """What these files reach."""
    differs = tuple(differs)
    code = [path for path in differs if not path.endswith(_TEXT)]
    if any(path in ALL for path in differs):
        return Reach(differs, everything=True)
    named = {imports.dotted(ROOT / path) for path in code if path.endswith(".py")}
    started = imports.started()
    graph = {name: used | started[name] for name, used in imports.graph().items()}
    graph[COMMANDS] = set()  # it imports whatever was asked for: who calls a command imports it too
    reached = imports.importers(named, graph)
    # Over specs alone, a test is reached for their lessons, not for all.
    without = {name: used for name, used in graph.items() if not SPECS.match(name)}
    whole = imports.importers({n for n in named if not SPECS.match(n)}, without)
    direct = imports.importers(
        {n for n in named if not ALGORITHMS.match(n)},
        {name: {u for u in used if not ALGORITHMS.match(u)} for name, used in graph.items()},
    )
    lessons = {found[1] for path in code if (found := _NOTEBOOK.fullmatch(path))}
    lessons |= {number_of(name) for name in named if SPECS.match(name)}
    names = {path: path.partition("/")[2] for path in imports.notebooks()}
    lessons |= {names[path][:2] for path, used in imports.notebooks().items() if used & direct}
    using = {names[path] for path, used in imports.notebooks().items() if used & reached}
    files = test_modules(reached) | {path for path in code if _TEST.fullmatch(path)}
    return Reach(
        differs,
        frozenset(files),
        frozenset(test_modules(whole)),
        frozenset(lessons),
        frozenset(_exercises(reached)),
        left=tuple(sorted(name for name in using if name[:2] not in lessons)),
    )


def told(reach: Reach, since: str) -> str:
    """What differs and what it reaches, in a few words."""
    what = f"{len(reach.differs)} files differ from {since[:7]}"
    if reach.everything:
        return f"{what}, one of them what every test depends on."
    parts = [f"{len(reach.files)} test modules"]
    if reach.lessons:
        parts.append(f"lessons {', '.join(sorted(reach.lessons))}")
    if reach.exercises:
        parts.append(f"exercises {', '.join(sorted(reach.exercises))}")
    return f"{what}; they reach {'; '.join(parts)}."


def test_modules(names: Iterable[str]) -> set[str]:
    """The test modules among some modules, by their paths."""
    paths = [imports.modules()[name] for name in names if name in imports.modules()]
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.name.startswith("test_") and path.is_relative_to(ROOT / "tests")
    }


def _exercises(names: Iterable[str]) -> set[str]:
    """The numbers of the exercises whose specs are among some modules."""
    found: set[str] = set()
    for name in names:
        path = imports.modules().get(name, Path())
        if SPECS.match(name) and path.name != "__init__.py":
            found |= set(_NUMBER.findall(path.read_text(encoding="utf-8")))
    return found
