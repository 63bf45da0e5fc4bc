"""What the tests share."""

from __future__ import annotations

import pytest

from helpers.setup import state, system

# Sandboxes of the same number share a user, and what one fills up or leaves the other would see.
SANDBOXED = ("test_grading", "test_hostile", "test_judge", "test_sandbox")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a module in one worker, where several share the tests, and all sandboxes in one."""
    for item in items:
        module = item.path.stem
        group = "sandboxes" if module.startswith(SANDBOXED) else module
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(params=["virtual", "processes"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: what holds on one has to hold on the other."""
    return str(request.param)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what cannot run here, and say why."""
    missing = state.horovod_missing() if item.get_closest_marker("horovod") else None
    if missing:
        pytest.skip(missing)
    if item.get_closest_marker("browser") and system.browser() is None:
        pytest.skip(f"No Chromium was found. To have it: {system.install_line(['chromium'])}")
