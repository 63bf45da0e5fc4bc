"""Two nodes under torchrun or elastic Horovod, killed at random moments: the loss is the same."""

from __future__ import annotations

import contextlib
import re
import sys

import psutil

from helpers.lessons.cluster.experiments.elastic_job import Elastic, Launcher, through_kills
from helpers.lessons.cluster.experiments.elastic_nodes import Command, Nodes, kill_tree

# On Linux all of 127.0.0.0/8 is this machine: two nodes have two addresses, as on a cluster, and
# the first of them is the first rank's again when it comes back.
ADDRESSES = {"node-0": "127.0.0.1", "node-1": f"127.0.0.{2 if sys.platform == 'linux' else 1}"}
# A node that is silent for 10 s is out: it must be more than a slow moment.
CONFIGURATION = "is_host=0,last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=10"
SETTINGS = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "LOGLEVEL": "INFO"}


def on_torchrun(kills: int = 1, seed: int = 0, steps: int = 150) -> Elastic:
    """Train under torchrun on two nodes of this machine, of which one is killed again and again.

    A node is an agent of torchrun's and its worker; both get SIGKILL at once, at moments drawn from
    the seed. The same command then starts the node again, at once or after the other has gone on
    for some steps. steps: to take, or more until the node is back.

    Raises ValueError for fewer kills than none, JobFailed with the ends of the logs where the job
    ends early or is not done in time. Whatever happens, nothing is left behind.
    """
    with Nodes() as nodes:
        # One for each kill of the other node, two where it falls into a start, and for a bug a few.
        return through_kills(Torchrun(nodes, seed, 2 * kills + 2), nodes, kills, seed, steps)


class Torchrun(Launcher):
    """Two nodes that each run an agent, and a rendezvous that is killed with neither."""

    name, names, alone, ending = "torchrun", tuple(ADDRESSES), True, tuple(ADDRESSES)

    def __init__(self, nodes: Nodes, seed: int, max_restarts: int) -> None:
        super().__init__(nodes, seed)
        self.max_restarts = max_restarts

    def begin(self) -> None:
        """Start the rendezvous, and, as soon as it says where it is, both nodes."""
        words = ["python", "cluster/rendezvous.py", "--port", "0"]
        self.nodes.start("rendezvous", Command(words))
        said = self.nodes.output("rendezvous")
        self.nodes.until(lambda: re.search(r"is at (\S+)\n", said.read_text()) is not None)
        self.endpoint = said.read_text().split()[-1]
        for name in self.names:
            self.again(name)

    def again(self, name: str) -> None:
        """What is typed on a node, the first time and every time that it comes back."""
        words = [
            "torchrun", "--nnodes=1:2", "--nproc-per-node=1", f"--max-restarts={self.max_restarts}",
            "--rdzv-backend=c10d", f"--rdzv-endpoint={self.endpoint}", "--rdzv-id=digits",
            f"--rdzv-conf={CONFIGURATION}", f"--local-addr={ADDRESSES[name]}",
            "cluster/elastic_torch.py", *self.options,
        ]  # fmt: skip
        self.nodes.start(name, Command(words, SETTINGS))


# --- Horovod --------------------------------------------------------------------------------------

HOSTS = ("localhost", "127.0.0.1")  # two names of this machine, two hosts to Horovod
INTERFACE = "lo0" if sys.platform == "darwin" else "lo"
GLOO_SECONDS = 300  # a rank that comes later than this takes the others down
# Seconds until a host may come back: longer than it takes to ask the script for hosts, see there.
COOLDOWN = 3


def on_horovod(kills: int = 1, seed: int = 0, steps: int = 150) -> Elastic:
    """Train under elastic Horovod on two hosts, of which one is killed again and again.

    Both are names of this machine, with a rank each. All of a host gets SIGKILL at once, at moments
    drawn from the seed, but not before both ranks are at work again: the state is in the ranks'
    memory, and dies with the last of them. Horovod starts the host again once it may come back.
    steps: to take, or more until the host is back.

    Raises what `on_torchrun` raises. Whatever happens, nothing is left behind.
    """
    with Nodes() as nodes:
        return through_kills(Horovod(nodes, seed), nodes, kills, seed, steps)


class Horovod(Launcher):
    """One horovodrun, which starts a rank on each host, and starts it again."""

    name, names, alone, ending = "horovod", HOSTS, False, ("horovodrun",)

    def begin(self) -> None:
        """Write down the hosts, and start the job."""
        hosts = self.nodes.folder / "hosts.txt"
        hosts.write_text("".join(f"{host}:1\n" for host in HOSTS))
        words = [
            "horovodrun", "-np", "2", "--min-np", "1", "--max-np", "2",
            "--host-discovery-script", "sh cluster/discover_hosts.sh",
            "--blacklist-cooldown-range", str(COOLDOWN), str(COOLDOWN + 1),
            "--network-interface", INTERFACE, "--gloo-timeout-seconds", str(GLOO_SECONDS),
            "python", "cluster/elastic_horovod.py", *self.options,
        ]  # fmt: skip
        self.nodes.start("horovodrun", Command(words, {"HOSTS_FILE": str(hosts)}))

    def kill(self, name: str) -> None:
        """SIGKILL the rank that runs on a host."""
        guard = psutil.Process(self.nodes.guards["horovodrun"].pid)
        for process in guard.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if process.environ().get("HOROVOD_HOSTNAME") == name:
                    kill_tree(process.pid)
