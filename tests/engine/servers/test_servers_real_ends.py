"""Trainings on real processes in which somebody dies, hangs, raises or waits for ever."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from descriptors import open_descriptors
from marks import Line, Marks

import helpers
from helpers.engine.errors import (
    Deadlock,
    RankDied,
    RankFailed,
    RunError,
    RunInterrupted,
    RunTimeout,
)
from helpers.engine.own_time import OwnTime
from helpers.engine.servers.rule import Decision, Rule
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    BoundedStaleness,
    SoftSync,
    SpareReplicas,
    Synchronous,
)
from tests.engine.test_process_failures import everything_below, remember_others

pytestmark = pytest.mark.real

RULES: dict[str, Callable[[Any], Rule]] = {
    "asynchronous": lambda w: Asynchronous(w, Sgd(1.0), 4),
    "synchronous": lambda w: Synchronous(w, Sgd(1.0), 4),
    "spare replicas": lambda w: SpareReplicas(w, Sgd(1.0), 4, 3),
    "n-softsync": lambda w: SoftSync(w, Sgd(1.0), 4, 2),
    "bounded staleness": lambda w: BoundedStaleness(w, Sgd(1.0), 4, 2),
}


@pytest.fixture(autouse=True)
def clean() -> Any:
    """Nothing may be left behind, however a training ends."""
    helpers.run(lambda comm: None, ranks=1, show=False)
    remember_others()
    descriptors = open_descriptors()
    yield
    assert everything_below() == []
    # A server of ranks that others started may have gone meanwhile.
    assert open_descriptors() <= descriptors


def train(task: Any = None, make_rule: Any = RULES["synchronous"], **options: Any) -> Training:
    options = {"updates": 60, "workers": 4, "timeout": 60, **options}
    return helpers.train(make_rule, task=task or Line(), engine="processes", **options)


# --- deaths that are survived ----------------------------------------------------------------


def check_marks(task: Marks, training: Training, updates: int) -> None:
    """Every server has made its updates, no gradient is in one twice, and what is lost is said."""
    for table, server in zip(task.table(training.weights), training.servers, strict=True):
        assert server.version == updates == len(server.updates)
        pushes = [push for update in server.updates for push in update]
        for worker, row in enumerate(table):
            assert int((row != 0).sum()) == sum(push.worker == worker for push in pushes)
        assert abs(float(table.sum()) - updates) < 1e-9  # each update's mean adds up to 1
        told = [int(found) for line in server.story for found in re.findall(r": (\d+) upda", line)]
        assert sum(told) == server.lost


KILLS = [
    (name, seed, 1 + seed, bool(through))
    for name in RULES
    for seed in range(2)
    for through in (0, 1)
]


@pytest.mark.parametrize(
    ("name", "seed", "servers", "write_through"),
    [
        ("asynchronous", 0, 2, False),
        *(pytest.param(*each, marks=pytest.mark.thorough) for each in KILLS),
    ],
)
def test_every_rule_goes_on_after_kills(
    name: str, seed: int, servers: int, write_through: bool
) -> None:
    draw, task = random.Random(f"{seed} {name}"), Marks(4, 4000, servers)
    kill = {f"server {s}": draw.randint(1, 200) for s in range(servers)}
    kill |= {f"worker {w}": draw.randint(0, 40) + 1 for w in draw.sample(range(4), 2)}
    options = {"snapshot_every": draw.choice([0, 1, 10, 60]), "write_through": write_through}
    training = train(task, RULES[name], servers=servers, updates=250, kill=kill, **options)
    check_marks(task, training, 250)
    assert all("killed by signal 9 (SIGKILL) after update" in s.story[0] for s in training.servers)
    assert all("SIGKILL" in words for words in training.died.values())
    if write_through:
        assert training.lost == 0
        logs = [server.log for server in training.servers]
        again = helpers.train(RULES[name], task=task, workers=4, servers=servers, order=logs)
        assert torch.equal(training.weights, again.weights)


@pytest.mark.parametrize(("every", "lost"), [(25, 7), (0, 57)])
def test_a_server_goes_on_from_its_last_snapshot(every: int, lost: int) -> None:
    task = Marks(4, 1000, 1)
    rule = RULES["asynchronous"]
    training = train(task, rule, updates=250, kill={"server 0": 57}, snapshot_every=every)
    check_marks(task, training, 250)
    start = f"its snapshot at update {57 - lost}" if every else "the start"
    assert training.story == [
        "server 0 was killed by signal 9 (SIGKILL) after update 57 and went on from "
        f"{start}: {lost} updates were lost"
    ]


class Mortal(Asynchronous):
    """Now and then it sets an alarm that ends its server within the next half millisecond."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if random.SystemRandom().random() < 1 / 40:
            signal.setitimer(signal.ITIMER_REAL, random.SystemRandom().uniform(1e-6, 5e-4))
        return super().arrive(worker, gradient, version)


@pytest.mark.thorough
@pytest.mark.parametrize("write_through", [False, True])
def test_a_server_may_die_between_any_two_lines(write_through: bool) -> None:
    task = Marks(4, 4000, 2)
    training = train(
        task, lambda w: Mortal(w, Sgd(1.0), 4), servers=2, updates=250, snapshot_every=3,
        write_through=write_through, kill={"server 0": 10_000, "server 1": 10_000},
    )  # fmt: skip
    check_marks(task, training, 250)
    assert all("SIGALRM" in line for line in training.story)
    assert not (write_through and training.lost)


