"""A function from a cell on a real SLURM of two nodes, on torchrun's agents and on horovodrun."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import psutil
import pytest

import helpers
from helpers.course.setup.state import horovod_missing
from helpers.engine.comm import Comm
from helpers.engine.errors import (
    Deadlock,
    JobCancelled,
    NodeDied,
    RankDied,
    RankFailed,
    RunError,
    RunInterrupted,
)
from helpers.engine.slurm.site import Site
from tests.slurm import kill_node, needs_slurm, nothing_left, site_for_a_test

pytestmark = pytest.mark.real

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as what a cell defines travels
slurm = site_for_a_test
ROOT = Path(__file__).resolve().parents[3]


def ring(comm: Comm) -> Any:
    """Something of everything: messages, the framework's own collective, output."""
    import torch
    import torch.distributed as dist

    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.isend(torch.full((3,), float(comm.rank)), right)
    got = comm.recv(left)
    request.wait()
    total = torch.tensor([2.0**comm.rank], dtype=torch.float64)
    dist.all_reduce(total)
    print(f"I am {comm.rank}")
    return comm.rank, comm.size, got.tolist(), total.item()


def on_tensorflow(comm: Comm) -> Any:
    import tensorflow as tf

    workers = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]
    request = comm.isend(tf.constant([1.0, 2.0]) * (comm.rank + 1), (comm.rank + 1) % comm.size)
    got = comm.recv((comm.rank - 1) % comm.size)
    request.wait()
    return comm.rank, len(set(workers)), got.numpy().tolist()


def on_horovod(comm: Comm) -> Any:
    import horovod.torch as hvd
    import torch

    total = hvd.allreduce(torch.arange(3.0) * (comm.rank + 1), op=hvd.Sum)
    return comm.rank, hvd.rank(), hvd.size(), total.tolist()


def fails(comm: Comm) -> None:
    if comm.rank == 2:
        raise ValueError("no such layer")
    comm.recv(2)


def dies(comm: Comm) -> None:
    if comm.rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.recv(3)


def circle(comm: Comm) -> None:
    comm.recv((comm.rank + 1) % comm.size)


def waits(comm: Comm) -> None:
    while True:
        time.sleep(0.05)


def run(fn: Callable[..., Any], folder: Path, **options: Any) -> Any:
    """A run on the cluster, shown to nobody."""
    given = {"show": False, "timeout": 120.0, "folder": folder, **options}
    return helpers.run(fn, engine="cluster", **given)


def when_all_compute(folder: Path, then: Callable[[], None]) -> list[float]:
    """Do something once every rank is in its function; the list gets the moment."""
    moments: list[float] = []

    def work() -> None:
        while True:
            notes = [note.read_text() for note in folder.glob("*/rank-*.now")]
            if len(notes) == 4 and all('"computing"' in note for note in notes):
                break
            time.sleep(0.05)
        moments.append(time.monotonic())
        then()

    threading.Thread(target=work, daemon=True).start()
    return moments


@needs_slurm()
def test_slurm_gives_what_local_ranks_give(
    slurm: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.perf_counter()
    results = run(ring, tmp_path, show=True)
    whole = time.perf_counter() - began
    local = helpers.run(ring, ranks=4, show=False)
    assert list(results) == list(local)
    assert results.stats.bytes == local.stats.bytes
    assert results.output == local.output
    assert all(0 < seconds < whole for seconds in results.stats.seconds)  # a part of this call
    told = capsys.readouterr().out
    # The file that was submitted is shown, and is the one of cluster/ with its settings.
    number = re.search(r"Submitted as job (\d+):", told)
    assert number is not None
    submitted = next(tmp_path.glob(f"*/{number[1]}_submission.sh")).read_text()
    assert submitted in told and "#SBATCH --ntasks-per-node=2" in submitted
    assert "rank 0 | I am 0" in told
    assert nothing_left(slurm) == []
    # By its number, the run can be taken up again.
    assert list(helpers.attach(int(number[1]), folder=tmp_path, show=False)) == list(local)


@needs_slurm()
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fn", "framework"),
    [
        pytest.param(on_tensorflow, "tensorflow", marks=pytest.mark.tensorflow),
        pytest.param(on_horovod, "horovod", marks=pytest.mark.horovod),
    ],
)
def test_frameworks_have_their_worlds_on_two_nodes(
    slurm: Site, tmp_path: Path, fn: Any, framework: str
) -> None:
    results = run(fn, tmp_path, framework=framework)
    assert list(results) == list(helpers.run(fn, framework=framework, show=False))


