"""The processes of a site: what came from one, what is a job's, and what a killed site left."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import psutil

from helpers.engine.slurm import settings


def tree(pid: int) -> list[psutil.Process]:
    """All that came from a process, without itself; what has ended meanwhile is left out."""
    try:
        return [one for one in psutil.Process(pid).children(recursive=True) if runs(one.pid)]
    except psutil.Error:
        return []


def runs(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has collected yet has."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_daemon(process: psutil.Process, node: str) -> bool:
    """Whether a process is a node's slurmd; one that has ended counts as such."""
    try:
        command = process.cmdline()
    except psutil.Error:
        return True
    return os.path.basename(command[0] if command else "") == "slurmd" and node in command


def kill(processes: list[psutil.Process]) -> None:
    """End processes with signal 9, and wait until they have."""
    for one in processes:
        with contextlib.suppress(psutil.Error):
            one.kill()
    psutil.wait_procs(processes, timeout=5)


def leftovers(folder: Path) -> list[psutil.Process]:
    """What still runs of a site without its keeper: daemons, steps, and tasks of its jobs.

    A shell that names the site with SLURM_CONF, or one that salloc gave, is none of these.
    """
    roots = [one for one in psutil.process_iter() if is_of(one, folder)]
    return [*roots, *(below for one in roots for below in tree(one.pid))]


def is_of(process: psutil.Process, folder: Path) -> bool:
    """Whether a process is the site's: a daemon by its words or files, a task by its variables."""
    try:
        if process.pid == os.getpid():
            return False
        name = process.name()
        if name.startswith(("slurm", "munged")):
            words = " ".join(process.cmdline())
            files = [file.path for file in process.open_files()]
            return any(str(folder) in one for one in [words, *files])
        if "helpers.engine.slurm.keeper" in (command := process.cmdline()):
            return str(folder) in command
        env = process.environ()
        conf = env.get("SLURM_CONF")
        return conf == str(folder / settings.CONF) and "SLURMD_NODENAME" in env
    except (psutil.Error, OSError):
        return False
