"""What the tests of algorithms share: the engine that they run on."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["virtual", pytest.param("processes", marks=pytest.mark.thorough)])
def engine(request: pytest.FixtureRequest) -> str:
    """The virtual engine everyday, and with --all real ranks too.

    That real ranks do the same is told everyday by one test of each kind: a sum over ranks, a
    data-parallel step, a pipeline, a sharded step and a parameter server.
    """
    return str(request.param)
