"""Clients over TensorFlow servers: eight at once, containers apart, a clash seen and told."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest

from helpers.lessons.search.experiments.ensemble import in_torch, of_files
from helpers.lessons.search.experiments.search_cluster import Client, of_trials, run_clients, top
from helpers.lessons.search.experiments.search_rows import parts

pytestmark = [pytest.mark.real, pytest.mark.tensorflow]
pytest.importorskip("tensorflow")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.thorough
def test_eight_clients_over_two_servers_find_what_a_serial_run_finds() -> None:
    clients = of_trials(range(8), servers=2, steps=30)
    together = run_clients(clients, servers=2)
    alone = run_clients(clients, servers=2, at_once=False)
    assert [each["trial"] for each in together] == list(range(8))
    for one, other in zip(together, alone, strict=True):
        assert one["clash"] is None and other["clash"] is None
        assert (one["loss"], one["accuracy"]) == (other["loss"], other["accuracy"])
    assert top(together) == top(alone) and len(set(top(together))) == 3
    assert len({each["server"] for each in together}) == 2
    assert len({each["loss"] for each in together}) == 8


@pytest.mark.thorough
def test_a_clash_is_seen_and_told() -> None:
    """Four in one container of one server. Who overlaps is told; nobody is told a wrong loss."""
    # Long enough to overlap, however late one of them begins.
    clients = [each._replace(server=0) for each in of_trials(range(4), steps=300, shared=True)]
    found = run_clients(clients, servers=1)
    told = [each.get("clash") or each.get("error") for each in found]
    for text in told:
        assert text is None or ("the container search" in text and "container of its own" in text)
    # One after the other, and so each finds the container empty, they do not clash.
    after = run_clients(clients, servers=1, at_once=False)
    assert all(each["clash"] is None for each in after)
    for each, right in zip(found, after, strict=True):
        if each.get("clash") is None and "error" not in each:
            assert each["loss"] == right["loss"]


def test_what_cannot_be_is_told_and_weights_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.npz"
    options = {"steps": 20, "width": 8, "rate": 0.3, "save": path}
    good, wrong, wild = run_clients(
        [
            Client(0, "good", options),
            Client(0, "wrong", {"device": "/job:worker/task:7/device:CPU:0"}),
            Client(0, "wild", {"device": "the quickest"}),
        ],
        servers=1,
    )
    assert wrong["error"] == (
        "There is no device /job:worker/task:7/device:CPU:0 behind this server; there are: "
        "/job:worker/task:0/device:CPU:0."
    )
    assert wild["error"] == (
        "There is no device the quickest: a device is named as in /job:worker/task:0/device:CPU:0."
    )
    (member,) = of_files([path])
    rows = parts(0).test
    guesses = in_torch([member], rows.x, ["cpu"]).mean.argmax(1)
    assert np.mean(guesses == rows.y) == pytest.approx(good["test"], abs=0.003)


@pytest.mark.thorough
def test_the_commands_of_the_scripts_own_text() -> None:
    """A server and a client, each a Python of its own, as the script's first lines say."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        [sys.executable, "cluster/search_server.py", "--cluster", address],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "cluster/search_client.py", "--server", address, "--steps", "20",
             "--timeout", "100"],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=110,
        )  # fmt: skip
        (line,) = done.stdout.splitlines()
        assert json.loads(line)["clash"] is None and json.loads(line)["steps"] == 20
    finally:
        server.send_signal(signal.SIGINT)
        out, _ = server.communicate(timeout=30)
    assert out == f"serving at {address} as /job:worker/task:0\n" and server.returncode == 0
    assert not psutil.pid_exists(server.pid)
