"""A site: SLURM with two nodes on this machine, started, asked and ended.

    site = up()               # stays until down(), and the engine finds it by itself
    site = start(tied=True)   # ends with this process, however that ends
    subprocess.run(["srun", "-N2", "hostname"], env=site.environment())

It works for root and for an ordinary user, whose jobs then run as that user. A site's folder lies
in /tmp: munge's socket must have a short path. Each of SLURM's daemons has a guard
(`helpers.engine.guard`), so that a node dies with all that its jobs have started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from helpers.course.setup import places, system
from helpers.course.setup.lock import locked
from helpers.course.setup.machine import without_name
from helpers.engine.slurm import settings

GUARD = "helpers.engine.guard"
PREFIX = "course-slurm-"  # of the names of sites' folders
BUSY = "Another command starts SLURM; waiting for it."
LOOK = 0.1  # seconds between two questions whether it is up
START = 120.0  # seconds until both nodes are idle, which takes one or two: it ends what hangs
RESTARTS = 3  # of daemons that have ended, until that is an error
# Errors that a site of one's own always shows: nothing to take over, and no PMIx.
_USUAL = ("state file", "Trying backup state", "pmix", "MPI:")
_USABLE = {"idle", "mix", "alloc", "comp"}
_ties: dict[Path, tuple[int, int]] = {}  # a pipe a folder, which closes with this process


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
        """This process's environment, with SLURM's commands directed at this site.

        Without what a job's own has: a site may be started from inside a job.
        """
        kept = {name: text for name, text in os.environ.items() if not name.startswith("SLURM_")}
        return {**kept, "SLURM_CONF": str(self.conf)}

    def guards(self) -> dict[str, psutil.Process]:
        """The processes that guard its daemons, by the daemon's name, as far as they run."""
        found = {}
        for name in settings.commands(self.folder):
            with contextlib.suppress(OSError, ValueError, psutil.Error):
                guard = psutil.Process(int((self.folder / f"{name}.guard").read_text()))
                if str(self.folder) in guard.cmdline():
                    found[name] = guard
        return found

    def nodes(self) -> dict[str, str]:
        """What SLURM says of each node ("idle", "mix", "down*", ...); {} if it does not answer."""
        lines = self._ask("sinfo", "--noheader", "--Node", "--format=%N %t")
        return dict(line.split() for line in lines if len(line.split()) == 2)

    def dead(self) -> list[str]:
        """Nodes without a slurmd, also those of which SLURM has not noticed yet."""
        guards = self.guards()
        return [node for node in settings.NODES if node not in guards]

    def jobs(self) -> list[str]:
        """Jobs that wait or run, as squeue shows them; [] where there are none."""
        told = self._ask("squeue")
        return told if len(told) > 1 else []

    def start_missing(self) -> None:
        """Start each daemon that does not run, under a guard of its own."""
        env = self.environment()
        env["PYTHONPATH"] = f"{places.ROOT}:{env.get('PYTHONPATH', '')}".rstrip(":")
        env["PATH"] = os.pathsep.join([env.get("PATH", os.defpath), *system.SBIN])
        running, tie = self.guards(), _ties.get(self.folder)
        guard = [sys.executable, "-m", GUARD, str(self.folder), *(["tied"] if tie else [])]
        for name, command in settings.commands(self.folder).items():
            if name in running:
                continue
            with (self.folder / f"{name}.out").open("ab") as out:
                started = subprocess.Popen(
                    [*guard, *command], stdin=tie[0] if tie else subprocess.DEVNULL,
                    stdout=out, stderr=out, env=env, cwd="/", start_new_session=True,
                )  # fmt: skip
            (self.folder / f"{name}.guard").write_text(f"{started.pid}\n", encoding="utf-8")

    def revive(self) -> None:
        """Start what does not run, and wait until every node takes jobs.

        Raises SiteFailed, with SLURM's own last words.
        """
        end, starts = time.monotonic() + START, 0
        while time.monotonic() < end:
            if len(self.guards()) == len(settings.commands(self.folder)):
                states = self.nodes()
                if len(states) == len(settings.NODES) and set(states.values()) <= _USABLE:
                    return
            elif starts > RESTARTS:
                break
            else:
                starts += 1
                self.start_missing()
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
        """End it with all of its jobs, and remove its folder; also what killed guards left."""
        guards = list(self.guards().values())
        for guard in guards:
            with contextlib.suppress(psutil.Error):
                guard.terminate()
        psutil.wait_procs(guards, timeout=10)
        for end in _ties.pop(self.folder, ()):
            os.close(end)
        left = leftovers(self)
        for one in left:
            with contextlib.suppress(psutil.Error):
                one.kill()
        psutil.wait_procs(left, timeout=5)
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


