"""Two nodes under torchrun, killed at random moments, and a job that ends as if nobody had been."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence

from helpers.lessons.cluster.experiments.elastic_job import LAST_STEP, through_kills
from helpers.lessons.cluster.experiments.elastic_nodes import LOOK, Command, Nodes
from helpers.lessons.cluster.experiments.elastic_story import Elastic

LINUX = sys.platform == "linux"
# On Linux all of 127.0.0.0/8 is this machine: two nodes have two addresses, as on a cluster, and
# the first of them is the first rank's again when it comes back.
ADDRESSES = {"node-0": "127.0.0.1", "node-1": "127.0.0.2" if LINUX else "127.0.0.1"}
START_SECONDS = 480.0  # it ends what hangs
SILENT_SECONDS = (
    10.0  # a node that is silent for so long is out: it must be more than a slow moment
)
CONFIGURATION = (
    "is_host=0,last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt={silent}"
)
SETTINGS = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "LOGLEVEL": "INFO"}
# What tells of ranks that fail and of nodes that come, out of all that agents write.
TELLING = re.compile(r"Error|attempts left|new nodes from|Rendezvous'ing|Rendezvous complete")


def on_torchrun(
    kills: int = 1,
    seed: int = 0,
    steps: int = 150,
    every: int = 10,
    pace: float = 0.01,
    ranks_per_node: int = 1,
    timeout: float = 900.0,
) -> Elastic:
    """Train under torchrun on two nodes of this machine, of which one is killed again and again.

    A node is an agent of torchrun's and its workers; all of them get SIGKILL at once, at moments
    drawn from the seed. The same command then starts the node again, at once or after the others
    have gone on for some steps. steps: to take, or more until the node is back. every: steps from
    one checkpoint to the next. pace: seconds of rest for each part of a batch, so that kills find a
    job at work. timeout: seconds for all.

    Raises ValueError for fewer kills than none, JobFailed with the ends of the logs where the job
    ends early or is not done in time. Whatever happens, nothing is left behind.
    """
    with Nodes() as nodes:
        options = ["--every", str(every), "--pace", str(pace), "--seed", str(seed)]
        # One for each kill of the other node, two where it falls into a start, and for a bug a few.
        launcher = Torchrun(nodes, ranks_per_node, 2 * kills + 2, options)
        return through_kills(launcher, nodes, kills, seed, steps, 2 * ranks_per_node, timeout)


class Torchrun:
    """Two nodes that each run an agent, and a rendezvous that is killed with neither."""

    name, names, alone = "torchrun", tuple(ADDRESSES), True

    def __init__(
        self, nodes: Nodes, ranks_per_node: int, max_restarts: int, options: Sequence[str]
    ) -> None:
        self.nodes, self.typed = nodes, list[str]()
        self.ranks_per_node, self.max_restarts = ranks_per_node, max_restarts
        steps = nodes.folder / LAST_STEP
        self.options = ["--folder", str(nodes.folder), "--steps", str(steps), *options]

    def begin(self) -> None:
        """Start the rendezvous, and, as soon as it says where it is, both nodes."""
        self.type("rendezvous", Command(["python", "cluster/rendezvous.py", "--port", "0"]))
        self.endpoint = self.address(START_SECONDS)
        for name in self.names:
            self.again(name)

    def kill(self, name: str) -> None:
        """SIGKILL an agent with its workers."""
        self.nodes.kill(name)

    def again(self, name: str) -> None:
        """What is typed on a node, the first time and every time that it comes back."""
        configuration = CONFIGURATION.format(silent=math.ceil(SILENT_SECONDS))
        words = [
            "torchrun", "--nnodes=1:2", f"--nproc-per-node={self.ranks_per_node}",
            f"--max-restarts={self.max_restarts}", "--rdzv-backend=c10d",
            f"--rdzv-endpoint={self.endpoint}", "--rdzv-id=digits",
            f"--rdzv-conf={configuration}", f"--local-addr={ADDRESSES[name]}",
            "cluster/elastic_torch.py", *self.options,
        ]  # fmt: skip
        self.type(name, Command(words, SETTINGS))

    def check(self, down: Sequence[str]) -> None:
        """Raise JobFailed where an agent that was not killed has ended."""
        for name in self.names:
            if name not in down and (code := self.nodes.ended(name)) is not None:
                raise self.nodes.failed(f"The agent of {name} ended with exit code {code}.")

    def finish(self, seconds: float) -> None:
        """Wait until both agents have ended well."""
        self.nodes.finish(self.names, seconds)

    def log(self) -> list[str]:
        """What agents and ranks wrote of failures and of new beginnings, node by node."""
        lines = [(name, line) for name in self.names for line in self.nodes.lines(name)]
        return [f"{name}: {line}" for name, line in lines if TELLING.search(line)]

    def type(self, name: str, command: Command) -> None:
        """Start a command on a node."""
        self.typed.append(f"{name}$ {command}")
        self.nodes.start(name, command)

    def address(self, seconds: float) -> str:
        """Where the rendezvous is, as soon as it says so."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.nodes.ended("rendezvous") is None:
            for line in self.nodes.lines("rendezvous"):
                if found := re.search(r"is at (\S+)", line):
                    return found[1]
            time.sleep(LOOK)
        raise self.nodes.failed("The rendezvous did not start.")
