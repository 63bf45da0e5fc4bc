"""Parameter servers on the virtual clock: exact times, contention, ends, failures, replays."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from arrivals_driver import TRAINED
from torch import Tensor

import helpers
from helpers.engine.errors import RunError
from helpers.lessons.asynchronous.algorithms.stale_cures import DropStale
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    Averaging,
    BoundedStaleness,
    Synchronous,
)
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask


class Bowl:
    """Weights of 1 to 8 numbers in float64; a worker's gradient points from its own goal."""

    def __init__(self, length: int = 6) -> None:
        self.length = length

    def initial(self) -> Tensor:
        return torch.arange(self.length, dtype=torch.float64)

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        return torch.tensor([worker, step, batch])

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        return self.gradients(weights[None], rows[None])[0]

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        goals = torch.sin(rows.sum(1, keepdim=True) + torch.arange(self.length))
        return weights - goals

    def error(self, weights: Tensor) -> float:
        return float(weights.abs().mean())


class Listed:
    """Step times from a list for each worker; the last one for ever."""

    def __init__(self, *times: list[float]) -> None:
        self.times = times

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        yield from self.times[worker]
        while True:
            yield self.times[worker][-1]


class Scattered:
    """Step times that depend on the worker and the seed."""

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        random = np.random.default_rng((seed, worker))
        while True:
            yield float(random.gamma(4.0, 0.25))


def async_rule(workers: int):
    return lambda weights: Asynchronous(weights, Sgd(0.1), workers)


def test_without_links_a_worker_pushes_when_it_has_computed():
    times = Listed([1.0], [3.0])
    done = helpers.train(async_rule(2), workers=2, task=Bowl(), updates=5, times=times)
    assert [m.worker for m in done.servers[0].log] == [0, 0, 1, 0, 0]
    # At 3 s both arrive; worker 1's event was set first, at 0 s.
    assert done.seconds == 4.0
    assert done.staleness.tolist() == [0, 0, 2, 1, 0]


def test_messages_at_one_link_go_one_after_the_other():
    # 6 float64 are 48 B: half a second in, half a second out, 0.1 s of latency each way.
    options = {"latency": 0.1, "bandwidth": 96.0, "times": Listed([1.0], [1.0])}
    done = helpers.train(async_rule(2), workers=2, task=Bowl(), updates=2, **options)
    # Weights reach the workers at 0.6 and 1.1 s; gradients come at 1.6 + 0.6 and 2.2 + ... s.
    assert math.isclose(done.seconds, 2.7)
    assert done.servers[0].bytes_in == 96
    assert done.servers[0].bytes_out == 4 * 48  # the first weights of both, and both answers


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (2, 1), (3, 3), (5, 1)])
def test_synchronous_training_is_one_big_batch(workers, servers):
    task = Bowl()
    rule = lambda weights: Synchronous(weights, Sgd(0.1), workers)  # noqa: E731
    options = {"workers": workers, "servers": servers, "times": Scattered()}
    done = helpers.train(rule, task=task, updates=7, **options)
    weights = task.initial()
    for step in range(7):
        rows = torch.stack([task.rows(w, step, 32) for w in range(workers)])
        weights = weights - 0.1 * task.gradients(weights.expand(workers, -1), rows).mean(0)
    torch.testing.assert_close(done.weights, weights, rtol=0, atol=1e-12)
    assert (done.staleness == 0).all()


LINKS = {"latency": 0.05, "bandwidth": 100.0}
HOSTS = {
    "bandwidth": {"server 0": 100.0, "worker 2": 50.0, "others": "2kbit"},
    "latency": 0.05,
}
DEATH = {"hosts": True, "bandwidth": 100.0, "failures": {1: 21.0}}


