"""Clients over TensorFlow servers: eight at once, containers apart, a clash seen and told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from helpers.lessons.search.experiments.search_cluster import Client, run_clients
from helpers.lessons.search.experiments.search_models import Models

pytestmark = [pytest.mark.real, pytest.mark.tensorflow]
pytest.importorskip("tensorflow")
ROOT = Path(__file__).resolve().parents[3]


def client(trial: int, server: int, container: str, steps: int) -> Client:
    """A trial's client, with the settings drawn for it."""
    return Client(server, container, Models().settings(trial) | {"steps": steps, "trial": trial})


@pytest.mark.thorough
def test_eight_clients_find_what_a_serial_run_finds_and_a_clash_is_told() -> None:
    clients = [client(trial, trial % 2, f"trial-{trial}", 30) for trial in range(8)]
    together = run_clients(clients, servers=2)
    alone = run_clients(clients, servers=2, at_once=False)
    assert [each["trial"] for each in together] == list(range(8))
    for one, other in zip(together, alone, strict=True):
        assert one["clash"] is None and other["clash"] is None
        assert (one["loss"], one["accuracy"]) == (other["loss"], other["accuracy"])
    assert len({each["server"] for each in together}) == 2
    assert len({each["loss"] for each in together}) == 8
    # Four in one container overlap, which is told; one after the other each finds it empty.
    clients = [client(trial, 0, "search", 300) for trial in range(4)]
    after = run_clients(clients, servers=1, at_once=False)
    assert all(each["clash"] is None for each in after)
    for each, right in zip(run_clients(clients, servers=1), after, strict=True):
        told = each.get("clash") or each.get("error")
        assert told is None or ("the container search" in told and "of its own" in told)
        assert told or each["loss"] == right["loss"]  # nobody is told a wrong loss


def test_a_client_trains_and_what_cannot_be_is_told() -> None:
    good, wrong, wild = run_clients(
        [
            Client(0, "good", {"steps": 60, "width": 8, "rate": 0.3}),
            Client(0, "wrong", {"device": "/job:worker/task:7/device:CPU:0"}),
            Client(0, "wild", {"device": "the quickest"}),
        ],
        servers=1,
    )
    assert good["clash"] is None and good["loss"] < 2 and good["test"] > 0.6
    assert "/job:worker/task:7/device:CPU:0" in wrong["error"]
    assert "the quickest" in wild["error"]


@pytest.mark.thorough
def test_the_commands_of_the_scripts_own_text() -> None:
    """A server and clients, each a Python of its own, as the script's first lines say."""
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    one, two = (f"127.0.0.1:{each.getsockname()[1]}" for each in sockets)
    for each in sockets:
        each.close()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def start(script: str, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, f"cluster/{script}", *options], cwd=ROOT, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    servers = [start("search_server.py", "--cluster", f"{one},{two}")]
    try:
        assert servers[0].stdout is not None
        assert servers[0].stdout.readline() == f"serving at {one} as /job:worker/task:0\n"
        early = start("search_client.py", "--server", one, "--timeout", "2")
        _, error = early.communicate(timeout=110)
        assert early.returncode == 1 and "gave no session within 2 s" in error
        servers.append(start("search_server.py", "--cluster", f"{one},{two}", "--task", "1"))
        client = start("search_client.py", "--server", one, "--steps", "20", "--timeout", "100")
        line, _ = client.communicate(timeout=110)
        assert json.loads(line)["clash"] is None and json.loads(line)["steps"] == 20
    finally:
        for server in servers:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=30)
    assert [server.returncode for server in servers] == [0, 0]
    assert not any(psutil.pid_exists(server.pid) for server in servers)
