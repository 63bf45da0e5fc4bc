"""What a worker does between pull and push."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine.servers.client import Client
from helpers.lessons.parameter_servers.algorithms.clients import DownpourClient, LocalSteps

START = np.linspace(-1.0, 1.0, 3)


def steps(client, count):
    """The client's steps: what it computed at, what it pushed (or None), whether it then pulls.

    Gradient number i is 10^i in all places, so that a sum shows which ones are in it.
    """
    seen = []
    for step in range(count):
        if client.wants_weights:
            client.pulled(START + step, step)
        at, gradient = client.weights, np.full(3, 10.0**step)
        seen.append((at, client.computed(gradient), client.wants_weights))
    return seen


def test_the_plain_client_pulls_and_pushes_every_time():
    client = Client()
    assert client.wants_weights
    for step, (at, push, pulls) in enumerate(steps(client, 4)):
        assert (at == START + step).all() and (push == 10.0**step).all() and pulls
    assert client.version == 3


def test_downpour_fetches_and_pushes_each_at_its_own_time():
    seen = steps(DownpourClient(0.5, n_fetch=3, n_push=2), 6)
    assert [pulls for _, _, pulls in seen] == [False, False, True] * 2
    pushed = [None if push is None else push[0] for _, push, _ in seen]
    # Every gradient is in one push, with those since the push before.
    assert pushed == [None, 11, None, 1100, None, 110000]
    # Between fetches it goes on from its own steps; a fetch puts the server's weights there.
    places = [(at - START)[0] for at, _, _ in seen]
    assert places == [0, -0.5, -5.5, 3, 3 - 500, 3 - 5500]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 12))
def test_downpour_pushes_every_gradient_once(n_fetch, n_push, count):
    client = DownpourClient(0.1, n_fetch, n_push)
    seen = steps(client, count)
    pushed = sum(push[0] for _, push, _ in seen if push is not None)
    left = 0 if client.accrued is None else client.accrued[0]
    assert pushed + left == sum(10.0**step for step in range(count))
    assert sum(push is not None for _, push, _ in seen) == count // n_push
    assert sum(pulls for _, _, pulls in seen) == count // n_fetch


def test_local_steps_push_the_weights_at_the_end_of_each_interval():
    seen = steps(LocalSteps(0.5, interval=3), 6)
    assert [pulls for _, _, pulls in seen] == [False, False, True] * 2
    assert [push is not None for _, push, _ in seen] == [False, False, True] * 2
    assert (seen[2][1] == START - 0.5 * 111).all()
    assert (seen[5][1] == START + 3 - 0.5 * 111000).all()


def test_clients_refuse_what_cannot_be():
    for n_fetch, n_push in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="both are 1 or more"):
            DownpourClient(0.1, n_fetch, n_push)
    with pytest.raises(ValueError, match="at least one step alone"):
        LocalSteps(0.1, 0)
    for make in (DownpourClient, lambda rate: LocalSteps(rate, 2)):
        for rate in (0, -1, float("nan")):
            with pytest.raises(ValueError, match="rate of local steps is above 0"):
                make(rate)
