"""A SLURM of one's own: it starts, runs jobs, loses a node and gets it back, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from helpers.engine.slurm import settings
from helpers.engine.slurm import site as sites
from helpers.engine.slurm.site import Site
from tests.slurm import kill_node, needs_slurm, nothing_left, processes, runs, site_for_a_test

pytestmark = [pytest.mark.real, needs_slurm()]
slurm = site_for_a_test
ROOT = Path(__file__).resolve().parents[3]


def soon(happens: Callable[[], object], seconds: float = 150.0) -> bool:
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(happens())


def tree(site: Site) -> list[psutil.Process]:
    """Every process of a site: guards, daemons, and what jobs have running."""
    guards = list(site.guards().values())
    return [one for guard in guards for one in [guard, *guard.children(recursive=True)]]


def sleeps(site: Site) -> subprocess.Popen[bytes]:
    """A job of a task a node, which runs."""
    call = ["srun", "-N2", "sleep", "97"]
    job = subprocess.Popen(call, env=site.environment(), stderr=subprocess.DEVNULL)
    assert soon(lambda: [one.name() for one in processes(site)].count("sleep") == 2)
    return job


def test_a_killed_node_ends_its_jobs_at_once_and_comes_back(slurm: Site) -> None:
    job = subprocess.Popen(
        ["srun", "-N2", "-n4", "sleep", "100"], stderr=subprocess.PIPE, text=True
    )
    assert soon(lambda: len(processes(slurm, "n2")) >= 2)  # the step and a task
    ours = processes(slurm, "n2")
    kill_node(slurm, "n2")
    assert not any(map(runs, ours))
    assert slurm.dead() == ["n2"]
    assert soon(lambda: slurm.nodes().get("n2", "").startswith("down"))
    told = job.communicate(timeout=30)[1]
    assert job.returncode and "Node failure on n2" in told
    assert not nothing_left(slurm)
    slurm.revive()
    assert slurm.dead() == []
    assert soon(lambda: slurm.nodes() == {"n1": "idle", "n2": "idle"})


def test_it_listens_on_this_machine_only(slurm: Site) -> None:
    doors = {
        link.laddr.ip
        for guard in slurm.guards().values()
        for one in guard.children()
        for link in one.net_connections("inet")
        if link.status == psutil.CONN_LISTEN
    }
    assert doors == {"127.0.0.1"}
    assert slurm.folder.stat().st_mode & 0o777 == 0o700


# --- ends -----------------------------------------------------------------------------------------

START_AND_WAIT = """
import time
from helpers.engine.slurm import site
print(site.start(tied=True).folder, flush=True)
time.sleep(600)
"""


def test_nothing_outlives_a_killed_starter() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with starter:
        assert starter.stdout is not None
        site = Site(Path(starter.stdout.readline().strip()))
        job = sleeps(site)
        ours = tree(site)
        names = {one.name() for one in ours}
        assert {"slurmctld", "slurmd", "slurmstepd", "munged", "sleep"} <= names
        starter.kill()
        assert soon(lambda: not any(map(runs, ours)) and not site.folder.exists())
        assert not sites.leftovers(site)
        job.kill()
        job.communicate()


@pytest.mark.thorough
def test_what_a_killed_site_left_is_found_and_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """All guards at once, as a machine out of memory may do it: `down` ends the rest."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    site = sites.up()
    job = sleeps(site)
    guards = list(site.guards().values())
    ours = [one for one in tree(site) if one not in guards]
    for guard in guards:
        guard.send_signal(signal.SIGKILL)
    psutil.wait_procs(guards, 10)
    assert sites.found() is None and any(map(runs, ours))
    shell = subprocess.Popen(["sleep", "95"], env=site.environment())  # a learner's: it stays
    assert sites.down()
    assert not any(map(runs, ours))
    assert not site.folder.exists() and shell.poll() is None
    for one in (shell, job):
        one.kill()
        one.communicate()
    assert not sites.down()


# --- the user's site ------------------------------------------------------------------------------


@pytest.mark.thorough
def test_up_stays_and_is_found_until_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    assert sites.found() is None and "SLURM_CONF" not in sites.environment()
    code = "from helpers.engine.slurm import site; print(site.up().folder)"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    call = [sys.executable, "-c", code]
    try:
        one = subprocess.run(call, env=env, capture_output=True, text=True, timeout=100)
        site = sites.found()  # although the process that started it has ended
        assert site is not None and str(site.folder) == one.stdout.strip()
        kill_node(site, "n1")
        assert sites.up() == site  # the same, mended
        assert set(site.nodes().values()) == {"idle"}
        assert sites.environment()["SLURM_CONF"] == str(site.conf)
        monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
        assert sites.environment()["SLURM_CONF"] == "/etc/slurm/slurm.conf"
        ours = tree(site)
    finally:
        assert sites.down()
    assert not site.folder.exists() and not any(map(runs, ours)) and sites.found() is None


@pytest.mark.thorough
def test_a_site_that_cannot_start_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[Path] = []

    def broken(folder: Path) -> None:
        made.append(folder)
        write(folder)
        conf = folder / settings.CONF
        conf.write_text(conf.read_text().replace("proctrack/linuxproc", "proctrack/none_such"))

    write = settings.write
    monkeypatch.setattr(settings, "write", broken)
    with pytest.raises(sites.SiteFailed, match="proctrack/none_such"):
        sites.start(tied=True)
    assert made and not any(folder.exists() or sites.leftovers(Site(folder)) for folder in made)


def test_without_slurm_it_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "helpers.course.setup.system.missing_slurm_tools", lambda: ["SLURM", "munge"]
    )
    with pytest.raises(sites.SiteFailed, match=r"SLURM and munge missing: .*install"):
        sites.start(tied=True)
