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
from jupyter_client import BlockingKernelClient

from helpers.course.setup import state
from helpers.course.setup.places import ROOT

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's home, empty at first."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server, which the last test ends, and the address that it printed."""
    if not state.ready():  # as in a worktree that borrows an environment
        pytest.skip("./course lab would set this checkout up first")
    places = {
        "HOME": str(home),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    dropped = ("JUPYTER_TOKEN", "JUPYTER_CONFIG_DIR")
    env = {name: value for name, value in os.environ.items() if name not in dropped}
    process = subprocess.Popen(
        [str(ROOT / "course"), "lab", "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**env, **places},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = (re.search(r"http://\S+", line) for line in process.stdout)
        yield process, next(match.group() for match in found if match)
    finally:
        process.kill()
        process.wait()


def fetch(address: str, data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(address, data, timeout=300) as answer:
        body: bytes = answer.read()
        return body


def base_and_token(address: str) -> tuple[str, str]:
    found = re.match(r"(http://127\.0\.0\.1:\d+)/lab\S*\?token=(\S+)", address)
    assert found is not None
    return found.group(1), found.group(2)


def test_it_answers_where_it_says(server: tuple[subprocess.Popen[str], str]) -> None:
    _, address = server
    base, token = base_and_token(address)
    page = fetch(address)
    assert b"JupyterLab" in page
    # Nothing in the page asks for a language server, which is not there.
    assert b"@jupyterlab/lsp-extension" in page.split(b"disabledExtensions")[1].split(b"]")[0]

    # Nobody gets in without the token.
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetch(f"{base}/api/contents")

    # The first lesson's kernel is this environment's, and nothing asks about news.
    kernels = json.loads(fetch(f"{base}/api/kernelspecs?token={token}"))
    assert kernels["default"] == "python3"
    plugin = "@jupyterlab/apputils-extension:notification"
    settings = json.loads(fetch(f"{base}/lab/api/settings/{plugin}?token={token}"))
    assert settings["schema"]["properties"]["fetchNews"]["default"] == "false"


@pytest.mark.thorough
def test_its_terminal_shows_the_address_and_nothing_else(
    server: tuple[subprocess.Popen[str], str], home: Path
) -> None:
    process, address = server
    base, token = base_and_token(address)
    # A lesson is opened, a page is missed, a kernel is started: all of that is talked about.
    lesson = sorted((ROOT / "lessons").glob("*.ipynb"))[0].name
    fetch(f"{base}/api/contents/lessons/{lesson}?token={token}")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(f"{base}/lsp/status?token={token}")
    kernel = json.loads(fetch(f"{base}/api/kernels?token={token}", b'{"name": "python3"}'))
    connection = home / "runtime" / f"kernel-{kernel['id']}.json"
    client = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    # `wait_for_ready` takes a kernel for dead that misses one heartbeat on a busy machine.
    assert client.kernel_info(reply=True, timeout=300)["content"]["status"] == "ok"
    client.stop_channels()
    # What goes between the server and its kernels is encrypted.
    assert "curve_publickey" in connection.read_text()

    # Ctrl+C ends it without a question.
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    shown = [line.strip() for line in process.stdout if line.strip()]
    assert process.wait(300) == 0
    assert shown == ["Stop it with Ctrl+C."]
    # It is all in a file.
    (log,) = (home / "cache").glob("*/logs-*/lab.log")
    assert "404 GET /lsp/status" in log.read_text()
