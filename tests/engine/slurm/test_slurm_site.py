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

from helpers.engine.slurm import processes, settings
from helpers.engine.slurm import site as sites
from helpers.engine.slurm.site import Site
from tests.slurm import needs_slurm, nothing_left, site_for_a_test

pytestmark = [pytest.mark.real, needs_slurm()]
slurm = site_for_a_test


def soon(happens: Callable[[], object], seconds: float = 150.0) -> bool:
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(happens())


def of(folder: Path) -> list[psutil.Process]:
    """Every process that a site has or had, its keeper included."""
    return [one for one in processes.leftovers(folder) if processes.runs(one.pid)]


def test_a_job_runs_on_both_nodes(slurm: Site) -> None:
    call = ["srun", "-N2", "--ntasks-per-node=2", "printenv", "SLURMD_NODENAME"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60)
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["n1", "n1", "n2", "n2"])
    assert not nothing_left(slurm)


def test_a_killed_node_ends_its_jobs_at_once_and_comes_back(slurm: Site) -> None:
    job = subprocess.Popen(
        ["srun", "-N2", "-n4", "sleep", "100"], stderr=subprocess.PIPE, text=True
    )
    assert soon(lambda: len(slurm.processes("n2")) >= 2)  # the step and a task
    ours = slurm.processes("n2")
    slurm.kill_node("n2")
    assert not any(processes.runs(one.pid) for one in ours)
    assert slurm.dead() == ["n2"]  # whatever SLURM itself says just now
    assert soon(lambda: slurm.nodes().get("n2", "").startswith("down"))
    told = job.communicate(timeout=30)[1]
    assert job.returncode and "Node failure on n2" in told
    assert not nothing_left(slurm)
    assert soon(lambda: "n2" not in slurm._guards())  # SLURM was told before that
    with pytest.raises(ValueError, match="n2 does not run; "):
        slurm.kill_node("n2")
    slurm.revive()
    assert slurm.dead() == []
    assert soon(lambda: slurm.nodes() == {"n1": "idle", "n2": "idle"})


def test_what_a_job_leaves_behind_is_seen(slurm: Site) -> None:
    script = "setsid sleep 98 > /dev/null 2>&1 < /dev/null &"  # out of SLURM's sight
    subprocess.run(["srun", "-N1", "-w", "n2", "bash", "-c", script], timeout=60, check=True)
    assert nothing_left(slurm, within=0.5)
    assert soon(lambda: [one.name() for one in slurm.processes()] == ["sleep"])
    for one in slurm.processes():
        one.kill()
    assert not nothing_left(slurm)


def test_it_listens_on_this_machine_only(slurm: Site) -> None:
    tree = [one for pid in slurm._guards().values() for one in processes.tree(pid)]
    doors = {
        link.laddr.ip
        for one in tree
        for link in one.net_connections("inet")
        if link.status == psutil.CONN_LISTEN
    }
    assert doors == {"127.0.0.1"}
    assert slurm.folder.stat().st_mode & 0o777 == 0o700


def test_its_commands_are_found_from_inside_a_job(
    slurm: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found = slurm.environment()
    assert found["SLURM_CONF"] == str(slurm.conf) and "SLURM_JOB_ID" not in found


# --- ends -----------------------------------------------------------------------------------------

START_AND_WAIT = """
import sys, time
from helpers.engine.slurm import site
started = site.start(tied=True)
print(started.folder, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("victim", ["starter", pytest.param("keeper", marks=pytest.mark.thorough)])
def test_nothing_outlives_a_kill(victim: str) -> None:
    root = Path(__file__).resolve().parents[3]
    env = {**os.environ, "PYTHONPATH": str(root)}
    starter = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT], env=env, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    site = Site(Path(starter.stdout.readline().strip()))
    job = subprocess.Popen(
        ["srun", "-N2", "sleep", "97"], env=site.environment(), stderr=subprocess.DEVNULL
    )
    assert soon(lambda: [one.name() for one in site.processes()].count("sleep") == 2)
    keeper = site._keeper()
    assert keeper is not None
    ours = [keeper, *processes.tree(keeper.pid)]
    names = {one.name() for one in ours}
    assert {"slurmctld", "slurmd", "slurmstepd", "munged", "sleep"} <= names
    if victim == "starter":
        starter.kill()
        assert soon(lambda: not site.folder.exists())
    else:
        keeper.kill()
    assert soon(lambda: not any(processes.runs(one.pid) for one in ours)), ours
    site.stop()
    assert not site.folder.exists() and not of(site.folder)
    job.kill()
    job.communicate()
    starter.kill()
    starter.wait()
    starter.stdout.close()


@pytest.mark.thorough
def test_what_a_killed_site_left_is_found_and_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Keeper and guards at once, as a machine out of memory may do it: `down` ends the rest."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    site = sites.up()
    job = subprocess.Popen(
        ["srun", "-N2", "sleep", "96"], env=site.environment(), stderr=subprocess.DEVNULL
    )
    assert soon(lambda: [one.name() for one in site.processes()].count("sleep") == 2)
    keeper = site._keeper()
    assert keeper is not None
    ours = [one for one in processes.tree(keeper.pid) if one.pid not in site._guards().values()]
    for pid in [keeper.pid, *site._guards().values()]:
        os.kill(pid, signal.SIGSTOP)  # so that none of them notices another's end
    for pid in [*site._guards().values(), keeper.pid]:
        os.kill(pid, signal.SIGKILL)
    assert soon(lambda: not processes.runs(keeper.pid))
    assert not site.is_up() and sites.found() is None
    assert any(processes.runs(one.pid) for one in ours)
    shell = subprocess.Popen(["sleep", "95"], env=site.environment())  # a learner's: it stays
    assert sites.down()
    assert not any(processes.runs(one.pid) for one in ours)
    assert not site.folder.exists() and shell.poll() is None
    shell.kill()
    shell.wait()
    job.kill()
    job.communicate()
    assert not sites.down()


# --- the user's site ------------------------------------------------------------------------------


@pytest.mark.thorough
def test_up_stays_and_is_found_until_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    assert sites.found() is None and "SLURM_CONF" not in sites.environment()
    root = Path(__file__).resolve().parents[3]
    code = "from helpers.engine.slurm import site; print(site.up().folder)"
    env = {**os.environ, "PYTHONPATH": str(root)}
    call = [sys.executable, "-c", code]
    try:
        one = subprocess.run(call, env=env, capture_output=True, text=True, timeout=100)
        site = sites.found()  # although the process that started it has ended
        assert site is not None and str(site.folder) == one.stdout.strip()
        site.kill_node("n1")
        assert sites.up() == site  # the same, mended
        assert set(site.nodes().values()) == {"idle"}
        assert sites.environment()["SLURM_CONF"] == str(site.conf)
        monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
        assert sites.environment()["SLURM_CONF"] == "/etc/slurm/slurm.conf"
    finally:
        assert sites.down()
    assert not site.folder.exists() and not of(site.folder) and sites.found() is None


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
    assert not any(folder.exists() or of(folder) for folder in made)


def test_without_slurm_it_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.setup.system.missing_slurm_tools", lambda: ["SLURM", "munge"])
    with pytest.raises(sites.SiteFailed, match=r"SLURM and munge missing: .*install"):
        sites.start(tied=True)
