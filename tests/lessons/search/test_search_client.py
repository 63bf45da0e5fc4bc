"""The command-line client: its options, and what it says to what cannot be. No server is needed."""

from __future__ import annotations

import argparse
import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.lessons.search.experiments import search_client, search_server
from helpers.lessons.search.experiments.search_cluster import (
    Client,
    of_trials,
    read,
    run_clients,
    top,
)
from helpers.lessons.search.experiments.search_graph import batches, first_weights
from helpers.lessons.search.experiments.search_models import Models

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


@pytest.mark.parametrize(
    "options, says",
    [
        ([], "required: --server"),
        (["--server", "a:1", "--rate", "0"], "0 is no number above 0"),
        (["--server", "a:1", "--rate", "inf"], "inf is no number above 0"),
        (["--server", "a:1", "--rate", "much"], "invalid above_zero value: 'much'"),
        (["--server", "a:1", "--width", "0"], "0 is not 1 or more"),
        (["--server", "a:1", "--steps", "-3"], "-3 is not 1 or more"),
        (["--server", "a:1", "--activation", "sinus"], "invalid choice: 'sinus'"),
        (["--server", "a:1", "--container", "a_b"], "a_b has more than letters, digits"),
    ],
)
def test_a_wrong_option_is_told(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        search_client.main(options)
    assert caught.value.code == 2 and says in capsys.readouterr().err


@pytest.mark.parametrize("server", ["nowhere", "host:", ":2222", "host:port", "host:99999"])
def test_an_address_that_is_none_is_told(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert search_client.main(["--server", server]) == 1
    said = capsys.readouterr()
    assert said.out == "" and f"HOST:PORT, such as 127.0.0.1:2222, not {server}" in said.err


def test_a_server_that_does_not_answer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:  # it listens to nobody, and nobody else can have its port
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert search_client.main(["--server", f"grpc://127.0.0.1:{port}", "--timeout", "0.3"]) == 1
    said = capsys.readouterr().err
    assert f"Nothing answered at 127.0.0.1:{port} within 0.3 s" in said


def test_without_tensorflow_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(search_client, "reached", lambda server, seconds: ("host", 1))
    assert search_client.main(["--server", "host:1"]) == 1
    assert "TensorFlow is not installed in this Python" in capsys.readouterr().err


def test_what_takes_too_long_is_left() -> None:
    import threading

    with pytest.raises(TimeoutError):
        search_client.within(0.05, threading.Event().wait)
    assert search_client.within(600, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        search_client.within(600, lambda: 1 // 0)


def test_which_devices_are_meant() -> None:
    def spec(*parts: object) -> SimpleNamespace:
        names = ("job", "replica", "task", "device_type", "device_index")
        return SimpleNamespace(**dict(zip(names, parts, strict=True)))

    there = spec("worker", 0, 1, "CPU", 0)
    for asked, fits in [
        (spec(None, None, None, None, None), True),
        (spec("worker", None, 1, "CPU", 0), True),
        (spec("worker", None, 0, "CPU", 0), False),
        (spec(None, None, None, "GPU", None), False),
    ]:
        assert search_client.fits(asked, there) is fits


def given(**options: object) -> argparse.Namespace:
    return argparse.Namespace(**{"seed": 0, "trial": 0, "width": 8, "steps": 50} | options)


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


def test_commands_and_results() -> None:
    clients = of_trials([3, 4], servers=2, seed=1, steps=7)
    assert [client.server for client in clients] == [1, 0]
    assert [client.container for client in clients] == ["trial-3", "trial-4"]
    assert {client.container for client in of_trials([3, 4], shared=True)} == {"search"}
    drawn = Models(1).settings(3)
    assert clients[0].options == drawn | {"steps": 7, "seed": 1, "trial": 3}
    line = Client(1, "a", {"rate": 0.5}).command(["h:1", "h:2"])
    assert line == (
        "python cluster/search_client.py --server h:2 --device /job:worker/task:1/device:CPU:0 "
        "--container a --rate 0.5"
    )
    parsed = search_client.parser().parse_args(clients[0].arguments(["h:1", "h:2"]))
    assert parsed.rate == drawn["rate"] and parsed.activation == drawn["activation"]
    assert read(0, "chatter\n" + json.dumps({"loss": 1}) + "\n", "") == {"loss": 1}
    assert read(1, "", "x\nsearch_client.py: no.\n") == {"error": "no."}
    assert "exit code -9" in read(-9, "", "")["error"]
    results = [{"trial": 0, "loss": 2.0}, {"error": "no"}, {"trial": 5, "loss": 1.0}]
    assert top([*results, {"trial": 7, "loss": None}]) == [5, 0]
    with pytest.raises(ValueError, match="Clients run on servers 0 to 0"):
        run_clients([Client(1, "", {})], servers=1)
    with pytest.raises(ValueError, match="there is 1 client or more"):
        run_clients([], servers=1)


def test_a_server_that_there_is_not_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        search_server.main(["--cluster", "a:1,b:2", "--task", "2"])
    assert "the tasks are 0 to 1, not 2" in capsys.readouterr().err
