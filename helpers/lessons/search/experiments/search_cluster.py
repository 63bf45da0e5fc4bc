"""Clients of `cluster/search_client.py` over TensorFlow servers, all at once, from a notebook."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from helpers.engine.comm import Comm
from helpers.engine.places import PROJECT
from helpers.lessons.search.experiments import search_client, search_server

SCRIPT = "cluster/search_client.py"
STEPS = 100


class Client(NamedTuple):
    """A client's command line. server: which of them, from 0. options: such as {"rate": 0.1}."""

    server: int
    container: str
    options: dict[str, Any]

    def arguments(self, addresses: Sequence[str]) -> list[str]:
        """What follows the script's name."""
        where = {
            "server": addresses[self.server],
            "device": f"/job:{search_server.JOB}/task:{self.server}/device:CPU:0",
            "container": self.container,
        }
        pairs = (where | self.options).items()
        return [part for name, value in pairs for part in (f"--{name}", str(value))]

    def command(self, addresses: Sequence[str]) -> str:
        """The whole line, for a shell in the course's folder."""
        return shlex.join(["python", SCRIPT, *self.arguments(addresses)])


def of_trials(
    trials: Sequence[int],
    servers: int = 2,
    seed: int = 0,
    steps: int = STEPS,
    shared: bool = False,
    models: Any = None,
) -> list[Client]:
    """A client for each trial, over the servers in turn, with the settings drawn for it.

    shared: all in one container, which is the mistake; otherwise each in its own. models:
    whose settings; `search_models.Models(seed)` if none are given.
    """
    from helpers.lessons.search.experiments.search_models import Models

    models = Models(seed) if models is None else models
    clients = []
    for trial in trials:
        options = models.settings(trial) | {"steps": steps, "seed": seed, "trial": trial}
        container = "search" if shared else f"trial-{trial}"
        clients.append(Client(trial % servers, container, options))
    return clients


def run_clients(
    clients: Sequence[Client],
    servers: int = 2,
    at_once: bool = True,
    fresh: bool = False,
    timeout: float = 120.0,
) -> list[dict[str, Any]]:
    """Start servers, run clients on them, and collect what each prints; nothing is left behind.

    at_once: all together, or one after the other. fresh: each is a new Python, as from a shell,
    which takes some seconds to load TensorFlow; otherwise it is the same program in a process
    that has TensorFlow loaded. Returns: in the clients' order, the JSON of each and the "command"
    it was; of one that failed, {"error": its sentence}.

    Raises ValueError where a client names a server that there is not, and what `helpers.run`
    raises: RunTimeout after so many seconds.
    """
    from helpers.engine.run import run

    if not clients or servers < 1 or not all(0 <= each.server < servers for each in clients):
        raise ValueError(f"Clients run on servers 0 to {servers - 1}; there is 1 client or more.")
    lanes = [[each] for each in clients] if at_once else [list(clients)]
    found = run(
        be_part, lanes, servers, fresh, timeout, ranks=len(lanes) + servers,
        framework="tensorflow", device="cpu", timeout=timeout, show=False,
        names=[f"client {i}" for i in range(len(lanes))] + [f"server {i}" for i in range(servers)],
    )  # fmt: skip
    return [result for lane in found[: len(lanes)] for result in lane]


def be_part(
    comm: Comm, lanes: list[list[Client]], servers: int, fresh: bool, timeout: float
) -> list[dict[str, Any]]:
    """Each process: the last ones are servers, which stay until all is over; the others clients."""
    addresses = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][-servers:]
    if comm.rank >= len(lanes):
        kept.append(search_server.serve(addresses, comm.rank - len(lanes)))
        return []
    run_one = in_new_python if fresh else in_this
    found = []
    for client in lanes[comm.rank]:
        patience = ["--timeout", str(timeout)]  # other clients start at the same time
        result = run_one([*client.arguments(addresses), *patience], timeout)
        found.append(result | {"command": client.command(addresses)})
    return found


kept: list[Any] = []
"""Servers of this process: one that is forgotten ends."""


def in_new_python(arguments: list[str], timeout: float) -> dict[str, Any]:
    """A client as a shell starts it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PROJECT, *sys.path])}
    done = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    return read(done.returncode, done.stdout, done.stderr)


def in_this(arguments: list[str], timeout: float) -> dict[str, Any]:
    """The same program, called in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = search_client.main(arguments)
        except SystemExit as error:  # argparse's
            code = int(error.code or 0)
    return read(code, out.getvalue(), err.getvalue())


def read(code: int, out: str, err: str) -> dict[str, Any]:
    """What a client has printed: its JSON, or the sentence that says why there is none."""
    if code == 0:
        result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return result
    said = err.strip().splitlines() or [f"It ended with exit code {code} and said nothing."]
    return {"error": said[-1].removeprefix("search_client.py: ")}


def top(results: Sequence[dict[str, Any]], count: int = 3) -> list[int]:
    """The trials with the smallest validation losses, the best first; not those that failed."""
    from helpers.lessons.search.algorithms import halving

    losses = {each["trial"]: each["loss"] for each in results if each.get("loss") is not None}
    return halving.top([losses], count)
