"""What the tests of lessons share: an engine, a look at what is sent, and one at what is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from helpers.engine.virtual_comm import VirtualComm


@pytest.fixture(params=["virtual", pytest.param("processes", marks=pytest.mark.thorough)])
def engine(request: pytest.FixtureRequest) -> str:
    """The virtual engine everyday, and with --all real ranks too.

    That real ranks do the same is told everyday by one test of each kind: a sum over ranks, a
    data-parallel step, a pipeline, a sharded step and a parameter server.
    """
    return str(request.param)


@pytest.fixture(autouse=True)
def every_message_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail where a rank ends with messages of its own that it has not waited for.

    A tensor that is written into while it is under way: right today, wrong on another machine.
    """
    found: list[str] = []
    finish = VirtualComm.finish

    def look(comm: VirtualComm) -> None:
        found.extend(f"rank {comm.rank} to {m.peer}" for m in comm.task.unwaited.values())
        finish(comm)

    monkeypatch.setattr(VirtualComm, "finish", look)
    yield
    assert not found, f"Nobody waited for what was sent: {', '.join(found[:3])}"


class Shown(NamedTuple):
    """A figure and its words."""

    figure: Any
    caption: str
    alt: str


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Shown]]:
    """Called with modules of figures: from then on what they show comes into a list instead."""

    def watch(*modules: ModuleType) -> list[Shown]:
        found: list[Shown] = []

        def show(figure: Any, caption: str, alt: str) -> None:
            found.append(Shown(figure, caption, alt))

        for module in modules:
            monkeypatch.setattr(module, "show", show)
        return found

    return watch
