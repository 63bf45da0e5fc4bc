"""Where Linux's own features are missing, as on macOS, each has another way or a sentence.

Nothing here replaces a run on such a system: what is held is that the course asks for nothing that
only Linux has. `lacking/sitecustomize.py` takes the features away, from child processes too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.course.setup.places import ROOT
from helpers.grade.judge.notebook import code_cells
from helpers.grade.worker import cells
from tests.submissions import write

LACKING = Path(__file__).parent / "lacking"
RANKS = """
import torch, helpers
from helpers.engine.errors import NoHosts, RankFailed

def total(comm):
    mine = torch.full((40_000,), float(comm.rank + 1))  # more than goes in one notice
    return float((mine + comm.recv(1)).sum()) if comm.rank == 0 else comm.send(mine, 0)

def wrong(comm):
    if comm.rank == 1:
        raise ValueError("a mistake of mine")
    comm.recv(1)

print("ranks", helpers.run(total, ranks=2)[0])
try:
    helpers.run(wrong, ranks=2)
except RankFailed as error:
    print("report", *str(error).splitlines()[:1])
print("hosts", helpers.run(total, engine="hosts", hosts=2)[0])
"""
FALLS = """
import os, signal
from helpers.engine.errors import RankDied

def falls(comm):
    os.kill(os.getpid(), signal.SIGBUS)

try:
    helpers.run(falls, ranks=1)
except RankDied as error:
    print("COURSE_START=spawn" in str(error))
"""
CHECK = """
def hello(comm, word): return word
print("check", helpers.check("00.1", hello).status)
"""
TOLD = ["ranks 120000.0", "report Rank 1 of 2 raised ValueError: a mistake of mine"]
SERVERS = """
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous
from helpers.engine.errors import RunError

def rule(weights):
    return Asynchronous(weights, Sgd(0.2), workers=2)

for engine in ("virtual", "processes"):
    try:
        trained = helpers.train(rule, workers=2, updates=20, engine=engine)
        print(engine, "updates", sum(server.version for server in trained.servers))
    except RunError as error:
        print(engine, error)
"""


def without(lacking: str, *arguments: str, root: Path = ROOT, **environment: str) -> str:
    """What the course's Python prints where these features are missing."""
    path = os.pathsep.join([str(LACKING), str(root)])
    env = {**os.environ, "LACKING": lacking, "PYTHONPATH": path, **environment}
    done = subprocess.run(
        [sys.executable, *arguments], env=env, cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.real
def test_the_features_are_gone() -> None:
    code = """
import os
from helpers.engine.hosts.namespaces import refused
from helpers.course.setup.machine import usable_cores
print(usable_cores() >= 1, "darwin" in refused())
print([hasattr(os, name) for name in ("sched_getaffinity", "memfd_create", "fork")])
"""
    assert without("macos fork", "-c", code).splitlines() == ["True True", "[False, False, False]"]


@pytest.mark.thorough
@pytest.mark.real
def test_the_doctor_says_what_each_costs(tmp_path: Path) -> None:
    tool = tmp_path / "xcode-select"  # macOS has it, whether or not its compiler is there
    tool.write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
    tool.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    told = " ".join(without("macos", "-m", "helpers.course.cli", "doctor", PATH=path).split())
    assert "kept by the system, no folder of its own" in told
    assert "not on darwin Lesson 17 runs on processes of this machine." in told
    assert "network links not told by this system" in told


@pytest.mark.thorough
@pytest.mark.real
def test_ranks_checks_and_servers_need_nothing_of_linux_alone(tmp_path: Path) -> None:
    folder = tmp_path / "My Course"  # people there like spaces
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "helpers", folder / "helpers", ignore=left_out)
    told = without("macos", "-c", RANKS + CHECK + SERVERS + FALLS, root=folder).splitlines()
    assert told[:2] == TOLD
    assert told[2].startswith("Virtual hosts cannot be had here: network namespaces are Linux's")
    assert told[3:5] == ["hosts 120000.0", "check wrong"]
    assert told[5:] == ["virtual updates 20", "processes updates 20", "True"]


@pytest.mark.thorough
@pytest.mark.real
def test_ranks_are_spawned_where_none_can_be_forked() -> None:
    told = without("macos fork", "-c", RANKS + SERVERS + FALLS).splitlines()
    assert told[:2] == TOLD
    assert told[-3:] == ["virtual updates 20", "processes updates 20", "False"]


@pytest.mark.thorough
@pytest.mark.real
def test_ranks_are_spawned_where_that_is_asked_for() -> None:
    told = without("", "-c", RANKS + CHECK + SERVERS, COURSE_START="spawn").splitlines()
    assert told[:2] == TOLD
    assert "a rank comes to its host by being forked" in told[2] and told[3] == "hosts 120000.0"
    assert told[4:] == ["check wrong", "virtual updates 20", "processes updates 20"]


def test_no_two_files_have_names_that_differ_in_case_alone() -> None:
    names = [
        path.relative_to(ROOT).as_posix().casefold()
        for folder in ("helpers", "tests", "solutions", "lessons", "benchmarks", "cluster", "docs")
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    ]
    assert len(names) == len(set(names)) > 1000


def test_a_notebook_that_went_through_windows_is_read(tmp_path: Path) -> None:
    answer = 'def scatter(comm):\r\n    return """a\r\nb"""\r\n'
    path = write(tmp_path / "02_messages.ipynb", ["%matplotlib inline\r\n" + answer])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    read = cells.read(code_cells(path))
    assert read.broken == []
    names: dict[str, Any] = {}
    cells.run(read.statements[-1], names, str(path))
    assert names["scatter"](None) == "a\nb"
