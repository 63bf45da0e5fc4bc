"""Real ranks on virtual hosts: what they send, how they end, and what stays when they do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import Deadlock, NoHosts, RankDied, RankFailed, RunTimeout
from helpers.engine.hosts import run as hosts_run
from helpers.engine.hosts.namespaces import SWITCH
from helpers.engine.launch import client_for
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from tests.engine.test_process_failures import (
    all_send_first,
    is_killed,
    never_answers,
    raises,
    receives_into_another_shape,
)
from tests.ordinary import python_as_nobody

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[3]


def run(fn: Any, *args: Any, **options: Any) -> Any:
    return helpers.run(fn, *args, **{"engine": "hosts", "timeout": 20.0, "show": False, **options})


def talks(comm: Comm) -> list[Any]:
    """Messages of every kind and size to every rank, both ways at once, and in the background."""
    got: list[Any] = [socket.gethostname(), comm.host]
    beside = comm.background(exchange, 100_001)
    got += exchange(comm, 3)
    got += exchange(comm, 300_000)
    return got + beside.wait()


def exchange(comm: Comm, length: int) -> list[Any]:
    requests, got = [], []
    for to in range(comm.size):
        requests.append(comm.isend(torch.arange(length) * (comm.rank + 1) + to, to))
        requests.append(comm.isend(np.full((comm.rank, 2), to, np.int16), to))
    for source in range(comm.size):
        into = torch.empty(length, dtype=torch.int64)
        comm.recv(source, into=into)
        got.append(int(into.sum()))
        got.append(comm.recv(source).tolist())
    for request in requests:
        request.wait()
    comm.barrier()
    return got


@pytest.mark.hosts
@pytest.mark.parametrize(
    "ranks_per_host", [pytest.param([1, 1], marks=pytest.mark.thorough), [1, 3, 1]]
)
def test_messages_are_those_of_the_virtual_clock(ranks_per_host: list[int]) -> None:
    there = run(talks, ranks_per_host=ranks_per_host, bandwidth="1gbit")
    here = run(talks, ranks_per_host=ranks_per_host, engine="virtual")
    assert not there.trace.virtual
    assert [each[1:] for each in there] == [each[1:] for each in here]
    assert [each[0] for each in there] == [f"host{each[1]}" for each in here]
    assert there.stats.sent == here.stats.sent
    assert there.stats.links == here.stats.links
    assert there.stats.messages == here.stats.messages


def sends(comm: Comm, nbytes: int) -> float:
    """Rank 0 sends to the last rank; returns how long that took."""
    comm.barrier()
    start = comm.time()
    if comm.rank == 0:
        comm.send(np.zeros(nbytes, np.uint8), comm.size - 1)
    elif comm.rank == comm.size - 1:
        comm.recv(0)
    return comm.time() - start


@pytest.mark.hosts
def test_links_hold_messages_back_and_inside_hosts_nothing_does() -> None:
    nbytes, least = 1_000_000, 0.7  # seconds at 10 Mbit/s, of which the bucket's burst is free
    # Either rank may begin late, but one of the two is there all the time.
    assert max(run(sends, nbytes, hosts=2, bandwidth=[None, "10mbit"])) > least
    # Over a link of 100 kbit/s it would take 80 s, beyond the time-out.
    beside = run(sends, nbytes, hosts=1, ranks=2, bandwidth="100kbit")
    assert beside.stats.links == [(0, 0)]
    run(sends, nbytes, hosts=2)  # nothing of the last run's links is left


def reduces(comm: Comm) -> tuple[float, float, str]:
    ours, theirs = torch.full((1001,), float(comm.rank)), torch.full((5,), float(comm.rank))
    all_reduce_ring(comm, ours)
    torch.distributed.all_reduce(theirs)
    names = ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE", "GROUP_RANK")
    return float(ours[-1]), float(theirs[0]), " ".join(os.environ[name] for name in names)


@pytest.mark.hosts
def test_torchs_world_goes_over_the_links_and_knows_the_hosts() -> None:
    results = run(reduces, ranks_per_host=[2, 1], bandwidth="1gbit", show=True)
    assert [each[:2] for each in results] == [(3.0, 3.0)] * 3
    assert [each[2] for each in results] == ["0 0 2 3 0", "1 1 2 3 0", "2 0 1 3 1"]
    assert results.output == ["", "", ""]  # no rank says anything of its own accord


def horovod_sum(comm: Comm) -> tuple[Any, ...]:
    import horovod.torch as hvd

    total = float(hvd.allreduce(torch.tensor([float(comm.rank)]), op=hvd.Sum)[0])
    return total, hvd.rank(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()


def mirrored(comm: Comm) -> float:
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    @tf.function
    def step() -> Any:
        def each() -> Any:
            context = tf.distribute.get_replica_context()
            return context.all_reduce("sum", tf.constant(float(comm.rank)))

        return strategy.run(each)

    return float(step().numpy())


HOROVODS = [(3.0, 0, 0, 2, 0, 2), (3.0, 1, 1, 2, 0, 1), (3.0, 2, 0, 1, 1, 2)]


@pytest.mark.hosts
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fn", "framework", "want"),
    [
        pytest.param(horovod_sum, "horovod", HOROVODS, marks=pytest.mark.horovod),
        pytest.param(mirrored, "tensorflow", [3.0] * 3, marks=pytest.mark.tensorflow),
    ],
)
def test_frameworks_worlds_go_over_the_links(fn: Any, framework: str, want: list[Any]) -> None:
    assert run(fn, ranks_per_host=[2, 1], framework=framework, timeout=100) == want


@pytest.mark.hosts
@pytest.mark.parametrize(
    ("fn", "error", "words"),
    [
        (is_killed, RankDied, "SIGKILL"),
        (all_send_first, Deadlock, "sends before it receives"),
        pytest.param(raises, RankFailed, "size of tensor", marks=pytest.mark.thorough),
        pytest.param(never_answers, RunTimeout, "Rank 1 is computing", marks=pytest.mark.thorough),
        pytest.param(
            receives_into_another_shape, RankFailed, "rank 0 sent", marks=pytest.mark.thorough
        ),
    ],
)
def test_failures_name_the_rank_and_the_next_run_is_fine(fn: Any, error: Any, words: str) -> None:
    server = client_for("torch", hosts=True).process.pid
    with pytest.raises(error, match=words) as caught:
        run(fn, hosts=2, timeout=8 if fn is never_answers else 20)
    assert 1 in caught.value.ranks
    assert psutil.Process(server).children() == []
    assert run(lambda comm: comm.host, hosts=2) == [0, 1]
    assert client_for("torch", hosts=True).process.pid == server


# --- nothing is left ------------------------------------------------------------------------------

LOOP = """
import os, time, helpers, torch
def fn(comm, stays):
    comm.barrier()
    if comm.rank == 0:
        print("running", flush=True)
    comm.send(torch.zeros(100_000), 1) if comm.rank == 0 else comm.recv(0)
    time.sleep(600 * stays)
