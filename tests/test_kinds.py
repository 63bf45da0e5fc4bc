"""A test without a clock that starts a process fails, and a real one may start what it likes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.course.setup.places import ROOT

CONFTEST = """
from tests import kinds

def pytest_addoption(parser):
    kinds.add_options(parser)

def pytest_configure(config):
    config.addinivalue_line("markers", "real: starts processes")
    config.pluginmanager.register(kinds)

def pytest_collection_modifyitems(config, items):
    items[:] = kinds.choose(config, items)
"""
SUITE = """
import os, platform, subprocess, sys, threading
import pytest

def start():
    subprocess.run([sys.executable, "-c", ""], check=True)

def fork():
    if not (pid := os.fork()):
        os._exit(0)
    os.waitpid(pid, 0)

def caught():
    try:
        start()
    except BaseException:
        pass

def elsewhere():
    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()

WAYS = [start, fork, caught, elsewhere, lambda: os.system("true")]

@pytest.mark.parametrize("way", WAYS)
def test_caught(way):
    way()

@pytest.mark.real
@pytest.mark.parametrize("way", WAYS)
def test_real(way):
    way()

@pytest.mark.parametrize("engine", ["virtual", "processes"])
def test_by_engine(engine):
    if engine == "processes":
        start()

@pytest.fixture(scope="module")
def process():
    start()
    yield
    start()

def test_fixture(process):
    pass

@pytest.fixture
def after():
    yield
    fork()

def test_after(after):
    pass

def test_harmless():
    platform.processor()
    subprocess.run(["git", "--version"], check=True)
"""


@pytest.mark.thorough
@pytest.mark.real
def test_a_process_fails_what_is_not_marked(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    lines = [line.split(" - ")[0].split() for line in done.stdout.splitlines()]
    ended = {
        words[1].partition("::")[2]: words[0] for words in lines if "::" in "".join(words[1:2])
    }
    passed = {name for name, how in ended.items() if how == "PASSED"}
    assert len(ended) == 15, done.stdout
    assert passed == {
        *(name for name in ended if name.startswith("test_real")),
        *("test_by_engine[virtual]", "test_by_engine[processes]", "test_harmless"),
    }
    assert "Only tests marked `real` may" in done.stdout
