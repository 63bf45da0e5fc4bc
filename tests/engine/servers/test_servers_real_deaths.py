"""Servers and workers that are killed: training goes on, and what was lost is said and right."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from descriptors import open_descriptors
from marks import Marks
from torch import Tensor

import helpers
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

pytestmark = pytest.mark.real

WORKERS = 4
UPDATES = 250

RULES: dict[str, Callable[[Any], Rule]] = {
    "asynchronous": lambda w: Asynchronous(w, Sgd(1.0), WORKERS),
    "synchronous": lambda w: Synchronous(w, Sgd(1.0), WORKERS),
    "spare replicas": lambda w: SpareReplicas(w, Sgd(1.0), WORKERS, WORKERS - 1),
    "n-softsync": lambda w: SoftSync(w, Sgd(1.0), WORKERS, 2),
    "bounded staleness": lambda w: BoundedStaleness(w, Sgd(1.0), WORKERS, 2),
}


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a run must leave as it was: processes, descriptors, files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    def state() -> Any:
        below = [p.pid for s in psutil.Process().children() for p in s.children(recursive=True)]
        return below, set(os.listdir(folder)), open_descriptors()

    helpers.run(lambda comm: None, ranks=1, show=False)
    *before, descriptors = state()
    yield
    *after, still = state()
    assert after == before
    assert still <= descriptors  # a server of ranks that others started may have gone meanwhile


def train(task: Marks, rule: str = "asynchronous", **options: Any) -> Training:
    options = {"workers": WORKERS, "servers": task.servers, "updates": UPDATES, **options}
    return helpers.train(RULES[rule], task=task, engine="processes", timeout=100, **options)


def check_marks(task: Marks, training: Training) -> None:
    """Every server has made its updates, and no gradient is in one twice."""
    for table, server in zip(task.table(training.weights), training.servers, strict=True):
        assert server.version == UPDATES == len(server.updates)
        pushes = [push for update in server.updates for push in update]
        assert int((table != 0).sum()) == len(pushes)
        for worker in range(WORKERS):
            given = sum(push.worker == worker for push in pushes)
            assert int((table[worker] != 0).sum()) == given
        assert abs(float(table.sum()) - UPDATES) < 1e-9  # each update's mean adds up to 1


def check_lost(task: Marks, training: Training) -> None:
    """What is said to be lost is what workers saw in the weights and what is not there now."""
    for number, server in enumerate(training.servers):
        died = [
            int(found) for line in server.story for found in re.findall("after update (.*?) ", line)
        ]
        counted = task.lost(training.weights, number)
        unknown = task.unheard(number, max(died)) if died else 0
        assert counted <= server.lost <= counted + unknown, server.story
        assert bool(server.lost) == any(": no update" not in line for line in server.story)
        told = [int(found) for line in server.story for found in re.findall(r": (\d+) upda", line)]
        assert sum(told) == server.lost


def moments(seed: int, servers: int, write_through: bool) -> dict[str, list[float]]:
    """Whom to kill and when: some servers, up to three times, and some workers, never all."""
    draw = random.Random(f"{seed} {servers} {write_through}")
    kill = {}
    for server in draw.sample(range(servers), draw.randint(1, servers)):
        kill[f"server {server}"] = [draw.uniform(0, 0.1) for _ in range(draw.randint(1, 3))]
    for worker in draw.sample(range(WORKERS), draw.randint(0, WORKERS - 1)):
        kill[f"worker {worker}"] = [draw.uniform(0, 0.1)]
    return kill


KILLS = [(seed, servers, through) for seed in range(5) for servers in (1, 2) for through in (0, 1)]


@pytest.mark.parametrize(
    ("seed", "servers", "write_through"),
    [(0, 2, False), *(pytest.param(*each, marks=pytest.mark.thorough) for each in KILLS)],
)
def test_kills_at_random_moments_and_what_was_lost(
    seed: int, servers: int, write_through: bool, tmp_path: Path, clean: None
) -> None:
    task = Marks(WORKERS, 2000, servers, tmp_path / "notes")
    kill = moments(seed, servers, write_through)
    every = random.Random(seed).choice([0, 1, 10, 60])
    training = train(task, kill=kill, snapshot_every=every, write_through=write_through)
    check_marks(task, training)
    check_lost(task, training)
    assert not (write_through and training.lost)
    for worker, words in training.died.items():
        assert f"worker {worker} was killed by signal 9 (SIGKILL)" in words


@pytest.mark.thorough
@pytest.mark.parametrize("rule", list(RULES)[1:])
@pytest.mark.parametrize("write_through", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_every_rule_goes_on_after_kills(
    rule: str, write_through: bool, seed: int, tmp_path: Path, clean: None
) -> None:
    task = Marks(WORKERS, 4000, 1 + seed, tmp_path / "notes")
    kill = moments(seed, 1 + seed, write_through)
    training = train(task, rule, kill=kill, snapshot_every=20, write_through=write_through)
    check_marks(task, training)
    if write_through:
        assert training.lost == 0
        logs = [server.log for server in training.servers]
        again = helpers.train(RULES[rule], task=task, workers=WORKERS, servers=1 + seed, order=logs)
        assert torch.equal(training.weights, again.weights)


class Mortal(Asynchronous):
    """Now and then it sets an alarm that ends its server within the next half millisecond."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if random.SystemRandom().random() < 1 / 40:
            signal.setitimer(signal.ITIMER_REAL, random.SystemRandom().uniform(1e-6, 5e-4))
        return super().arrive(worker, gradient, version)


