"""Pulling and pushing layer by layer on the clock: how much computing hides, by formula."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.engine.servers.layers import layers_of
from tests.engine.servers.test_servers_links import BYTES, sync_rule
from tests.engine.servers.test_servers_virtual import Bowl, Listed, Scattered, async_rule


def step(computing: float, bandwidth: float = BYTES, **options) -> float:
    """The seconds of one worker's step, with weights that take BYTES/bandwidth seconds."""
    done = helpers.train(
        async_rule(1),
        workers=1,
        task=Bowl(),
        updates=10,
        bandwidth=bandwidth,
        times=Listed([computing]),
        **options,
    )
    return done.seconds / 10


@pytest.mark.parametrize("layers", [2, 3, 6])
@pytest.mark.parametrize("more", [{}, {"hosts": {}}])
def test_all_but_the_first_layer_is_hidden_where_links_are_quick(layers, more):
    # 1 s of weights behind 9 s of computing: only the first layer's weights and the first layer's
    # gradient are waited for.
    assert step(9.0, **more) == pytest.approx(1 + 9 + 1)
    assert step(9.0, layers=[(1, 1)] * layers, **more) == pytest.approx(9 + 2 / layers)


@pytest.mark.parametrize("layers", [2, 3, 6])
def test_all_but_one_layers_computing_is_hidden_where_links_are_slow(layers):
    # 3 s of computing behind 9 s each way: the last layer's forward follows the last weights, and
    # its backward goes before the first gradient.
    assert step(3.0, BYTES / 9) == pytest.approx(9 + 3 + 9)
    assert step(3.0, BYTES / 9, layers=[(1, 1)] * layers) == pytest.approx(9 + 3 / layers + 9)


def test_layers_have_bytes_and_computing_of_their_own():
    # Weights in the last layer and computing in the first: all of the wire is hidden.
    assert step(9.0, layers=[(0, 1), (1, 0)]) == pytest.approx(9)
    # The other way round nothing is.
    assert step(9.0, layers=[(1, 0), (0, 1)]) == pytest.approx(11)


def test_one_layer_is_what_was_before():
    options = {"workers": 3, "task": Bowl(), "servers": 2, "updates": 30, "bandwidth": 50.0}
    plain = helpers.train(async_rule(3), times=Scattered(), **options)
    for one in ([(1, 1)], [(3, 4)]):
        done = helpers.train(async_rule(3), times=Scattered(), layers=one, **options)
        assert done.seconds == plain.seconds and torch.equal(done.weights, plain.weights)
        assert [s.log for s in done.servers] == [s.log for s in plain.servers]


def test_answers_take_turns_at_a_servers_link_layer_by_layer():
    # Two workers pull at once. Layers of half a second go to worker 0, 1, 0, 1, so worker 1 has its
    # first at 1 s and its last at 2 s, and begins half a second after worker 0.
    done = helpers.train(
        sync_rule(2),
        workers=2,
        task=Bowl(),
        updates=1,
        bandwidth={"server 0": BYTES},
        times=Listed([0.3], [0.3]),
        layers=[(1, 1)] * 2,
        trace=True,
    )
    began = {e.rank: e.start for e in done.trace if e.kind == "computing"}
    assert began == {0: 0.5, 1: 1.0}


def test_a_server_adds_while_workers_still_compute():
    # Whole: 9 s of computing, then 3 s of adding. By layers the last one's second alone is left.
    fast = {"bandwidth": float("inf"), "adding": BYTES / 3}
    assert step(9.0, **fast) == pytest.approx(12)
    assert step(9.0, layers=[(1, 1)] * 3, **fast) == pytest.approx(10)


def test_a_worker_that_dies_while_it_pushes_leaves_no_gradient():
    # Backward is from 1 to 3 s; at 2.5 s only the last layer has been pushed.
    done = helpers.train(
        async_rule(2),
        workers=2,
        task=Bowl(),
        updates=2,
        times=Listed([3.0], [3.0]),
        layers=[(1, 1)] * 2,
        failures={0: 2.5},
    )
    assert [m for m in done.servers[0].log if m.kind == "push"] == [("push", 1), ("push", 1)]


def test_shares_are_ratios():
    assert layers_of([(2, 1)] * 4) == ((0.25,) * 4, (0.25,) * 4)
    assert layers_of([(1, 3), (3, 1)]) == ((0.25, 0.75), (0.75, 0.25))
