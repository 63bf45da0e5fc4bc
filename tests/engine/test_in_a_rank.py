"""What works in a cell and not in a rank is told; what ranks print is shown as by a terminal."""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any

import pytest

import helpers
from helpers.course.setup import state
from helpers.engine.board import show_output
from helpers.engine.errors import RankFailed, RunError
from helpers.engine.launch import Client
from helpers.engine.slurm import site
from helpers.engine.wire import pack_value, unpack_value


class Shell:
    """As a notebook's own, which holds what cannot be pickled."""

    def __init__(self) -> None:
        self.history = threading.Lock()

    def get_ipython(self) -> Any:
        """As the name that `!command` is turned into asks for."""
        return self


@pytest.mark.real
def test_a_rank_has_no_keyboard() -> None:
    with pytest.raises(RankFailed, match="A rank has no keyboard: ask in the cell"):
        helpers.run(lambda comm: input("How many? "), ranks=2, show=False)


def test_a_command_of_the_notebook_s_is_told_of_where_it_runs() -> None:
    names = {"get_ipython": Shell().get_ipython}
    parcel = pack_value(eval("lambda: get_ipython().system('ls')", names))
    with pytest.raises(RuntimeError, match=r"`!command` and `%magic` are the notebook's own"):
        unpack_value(parcel)()


def test_a_progress_bar_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    bar = "begun\n\r  0 %\r 50 %\r100 %\nended\n"
    show_output(["", bar, "without an end"])
    assert capsys.readouterr().out.splitlines() == [
        "rank 1 | begun", "rank 1 | 100 %", "rank 1 | ended", "rank 2 | without an end",
    ]  # fmt: skip


def test_a_machine_whose_name_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "gethostname", lambda: "nowhere-1")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(site.system, "missing_slurm_tools", lambda: [])
    monkeypatch.setattr(state, "load", lambda: {"horovod": {"wheel": "there"}})
    told = "own name, nowhere-1, leads to no address. Add a line `127.0.1.1 nowhere-1`"
    assert told in str(state.horovod_missing())
    if sys.platform == "linux":
        assert told in site.missing()
    with pytest.raises(RunError, match="Horovod's ranks do not start here"):
        Client("horovod").ready()