@needs_slurm()
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fn", "kind", "ranks", "words"),
    [
        (fails, RankFailed, (2,), ('raise ValueError("no such layer")', "Rank 2 was on n2")),
        (dies, RankDied, (3,), ("SIGKILL", "Traceback of rank 3")),
        (circle, Deadlock, (0, 1, 2, 3), ("Each of ranks 0 to 3 receives before it sends",)),
    ],
)
def test_a_rank_that_ends_badly_is_told_and_leaves_nothing(
    slurm: Site,
    tmp_path: Path,
    fn: Any,
    kind: type[RunError],
    ranks: tuple[int, ...],
    words: tuple[str, ...],
) -> None:
    with pytest.raises(kind) as caught:
        run(fn, tmp_path)
    report = caught.value.report
    assert caught.value.ranks == ranks and all(each in report for each in words), report
    # The traceback is of the function alone, without what brought it to the node.
    assert "helpers/engine" not in report
    assert nothing_left(slurm) == []


@needs_slurm()
@pytest.mark.thorough
def test_what_the_caller_asks_for_wins_over_sbatch_s_variables(
    slurm: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_before = {
        "PARTITION": "nowhere",
        "TIMELIMIT": "1",
        "OUTPUT": "/nowhere",
        "EXPORT": "NONE",
    }
    for name, text in set_before.items():
        monkeypatch.setenv(f"SBATCH_{name}", text)
    assert len(run(ring, tmp_path, partition="debug")) == 4


@needs_slurm()
@pytest.mark.thorough
def test_a_job_that_would_wait_for_ever_is_told(slurm: Site, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="asks for 3 nodes, and partition debug has 2"):
        run(ring, tmp_path, nodes=3)
    assert nothing_left(slurm) == []


@needs_slurm()
@pytest.mark.thorough
@pytest.mark.parametrize("what", ["a node", "a cancelled job", "an interrupt"])
def test_from_outside(slurm: Site, tmp_path: Path, what: str) -> None:
    def act() -> None:
        if what == "a node":
            kill_node(slurm, "n2")
        elif what == "a cancelled job":
            subprocess.run(["scancel", f"--user={os.geteuid()}"], check=True)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    when_all_compute(tmp_path, act)
    kind = {"a node": NodeDied, "a cancelled job": JobCancelled}.get(what, RunInterrupted)
    with pytest.raises(kind) as caught:
        run(waits, tmp_path)
    report = caught.value.report
    assert "time.sleep(0.05)" in report  # the traceback of what was computing
    if what == "a node":
        assert caught.value.nodes == ("n2",) and caught.value.ranks == (2, 3)
        assert "node n2" in report
    elif what == "a cancelled job":
        assert "was cancelled (scancel)" in report
    assert nothing_left(slurm) == []


@needs_slurm()
@pytest.mark.thorough
def test_a_killed_kernel_is_followed_by_another(slurm: Site, tmp_path: Path) -> None:
    code = f"""
import helpers, time
def slow(comm):
    for _ in range(60):
        time.sleep(0.05)
    return comm.rank ** 2
helpers.run(slow, engine="cluster", folder={str(tmp_path)!r}, timeout=120)
"""
    script = tmp_path / "kernel.py"
    script.write_text(code)
    kernel = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    moments = when_all_compute(tmp_path, kernel.kill)
    assert kernel.wait(120) == -signal.SIGKILL and moments
    (noted,) = tmp_path.glob("*/job.json")
    job = json.loads(noted.read_text())["job"]
    assert list(helpers.attach(job, folder=tmp_path, show=False)) == [0, 1, 4, 9]


@pytest.mark.thorough
@pytest.mark.parametrize("launcher", ["torchrun", "horovod"])
def test_other_launchers(launcher: str, tmp_path: Path) -> None:
    if launcher == "horovod" and (why := horovod_missing()):
        pytest.skip(why)
    results = run(ring, tmp_path, launcher=launcher)
    assert list(results) == list(helpers.run(ring, show=False))
    assert len(results.stats.links) == 2
    with pytest.raises(RankFailed) as failed:
        run(fails, tmp_path, launcher=launcher)
    assert failed.value.ranks == (2,)
    mine = psutil.Process().children(recursive=True)
    assert not [one for one in mine if "helpers.engine.cluster.rank" in one.cmdline()]
