"""Rules on real processes: the same order gives the same weights; what is told of a training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from arrivals_driver import TRAINED
from marks import Line

import helpers
from helpers.engine.servers.client import Client
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Synchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

pytestmark = pytest.mark.real

TASK = DigitsTask((64, 16, 10))


def train(name: str, n: int, servers: int, **options: Any) -> Training:
    make_rule, make_client = TRAINED[name]
    options = {"task": TASK, "updates": 40, "timeout": 60.0, "engine": "processes", **options}
    if options["engine"] == "virtual":
        del options["timeout"]
    return helpers.train(
        lambda w: make_rule(w, n), make_client=make_client, workers=n, servers=servers, **options
    )


def each(*everyday: str) -> list[Any]:
    """Every rule, workers and servers; a few rules everyday, on three workers and two servers."""
    rows = [(name, 3, 2) for name in everyday]
    sizes = [(3, 2), (1, 1), (2, 3), (5, 1), (5, 3)]
    more = [(name, *size) for name in TRAINED for size in sizes]
    more = [row for row in more if row not in rows]
    return [*rows, *(pytest.param(*row, marks=pytest.mark.thorough) for row in more)]


def logs(training: Training) -> list[Any]:
    return [server.log for server in training.servers]


def same(one: Training, other: Training) -> None:
    """The same weights, and the same story of how they came about."""
    assert torch.equal(one.weights, other.weights)
    for ours, theirs in zip(one.servers, other.servers, strict=True):
        assert ours.log == theirs.log
        assert ours.updates == theirs.updates
        assert ours.dropped == theirs.dropped


@pytest.mark.parametrize(
    ("name", "n", "servers"),
    each("asynchronous", "averaging", "synchronous", "downpour", "diloco", "all"),
)
def test_a_replay_of_the_order_on_real_processes_gives_the_same_weights(
    name: str, n: int, servers: int
) -> None:
    real = train(name, n, servers)
    assert [server.version for server in real.servers] == [40] * servers
    same(real, train(name, n, servers, engine="virtual", order=logs(real)))


# --- what is told of a training ---------------------------------------------------------------


def train_on(task: Any, **options: Any) -> Training:
    options = {"updates": 60, "workers": 3, "timeout": 30, "engine": "processes", **options}
    return helpers.train(lambda w: Synchronous(w, Sgd(0.1), 3), task=task, **options)


def test_bytes_through_each_server_are_counted() -> None:
    for servers in (1, 2):
        part = 4 // servers * 4  # numbers of four bytes
        for server in train_on(Line(), servers=servers, updates=10).servers:
            assert server.bytes_in == 10 * 3 * part
            assert server.bytes_out == 11 * 3 * part  # the first weights too


def test_the_curve_and_the_timeline() -> None:
    training = train_on(TASK, evaluate_every=20, trace=True, servers=2)
    assert [point.updates for point in training.curve] == [0, 20, 40, 60]
    assert training.curve[0].error == TASK.error(TASK.initial())
    assert training.curve[-1].error == training.error == TASK.error(training.weights)
    seconds = [point.seconds for point in training.curve]
    assert seconds == sorted(seconds) and seconds[-1] <= training.seconds
    assert training.trace is not None
    for worker in range(3):
        assert len(training.trace.of(worker, "computing")) >= 60
        assert all(0 <= e.start <= e.end <= training.seconds for e in training.trace.of(worker))


def test_what_workers_print_has_their_names(capsys: Any) -> None:
    class Prints(Line):
        def at(self, worker: int, step: int) -> None:
            if step == 0:
                print(f"hello\nfrom {worker}")

    train_on(Prints(), kill={"worker 2": 30})
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        line for w in range(3) for line in (f"worker {w} | hello", f"worker {w} | from {w}")
    ]


def test_numpy_weights_and_clients_of_ones_own() -> None:
    class Plain(Line):
        def initial(self) -> Any:
            return np.ones(4)

        def error(self, weights: Any) -> float:
            return 0.0

    class Mine(Client):
        def computed(self, gradient: Any) -> Any:
            return super().computed(gradient * 2)

    training = train_on(Plain(), make_client=Mine, updates=3)
    assert isinstance(training.weights, np.ndarray)
    assert np.allclose(training.weights, 0.98**3)
