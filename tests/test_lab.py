"""`./course lab`: the server answers where it says, to nobody without the token, and ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.setup.places import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server and the address that it printed; its home is empty."""
    home = {"HOME": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    dropped = ("JUPYTER_TOKEN", "JUPYTER_CONFIG_DIR")
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    process = subprocess.Popen(
        [str(ROOT / "course"), "lab", "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**env, **home},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = (re.search(r"http://\S+", line) for line in process.stdout)
        yield process, next(match.group() for match in found if match)
    finally:
        process.kill()
        process.wait()


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as answer:
        body: bytes = answer.read()
        return body


def test_it_answers_where_it_says(server: tuple[subprocess.Popen[str], str]) -> None:
    process, address = server
    base, token = re.match(r"(http://127\.0\.0\.1:\d+)/lab\S*\?token=(\S+)", address).groups()  # type: ignore[union-attr]
    assert b"JupyterLab" in fetch(address)

    # Nobody gets in without the token.
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetch(f"{base}/api/contents")

    # The first lesson's kernel is this environment's, and nothing asks about news.
    kernels = json.loads(fetch(f"{base}/api/kernelspecs?token={token}"))
    assert kernels["default"] == "python3"
    plugin = "@jupyterlab/apputils-extension:notification"
    settings = json.loads(fetch(f"{base}/lab/api/settings/{plugin}?token={token}"))
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"

    # Ctrl+C ends it without a question.
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
