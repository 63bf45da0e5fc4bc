"""A call in a process of its own: what it gives, how it may end, and that nothing stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
import torch

from helpers.engine.errors import RankDied
from helpers.engine.launch import client_for
from helpers.engine.own_time import Late
from helpers.engine.processes import call_apart

pytestmark = pytest.mark.real


def below_the_server() -> list[psutil.Process]:
    return psutil.Process(client_for("torch").process.pid).children(recursive=True)


def test_what_it_returns_comes_back_and_large_tensors_too() -> None:
    pid, threads, large = call_apart(
        lambda: (os.getpid(), torch.get_num_threads(), torch.arange(100_000.0)), "torch", 60.0
    )
    assert pid != os.getpid() and threads == 1
    assert torch.equal(large, torch.arange(100_000.0))
    assert below_the_server() == []


def forks_and_ends() -> None:
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(3)


def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda: os._exit(3), "exit code 3 and gave no answer"),
        (forks_and_ends, "exit code 3 and gave no answer"),
        (kills_itself, r"was killed by signal 9 \(SIGKILL\)"),
    ],
)
def test_an_end_is_told_and_leaves_nothing(fn: Callable[[], Any], said: str) -> None:
    with pytest.raises(RankDied, match=said):
        call_apart(fn, "torch", 60.0)
    assert below_the_server() == []
    assert call_apart(lambda: 1, "torch", 60.0) == 1


@pytest.mark.parametrize(
    ("fn", "did"), [(lambda: time.sleep(1000), "slept"), (lambda: sum(iter(int, 1)), "computed")]
)
def test_what_takes_too_long_is_ended(fn: Callable[[], Any], did: str) -> None:
    with pytest.raises(Late) as late:
        call_apart(fn, "torch", 0.5)
    assert late.value.how.startswith(did)
    assert below_the_server() == []
