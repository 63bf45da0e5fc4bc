"""Trainings on real processes that cannot go on: what is said, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from descriptors import open_descriptors
from marks import Line
from torch import Tensor

import helpers
from helpers.engine.errors import Deadlock, RunInterrupted, RunTimeout
from helpers.engine.own_time import OwnTime
from helpers.engine.servers.parameter_server import Message
from helpers.engine.servers.real_report import TrainingFailed
from helpers.engine.servers.rule import Decision
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, Synchronous

pytestmark = pytest.mark.real


def train(task: Any = None, make_rule: Any = None, **options: Any) -> Training:
    make_rule = make_rule or (lambda w: Asynchronous(w, Sgd(0.1), 3))
    options = {"updates": 60, "workers": 3, "timeout": 30, **options}
    return helpers.train(make_rule, task=task or Line(), engine="processes", **options)


def together(weights: Any) -> Synchronous:
    """A rule under which nobody does all updates before another worker's step comes."""
    return Synchronous(weights, Sgd(0.1), 3)


@pytest.fixture(autouse=True)
def clean() -> Any:
    """Nothing may be left behind, however a training ends."""

    def state() -> Any:
        below = [p.pid for s in psutil.Process().children() for p in s.children(recursive=True)]
        return below, open_descriptors()

    helpers.run(lambda comm: None, ranks=1, show=False)
    *before, descriptors = state()
    yield
    *after, still = state()
    assert after == before
    assert still <= descriptors  # a server of ranks that others started may have gone meanwhile


# --- workers and rules that raise ------------------------------------------------------------


def test_what_a_worker_raises_is_told_with_its_own_lines() -> None:
    class Raises(Line):
        def at(self, worker: int, step: int) -> None:
            if worker == 1 and step == 3:
                raise ArithmeticError("too steep")  # the line at fault

    with pytest.raises(TrainingFailed) as caught:
        train(Raises(), together)
    assert caught.value.who == "worker 1" and caught.value.kind == "ArithmeticError"
    assert "Worker 1 raised ArithmeticError: too steep" in caught.value.report
    assert "# the line at fault" in caught.value.report
    assert "helpers/engine" not in caught.value.report


def test_what_a_rule_raises_is_told_of_its_server() -> None:
    class Raises(Asynchronous):
        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            if self.version == 7:
                raise ArithmeticError("after seven")  # the line at fault
            return super().arrive(worker, gradient, version)

    with pytest.raises(TrainingFailed, match="Server 1 raised ArithmeticError: after seven"):
        train(make_rule=lambda w: Raises(w, Sgd(0.1), 3) if len(w) == 3 else Asynchronous(
            w, Sgd(0.1), 3), servers=2, task=Uneven())  # fmt: skip


class Uneven(Line):
    """Five weights, so that the second of two servers has three."""

    def initial(self) -> Tensor:
        return torch.ones(5)


def test_a_gradient_of_another_kind_is_told() -> None:
    class Other(Line):
        def gradient(self, weights: Tensor, rows: Tensor) -> Any:
            return super().gradient(weights, rows)[:3].double()

    words = r"worker \d pushes to server 0 has the shape \(3,\) and is of torch.float64"
    with pytest.raises(TrainingFailed, match=words):
        train(Other())


# --- waiting for ever ------------------------------------------------------------------------


def test_a_rule_that_releases_nobody_is_found_at_once() -> None:
    class Forgets(Asynchronous):
        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            decision = super().arrive(worker, gradient, version)
            return decision if self.version < 5 else Decision(applied=decision.applied)

    with pytest.raises(Deadlock, match="A rule has to release somebody") as caught:
        train(make_rule=lambda w: Forgets(w, Sgd(0.1), 3))
    assert caught.value.waiting == {w: "waits for server 0 to answer" for w in range(3)}


def test_a_worker_that_hangs_is_named_by_who_waits_for_it() -> None:
    class Hangs(Line):
        def at(self, worker: int, step: int) -> None:
            while worker == 2 and step == 4:
                time.sleep(0.01)  # the line at fault

    with pytest.raises(RunTimeout) as caught:
        train(Hangs(), together, timeout=4)
    report = caught.value.report
    assert "it waits for gradients of worker 2" in report and caught.value.ranks == (2,)
    assert "server 0 has made 4 updates of 60" in report
    assert "worker 0 waits for server 0 to answer" in report
    assert "# the line at fault" in report


@pytest.mark.thorough
def test_an_order_that_cannot_come_is_told() -> None:
    order = [[Message("push", 0), Message("pull", 1)]]
    with pytest.raises(TrainingFailed, match="order belongs to another rule or client"):
        train(order=order, updates=None)
    stranger = [[Message("push", 0), Message("push", 7)]]
    with pytest.raises(Deadlock, match="the next in its order"):
        train(order=stranger, updates=None)


# --- nobody left -----------------------------------------------------------------------------


def test_when_all_workers_are_dead_it_ends_and_says_so() -> None:
    with pytest.raises(TrainingFailed, match=r"All 3 workers have died after \d+ of 60") as caught:
        train(kill={f"worker {w}": 5 + w for w in range(3)})
    for worker in range(3):
        assert f"worker {worker} was killed by signal 9 (SIGKILL)" in caught.value.report


def test_a_server_that_always_dies_is_not_started_for_ever() -> None:
    class Dies(Asynchronous):
        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            os.kill(os.getpid(), signal.SIGKILL)
            return Decision()

    with pytest.raises(TrainingFailed, match="has died 10 times and makes no more updates"):
        train(make_rule=lambda w: Dies(w, Sgd(0.1), 3))


def test_an_interrupt_ends_the_training(tmp_path: Path) -> None:
    here = tmp_path / "worker 1 is there"

    class Waits(Line):
        def at(self, worker: int, step: int) -> None:
            while step == 9 and worker == 1:
                here.touch()
                time.sleep(0.01)

    def interrupt() -> None:
        while not here.exists():
            time.sleep(0.01)
        training = psutil.Process().children(recursive=True)
        everybody = OwnTime(lambda: [each.pid for each in training])
        while everybody.slept < 1:  # the server has all that came before, and this is noted
            time.sleep(0.05)
            everybody.look()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(RunInterrupted, match="training was interrupted") as caught:
        train(Waits(), together, timeout=100)
    if os.path.isdir("/proc/self/fd"):
        assert "server 0 has made 9 updates of 60" in caught.value.report
        assert "it waits for gradients of worker 1" in caught.value.report
    assert train().updates == 60


@pytest.mark.thorough
def test_workers_that_die_before_anybody_begins_are_not_waited_for() -> None:
    class Stay(Line):
        def at(self, worker: int, step: int) -> None:
            while worker != 1:  # or a machine that is held up then might make all updates before
                time.sleep(0.01)

    for moment in (1e-9, 1e-3):
        training = train(Stay(), together, kill={"worker 0": moment, "worker 2": moment})
        assert training.updates == 60 and set(training.died) == {0, 2}
