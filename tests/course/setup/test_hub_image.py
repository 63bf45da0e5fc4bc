"""hub/Dockerfile names what the rest of the course does, and can hold no solution."""

from __future__ import annotations

import fnmatch
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.course.setup import places, state, system
from helpers.course.setup.places import ROOT

FILE = ROOT / "hub" / "Dockerfile"
PYTHON_OF = {"debian:12-slim": "3.11"}  # what apt-get installs there as python3
HOME = "/home/jovyan/course"
# What the image needs beside the tools that helpers/course/setup/system.py knows by a name.
BESIDE = {"ca-certificates", "git", "tini", "python3", "python3-venv", "python3-dev"}


def instructions() -> list[tuple[str, str]]:
    """The file's instructions and what stands behind each, continued lines joined."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in found]


def values(name: str) -> list[str]:
    """What stands behind each instruction of a name."""
    return [rest for one, rest in instructions() if one == name]


def copied() -> list[Path]:
    """The files that the image takes from the course's folder."""
    found = []
    for rest in values("COPY"):
        *sources, _ = [word for word in shlex.split(rest) if not word.startswith("--")]
        for source in sources:
            path = ROOT / source
            assert path.exists(), f"hub/Dockerfile copies {source}, which is not there"
            inner = path.rglob("*") if path.is_dir() else [path]
            found += [one for one in inner if one.is_file() and one.suffix != ".pyc"]
    return found


def is_let_in(name: str) -> bool:
    """Whether .dockerignore lets a file in: the last pattern that fits decides."""
    let_in = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!")
        if line and line[0] != "#" and (fnmatch.fnmatch(name, pattern) or pattern == "*"):
            let_in = line[0] == "!"
    return let_in


def test_its_packages_are_those_that_set_up_installs() -> None:
    asked = next(rest for rest in values("RUN") if "apt-get install" in rest)
    words = asked.partition("--no-install-recommends")[2].partition("&&")[0].split()
    known = {tool: names[0] for tool, names in system.PACKAGES.items()}
    assert set(words) <= {*known.values()} | BESIDE
    assert {known["a C++ compiler"], known["make"], "python3-dev"} <= set(words)
    assert known["chromium"] not in words  # a test's


def test_its_python_is_one_that_the_course_accepts() -> None:
    (base,) = values("FROM")
    assert PYTHON_OF[base] in state.VERSIONS
    assert "Debian 12" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_only_what_installs_is_let_in_and_copied() -> None:
    inside = {path.relative_to(ROOT).as_posix() for path in copied()}
    assert {"course", "constraints.txt", "pyproject.toml"} < inside
    assert [name for name in inside if not is_let_in(name)] == []
    tracked = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if is_of_the_course(p)]
    assert len(tracked) > 1000
    # What is let in and not copied would travel for nothing; and neither may hold an answer.
    assert {name for name in tracked if is_let_in(name)} == inside
    forbidden = ("solutions/", "lessons/", "tests/", "helpers/lessons/", "helpers/checks/")
    assert [name for name in inside if name.startswith(forbidden)] == []


def is_of_the_course(path: Path) -> bool:
    """Whether this is a file of the course, and not of an environment or a cache beside it."""
    first = path.relative_to(ROOT).parts[0]
    hidden = first.startswith(".") and first != ".dockerignore"
    return path.is_file() and not hidden and path.suffix != ".pyc" and "egg-info" not in first


@pytest.mark.thorough
@pytest.mark.real
def test_what_it_copies_is_enough_for_set_up(tmp_path: Path) -> None:
    for path in copied():
        place = tmp_path / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    code = "import helpers; from helpers.course.setup import steps, state; print(state.key())"
    told = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert told.stdout.strip() == state.key(), told.stderr


def test_the_environment_is_where_the_command_looks_for_it() -> None:
    (settings,) = values("ENV")
    named = dict(word.partition("=")[::2] for word in shlex.split(settings))
    assert named["CONDA_DEFAULT_ENV"] == places.NAME
    assert named["PATH"].startswith(f"{named['CONDA_PREFIX']}/bin:")
    assert values("WORKDIR")[0] == HOME  # set-up puts this folder on Python's path
    config = ROOT / Path(named["JUPYTER_CONFIG_PATH"]).relative_to(HOME)
    assert (config / "labconfig").is_dir()
    (build,) = [rest for rest in values("RUN") if "steps" in rest]
    assert f"venv {named['CONDA_PREFIX']} " in build and "-c constraints.txt" in build
