"""The command-line client: its options, and what it says to what cannot be. No server is needed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.lessons.search.experiments import search_client, search_server
from helpers.lessons.search.experiments.search_cluster import Client, run_clients

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


def test_what_cannot_be_is_told() -> None:
    for options, words in (
        ([], "Missing option '--server'"),
        (["--server", "a:1", "--rate", "0"], "0.0 is not in the range x>0"),
        (["--server", "a:1", "--activation", "sinus"], "'sinus' is not one of 'relu'"),
    ):
        code, output = said(search_client.main, *options)
        assert code == 2 and words in output
    code, output = said(search_server.main, "--cluster", "a:1,b:2", "--task", "2")
    assert code == 2 and "The tasks are 0 to 1, not 2" in output
    for server in ("nowhere", "host:99999"):
        code, output = said(search_client.main, "--server", server)
        assert code == 1 and f"HOST:PORT, such as 127.0.0.1:2222, not {server}" in output
    with socket.socket() as taken:  # it listens to nobody, and nobody else can have its port
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, output = said(search_client.main, "--server", address, "--timeout", "0.3")
    assert code == 1 and f"Nothing answered at {address} within 0.3 s" in output
    with pytest.raises(ValueError, match="Clients run on servers 0 to 0; there is 1 client"):
        run_clients([Client(1, "", {})], servers=1)


def test_a_client_is_a_line_for_the_shell() -> None:
    line = Client(1, "a", {"rate": 0.5}).command(["h:1", "h:2"])
    assert line == (
        "python cluster/search_client.py --server h:2 --device /job:worker/task:1/device:CPU:0 "
        "--container a --rate 0.5"
    )
