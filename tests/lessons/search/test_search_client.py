"""The command-line client: its options, and what it says to what cannot be. No server is needed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.lessons.search.experiments import search_client, search_server
from helpers.lessons.search.experiments.search_cluster import Client, run_clients
from helpers.lessons.search.experiments.search_graph import batches, first_weights

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.real
def test_the_scripts_show_their_options_without_tensorflow() -> None:
    """`--help` is quick: neither torch nor TensorFlow is loaded for it."""
    for script, option in (("search_client.py", "--container"), ("search_server.py", "--cluster")):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", f"cluster/{script}", "--help"],
            cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert option in done.stdout
        loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
        assert not loaded & {"torch", "tensorflow"}


def said(program: object, *options: str) -> tuple[int, str]:
    """A program's exit code, and what it wrote."""
    found = CliRunner().invoke(program, options)  # type: ignore[arg-type]
    return found.exit_code, found.output


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "Missing option '--server'"),
        (["--server", "a:1", "--rate", "0"], "0.0 is not in the range x>0"),
        (["--server", "a:1", "--steps", "-3"], "-3 is not in the range x>=1"),
        (["--server", "a:1", "--activation", "sinus"], "'sinus' is not one of 'relu'"),
    ],
)
def test_a_wrong_option_is_told(options: list[str], says: str) -> None:
    code, output = said(search_client.main, *options)
    assert code == 2 and says in output


def test_a_server_that_there_is_not_is_told() -> None:
    code, output = said(search_server.main, "--cluster", "a:1,b:2", "--task", "2")
    assert code == 2 and "The tasks are 0 to 1, not 2" in output
    for server in ("nowhere", ":2222", "host:port", "host:99999"):
        code, output = said(search_client.main, "--server", server)
        assert code == 1 and f"HOST:PORT, such as 127.0.0.1:2222, not {server}" in output
    with socket.socket() as taken:  # it listens to nobody, and nobody else can have its port
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, output = said(search_client.main, "--server", address, "--timeout", "0.3")
    assert code == 1 and f"Nothing answered at {address} within 0.3 s" in output
    for clients in ([Client(1, "", {})], []):
        with pytest.raises(ValueError, match="Clients run on servers 0 to 0; there is 1 client"):
            run_clients(clients, servers=1)


def test_without_tensorflow_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "helpers.notebook.quiet", None)
    monkeypatch.setattr(search_client, "reached", lambda server, seconds: None)
    code, output = said(search_client.main, "--server", "host:1")
    assert code == 1 and "TensorFlow is not installed in this Python" in output


def given(**options: int) -> SimpleNamespace:
    return SimpleNamespace(**{"seed": 0, "trial": 0, "width": 8, "steps": 50} | options)


def test_weights_and_batches_are_the_trials_own() -> None:
    first, again = first_weights(given()), first_weights(given())
    assert all((first[name] == again[name]).all() for name in first)
    assert [each.shape for each in first.values()] == [(64, 8), (8,), (8, 10), (10,)]
    for other in (given(trial=1), given(seed=1)):
        assert (first_weights(other)["out"] != first["out"]).any()
        assert (batches(other, 1079) != batches(given(), 1079)).any()
    order = batches(given(), 1079)
    assert order.shape == (50, 32) and (batches(given(steps=20), 1079) == order[:20]).all()
    assert len(np.unique(order[:33])) == 33 * 32  # an epoch has no row twice


def test_a_client_is_a_line_for_the_shell() -> None:
    line = Client(1, "a", {"rate": 0.5}).command(["h:1", "h:2"])
    assert line == (
        "python cluster/search_client.py --server h:2 --device /job:worker/task:1/device:CPU:0 "
        "--container a --rate 0.5"
    )
