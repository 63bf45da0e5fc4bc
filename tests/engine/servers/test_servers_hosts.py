"""Servers and workers on virtual hosts: the same weights as anywhere, at the links' speed."""

from __future__ import annotations

from typing import Any

import psutil
import pytest
import torch
from arrivals_driver import TRAINED
from test_servers_real import TASK, logs, same

import helpers
from helpers.engine.errors import NoHosts
from helpers.engine.hosts import run as hosts_run
from helpers.engine.hosts.namespaces import SWITCH
from helpers.engine.launch import client_for
from helpers.engine.servers.rule import Rule
from helpers.engine.servers.training import Training
from helpers.lessons.bandwidth.experiments.host_steps import Weights
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Synchronous


def train(name: str, workers: int, servers: int, **options: Any) -> Training:
    make_rule, make_client = TRAINED[name]
    chosen = {"engine": "hosts", "updates": 25, "bandwidth": "1gbit", **options}
    return helpers.train(
        lambda weights: make_rule(weights, workers),
        workers=workers, servers=servers, task=TASK, make_client=make_client, batch=8, **chosen,
    )  # fmt: skip


@pytest.mark.hosts
@pytest.mark.parametrize(
    "name", [pytest.param("synchronous", marks=pytest.mark.thorough), "downpour"]
)
def test_a_replay_on_other_engines_gives_the_same_weights(name: str) -> None:
    there = train(name, 3, 2)
    same(there, train(name, 3, 2, engine="virtual", bandwidth=1e9, order=logs(there)))


def sync(workers: int) -> Any:
    def make(weights: Any) -> Rule:
        return Synchronous(weights, Sgd(0.1), workers)

    return make


def seconds(bandwidth: Any, updates: int = 3) -> float:
    """Of some updates of 400 kB with two workers."""
    return helpers.train(
        sync(2), workers=2, task=Weights(400_000), batch=1, updates=updates, engine="hosts",
        bandwidth=bandwidth,
    ).seconds  # fmt: skip


@pytest.mark.hosts
def test_what_is_sent_goes_over_the_links_of_servers_and_workers() -> None:
    least = 1.0  # seconds for which 10 Mbit/s hold three pushes of 400 kB back
    assert seconds({"worker 1": "10mbit"}) > least


@pytest.mark.hosts
def test_a_server_and_a_worker_that_are_killed_end_nothing() -> None:
    training = train(
        "synchronous", 3, 2, write_through=True, kill={"server 1": 10, "worker 2": 2},
    )  # fmt: skip  # no update goes without a worker that a busy machine holds up
    assert training.updates == 25
    assert training.lost == 0
    assert "server 1" in " ".join(training.story) and "worker 2" in " ".join(training.story)
    assert psutil.Process(client_for("torch", hosts=True).process.pid).children() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bandwidth": {"nowhere": "1gbit"}}, "nowhere"),
        ({"bandwidth": "fast"}, "not understood"),
    ],
)
def test_what_cannot_be_gets_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        train("asynchronous", 2, 1, **options)


def test_without_namespaces_the_clock_stands_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SWITCH, "clock")
    monkeypatch.setattr(hosts_run, "_told", set())
    training = train("synchronous", 2, 1, bandwidth="1mbit", updates=4)
    size = 4 * len(TASK.initial())
    least = 4 * 3 * size / 125_000  # the last pull of an update and its push wait for another's
    assert least <= training.seconds < 2 * least
    assert "The virtual clock stands in" in capsys.readouterr().out
    with pytest.raises(NoHosts, match="switched off"):
        train("synchronous", 2, 1, kill={"server 0": 2})
    assert torch.isfinite(training.weights).all()
