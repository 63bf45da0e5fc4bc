"""Servers and workers: what an order of messages leads to, and what training has to equal."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
import torch
from arrivals_driver import EVERY, RATE, WORLDS, asynchronous, inside, synchronous
from hypothesis import given, settings
from hypothesis import strategies as st
from servers_network import Network, Slopes

from helpers.engine.servers.client import Client
from helpers.engine.servers.parameter_server import (
    Message,
    Reply,
    Server,
    Worker,
    check_fit,
    cut,
    join,
)
from helpers.lessons.asynchronous.algorithms.stale_cures import BatchRows
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS
from helpers.lessons.parameter_servers.algorithms.clients import DownpourClient, LocalSteps
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging, Synchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

START = np.linspace(-1.0, 1.0, 4)
every_world = pytest.mark.parametrize("workers", WORLDS)
every_rule = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
servers = pytest.mark.parametrize("servers", [1, 3])
few = settings(max_examples=12, deadline=None, derandomize=True)
moves = st.lists(st.integers(0, 2**16), min_size=1, max_size=150)


def downpour_client():
    """One that fetches and pushes at times of their own."""
    return DownpourClient(0.01, n_fetch=2, n_push=3)


@pytest.fixture(scope="module")
def digits_task():
    """Small, and in float64."""
    return DigitsTask((PIXELS, 8, CLASSES), torch.float64)


# Any order of messages


@every_rule
@pytest.mark.parametrize("make_client", [Client, downpour_client])
@few
@given(moves, st.sampled_from(WORLDS), st.integers(1, 3))
def test_messages_in_any_order_and_deaths_lead_to_no_deadlock(
    make, make_client, order, workers, count
):
    net = Network(lambda w: make(w, workers), make_client, Slopes(), workers, count)
    for pick in order:
        if pick % 50 == 49:
            net.die(pick // 50 % workers)
        # Somebody computes or a message is on its way, as long as anybody is left.
        assert net.step(pick) or len(net.dead) == workers
    for server in net.servers:
        held = getattr(inside(server.rule), "held", ())
        pushes = sum(message.kind == "push" for message in server.log)
        assert sum(map(len, server.updates)) + len(server.dropped) + len(held) == pushes
        assert len(server.updates) == server.rule.version
    if len(net.dead) < workers:
        goes_on(net)


def goes_on(net):
    """Every server makes another update within a few messages."""
    before = [server.rule.version for server in net.servers]
    for pick in random.Random(0).choices(range(2**16), k=3000):
        net.step(pick)
        if all(s.rule.version > v for s, v in zip(net.servers, before, strict=True)):
            return
    raise AssertionError("3000 messages and no update of every server")


@every_rule
def test_weights_cut_over_servers_are_the_same_weights(make):
    workers = 3
    one, three = (
        Network(lambda w: make(w, workers), downpour_client, Slopes(), workers, count)
        for count in (1, 3)
    )
    for net in (one, three):
        picks = random.Random(1)
        net.settle()
        for _ in range(80):
            net.compute(picks.choice(sorted(net.computing)))
    assert one.weights.tobytes() == three.weights.tobytes()
    assert [server.updates for server in three.servers] == [one.servers[0].updates] * 3


# What training has to equal, in float64


@every_world
@servers
def test_synchronous_training_is_training_with_one_big_batch(digits_task, workers, servers):
    net = Network(lambda w: synchronous(w, workers), Client, digits_task, workers, servers)
    picks = random.Random(workers)
    while min(server.rule.version for server in net.servers) < 12:
        net.step(picks.randrange(2**16))
    weights = digits_task.initial()
    for step in range(min(server.rule.version for server in net.servers)):
        rows = torch.cat([digits_task.rows(worker, step, 4) for worker in range(workers)])
        weights = weights - RATE * digits_task.gradient(weights, rows)
    torch.testing.assert_close(net.weights, weights, rtol=1e-12, atol=1e-14)


@servers
def test_asynchronous_training_with_one_worker_is_sgd(digits_task, servers):
    net = Network(lambda w: asynchronous(w, 1), Client, digits_task, 1, servers)
    weights = torch.nn.Parameter(digits_task.initial())
    optimizer = torch.optim.SGD([weights], lr=RATE)
    net.settle()
    for step in range(20):
        net.compute(0)
        weights.grad = digits_task.gradient(weights.detach(), digits_task.rows(0, step, 4))
        optimizer.step()
    torch.testing.assert_close(net.weights, weights.detach(), rtol=1e-13, atol=1e-15)


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


def test_a_server_goes_on_from_a_snapshot():
    server = Server(synchronous(START, 2))
    server.push(1, START, 0, wants_weights=False)
    again = pickle.loads(pickle.dumps(server))
    first, second = (s.push(0, START, 0) for s in (server, again))
    assert [r.worker for r in first] == [r.worker for r in second] == [0, 1]
    assert second[1].weights is None and again.log == server.log
    assert again.rule.weights.tobytes() == server.rule.weights.tobytes()


# A worker by itself


def replies(version, servers=1):
    """What all servers answer."""
    parts = cut(Slopes().initial(), servers)
    return [Reply(0, part, version + number) for number, part in enumerate(parts)]


def test_a_push_is_as_old_as_the_oldest_gradient_in_it():
    worker = Worker(0, DownpourClient(0.1, n_fetch=1, n_push=2), Slopes(), 4, servers=2)
    worker.receive(replies(3, 2))
    assert worker.compute() is None
    worker.receive(replies(7, 2))
    assert worker.compute() is not None and worker.versions == [3, 4]
    worker.receive(replies(9, 2))
    assert worker.compute() is None and worker.versions == [9, 10]
    # A server that went on from a snapshot has no version 9 any more.
    worker.receive(replies(5, 2))
    assert worker.compute() is not None and worker.versions == [5, 6]


def test_cut_and_join_are_inverse_and_cut_copies_nothing():
    for array in (np.arange(7.0), torch.arange(7.0)):
        for servers in (1, 2, 3, 7):
            parts = cut(array, servers)
            assert len(parts) == servers and {len(part) for part in parts} <= {
                7 // servers,
                -(-7 // servers),
            }
            assert type(join(parts)) is type(array) and (join(parts) == array).all()
        parts[0][0] = 5
        assert array[0] == 5


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
