"""Two hosts under elastic Horovod, killed at random moments, and the same loss at the end."""

from __future__ import annotations

import contextlib
import sys

import psutil

from helpers.lessons.cluster.experiments.elastic_job import Elastic, Launcher, through_kills
from helpers.lessons.cluster.experiments.elastic_nodes import Command, Nodes, kill_tree

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
