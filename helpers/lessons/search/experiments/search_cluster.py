"""Clients of `cluster/search_client.py` over TensorFlow servers, all at once, from a notebook."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from click.testing import CliRunner

from helpers.engine.comm import Comm
from helpers.lessons.search.experiments import search_client, search_server

SCRIPT = "cluster/search_client.py"
SECONDS = 120.0


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


def run_clients(
    clients: Sequence[Client], servers: int = 2, at_once: bool = True
) -> list[dict[str, Any]]:
    """Start servers, run clients on them, and collect what each prints; nothing is left behind.

    at_once: all together, or one after the other. Each is the program that a shell would start, in
    a process that has TensorFlow loaded. Returns: in the clients' order, the JSON of each and the
    "command" it was; of one that failed, {"error": its sentence}.

    Raises ValueError where a client names a server that there is not, and what `helpers.run`
    raises: RunTimeout after two minutes.
    """
    from helpers.engine.run import run

    if not clients or servers < 1 or not all(0 <= each.server < servers for each in clients):
        raise ValueError(f"Clients run on servers 0 to {servers - 1}; there is 1 client or more.")
    lanes = [[each] for each in clients] if at_once else [list(clients)]
    found = run(
        be_part, lanes, servers, ranks=len(lanes) + servers,
        framework="tensorflow", device="cpu", timeout=SECONDS, show=False,
        names=[f"client {i}" for i in range(len(lanes))] + [f"server {i}" for i in range(servers)],
    )  # fmt: skip
    return [result for lane in found[: len(lanes)] for result in lane]


def be_part(comm: Comm, lanes: list[list[Client]], servers: int) -> list[dict[str, Any]]:
    """Each process: the last ones are servers, which stay until all is over; the others clients."""
    addresses = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][-servers:]
    if comm.rank >= len(lanes):
        kept.append(search_server.serve(addresses, comm.rank - len(lanes)))
        return []
    found = []
    for client in lanes[comm.rank]:
        patience = ["--timeout", str(SECONDS)]  # other clients start at the same time
        result = in_this([*client.arguments(addresses), *patience])
        found.append(result | {"command": client.command(addresses)})
    return found


kept: list[Any] = []
"""Servers of this process: one that is forgotten ends."""


def in_this(arguments: list[str]) -> dict[str, Any]:
    """The same program, called in this process: its JSON, or the sentence that says why not."""
    found = CliRunner().invoke(search_client.main, arguments)
    if isinstance(found.exception, SystemExit):
        return {"error": found.output.strip().splitlines()[-1].removeprefix("Error: ")}
    if found.exception:
        raise found.exception
    result: dict[str, Any] = json.loads(found.stdout.strip().splitlines()[-1])
    return result