for turn in range(3):
    helpers.run(fn, turn == 2, engine="hosts", hosts=2, bandwidth="10mbit", timeout=900)
"""


def of_folder(folder: Path) -> list[str]:
    """Processes that have a folder as their TMPDIR."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"TMPDIR={folder}".encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


@pytest.mark.thorough
@pytest.mark.hosts
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_kernel_leaves_nothing(tmp_path: Path, how: int) -> None:
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(LOOP, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert all("running" in process.stdout.readline() for _ in range(3))
        below = psutil.Process(process.pid).children(recursive=True)
        made = {os.readlink(f"/proc/{p.pid}/ns/{kind}") for p in below for kind in ("net", "user")}
        # The server and two ranks, in three networks: each goes with the last process inside it.
        assert len(below) == 3 and len(made) == 4
        process.send_signal(how)
    _, alive = psutil.wait_procs(below, timeout=20)
    assert not alive
    assert not of_folder(tmp_path)
    assert Path("/proc/self/mounts").read_text(encoding="utf-8") == mounts
    left = {name for name in os.listdir(tmp_path) if not name.startswith("torchinductor_")}
    assert left == {"script.py"}  # beside the folder that every `import torch._dynamo` makes


@pytest.mark.hosts
@pytest.mark.thorough
def test_all_of_it_as_an_ordinary_user() -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    told = subprocess.run(
        [*python_as_nobody(), *words], cwd=ROOT, capture_output=True, text=True, timeout=110
    )
    assert told.returncode == 0, told.stdout + told.stderr


# --- machines without namespaces ------------------------------------------------------------------


def test_without_namespaces_the_clock_has_the_same_links_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(SWITCH, "clock")
    monkeypatch.setattr(hosts_run, "_told", set())
    results = run(sends, 1_000_000, ranks_per_host=[2, 1], bandwidth="10mbit")
    assert results.trace.virtual
    assert results[2] == pytest.approx(0.8, rel=0.01)
    assert results.stats.links == [(1_000_000, 0), (0, 1_000_000)]
    told = capsys.readouterr().out
    assert told.count("switched off by COURSE_HOSTS=clock") == 1
    assert "The virtual clock stands in for them" in told
    run(sends, 10, hosts=2)
    assert capsys.readouterr().out == ""  # said once


def test_what_the_clock_cannot_stand_in_for_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "clock")
    with pytest.raises(NoHosts, match="switched off"):
        run(mirrored, hosts=2, framework="tensorflow")
