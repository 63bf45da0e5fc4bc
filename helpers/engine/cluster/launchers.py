"""Launchers on this machine, or inside an allocation: torchrun's agents and horovodrun.

Each is a process of its own that outlives the notebook: a new kernel finds it by its number.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil

from helpers.engine.cluster import slurm
from helpers.engine.cluster.slurm import State

_END_SECONDS = 5.0
_PRIVATE = re.compile(
    r"(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|MASTER_ADDR|MASTER_PORT|TF_CONFIG)$"
    r"|PMI_|HOROVOD_|TORCHELASTIC_"
)


class Job(Protocol):
    """A run, as its launcher has it. name, begins: as it is told, such as "Job 12"."""

    name: str
    begins: str

    def state(self) -> State:
        """Where it stands."""

    def end(self) -> None:
        """End it, and wait a little until it has."""

    def leave(self) -> None:
        """Its ranks have ended well: see that the launcher does too."""


class SlurmRun:
    """A job of SLURM's."""

    def __init__(self, number: str) -> None:
        self.number, self.name = number, f"Job {number}"
        self.begins = f"Submitted as job {number}"

    def state(self) -> State:
        return slurm.state(self.number)

    def end(self) -> None:
        if self.state().stage == "ended":
            return
        slurm.call("scancel", self.number)
        until = time.monotonic() + _END_SECONDS
        while self.state().stage != "ended" and time.monotonic() < until:
            time.sleep(0.2)

    def leave(self) -> None:
        """SLURM ends a job whose ranks have ended."""


class LocalRun:
    """Launchers that were started here. processes: (id, when it began) of each."""

    def __init__(self, name: str, processes: Sequence[tuple[int, float]]) -> None:
        self.name, self.begins = f"Run {name}", f"Started as {name}"
        self.processes = list(processes)
        self.children: dict[int, subprocess.Popen[bytes]] = {}

    def living(self) -> list[psutil.Process]:
        """The launchers that run."""
        for child in self.children.values():
            child.poll()  # or it would stay a zombie
        found = []
        for pid, began in self.processes:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                same = abs(process.create_time() - began) < 1.0
                if same and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def state(self) -> State:
        if self.living():
            return State("runs", "RUNNING")
        codes = sorted({c.returncode for c in self.children.values()} - {None, 0})
        return State("ended", "ENDED", f"exit code {codes[0]}" if codes else "")

    def leave(self) -> None:
        psutil.wait_procs(self.living(), _END_SECONDS)
        self.end()

    def end(self) -> None:
        tree = self.living()
        for top in list(tree):
            with contextlib.suppress(psutil.Error):
                tree += top.children(recursive=True)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for each in tree:
                with contextlib.suppress(psutil.Error):
                    each.send_signal(number)
            _, tree = psutil.wait_procs(tree, _END_SECONDS)
        self.living()


def start_local(folder: Path, script: Path, launcher: str, nodes: int, name: str) -> LocalRun:
    """Start a launcher's file: torchrun's on every node, horovodrun's once."""
    environment = {n: v for n, v in os.environ.items() if not _PRIVATE.match(n)}
    command, places = ["bash", str(script)], [f"node{number}" for number in range(nodes)]
    if launcher == "horovod":
        places = [""]
    elif in_allocation():
        step = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--overlap"]
        command, places = [*step, "--kill-on-bad-exit=1", *command], [""]
    run = LocalRun(name, [])
    with (folder / "job.log").open("ab") as log:
        for place in places:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**environment, **({"COURSE_NODE": place} if place else {})},
                start_new_session=True,  # a killed or interrupted kernel does not take it along
            )  # fmt: skip
            run.children[child.pid] = child
            run.processes.append((child.pid, psutil.Process(child.pid).create_time()))
    return run


def in_allocation() -> bool:
    """Whether this process has nodes of SLURM's to itself, as after `salloc` or `idev`."""
    return "SLURM_JOB_ID" in os.environ


def job_of(noted: dict[str, Any]) -> Job:
    """A run's job, from what its folder says."""
    if noted["launcher"] == "slurm":
        return SlurmRun(str(noted["job"]))
    return LocalRun(str(noted["job"]), [tuple(pair) for pair in noted["processes"]])