class Wake(Marks):
    """Worker 3 dies in its step 5; until it is dead, the others take a while for each step.

    They cannot wait for it: under some rules it goes on only when they do.
    """

    def __init__(self, note: Path) -> None:
        super().__init__(4, 1000, 1)
        self.note = note

    def at(self, worker: int, step: int) -> None:
        if worker == 3 and step == 0:
            self.note.write_text(str(os.getpid()))
        pid = int((self.note.exists() and self.note.read_text()) or 0)
        if worker != 3 and not (pid and not psutil.pid_exists(pid)):
            time.sleep(0.05)


@pytest.mark.parametrize(
    "name",
    [
        "asynchronous",
        *(pytest.param(r, marks=pytest.mark.thorough) for r in RULES if r != "asynchronous"),
    ],
)
def test_a_worker_that_dies_is_told_and_the_others_go_on(name: str, tmp_path: Path) -> None:
    task = Wake(tmp_path / "pid")
    training = train(task, RULES[name], updates=100, kill={"worker 3": 5})
    check_marks(task, training, 100)
    assert "worker 3 was killed by signal 9 (SIGKILL) in its step 5" in training.died[3]
    assert [m for m in training.servers[0].log if m.kind == "leave"] == [("leave", 3)]
    assert int((task.table(training.weights)[0, 3] != 0).sum()) <= 5


# --- what ends a training --------------------------------------------------------------------


def test_what_a_worker_raises_is_told_with_its_own_lines() -> None:
    class Raises(Line):
        def at(self, worker: int, step: int) -> None:
            if worker == 1 and step == 3:
                raise ArithmeticError("too steep")  # the line at fault

    for kill in ({}, {"worker 1": 30}):
        with pytest.raises(RankFailed, match="Worker 1 raised ") as caught:
            train(Raises(), kill=kill)
        assert "ArithmeticError: too steep" in caught.value.report
        assert "# the line at fault" in caught.value.report
        assert bool(kill) or "helpers/engine" not in caught.value.report


class Uneven(Line):
    """So many numbers that the second of two servers has another number of them."""

    def initial(self) -> Any:
        return torch.ones(3)


class Falls(Line):
    def at(self, worker: int, step: int) -> None:
        if worker == 2 and step == 3:
            os.kill(os.getpid(), signal.SIGKILL)


class Raises(Asynchronous):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if self.version == 7 and len(self.weights) == 2:
            raise ArithmeticError("after seven")
        return super().arrive(worker, gradient, version)


class Dies(Asynchronous):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        os.kill(os.getpid(), signal.SIGKILL)
        return Decision()


@pytest.mark.parametrize(
    ("task", "rule", "options", "error", "words"),
    [
        (Uneven, Raises, {"servers": 2}, RankFailed, "Server 1 raised ArithmeticError: after sev"),
        (Falls, Asynchronous, {}, RankDied, "Worker 2 was killed by signal 9"),
        (Line, Dies, {"kill": {"server 0": 50}}, RankFailed, "SIGKILL.* again, with no update si"),
    ],
)
def test_who_raises_or_dies_unasked_ends_the_training_by_name(
    task: type[Line], rule: type[Asynchronous], options: Any, error: type[RunError], words: str
) -> None:
    with pytest.raises(error, match=words):
        train(task(), lambda w: rule(w, Sgd(0.1), 4), **options)


def test_when_all_workers_are_dead_it_ends_and_says_so() -> None:
    with pytest.raises(RunError, match=r"All 4 workers have died after \d+ of 60") as caught:
        train(kill={f"worker {w}": 5 + w for w in range(4)})
    for worker in range(4):
        assert f"worker {worker} was killed by signal 9 (SIGKILL)" in caught.value.report


def test_a_rule_that_releases_nobody_is_found_at_once() -> None:
    class Forgets(Asynchronous):
        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            decision = super().arrive(worker, gradient, version)
            return decision if self.version < 5 else Decision(applied=decision.applied)

    with pytest.raises(Deadlock, match="A rule has to release somebody") as caught:
        train(make_rule=lambda w: Forgets(w, Sgd(0.1), 4))
    assert caught.value.waiting[4] == "waits to receive from server 0"
    assert "worker 3 waits to receive from server 0" in caught.value.report


def test_a_worker_that_hangs_is_named_by_who_waits_for_it() -> None:
    class Hangs(Line):
        def at(self, worker: int, step: int) -> None:
            while worker == 2 and step == 4:
                time.sleep(0.01)  # the line at fault

    with pytest.raises(RunTimeout) as caught:
        train(Hangs(), timeout=4)
    report = caught.value.report
    if os.path.isdir("/proc/self/fd"):
        assert "server 0 has made 4 updates of 60; it waits for worker 2\n" in report
    assert "Worker 2 is computing" in report and "# the line at fault" in report


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
        train(Waits(), timeout=100)
    if os.path.isdir("/proc/self/fd"):
        assert "server 0 has made 9 updates of 60; it waits for worker 1" in caught.value.report
    assert train().updates == 60