@pytest.mark.parametrize(
    ("workers", "servers", "network"),
    [(1, 2, LINKS), (2, 1, LINKS), (5, 3, LINKS), (3, 2, HOSTS), (3, 2, DEATH)],
)
@pytest.mark.parametrize("name", TRAINED)
def test_the_same_order_gives_the_same_weights(name, workers, servers, network):
    make, client = TRAINED[name]
    options = {"workers": workers, "task": Bowl(), "servers": servers, "make_client": client}
    more = {"updates": 30, "times": Scattered(), "seed": workers, **network}
    done = helpers.train(lambda w: make(w, workers), **options, **more)
    again = helpers.train(
        lambda w: make(w, workers), order=[s.log for s in done.servers], **options
    )
    assert torch.equal(again.weights, done.weights)
    assert [s.updates for s in again.servers] == [s.updates for s in done.servers]
    assert [s.dropped for s in again.servers] == [s.dropped for s in done.servers]
    assert all(s.version == 30 for s in done.servers)


def test_the_same_seed_gives_the_same_training_and_another_seed_another():
    options = {"workers": 3, "task": DigitsTask((64, 8, 10)), "updates": 40, "times": Scattered()}

    def run(seed: int):
        return helpers.train(async_rule(3), seed=seed, **options)

    assert torch.equal(run(1).weights, run(1).weights)
    assert not torch.equal(run(1).weights, run(2).weights)


def test_a_worker_that_dies_leaves_the_others_training():
    rule = lambda weights: Synchronous(weights, Sgd(0.1), 3)  # noqa: E731
    done = helpers.train(rule, workers=3, task=Bowl(), updates=10, failures={1: 3.5})
    assert done.updates == 10
    assert done.died == {1: "worker 1 died at 3.5 s"}
    assert [len(update) for update in done.servers[0].updates] == [3] * 3 + [2] * 7


def test_nobody_is_left():
    with pytest.raises(RuntimeError, match="All 2 workers have died"):
        helpers.train(async_rule(2), workers=2, task=Bowl(), updates=50, failures={0: 2, 1: 3})


def test_a_rule_that_releases_nobody_is_told():
    class Stops(Asynchronous):
        def arrive(self, worker, gradient, version):
            super().arrive(worker, gradient, version)
            return type(super().arrive(worker, gradient, version))()

    with pytest.raises(RuntimeError, match="workers \\[0, 1\\] wait for a server"):
        helpers.train(
            lambda weights: Stops(weights, Sgd(0.1), 2), workers=2, task=Bowl(), updates=9
        )


def test_it_ends_at_a_target_and_at_a_time():
    options = {"workers": 2, "task": DigitsTask((64, 32, 10)), "evaluate_every": 10}
    to_target = helpers.train(async_rule(2), target=20.0, **options)
    assert to_target.curve[-1].error <= 20.0 < to_target.curve[-2].error
    assert to_target.seconds_to(20.0) == to_target.curve[-1].seconds
    in_time = helpers.train(async_rule(2), seconds=12.5, **options)
    assert in_time.seconds == 12.5
    assert in_time.updates == 24
    assert in_time.seconds_to(0.0) is None


def test_the_trace_covers_each_worker_without_holes():
    options = {"times": Scattered(), "bandwidth": 200.0, "trace": True}
    done = helpers.train(async_rule(3), workers=3, task=Bowl(), updates=30, **options)
    for worker in range(3):
        events = [e for e in done.trace if e.rank == worker]
        assert events[0].start == 0.0
        assert all(a.end == b.start for a, b in pairwise(events))


