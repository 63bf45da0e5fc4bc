"""Two hosts under elastic Horovod, killed at random moments, and the same loss at the end."""

from __future__ import annotations

import contextlib
import math
import re
import sys
from collections.abc import Sequence

import psutil

from helpers.engine.errors import RunError
from helpers.lessons.cluster.experiments.elastic_job import LAST_STEP, through_kills
from helpers.lessons.cluster.experiments.elastic_nodes import Command, Nodes, kill_tree
from helpers.lessons.cluster.experiments.elastic_story import Elastic
from helpers.setup.state import horovod_missing

HOSTS = ("localhost", "127.0.0.1")  # two names of this machine, two hosts to Horovod
INTERFACE = "lo0" if sys.platform == "darwin" else "lo"
GLOO_SECONDS = 300.0  # a rank that comes later than this takes the others down
# Seconds until a host may come back: longer than it takes to ask the script for hosts, see there.
COOLDOWN = 3.0
# What tells of ranks that fail and of hosts that go and come, out of all that is written.
TELLING = re.compile(r"exit with status|blacklist|HorovodInternalError|HostsUpdated|Error|Killed")


class NoHorovod(RunError):
    """Horovod is not installed here; the report says why."""


def on_horovod(
    kills: int = 1,
    seed: int = 0,
    steps: int = 150,
    every: int = 10,
    pace: float = 0.01,
    timeout: float = 900.0,
) -> Elastic:
    """Train under elastic Horovod on two hosts, of which one is killed again and again.

    Both are names of this machine, with a rank each. All of a host gets SIGKILL at once, at moments
    drawn from the seed, but not before both ranks are at work again: the state is in the ranks'
    memory, and dies with the last of them. Horovod starts the host again once it may come back.
    steps: to take, or more until the host is back. every: steps from one commit to the next. pace:
    seconds of rest for each part of a batch, so that kills find a job at work. timeout: seconds.

    Raises NoHorovod where it is not installed, and what `on_torchrun` raises. Whatever happens,
    nothing is left behind.
    """
    if missing := horovod_missing():
        raise NoHorovod(missing)
    with Nodes() as nodes:
        options = ["--every", str(every), "--pace", str(pace), "--seed", str(seed)]
        launcher = Horovod(nodes, options)
        return through_kills(launcher, nodes, kills, seed, steps, len(HOSTS), timeout)


class Horovod:
    """One horovodrun, which starts a rank on each host, and starts it again."""

    name, names, alone = "horovod", HOSTS, False

    def __init__(self, nodes: Nodes, options: Sequence[str]) -> None:
        self.nodes, self.typed = nodes, list[str]()
        steps = nodes.folder / LAST_STEP
        self.options = ["--folder", str(nodes.folder), "--steps", str(steps), *options]

    def begin(self) -> None:
        """Write down the hosts, and start the job."""
        hosts = self.nodes.folder / "hosts.txt"
        hosts.write_text("".join(f"{host}:1\n" for host in HOSTS))
        least, late = math.ceil(COOLDOWN), math.ceil(GLOO_SECONDS)
        words = [
            "horovodrun", "-np", "2", "--min-np", "1", "--max-np", "2",
            "--host-discovery-script", "sh cluster/discover_hosts.sh",
            "--blacklist-cooldown-range", str(least), str(least + 1),
            "--network-interface", INTERFACE, "--gloo-timeout-seconds", str(late),
            "python", "cluster/elastic_horovod.py", *self.options,
        ]  # fmt: skip
        command = Command(words, {"HOSTS_FILE": str(hosts)})
        self.typed.append(f"$ {command}")
        self.nodes.start("horovodrun", command)

    def kill(self, name: str) -> None:
        """SIGKILL the rank that runs on a host."""
        for process in psutil.Process(self.nodes.pids["horovodrun"]).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if process.environ().get("HOROVOD_HOSTNAME") == name:
                    kill_tree(process.pid)

    def again(self, name: str) -> None:
        """Nothing to do: Horovod finds the host again by itself."""

    def check(self, down: Sequence[str]) -> None:
        """Raise JobFailed where horovodrun has ended."""
        if (code := self.nodes.ended("horovodrun")) is not None:
            raise self.nodes.failed(f"horovodrun ended with exit code {code}.")

    def finish(self, seconds: float) -> None:
        """Wait until horovodrun has ended well."""
        self.nodes.finish(["horovodrun"], seconds)

    def log(self) -> list[str]:
        """What horovodrun and the ranks wrote of failures and of hosts."""
        return [line for line in self.nodes.lines("horovodrun") if TELLING.search(line)]
