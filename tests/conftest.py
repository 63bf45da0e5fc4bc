"""What the tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["virtual", "processes"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: what holds on one has to hold on the other."""
    return str(request.param)
