"""Where a job of two nodes runs from here: a SLURM, virtual hosts, or processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import helpers
from helpers.engine.comm import Comm
from helpers.engine.hosts import namespaces
from helpers.engine.slurm import site as sites
from helpers.engine.slurm.site import Site, SiteFailed
from helpers.lessons.cluster.experiments import cluster_here
from helpers.lessons.cluster.experiments.cluster_here import filled_in, here
from tests.slurm import needs_slurm, site_for_a_test

slurm = site_for_a_test


def nobody(comm: Comm) -> int:
    return comm.rank


@pytest.mark.thorough
@pytest.mark.real
@needs_slurm()
def test_the_course_s_own_slurm_is_taken_and_what_was_sent_is_shown(slurm: Site) -> None:
    found = here()
    assert found.slurm and found.words == "Jobs go to SLURM, whose nodes are n[1-2]."
    ran = helpers.run(nobody, **found.options, timeout=60, show=False)
    assert list(ran) == [0, 1, 2, 3] and ran.job.isdigit()
    told = filled_in(ran).splitlines()
    assert "- #SBATCH --output=run-%j.log" in told and "+ #SBATCH --output=RUN/job.log" in told
    assert '- set -- "$@"' in told and "+ set -- -m helpers.engine.cluster.rank RUN" in told
    assert str(Path.home()) not in "".join(told)


def test_a_cluster_of_somebody_else_s_is_taken_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setattr(cluster_here, "answering", lambda: "c101-[001-090]")
    monkeypatch.setattr(sites, "missing", lambda: "Not here.")
    monkeypatch.setattr(namespaces, "missing", lambda: "")
    assert not here().slurm
    assert here(theirs=True).words == "Jobs go to SLURM, whose nodes are c101-[001-090]."


def test_without_slurm_there_are_hosts_or_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(tied: bool) -> Site:
        raise SiteFailed("It does not start.")

    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr(sites, "found", lambda: None)
    monkeypatch.setattr(sites, "missing", lambda: "")
    monkeypatch.setattr(sites, "start", fails)
    monkeypatch.setattr(namespaces, "missing", lambda: "")
    found = here()
    assert not found.slurm and found.words.startswith("It does not start.\nJobs go to 2 virtual")
    assert found.options == {"engine": "hosts", "hosts": 2, "ranks_per_host": 2}
    monkeypatch.setattr(namespaces, "missing", lambda: "No namespaces.")
    assert here().options == {"ranks": 4}
    assert "Jobs go to processes instead." in here().words


def test_a_run_that_was_not_submitted_has_no_file() -> None:
    ran = helpers.run(nobody, ranks=1, engine="virtual", show=False)
    assert ran.job == "" and filled_in(ran).startswith("No file was submitted")
