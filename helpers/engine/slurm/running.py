"""A site that runs: it is asked, a node is killed and mended, and it is ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from helpers.engine.slurm import processes, settings

LOOK = 0.1  # seconds between two questions whether it is up
START = 120.0  # seconds until both nodes are idle, which takes one or two: it ends what hangs
RESTARTS = 3  # of daemons that have ended, until that is an error

TIES: dict[Path, int] = {}  # pipes by a site's folder: the end of this process closes them


class SiteFailed(Exception):
    """The site does not start; the message says why and what to do."""


@dataclass(frozen=True)
class Site:
    """A SLURM of its own in `folder`."""

    folder: Path

    @property
    def conf(self) -> Path:
        """Its slurm.conf: what SLURM_CONF has to name."""
        return self.folder / settings.CONF

    def environment(self) -> dict[str, str]:
        """This process's environment, with SLURM's commands directed at this site."""
        return {**clean(os.environ), "SLURM_CONF": str(self.conf)}

    def is_up(self) -> bool:
        """Whether its keeper runs. Nodes may be down all the same: see `nodes`."""
        return self._keeper() is not None

    def nodes(self) -> dict[str, str]:
        """What SLURM says of each node ("idle", "mix", "down*", ...); {} if it does not answer."""
        lines = self._ask("sinfo", "--noheader", "--Node", "--format=%N %t")
        pairs = (line.split() for line in lines)
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    def dead(self) -> list[str]:
        """Nodes without a slurmd, also those of which SLURM has not noticed yet."""
        guards = self._guards()
        return [
            node
            for node in settings.NODES
            if node not in guards
            or not any(processes.is_daemon(one, node) for one in processes.tree(guards[node]))
        ]

    def jobs(self) -> list[str]:
        """Jobs that wait or run, as squeue shows them; [] where there are none."""
        told = self._ask("squeue")
        return told if len(told) > 1 else []

    def processes(self, node: str = "") -> list[psutil.Process]:
        """What jobs have running on a node, on all of them where none is named.

        It has each job's steps, their tasks, and what a task started and left; not SLURM's daemons.
        """
        found: list[psutil.Process] = []
        for name, pid in self._guards().items():
            if name in settings.NODES and node in ("", name):
                found += [one for one in processes.tree(pid) if not processes.is_daemon(one, name)]
        return found

    def kill_node(self, node: str) -> None:
        """End a node as a power cut would: its slurmd and everything on it, with signal 9.

        Raises ValueError for a node that does not run.
        """
        pid = self._guards().get(node)
        if pid is None:
            raise ValueError(f"{node} does not run; {', '.join(self._guards())} do.")
        processes.kill(processes.tree(pid))

    def revive(self) -> None:
        """Start what does not run, and wait until every node takes jobs. Raises SiteFailed."""
        if not self.is_up():
            raise SiteFailed("The site has ended. ./course cluster up starts a new one.")
        self.wait(restarts=RESTARTS)

    def wait(self, restarts: int = 0) -> None:
        """Wait until every node takes jobs; so often have what has ended started again.

        Raises SiteFailed, with SLURM's own last words.
        """
        end = time.monotonic() + START
        asked = -1.0
        while time.monotonic() < end:
            keeper = self._keeper()
            if keeper is None:
                break
            if len(self._guards()) == len(settings.commands(self.folder)):
                states = {} if self.dead() else self.nodes()
                if len(states) == len(settings.NODES) and set(states.values()) <= _USABLE:
                    return
            elif time.monotonic() - asked > 1:
                if not restarts:
                    break
                restarts, asked = restarts - 1, time.monotonic()
                keeper.send_signal(signal.SIGHUP)
            time.sleep(LOOK)
        raise SiteFailed(f"SLURM does not start on this machine.\n{self.last_words()}")

    def last_words(self) -> str:
        """What the daemons said last, errors first."""
        lines = [
            f"{log.stem}: {line}"
            for log in sorted(self.folder.glob("*.out"))
            for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
            if not any(usual in line for usual in _USUAL)
        ]
        wrong = [line for line in lines if "error" in line.lower() or "fatal" in line]
        return "\n".join((wrong or lines)[-12:])

    def stop(self) -> None:
        """End it with all of its jobs, and remove its folder; also what a killed keeper left."""
        keeper = self._keeper()
        if keeper is not None:
            keeper.terminate()
            with contextlib.suppress(psutil.TimeoutExpired):
                keeper.wait(10)
        if tie := TIES.pop(self.folder, None):
            os.close(tie)
        processes.kill(processes.leftovers(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ask(self, *command: str) -> list[str]:
        """The lines that one of SLURM's commands prints; [] where it has no answer."""
        try:
            told = subprocess.run(
                command, env=self.environment(), capture_output=True, text=True, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return told.stdout.splitlines()

    def _keeper(self) -> psutil.Process | None:
        pid = self._noted().get("keeper")
        try:
            found = psutil.Process(pid) if isinstance(pid, int) else None
            return found if found and str(self.folder) in found.cmdline() else None
        except psutil.Error:
            return None

    def _guards(self) -> dict[str, int]:
        """Process ids of those who guard a daemon, by its name."""
        guards = self._noted().get("guards") if self.is_up() else None
        return (
            {n: p for n, p in guards.items() if processes.runs(p)}
            if isinstance(guards, dict)
            else {}
        )

    def _noted(self) -> dict[str, object]:
        try:
            noted = json.loads((self.folder / settings.PIDS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}


# Errors that a site of one's own always shows: nothing to take over, and no PMIx.
_USUAL = ("state file", "Trying backup state", "pmix", "MPI:")
_USABLE = {"idle", "mix", "alloc", "comp"}


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what a job's own has: a site may be started from inside a job."""
    return {name: value for name, value in environ.items() if not name.startswith("SLURM_")}
