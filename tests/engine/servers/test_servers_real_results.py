"""What a training on real processes gives back: bytes, curve, timeline, output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from marks import Line

import helpers
from helpers.engine.servers.client import Client
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Synchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

pytestmark = pytest.mark.real


def train(task: Any, **options: Any) -> Training:
    options = {"updates": 60, "workers": 3, "timeout": 30, "engine": "processes", **options}
    return helpers.train(lambda w: Synchronous(w, Sgd(0.1), 3), task=task, **options)


def test_bytes_through_each_server_are_counted() -> None:
    for servers in (1, 2):
        part = 4 // servers * 4  # numbers of four bytes
        # Workers go on after the last update, until they are ended: that is not counted.
        for server in train(Line(), servers=servers, updates=10).servers:
            assert server.bytes_in == 10 * 3 * part
            assert server.bytes_out == 11 * 3 * part  # the first weights too


def test_the_curve_and_the_timeline() -> None:
    task = DigitsTask((64, 16, 10))
    training = train(task, evaluate_every=20, trace=True, servers=2)
    assert [point.updates for point in training.curve] == [0, 20, 40, 60]
    assert training.curve[0].error == task.error(task.initial())
    assert training.curve[-1].error == training.error == task.error(training.weights)
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

    train(Prints())
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        line for w in range(3) for line in (f"worker {w} | hello", f"worker {w} | from {w}")
    )


def test_numpy_weights_and_clients_of_ones_own() -> None:
    class Plain(Line):
        def initial(self) -> Any:
            return np.ones(4)

        def gradient(self, weights: Any, rows: Any) -> Any:
            return weights * 0.1

        def error(self, weights: Any) -> float:
            return 0.0

    class Mine(Client):
        def computed(self, gradient: Any) -> Any:
            return super().computed(gradient * 2)

    training = train(Plain(), make_client=Mine, updates=3)
    assert isinstance(training.weights, np.ndarray)
    assert np.allclose(training.weights, 0.98**3)
