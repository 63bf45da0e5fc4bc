"""What the tests share."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

from helpers.engines.hosts import namespaces
from helpers.exercises import drives_tf
from helpers.exercises.record import SWITCH
from helpers.setup import state, system
from tests import kernel_ports, selection

# No test asserts a time, hypothesis's among them: a busy machine is slow now and then. Everyday its
# examples are the same in every run, so that what fails is the change; --all looks for new ones.
_UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("everyday", derandomize=True, **_UNTIMED)
hypothesis.settings.register_profile("exploring", **_UNTIMED)

# Sandboxes of the same number share a user, and what one fills up or leaves the other would see.
SANDBOXED = ("test_grading", "test_hostile", "test_judge", "test_sandbox", "test_watch_real")
# What takes longest begins first, so that no worker is left alone with it at the end.
LONGEST = (
    "test_walk",
    "test_notebooks",
    SANDBOXED,
    "test_untouched",
    "test_release",
    "test_nbgrader",
    "test_exercises",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`./course test --all` runs what takes longest, too."""
    parser.addoption("--all", action="store_true", help="run what is marked thorough, too")
    parser.addoption("--pictures", help="keep the pictures of tests/walk in this folder")
    selection.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Share the cores out where several workers share the tests, and let interrupts through.

    More threads than cores wait for each other at the end of every small product. What a shell
    script starts with `&` ignores interrupts, and so would all that the tests start and interrupt.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hypothesis.settings.load_profile("exploring" if config.getoption("--all") else "everyday")
    os.environ[SWITCH] = "off"  # no test writes into the progress of whoever runs it
    kernel_ports.pytest_configure()
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _own_fonts(config)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        import torch

        torch.set_num_threads(max(1, torch.get_num_threads() // workers))


def _own_fonts(config: pytest.Config) -> None:
    """Draw with a list of fonts made now, and without the user's settings.

    Whatever draws on this machine while its environment is moved or removed leaves a list without
    matplotlib's own fonts in the home folder, and every figure after it warns of them.
    """
    folder = tempfile.mkdtemp(prefix="course-fonts-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["MPLCONFIGDIR"] = folder
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose; and where several workers share the tests, put the longest modules first."""
    selection.select(config, items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: _place(item.path.stem))


def _place(module: str) -> int:
    """Where a module stands; those that use sandboxes stay together, in their own order."""
    for place, names in enumerate(LONGEST):
        if module.startswith(names):
            return place
    return len(LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Keep a module in one worker, where several share the tests, and all sandboxes in one."""
    return ByModule(config, log)


class ByModule(LoadFileScheduling):  # type: ignore[misc]
    """Shares out modules, in order; those that use sandboxes count as one."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return "sandboxes" if Path(module).stem.startswith(SANDBOXED) else module


@pytest.fixture(params=["virtual", "processes"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: what holds on one has to hold on the other."""
    return str(request.param)


@pytest.fixture
def tensorflow() -> Any:
    """TensorFlow in this process, its CPU split as the exercises' drivers need it.

    Their tests may come later in the same process, and once anything was computed it is too late.
    """
    found = pytest.importorskip("tensorflow")
    drives_tf.split_cpu()
    return found


@functools.cache
def no_hosts() -> str:
    """Why there are no virtual hosts; not asked by a module of tests, for ranks load it, too."""
    return namespaces.missing()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what cannot run here, and say why."""
    missing = state.horovod_missing() if item.get_closest_marker("horovod") else None
    if missing:
        pytest.skip(missing)
    if item.get_closest_marker("hosts") and (why := no_hosts()):
        pytest.skip(f"no virtual hosts: {why}")
    if item.get_closest_marker("thorough") and not item.config.getoption("--all"):
        pytest.skip("It takes minutes: ./course test --all runs it")
    if (lesson := selection.left_out_of_sample(item)) is not None:
        pytest.skip(
            f"Everyday, other lessons stand for {lesson}: --all and --lesson {lesson} run it"
        )
    if item.get_closest_marker("browser") and system.browser() is None:
        pytest.skip(f"No Chromium was found. To have it: {system.install_line(['chromium'])}")
