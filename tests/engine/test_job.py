"""`helpers.comm()`: the same rank code as a script under the frameworks' own launchers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import helpers
from helpers.engine.job import decode, encode
from helpers.engine.tensors import Header

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import torch
import helpers
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

comm = helpers.comm()
tensor = torch.arange(7.0) + comm.rank
all_reduce_ring(comm, tensor)
comm.barrier()
print(f"rank {comm.rank} of {comm.size}: {tensor.sum().item():.0f}", flush=True)
"""


def launch(tmp_path: Path, *command: str) -> list[str]:
    """The lines that the ranks of a launched script print."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    private = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    environment = {k: v for k, v in os.environ.items() if k not in private}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*command, str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    # The ranks write to one pipe: a line of one may follow on that of the other.
    return sorted(re.findall(r"rank \d of 2: \d\d", done.stdout))


@pytest.mark.real
def test_a_script_under_torchrun(tmp_path: Path) -> None:
    lines = launch(
        tmp_path,
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--local-addr=127.0.0.1",
        "--nproc_per_node=2",
    )
    assert lines == ["rank 0 of 2: 49", "rank 1 of 2: 49"]


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.horovod
def test_a_script_under_horovodrun(tmp_path: Path) -> None:
    pytest.importorskip("horovod", reason="Horovod is not installed; ./course doctor says why")
    launcher = Path(sys.executable).parent / "horovodrun"
    lines = launch(tmp_path, str(launcher), "-np", "2", sys.executable)
    assert lines == ["rank 0 of 2: 49", "rank 1 of 2: 49"]


def test_outside_a_job_it_says_how_to_start_one() -> None:
    with pytest.raises(RuntimeError, match="torchrun"):
        helpers.comm()


def test_a_message_has_at_most_eight_dimensions() -> None:
    header = Header("torch", "float32", tuple(range(1, 9)), 4 * 40_320)
    assert decode(encode(header))[:3] == header[:3]
    with pytest.raises(ValueError, match="at most 8 dimensions, not 9"):
        encode(header._replace(shape=(*header.shape, 1)))
