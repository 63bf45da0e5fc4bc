"""The files of cluster/ and the lines of lesson 17, as a user types them on a real SLURM."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
import yaml

from helpers.course.setup.places import ROOT
from helpers.course.setup.state import horovod_missing
from helpers.engine.cluster.files import filled
from helpers.engine.slurm.site import Site
from tests.slurm import needs_slurm, nothing_left, site_for_a_test, typed

slurm = site_for_a_test
FILES = ("run.slurm", "torchrun.slurm", "frontera.slurm", "torchrun.sh", "horovodrun.sh")
SUM = r"""
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor(float(10 ** dist.get_rank()))
dist.all_reduce(total)
sys.stdout.write(f"sum {int(total)} {sys.argv[1:]}\n")  # in one piece
dist.destroy_process_group()
"""
IBRUN = """#!/bin/bash
# A stand-in for TACC's launcher: a task a node, its rank in PMI_RANK.
exec srun --kill-on-bad-exit=1 bash -c 'PMI_RANK=$SLURM_PROCID exec "$@"' ibrun "$@"
"""
TYPED = (
    "sinfo",
    "sbatch cluster/run.slurm wait.py",
    "squeue --me",
    "scontrol show job NUMBER",
    "scancel NUMBER",
)


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return name


@pytest.mark.real
@needs_slurm()
def test_the_commands_of_a_first_job_are_typed(slurm: Site, tmp_path: Path) -> None:
    write(tmp_path, "wait.py", "import time\ntime.sleep(100)\n")
    sinfo, _, squeue, job, _ = typed(TYPED, slurm, tmp_path)
    assert re.search(r"debug\* +up +infinite +2 +idle", sinfo)
    assert "run" in squeue and "NumNodes=2" in job and "NumTasks=4" in job
    assert not nothing_left(slurm, 20)


@pytest.mark.real
@needs_slurm()
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("RANKS_PER_NODE=1 sbatch --wait cluster/torchrun.slurm sum.py 'a b'", 2),
        ("RANKS_PER_NODE=2 sbatch --wait -p debug cluster/frontera.slurm sum.py 'a b'", 4),
    ],
)
def test_torchrun_starts_ranks_on_both_nodes(
    slurm: Site, tmp_path: Path, line: str, ranks: int
) -> None:
    write(tmp_path, "sum.py", SUM)
    programs = tmp_path / "bin"
    programs.mkdir()
    write(programs, "ibrun", IBRUN)
    (programs / "ibrun").chmod(0o755)
    typed([line], slurm, tmp_path, PATH=str(programs))
    (log,) = tmp_path.glob("*-*.log")
    assert log.read_text().count(f"sum {'1' * ranks} ['a b']") == ranks
    assert not list(tmp_path.glob("frontera-*.sh"))
    assert not nothing_left(slurm, 20)


TEXT = """#!/bin/bash
# A job.
#SBATCH --nodes=2
#SBATCH --time=00:10:00   # hours
#SBATCH --exclusive
##SBATCH --account=PROJECT

nodes=${NODES:-1}
set -- "$@"
srun python "$@"
"""


def test_settings_are_changed_in_their_places() -> None:
    text = filled(
        TEXT,
        ["-m", "a b"],
        {"nodes": 3, "partition": "rtx", "exclusive": None, "no-requeue": True},
        {"PATH": '/x:"$PATH"'},
    )
    assert text.splitlines() == [
        "#!/bin/bash",
        "# A job.",
        "#SBATCH --nodes=3",
        "#SBATCH --time=00:10:00   # hours",
        "#SBATCH --partition=rtx",
        "#SBATCH --no-requeue",
        "##SBATCH --account=PROJECT",
        "",
        'export PATH=/x:"$PATH"',
        "nodes=${NODES:-1}",
        "set -- -m 'a b'",
        'srun python "$@"',
    ]


def test_a_file_that_takes_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match=r'needs a line set -- "\$@"'):
        filled("#SBATCH --nodes=2\nsrun python train.py\n", ["a.py"])


def read(file: str) -> str:
    return (ROOT / "cluster" / file).read_text()


@pytest.mark.real
@pytest.mark.parametrize("file", FILES)
def test_a_file_without_a_script_says_how_to_use_it(file: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "1"}
    call = ["bash", ROOT / "cluster" / file]
    done = subprocess.run(call, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and re.match(f"Use: .*cluster/{file} SCRIPT", done.stderr)


@pytest.mark.real
@pytest.mark.parametrize("file", FILES)
def test_a_file_starts_what_the_engine_fills_in(file: str, tmp_path: Path) -> None:
    """Programs that only print their arguments stand for those that the file starts."""
    words = ["-m", "a module", "--word", "it's"]
    is_job = file.endswith(".slurm")
    text = filled(read(file), words, {"nodes": 3, "exclusive": True} if is_job else {})
    assert not is_job or {"#SBATCH --nodes=3", "#SBATCH --exclusive"} <= set(text.splitlines())
    for name in ("srun", "ibrun", "horovodrun", "python", "scontrol"):
        write(tmp_path, name, "#!/bin/bash\nprintf '[%s]' \"$@\"\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n1"}
    env |= {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "3"}
    done = subprocess.run(
        ["bash", "-c", text], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.endswith("[-m][a module][--word][it's]"), done.stderr


# --- what lesson 17 tells its reader to type ------------------------------------------------------

LESSON = ROOT / "solutions" / "17_onto_a_cluster.ipynb"
# Tried elsewhere: the site has its own tests, and the tests have their environment.
ELSEWHERE = ("./course cluster", "source ")
SAID = "the sum of 1 to {size} is {total}"


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
    assert told.count(SAID.format(size=4, total=10)) == 4
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
        assert told.count(SAID.format(size=size, total=size * (size + 1) // 2)) >= size, line
    assert not nothing_left(slurm, 20)


# --- Kubernetes -----------------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """The operator's schema, strict as `kubectl apply` is: what it does not name is an error."""
    found = json.loads(Path(__file__).with_name("trainjob.schema.json").read_text())

    def strict(part: Any) -> None:
        if isinstance(part, dict):
            if "properties" in part:
                part.setdefault("additionalProperties", False)
            for each in part.values():
                strict(each)
        elif isinstance(part, list):
            for each in part:
                strict(each)

    strict(found)
    return dict(found)


def test_the_kubernetes_file_is_what_the_operator_takes() -> None:
    job = yaml.safe_load(read("kubernetes.yaml"))
    jsonschema.validate(job, schema())
    assert (job["apiVersion"], job["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job["metadata"]["name"])
