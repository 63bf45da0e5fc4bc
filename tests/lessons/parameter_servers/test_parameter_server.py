"""Servers and workers: what an order of messages leads to, and what training has to equal."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from arrivals_driver import EVERY, RATE, WORLDS, asynchronous, inside, synchronous

import helpers
from helpers.engine.servers.client import Client
from helpers.engine.servers.clock import Clock
from helpers.engine.servers.parameter_server import (
    Message,
    Reply,
    Server,
    Worker,
    check_fit,
    cut,
)
from helpers.engine.servers.virtual import VirtualTraining
from helpers.lessons.asynchronous.algorithms.stale_cures import BatchRows
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS
from helpers.lessons.parameter_servers.algorithms.clients import DownpourClient, LocalSteps
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging, Synchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.lessons.parameter_servers.experiments.step_times import HeavyTail
from tests.engine.servers.test_servers_virtual import Bowl
from tests.selection import everyday

START = np.linspace(-1.0, 1.0, 4)
every_rule = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def downpour_client():
    """One that fetches and pushes at times of their own."""
    return DownpourClient(0.01, n_fetch=2, n_push=3)


# Any order of messages


class AnyOrder:
    """Links on which a message takes any time; those between two keep their order."""

    def __init__(self, clock: Clock, seed: int) -> None:
        self.clock, self.random, self.free = clock, random.Random(seed), dict[Any, float]()

    def to_server(self, worker, server, size, act, *args):
        self.send((worker, server), act, *args)

    def to_worker(self, server, worker, size, act, *args):
        self.send((server, -1 - worker), act, *args)
        return self.clock.now

    def send(self, between, act, *args):
        """Carry one message."""
        moment = max(self.free.get(between, 0.0), self.clock.now) + self.random.expovariate(1)
        self.free[between] = moment
        self.clock.at(moment, act, *args)

    def carried(self, server):
        return 0, 0


@every_rule
@pytest.mark.parametrize("make_client", [Client, downpour_client])
@pytest.mark.parametrize("seed", everyday(range(8), 3))
def test_messages_in_any_order_and_deaths_lead_to_no_deadlock(make, make_client, seed):
    draw = random.Random(seed)
    workers, count = draw.choice(WORLDS), draw.randint(1, 3)
    cores = [Server(make(part, workers)) for part in cut(Bowl().initial(), count)]
    run = VirtualTraining(cores, make_client, Bowl(), workers, 4, HeavyTail(1.0, 1.0), seed)
    run.links = AnyOrder(run.clock, seed)
    dying = {w: draw.uniform(0, 60) for w in draw.sample(range(workers), draw.randrange(workers))}
    done = run.run(40, float("inf"), None, 0, dying)
    assert min(server.version for server in done.servers) == 40
    for server in run.servers:
        held = getattr(inside(server.rule), "held", ())
        pushes = sum(message.kind == "push" for message in server.log)
        assert sum(map(len, server.updates)) + len(server.dropped) + len(held) == pushes
        assert len(server.updates) == server.rule.version


@every_rule
def test_weights_cut_over_servers_are_the_same_weights(make):
    one, three = (
        helpers.train(
            lambda w: make(w, 3), workers=3, servers=servers, make_client=downpour_client,
            task=Bowl(), updates=25, times=HeavyTail(1.0, 1.0),
        )
        for servers in (1, 3)
    )  # fmt: skip
    assert one.weights.numpy().tobytes() == three.weights.numpy().tobytes()  # nan, too
    assert [server.updates for server in three.servers] == [one.servers[0].updates] * 3


@pytest.mark.parametrize("servers", [1, 3])
def test_asynchronous_training_with_one_worker_is_sgd(servers):
    task = DigitsTask((PIXELS, 8, CLASSES), torch.float64)
    weights = torch.nn.Parameter(task.initial())
    optimizer = torch.optim.SGD([weights], lr=RATE)
    for step in range(20):
        weights.grad = task.gradient(weights.detach(), task.rows(0, step, 4))
        optimizer.step()
    rule = {"make_rule": lambda w: asynchronous(w, 1), "workers": 1, "servers": servers}
    done = helpers.train(**rule, task=task, batch=4, updates=20)
    torch.testing.assert_close(done.weights, weights.detach(), rtol=1e-13, atol=1e-15)


# A server by itself


def test_a_server_writes_down_what_it_took_up_and_what_became_of_it():
    server = Server(Synchronous(START, Sgd(1.0), 2))
    assert [reply.worker for reply in server.begin()] == [0, 1]
    assert server.push(1, START, 0) == []
    replies = server.push(0, START, 0)
    assert [(reply.worker, reply.version) for reply in replies] == [(0, 1), (1, 1)]
    assert all((reply.weights == 0).all() for reply in replies)
    assert server.pull(0)[0].version == 1
    server.leave(1)
    assert server.log == [
        Message("push", 1),
        Message("push", 0),
        Message("pull", 0),
        Message("leave", 1),
    ]
    assert [[push.worker for push in update] for update in server.updates] == [[0, 1]]


def test_who_has_left_is_ignored():
    server = Server(asynchronous(START, 2))
    server.leave(1)
    for again in (server.leave(1), server.pull(1), server.push(1, START, 0), server.refuse(1)):
        assert again == []
    assert server.log == [Message("leave", 1)] and server.rule.version == 0


def test_who_asks_for_no_weights_gets_none():
    server = Server(asynchronous(START, 1))
    assert server.push(0, START, 0, wants_weights=False) == [Reply(0, None, 1)]
    # Also where it waited in between.
    server = Server(synchronous(START, 2))
    server.push(0, START, 0, wants_weights=False)
    first, second = server.push(1, START, 0)
    assert first.weights is None and second.weights is server.rule.weights


@pytest.mark.parametrize("array", [np.ones(3), np.ones(1), np.ones((4, 1)), np.float64(1)])
def test_a_push_has_to_have_the_weights_shape(array):
    server = Server(asynchronous(START, 3))
    with pytest.raises(ValueError, match=r"Worker 2 pushed an array of shape .* have shape \(4,\)"):
        server.push(2, array, 0)
    assert server.log == []


# A worker by itself


class Flat(Bowl):
    """Numbers of numpy."""

    def gradient(self, weights, rows):
        return weights


def replies(version, servers=1):
    """What all servers answer."""
    parts = cut(START, servers)
    return [Reply(0, part, version + number) for number, part in enumerate(parts)]


def test_a_push_is_as_old_as_the_oldest_gradient_in_it():
    worker = Worker(0, DownpourClient(0.1, n_fetch=1, n_push=2), Flat(), 4, servers=2)
    worker.receive(replies(3, 2))
    assert worker.compute() is None
    worker.receive(replies(7, 2))
    assert worker.compute() is not None and worker.versions == [3, 4]
    worker.receive(replies(9, 2))
    assert worker.compute() is None and worker.versions == [9, 10]
    # A server that went on from a snapshot has no version 9 any more.
    worker.receive(replies(5, 2))
    assert worker.compute() is not None and worker.versions == [5, 6]


def test_local_steps_push_the_weights_at_the_end_of_each_interval():
    client, pushed = LocalSteps(0.5, interval=3), []
    for step in range(6):
        if client.wants_weights:
            client.pulled(START + step, step)
        # Gradient number i is 10^i in all places, so that a sum shows which ones are in it.
        pushed.append(client.computed(np.full(4, 10.0**step)))
        assert client.wants_weights == (pushed[-1] is not None) == (step % 3 == 2)
    assert (pushed[2] == START - 0.5 * 111).all()
    assert (pushed[5] == START + 3 - 0.5 * 111000).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DownpourClient(0.1, 0, 1), "both are 1 or more"),
        (lambda: DownpourClient(0.1, 1, 0), "both are 1 or more"),
        (lambda: LocalSteps(0.1, 0), "at least one step alone"),
        (lambda: DownpourClient(-1), "rate of local steps is above 0"),
        (lambda: LocalSteps(float("nan"), 2), "rate of local steps is above 0"),
    ],
)
def test_clients_refuse_what_cannot_be(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_rules_and_clients_that_do_not_fit_say_so():
    rule, averaging = asynchronous(START, 2), Averaging(START, 2)
    check_fit(rule, DownpourClient(0.1), 2)
    check_fit(averaging, LocalSteps(0.1, 2), 2)
    with pytest.raises(TypeError, match="Client pushes gradients, and this Averaging takes weigh"):
        check_fit(averaging, Client(), 2)
    with pytest.raises(TypeError, match="LocalSteps pushes weights"):
        check_fit(BatchRows(rule, 3), LocalSteps(0.1, 2), 2)
    for workers in (1, 3):
        with pytest.raises(ValueError, match=r"made for workers \[0, 1\]"):
            check_fit(rule, Client(), workers)