REAL = {"engine": "processes"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers=0 is not possible"),
        ({"make_rule": Asynchronous(torch.zeros(2), Sgd(0.1), 2)}, "make_rule is a function"),
        ({"updates": None}, "Say when the training is to end"),
        ({"engine": "gpu"}, "There is no engine 'gpu'"),
        ({"failures": {7: 1.0}}, "failures names worker 7"),
        ({"bandwidth": 0.0}, "bandwidth above 0"),
        ({"updates": None, "seconds": -5.0}, "give seconds above 0"),
        ({"updates": None, "seconds": float("nan")}, "give seconds above 0"),
        ({"updates": None, "target": float("nan")}, "no test error"),
        ({"payload": -1e6}, "0 or more"),
        ({"times": 1.0}, "times is a model"),
        ({"order": [[]], "updates": None, "tyop": 1}, "no option 'tyop'"),
        ({"engine": "processes", "kill": {"server 0": "57"}}, "a number of updates"),
        ({"bandwidth": {"worker 7": 1.0}}, "'worker 7', and no host is called so: .* 'others'"),
        ({"bandwidth": {"worker 1": 0}}, "bandwidth of worker 1=0 is not possible"),
        ({"bandwidth": "fast"}, "bandwidth='fast' is not understood"),
        ({"hosts": True, "latency": -1.0}, "latency of 0 s or more"),
        ({"order": [[], []]}, "one log for each server"),
        ({"order": [[("push", 0), ("push", 5)]]}, "worker 5, which has sent none"),
        ({**REAL, "updates": None}, "give updates="),
        ({**REAL, "timeout": 0}, "seconds above 0"),
        ({**REAL, "snapshot_every": -1}, "0 for never"),
        ({**REAL, "slow": {3: 0.1}}, "a worker from 0 to 1"),
        ({**REAL, "slow": {0: -0.1}}, "takes longer"),
        ({**REAL, "kill": {"server 1": 5}}, "there are server 0, worker 0"),
        ({**REAL, "kill": {"worker 0": -1}}, "1 or more"),
        ({**REAL, "order": [[]]}, "on the clock alone"),
        ({**REAL, "workers": 64}, "64 processes at most"),
    ],
)
def test_bad_input_is_told(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        helpers.train(
            **{"make_rule": async_rule(2), "workers": 2, "updates": 3, "task": Bowl(), **options}
        )


@pytest.mark.real
def test_what_cannot_run_on_processes_is_told():
    class Locked(Asynchronous):
        def __init__(self, *args):
            super().__init__(*args)
            self.lock = threading.Lock()

    options = {**REAL, "workers": 2, "updates": 3, "task": Bowl()}
    with pytest.raises(TypeError, match="Averaging goes with LocalSteps"):
        helpers.train(lambda w: Averaging(w, 2), **options)
    with pytest.raises(RunError, match="cannot pickle"):
        helpers.train(lambda w: Locked(w, Sgd(0.1), 2), kill={"server 0": 2}, **options)


def test_a_server_that_has_finished_holds_nobody_back():
    """It lets go of those that wait, for the other server still needs their gradients."""

    def rule(weights: Tensor) -> BoundedStaleness:
        return BoundedStaleness(weights, Sgd(0.1), 5, bound=0)

    options = {"workers": 5, "servers": 2, "task": Bowl(1)}
    done = helpers.train(
        rule,
        updates=4,
        bandwidth=8.0,
        times=Listed([1.0], [8.0], [7.1], [6.2], [100.0]),
        failures={1: 10.5, 2: 10.5, 3: 10.5},
        **options,
    )
    assert [server.version for server in done.servers] == [4, 4]
    again = helpers.train(rule, order=[s.log for s in done.servers], **options)
    assert torch.equal(again.weights, done.weights)


@pytest.mark.parametrize(
    "engine", ["virtual", pytest.param("processes", marks=pytest.mark.thorough)]
)
def test_servers_that_drop_different_gradients_finish_both(engine):
    def rule(weights: Tensor) -> DropStale:
        return DropStale(BoundedStaleness(weights, Sgd(0.1), 4, 1), 1)

    options = {"workers": 4, "servers": 2, "task": Bowl()}
    clock = {"times": Scattered(), "latency": 0.05, "bandwidth": 100.0}
    real = {"engine": engine, "timeout": 60.0}
    more = real if engine == "processes" else clock
    done = helpers.train(rule, updates=60, **options, **more)
    assert [server.version for server in done.servers] == [60, 60]
    again = helpers.train(rule, order=[s.log for s in done.servers], **options)
    assert torch.equal(again.weights, done.weights)
