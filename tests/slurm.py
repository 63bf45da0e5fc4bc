"""A real SLURM of two nodes for tests: started once a session, mended for each test that has it.

    from tests.slurm import needs_slurm, site_for_a_test

    pytestmark = needs_slurm()
    slurm = site_for_a_test  # the fixture

    def test_a_job(slurm: Site) -> None:
        subprocess.run(["srun", "-N2", "hostname"], check=True)

SLURM_CONF names the site while a test has it. `kill_node(slurm, "n2")` kills a node, and the next
test finds it alive again. `processes(slurm)` is what jobs have running, [] where nothing is left.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from helpers.course.setup import places
from helpers.engine.slurm import site as sites
from helpers.engine.slurm.settings import NODES
from helpers.engine.slurm.site import Site


def needs_slurm() -> pytest.MarkDecorator:
    """A mark that skips tests, with the reason, where no SLURM can be started."""
    why = sites.missing()
    return pytest.mark.skipif(bool(why), reason=f"no SLURM: {why}")


@functools.cache
def shared_site() -> Site:
    """The site that the tests of this process share; it ends with the process.

    Where it does not start although everything is installed, tests that need it are skipped too:
    containers forbid many things.
    """
    try:
        return sites.start(tied=True)
    except sites.SiteFailed as error:
        return pytest.skip(f"no SLURM: {error}")


@pytest.fixture
def site_for_a_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The shared site, both nodes idle, with SLURM_CONF set; its jobs are over afterwards."""
    site = shared_site()
    clear(site)
    site.revive()
    end = time.monotonic() + 60
    while set(site.nodes().values()) != {"idle"}:  # a job's end is not over at once
        assert time.monotonic() < end, site.nodes()
        time.sleep(0.05)
    monkeypatch.setenv("SLURM_CONF", str(site.conf))
    yield site
    clear(site)


def clear(site: Site) -> None:
    """Cancel all jobs."""
    if site.guards():
        call = ["scancel", f"--user={os.geteuid()}"]
        subprocess.run(call, env=site.environment(), timeout=60, check=True)


def processes(site: Site, *nodes: str) -> list[psutil.Process]:
    """What jobs have running on nodes, on all where none is named; not SLURM's daemons."""
    guards = site.guards()
    below = [
        one
        for node in nodes or NODES
        if node in guards
        for one in guards[node].children(recursive=True)
    ]
    return [one for one in below if runs(one) and one.name() != "slurmd"]


def runs(process: psutil.Process) -> bool:
    """Whether a process has not ended; one that nobody has collected yet has."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def kill_node(site: Site, node: str) -> None:
    """End a node as a power cut would, and tell SLURM, which itself would give it a minute."""
    guard = site.guards()[node]
    below = guard.children(recursive=True)
    for one in below:
        one.suspend()  # none of them lives to see another one die
    for one in below:
        one.kill()
    psutil.wait_procs([guard], 10)
    call = ["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=killed"]
    subprocess.run(call, env=site.environment(), timeout=30, check=True)


def nothing_left(site: Site, within: float = 10.0) -> list[str]:
    """What jobs have running after so many seconds, in words; [] as soon as there is nothing."""
    end = time.monotonic() + within
    while (left := processes(site)) and time.monotonic() < end:
        time.sleep(0.05)
    words = []
    for one in left:
        with contextlib.suppress(psutil.Error):  # it has ended now
            words.append(f"{one.pid} {one.name()}")
    return words


def typed(lines: Sequence[str], site: Site, folder: Path, **environment: str) -> list[str]:
    """What each line says that is typed in a shell; NUMBER stands for the job submitted last.

    Files of the course are found from `folder` as from the course's own. Fails with what a line
    said where it fails.
    """
    bin_ = os.path.dirname(sys.executable)
    env = {**site.environment(), "GLOO_SOCKET_IFNAME": "lo", **environment}
    env["PATH"] = f"{environment.get('PATH', bin_)}:{bin_}:{os.environ['PATH']}"
    if not (folder / "cluster").exists():
        (folder / "cluster").symlink_to(places.ROOT / "cluster")
    said: list[str] = []
    number = "NUMBER"
    for line in lines:
        call = ["bash", "-c", line.replace("NUMBER", number)]
        done = subprocess.run(
            call, cwd=folder, env=env, capture_output=True, text=True, timeout=200
        )
        logs = "\n".join(log.read_text() for log in sorted(folder.glob(f"*-{number}.log")))
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}\n{logs}"
        if found := re.search(r"Submitted batch job (\d+)", done.stdout):
            number = found[1]
        said.append(done.stdout)
    return said
