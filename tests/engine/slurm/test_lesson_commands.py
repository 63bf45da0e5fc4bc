"""What lesson 17 tells its reader to type is typed here, on a real SLURM of two nodes."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from helpers.course.setup.places import ROOT
from helpers.course.setup.state import horovod_missing
from helpers.engine.slurm.site import Site
from tests.slurm import needs_slurm, nothing_left, site_for_a_test, typed

slurm = site_for_a_test
LESSON = ROOT / "solutions" / "17_onto_a_cluster.ipynb"
# Tried elsewhere: the site has its own tests, and the tests have their environment.
ELSEWHERE = ("./course cluster", "source ")
SUM = "the sum of 1 to {size} is {total}"


def blocks(language: str) -> list[list[str]]:
    """The lines of the lesson's blocks of a language."""
    cells = nbformat.read(LESSON, 4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [found.splitlines() for found in re.findall(rf"```{language}\n(.*?)```", text, re.S)]


def lines(start: str) -> list[str]:
    """The lines to type that begin with a word."""
    return [line for block in blocks("sh") for line in block if line.startswith(start)]


def test_every_line_is_known_and_every_file_is_there() -> None:
    said = [line for block in blocks("sh") for line in block]
    known = (*ELSEWHERE, "sinfo", "srun ", "sbatch cluster/", "squeue --me", "bash cluster/")
    assert said and all(line.startswith(known) for line in said)
    named = {name for line in said for name in re.findall(r"cluster/\S+", line)}
    assert named and all((ROOT / name).is_file() for name in named)


@pytest.mark.real
@pytest.mark.thorough
@needs_slurm()
def test_a_first_job_is_sent_and_looked_at(slurm: Site, tmp_path: Path) -> None:
    """All of the first block, but that it waits for the job before it looks at the log."""
    (block,) = [block for block in blocks("sh") if "sinfo" in block]
    todo = [line for line in block if not line.startswith(ELSEWHERE)]
    sinfo, hosts, sent, _ = typed(todo, slurm, tmp_path, PYTHONPATH=str(ROOT))
    assert "idle" in sinfo and len(hosts.splitlines()) == 2
    assert re.fullmatch(r"Submitted batch job \d+\n", sent)
    typed(["while squeue --me --noheader | grep -q .; do sleep 0.2; done"], slurm, tmp_path)
    (log,) = tmp_path.glob("run-*.log")
    told = log.read_text()
    assert [told.count(f"rank {rank} of 4 on n{1 + rank // 2}: ") for rank in range(4)] == [1] * 4
    assert told.count(SUM.format(size=4, total=10)) == 4
    assert not nothing_left(slurm, 20)


@pytest.mark.real
@needs_slurm()
@pytest.mark.thorough
def test_the_other_launchers_say_the_same(slurm: Site, tmp_path: Path) -> None:
    others = [line for line in lines("sbatch") + lines("bash") if "cluster/run.slurm" not in line]
    assert len(others) == 3
    for line in others:
        if "horovodrun" in line and horovod_missing():
            continue
        line = line.replace("sbatch ", "sbatch --wait ")
        (told,) = typed([line], slurm, tmp_path, PYTHONPATH=str(ROOT))
        told += "".join(log.read_text() for log in tmp_path.glob("torchrun-*.log"))
        size = 2 if "torchrun.sh" in line else 4
        assert told.count(SUM.format(size=size, total=size * (size + 1) // 2)) >= size, line
    assert not nothing_left(slurm, 20)
