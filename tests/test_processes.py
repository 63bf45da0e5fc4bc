"""Real ranks: worlds, messages, what comes back, and every way in which a run can end badly."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

import helpers
from helpers.engines.comm import Comm
from helpers.engines.errors import (
    Deadlock,
    RankDied,
    RankFailed,
    RunError,
    RunInterrupted,
    RunTimeout,
)

ROOT = Path(__file__).resolve().parents[1]


def run(fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return helpers.run(fn, *args, **{"ranks": 2, "timeout": 20.0, "show": False, **options})


_before: set[psutil.Process] = set()


def below() -> set[psutil.Process]:
    servers = psutil.Process().children()
    return {child for server in servers for child in server.children(recursive=True)}


@pytest.fixture(autouse=True)
def others() -> None:
    """What earlier modules keep, such as a sandbox that stands by, is not of this test."""
    _before.clear()
    _before.update(below())


def everything_below() -> list[psutil.Process]:
    """Processes below this one that the test made, the servers not counted."""
    return sorted(below() - _before, key=lambda process: process.pid)


# --- what comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_values_come_back_in_rank_order(ranks: int) -> None:
    results = run(lambda comm, x: (comm.rank, comm.size, x), "same", ranks=ranks)
    assert list(results) == [(rank, ranks, "same") for rank in range(ranks)]


def test_closures_lambdas_and_classes_made_here_work() -> None:
    scale = 3

    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    def fn(comm: Comm, make: Callable[[int], int]) -> Any:
        return Point(make(comm.rank) * scale)

    points = run(fn, lambda rank: rank + 1)
    assert [point.x for point in points] == [3, 6]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_of_every_kind_come_back_and_can_be_written_to(dtype: torch.dtype) -> None:
    tensor = torch.arange(300_000).remainder(7).to(dtype)
    results = run(lambda comm, t: (t, t[:0], t.sum().reshape(())), tensor)
    for back, empty, scalar in results:
        assert torch.equal(back, tensor) and empty.shape == (0,) and scalar.shape == ()
        back.zero_()
    assert tensor.any()


def test_big_arguments_are_each_ranks_own() -> None:
    tensor = torch.ones(200_000)

    def fn(comm: Comm, t: torch.Tensor) -> float:
        t += comm.rank
        comm.barrier()
        return float(t.sum())

    assert list(run(fn, tensor, ranks=3)) == [200_000.0, 400_000.0, 600_000.0]
    assert float(tensor.sum()) == 200_000.0


def test_big_values_do_not_go_through_the_pickle() -> None:
    from helpers.engines.wire import pack_value

    parcel = pack_value({"w": torch.ones(1_000_000), "a": np.ones(1_000_000)})
    assert len(parcel.head) < 10_000 and parcel.fd is not None
    parcel.close()


def test_a_model_comes_back_with_its_parameters() -> None:
    def fn(comm: Comm) -> torch.nn.Module:
        torch.manual_seed(comm.rank)
        return torch.nn.Linear(300, 300)

    first, second = run(fn)
    assert first.weight.requires_grad and isinstance(first.weight, torch.nn.Parameter)
    assert not torch.equal(first.weight, second.weight)


def test_output_is_collected_by_rank_and_shown_in_order(capsys: Any) -> None:
    def fn(comm: Comm) -> None:
        for line in range(3):
            print(f"line {line}")
            os.system("echo from a child")

    results = run(fn, show=True, ranks=3)
    shown = [line for line in capsys.readouterr().out.splitlines() if "line" in line]
    assert shown == [f"rank {rank} | line {line}" for rank in range(3) for line in range(3)]
    assert all(text.count("from a child") == 3 for text in results.output)


def test_values_that_cannot_be_sent_are_told() -> None:
    with pytest.raises(RankFailed, match=r"Rank \d returned a .* that cannot be sent back"):
        run(lambda comm: threading.Lock())
    with pytest.raises(TypeError, match="cannot be sent to the ranks"):
        run(lambda comm, lock: None, threading.Lock())


# --- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["shared memory", "sockets"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5, 3), (2, 1000, 1000)])
def test_tensors_travel_whole(transport: str, shape: tuple[int, ...]) -> None:
    def fn(comm: Comm) -> Any:
        if comm.rank == 0:
            comm.send(torch.full(shape, 7.0, dtype=torch.float64), 1)
            comm.send(np.full(shape, 5, np.int16), 1)
            return None
        return comm.recv(0), comm.recv(0)

    results = run(fn, transport=transport)
    tensor, array = results[1]
    assert tensor.dtype == torch.float64 and tensor.shape == shape and bool((tensor == 7).all())
    assert array.dtype == np.int16 and array.shape == shape and (array == 5).all()
    elements = int(np.prod(shape, dtype=int))
    assert results.stats.bytes == [elements * 10, 0] and results.stats.messages == [2, 0]


def test_messages_of_a_pair_arrive_in_order_also_when_asked_for_early() -> None:
    def fn(comm: Comm) -> Any:
        other = 1 - comm.rank
        asked = [comm.irecv(other) for _ in range(50)]
        sent = [comm.isend(torch.tensor(i), other) for i in range(50)]
        got = [int(request.wait()) for request in reversed(asked)]
        for request in sent:
            request.wait()
        return got

    assert list(run(fn)) == [list(range(49, -1, -1))] * 2


def test_a_thousand_messages_do_not_fill_anything_up() -> None:
    def fn(comm: Comm) -> int:
        other = 1 - comm.rank
        sent = [comm.isend(torch.tensor(i), other) for i in range(1000)]
        total = sum(int(comm.recv(other)) for _ in range(1000))
        for request in sent:
            request.wait()
        return total

    assert list(run(fn)) == [499_500, 499_500]


def test_a_send_waits_for_its_receiver() -> None:
    def fn(comm: Comm) -> Any:
        if comm.rank == 0:
            request = comm.isend(torch.ones(1), 1)
            early = request.done()
            comm.barrier()
            request.wait()
            return early, request.done()
        comm.barrier()
        comm.recv(0)
        return None

    assert run(fn)[0] == (False, True)


def test_background_messages_do_not_mix_with_the_ranks_own() -> None:
    def behind(comm: Comm, value: float) -> float:
        request = comm.isend(torch.tensor(value), 1 - comm.rank)
        got = float(comm.recv(1 - comm.rank))
        request.wait()
        return got

    def fn(comm: Comm) -> Any:
        first = comm.background(behind, 10.0 + comm.rank)
        second = comm.background(behind, 20.0 + comm.rank)
        request = comm.isend(torch.tensor(float(comm.rank)), 1 - comm.rank)
        mine = float(comm.recv(1 - comm.rank))
        request.wait()
        return mine, first.wait(), second.wait()

    assert list(run(fn)) == [(1.0, 11.0, 21.0), (0.0, 10.0, 20.0)]


def test_what_background_work_raises_is_told_even_if_nobody_waits() -> None:
    def behind(comm: Comm) -> None:
        raise ArithmeticError("behind the scenes")

    with pytest.raises(RankFailed, match="behind the scenes"):
        run(lambda comm: comm.background(behind) and None)


def test_shared_buffers_are_seen_by_all_and_start_at_zero() -> None:
    def fn(comm: Comm) -> Any:
        for _ in range(3):
            buffers = comm.shared((4,), torch.float64)
            assert all(float(buffer.sum()) == 0 for buffer in buffers)
            comm.barrier()
            buffers[comm.rank] += comm.rank + 1
            comm.barrier()
        return [float(buffer.sum()) for buffer in buffers]

    assert list(run(fn, ranks=3)) == [[4.0, 8.0, 12.0]] * 3


def test_shared_buffers_of_different_shapes_are_told() -> None:
    with pytest.raises(RankFailed, match=r"comm.shared with the same shape"):
        run(lambda comm: comm.shared((3 + comm.rank,)))


# --- worlds ----------------------------------------------------------------------------------


def test_torchs_process_group_is_up_and_each_run_has_its_own() -> None:
    def fn(comm: Comm) -> float:
        tensor = torch.tensor(float(comm.rank))
        torch.distributed.all_reduce(tensor)
        return float(tensor) + torch.get_num_threads() * 100

    for _ in range(3):
        assert list(run(fn, ranks=3)) == [103.0] * 3


@pytest.mark.tensorflow
def test_tensorflows_ranks_have_a_cluster_each_its_port() -> None:
    def fn(comm: Comm) -> Any:
        import json

        import tensorflow as tf

        if comm.rank == 0:
            comm.send(tf.constant([1.0, 2.0]), 1)
            got = None
        elif comm.rank == 1:
            got = comm.recv(0).numpy().tolist()
        else:
            got = None
        return json.loads(os.environ["TF_CONFIG"]), comm.device, got

    results = run(fn, ranks=3, framework="tensorflow", timeout=60)
    clusters = [config["cluster"]["worker"] for config, _, _ in results]
    assert clusters[0] == clusters[1] == clusters[2] and len(set(clusters[0])) == 3
    assert [config["task"]["index"] for config, _, _ in results] == [0, 1, 2]
    assert results[1][2] == [1.0, 2.0]


@pytest.mark.horovod
@pytest.mark.parametrize("binding", ["torch", "tensorflow"])
def test_horovods_world_is_up(binding: str) -> None:
    pytest.importorskip("horovod", reason="Horovod is not installed; ./course doctor says why")

    def fn(comm: Comm) -> Any:
        if binding == "torch":
            import horovod.torch as hvd

            summed = hvd.allreduce(torch.ones(3) * comm.rank, op=hvd.Sum).tolist()
        else:
            import horovod.tensorflow as hvd
            import tensorflow as tf

            hvd.init()
            summed = hvd.allreduce(tf.ones(3) * comm.rank, op=hvd.Sum).numpy().tolist()
        return hvd.rank(), hvd.size(), summed

    results = run(fn, ranks=3, framework="horovod", timeout=60)
    assert list(results) == [(rank, 3, [3.0] * 3) for rank in range(3)]


# --- failures --------------------------------------------------------------------------------


def raises(comm: Comm) -> Any:
    if comm.rank == 1:
        return torch.ones(3) + torch.ones(4)  # the line at fault
    return comm.recv(1)


def is_killed(comm: Comm) -> None:
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.recv(1)


def ends_itself(comm: Comm) -> None:
    if comm.rank == 1:
        os._exit(3)
    comm.barrier()


def crashes(comm: Comm) -> None:
    import ctypes

    if comm.rank == 1:
        ctypes.string_at(0)  # the line at fault
    comm.barrier()


def never_answers(comm: Comm) -> None:
    while comm.rank == 1:
        time.sleep(0.01)  # the line at fault
    comm.barrier()


def all_send_first(comm: Comm) -> None:
    comm.send(torch.ones(3), 1 - comm.rank)  # the line at fault
    comm.recv(1 - comm.rank)


def skips_a_barrier(comm: Comm) -> None:
    if comm.rank != 1:
        comm.barrier()  # the line at fault


def skips_torchs_collective(comm: Comm) -> None:
    if comm.rank == 1:
        torch.distributed.all_reduce(torch.ones(3))  # the line at fault


def receives_into_another_shape(comm: Comm) -> None:
    if comm.rank == 0:
        comm.send(torch.ones(3), 1)
    else:
        comm.recv(0, into=torch.zeros(4))  # the line at fault


def leaves_a_grandchild(comm: Comm) -> None:
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if comm.rank == 1:
        raise ValueError("after a grandchild")
    comm.barrier()


def exits_python(comm: Comm) -> None:
    if comm.rank == 1:
        sys.exit("enough")
    comm.barrier()


FAILURES: list[tuple[Callable[..., Any], type[RunError], float, str]] = [
    (raises, RankFailed, 20, "size of tensor"),
    (is_killed, RankDied, 20, "SIGKILL"),
    (ends_itself, RankDied, 20, "exit code 3"),
    (crashes, RankDied, 20, "SIGSEGV"),
    (never_answers, RunTimeout, 1, "Rank 1 is computing"),
    (all_send_first, Deadlock, 20, "sends before it receives"),
    (skips_a_barrier, Deadlock, 20, "rank 1 has returned"),
    (skips_torchs_collective, RunTimeout, 1, "waits in torch.distributed.all_reduce"),
    (receives_into_another_shape, RankFailed, 20, "rank 0 sent (3,) float32"),
    (leaves_a_grandchild, RankFailed, 20, "after a grandchild"),
    (exits_python, RankFailed, 20, "SystemExit: enough"),
]


@pytest.mark.parametrize(
    ("fn", "error", "timeout", "words"), FAILURES, ids=[f[0].__name__ for f in FAILURES]
)
def test_failures_name_the_rank_and_leave_nothing(
    fn: Callable[..., Any], error: type[RunError], timeout: float, words: str
) -> None:
    run(lambda comm: None)
    descriptors = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with pytest.raises(error) as caught:
        run(fn, timeout=timeout)
    report = caught.value.report
    assert words in report
    assert 1 in caught.value.ranks or fn is skips_a_barrier
    if "# the line at fault" in inspect.getsource(fn):
        assert "# the line at fault" in report, report
    assert everything_below() == []
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) == descriptors
    assert not any(t.name == "communication" for t in threading.enumerate())


def test_engine_frames_stay_out_of_a_ranks_traceback() -> None:
    with pytest.raises(RankFailed) as caught:
        run(receives_into_another_shape)
    assert "helpers/engines" not in caught.value.report


def test_an_interrupt_ends_the_run_and_says_what_each_rank_did() -> None:
    run(lambda comm: comm.rank)  # the server takes longer to start than the interrupt waits
    threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(RunInterrupted) as caught:
        run(never_answers, timeout=60)
    assert "Rank 1 is computing" in caught.value.report
    assert "Rank 0 waits for rank 1 to come to the barrier" in caught.value.report
    assert everything_below() == []
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_a_server_that_dies_is_told_and_replaced() -> None:
    def fn(comm: Comm) -> None:
        if comm.rank == 0:
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(30)

    with pytest.raises(RunError, match="server process"):
        run(fn)
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_ranks_end_when_the_notebook_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time, helpers\n"
        "def fn(comm):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(1000)\n"
        "helpers.run(fn, ranks=1)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split("|")[1])
        process.kill()
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ranks": 0}, "1 to 64"),
        ({"ranks": 2.5}, "whole number"),
        ({"engine": "cloud"}, "processes and virtual"),
        ({"framework": "jax"}, "torch, tensorflow, horovod"),
        ({"timeout": 0}, "seconds above 0"),
        ({"latency": 1e-3}, "no option 'latency'"),
        ({"transport": "pigeon"}, "sockets"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        run(lambda comm: None, **arguments)


def test_a_function_that_is_none_gets_a_sentence() -> None:
    with pytest.raises(TypeError, match="needs a function"):
        helpers.run(42)  # type: ignore[arg-type]


# --- traces ----------------------------------------------------------------------------------


def test_the_trace_tells_computing_sending_and_waiting() -> None:
    def fn(comm: Comm) -> None:
        if comm.rank == 0:
            comm.compute(0.2)
            comm.send(torch.ones(10), 1)
        else:
            comm.recv(0)

    trace = run(fn).trace
    assert trace.seconds(0, "computing") >= 0.19
    assert trace.seconds(1, "waiting") >= 0.15
    labels = {(event.rank, event.label) for event in trace}
    assert {(0, "send to 1"), (1, "receive from 0")} <= labels
    assert all(0 <= event.start <= event.end for event in trace)