def leftovers(site: Site) -> set[psutil.Process]:
    """What still runs of a site without its guards: daemons, tasks of its jobs, and their steps.

    A shell that names the site with SLURM_CONF, or one that salloc gave, is none of these.
    """
    left = set()
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            env, step = one.environ(), one.parent()
            ours = one.name().startswith(("slurm", "munged")) or GUARD in one.cmdline()
            if env.get("SLURM_CONF") == str(site.conf) and (ours or "SLURMD_NODENAME" in env):
                left |= {one, *one.children(recursive=True)}
                # A step has no variables of its own, but its tasks have.
                left |= {step} if step is not None and step.name() == "slurmstepd" else set()
    return left


# --- starting and ending --------------------------------------------------------------------------


def missing() -> str:
    """Why no site can be started here and how to have it; "" where one can."""
    if sys.platform != "linux":
        return f"SLURM runs on Linux, and this is {sys.platform}."
    tools = system.missing_slurm_tools()
    if not tools:
        return without_name()
    return f"{' and '.join(tools)} missing: {system.install_line(tools)}"


def start(tied: bool) -> Site:
    """Start a new site and wait until its nodes are idle; tied, it ends with this process.

    Otherwise it is the user's from now on. Raises SiteFailed.
    """
    if why := missing():
        raise SiteFailed(why)
    site = Site(Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp")))
    if tied:
        _ties[site.folder] = os.pipe()
    else:  # before anything runs
        _record().write_text(f"{site.folder}\n", encoding="utf-8")
    settings.write(site.folder)
    try:
        site.revive()
    except BaseException:
        site.stop()
        raise
    return site


def up() -> Site:
    """The user's site: the one that runs, mended where a node is down, or a new one.

    It stays until `down`, whoever started it. Raises SiteFailed.
    """
    with locked(_record().with_suffix(".lock"), BUSY):
        if site := found():
            site.revive()
            return site
        _forget()
        return start(tied=False)


def down() -> bool:
    """End the user's site, or what is left of it; returns whether there was one."""
    with locked(_record().with_suffix(".lock"), BUSY):
        return _forget()


def found() -> Site | None:
    """The user's site, if any of it runs."""
    site = _recorded()
    return site if site and site.guards() else None


def environment() -> dict[str, str]:
    """This process's environment, in which SLURM's commands find a SLURM without being told.

    SLURM_CONF that is set already stands. Otherwise the user's site, if it is up, is what they
    find; otherwise what the machine itself is set up for.
    """
    site = None if os.environ.get("SLURM_CONF") else found()
    return site.environment() if site else dict(os.environ)


def _record() -> Path:
    """The file that names the user's site."""
    return places.cache() / "slurm"


def _recorded() -> Site | None:
    try:
        folder = Path(_record().read_text(encoding="utf-8").strip())
    except OSError:
        return None
    return Site(folder) if folder.name.startswith(PREFIX) else None


def _forget() -> bool:
    site = _recorded()
    if site is not None:
        site.stop()
    _record().unlink(missing_ok=True)
    return site is not None
