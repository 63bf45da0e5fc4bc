"""`./course cluster up|down|status`, and what doctor says of SLURM and of the launchers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from helpers.course import cli, doctor
from helpers.course.setup import system
from helpers.engine.slurm import site as sites
from tests.slurm import kill_node, needs_slurm, runs


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A learner's own site stays as it is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SLURM_CONF", raising=False)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit status of a command, and all that it prints."""
    code = cli.main(["cluster", *arguments])
    return code, "".join(capsys.readouterr())


@pytest.mark.thorough
@pytest.mark.real
@needs_slurm()
def test_it_goes_up_is_used_by_hand_and_goes_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "status") == (1, "It is not up. ./course cluster up starts it.\n")
    try:
        code, told = said(capsys, "up")
        assert code == 0 and "SLURM is up: n1 idle, n2 idle, in " in told
        by_hand = re.findall(r"^    (.*)$", told, re.MULTILINE)
        assert by_hand[1:3] == ["sinfo", "srun -N2 hostname"]
        done = subprocess.run(["sh", "-ec", "\n".join(by_hand[:3])], capture_output=True, text=True)
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 4, done.stderr
        site = sites.found()
        assert site is not None
        subprocess.run(["sbatch", "--wrap", "sleep 90"], env=site.environment(), cwd="/tmp",
                       capture_output=True)  # fmt: skip
        code, told = said(capsys, "status")
        assert code == 0 and "SLURM runs: " in told and "wrap" in told
        kill_node(site, "n2")
        code, told = said(capsys, "status")
        assert code == 1 and "n2 does not run. ./course cluster up starts it again." in told
        code, told = said(capsys, "up")
        assert code == 0 and re.match("SLURM runs: n1 [a-z]+, n2 [a-z]+, in", told)
        ours = [one for guard in site.guards().values() for one in guard.children(recursive=True)]
    finally:
        code, told = said(capsys, "down")
    assert (code, told) == (0, "SLURM has ended with all its jobs, and its folder is gone.\n")
    assert not any(runs(one) for one in ours)
    assert said(capsys, "down") == (0, "No SLURM of the course's was up.\n")


@pytest.mark.parametrize("what", ["up", "status"])
def test_what_is_missing_is_told_with_the_way_to_have_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: name == "apt-get")
    code, told = said(capsys, what)
    assert code == 1
    assert "SLURM and munge missing: sudo apt-get install slurm-wlm munge" in told
    assert "lesson 17 runs on virtual hosts" in told


def test_doctor_says_what_a_missing_slurm_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "missing_slurm_tools", lambda: ["SLURM", "munge"])
    monkeypatch.setattr("sys.platform", "linux")
    found = doctor.find_slurm()
    assert not found.found and "Lesson 17 runs on virtual hosts. " in found.cost
    assert found.cost.endswith(system.install_line(["SLURM", "munge"]))


def test_doctor_names_launchers_that_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("helpers.course.setup.places.scripts", lambda: tmp_path)
    (tmp_path / "torchrun").touch()
    found = doctor.find_launchers()
    assert (found.found, found.what) == (False, "torchrun")
    assert found.cost == "Lesson 17 leaves out what horovodrun starts."
    (tmp_path / "horovodrun").touch()
    assert doctor.find_launchers().found
