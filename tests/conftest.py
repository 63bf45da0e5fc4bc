"""What the tests share."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any

import hypothesis
import pytest
import torch

from helpers.checks.drives import tf
from helpers.course.setup import state, system
from helpers.engine.hosts import namespaces
from helpers.notebook.record import SWITCH
from tests import kernel_ports, kinds, parts, selection

# No test asserts a time, hypothesis's among them: a busy machine is slow now and then. Everyday its
# examples are the same in every run, so that what fails is the change; --all looks for new ones.
_UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("everyday", derandomize=True, **_UNTIMED)
hypothesis.settings.register_profile("exploring", **_UNTIMED)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`./course test --all` runs what takes longest, too."""
    parser.addoption("--all", action="store_true", help="run what is marked thorough, too")
    parser.addoption("--pictures", help="keep the pictures of tests/walk in this folder")
    selection.add_options(parser)
    kinds.add_options(parser)
    parts.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Let interrupts through, and keep each test to one thread.

    What a shell script starts with `&` ignores interrupts, and so would all that the tests start.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hypothesis.settings.load_profile("exploring" if config.getoption("--all") else "everyday")
    os.environ[SWITCH] = "off"  # no test writes into the progress of whoever runs it
    kernel_ports.pytest_configure()
    config.pluginmanager.register(kinds)
    parts.configure(config)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _own_fonts(config)
    torch.set_num_threads(1)  # on a busy machine more of them wait for each other, by spinning


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
    """Choose the tests to run, those without a clock first."""
    selection.select(config, items)


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
    tf.split_cpu()
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
    if item.get_closest_marker("tensorflow") and not importlib.util.find_spec("tensorflow"):
        pytest.skip("TensorFlow is not installed; ./course doctor says what that costs.")
    if item.get_closest_marker("hosts") and (why := no_hosts()):
        pytest.skip(f"no virtual hosts: {why}")
    if item.get_closest_marker("browser") and system.browser() is None:
        pytest.skip(f"No Chromium was found. To have it: {system.install_line(['chromium'])}")