@pytest.mark.thorough
@pytest.mark.parametrize("write_through", [False, True])
@pytest.mark.parametrize("servers", [1, 2])
def test_a_server_may_die_between_any_two_lines(
    servers: int, write_through: bool, tmp_path: Path, clean: None
) -> None:
    task = Marks(WORKERS, 4000, servers, tmp_path / "notes")
    training = helpers.train(
        lambda w: Mortal(w, Sgd(1.0), WORKERS),
        task=task, workers=WORKERS, servers=servers, updates=UPDATES, engine="processes",
        timeout=100, snapshot_every=10, write_through=write_through,
    )  # fmt: skip
    check_marks(task, training)
    check_lost(task, training)
    assert not (write_through and training.lost)
    assert all("SIGALRM" in line for line in training.story)


@pytest.mark.parametrize(("every", "lost"), [(25, 7), (0, 57)])
def test_a_server_goes_on_from_its_last_snapshot(every: int, lost: int, tmp_path: Path) -> None:
    task = Marks(WORKERS, 1000, 1, tmp_path / "notes")
    training = train(task, kill={"server 0": 57}, snapshot_every=every)
    check_marks(task, training)
    check_lost(task, training)
    assert training.lost == lost
    words = {57: "from the start: 57 updates were lost"}
    told = words.get(lost, f"from its snapshot at update {57 - lost}: {lost} updates were lost")
    assert training.story[0].startswith("server 0 was killed by signal 9 (SIGKILL) after update 57")
    assert told in training.story[0]


def test_a_server_that_writes_through_loses_nothing_however_often_it_dies(tmp_path: Path) -> None:
    task = Marks(WORKERS, 1000, 2, tmp_path / "notes")
    kill = {"server 0": list(range(10, 200, 20)), "server 1": [100]}
    training = train(task, kill=kill, write_through=True)
    check_marks(task, training)
    check_lost(task, training)
    assert training.lost == 0 and len(training.servers[0].story) == 10


class Wake(Marks):
    """Worker 3 dies in its step 5; until it is dead, the others take a while for each step.

    They cannot wait for it: under some rules it goes on only when they do.
    """

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        worker, step = rows.tolist()
        if worker == 3 and step == 0:
            self.notes.with_suffix(".pid").write_text(str(os.getpid()))
        if worker != 3 and not self.over():
            time.sleep(0.05)
        return super().gradient(weights, rows)

    def over(self) -> bool:
        note = self.notes.with_suffix(".pid")
        pid = int((note.exists() and note.read_text()) or 0)
        try:
            return pid > 0 and not psutil.Process(pid)
        except psutil.NoSuchProcess:  # whoever ends it has seen that it is dead
            return True


@pytest.mark.parametrize(
    "rule",
    [
        "synchronous",
        *(pytest.param(r, marks=pytest.mark.thorough) for r in RULES if r != "synchronous"),
    ],
)
def test_a_worker_that_dies_is_told_and_the_others_go_on(rule: str, tmp_path: Path) -> None:
    task = Wake(WORKERS, 1000, 1, tmp_path / "notes")
    training = train(task, rule, kill={"worker 3": 5})
    check_marks(task, training)
    assert list(training.died) == [3]
    assert "worker 3 was killed by signal 9 (SIGKILL) in its step 5" in training.died[3]
    steps = [note.step for note in task.seen() if note.worker == 3]
    assert sorted(set(steps)) == list(range(5))
    assert [m for m in training.servers[0].log if m.kind == "leave"] == [("leave", 3)]
