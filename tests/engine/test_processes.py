"""Real ranks: worlds, messages, what comes back, traces, and what is no run."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import RankFailed

pytestmark = pytest.mark.real


def run(fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return helpers.run(fn, *args, **{"ranks": 2, "timeout": 20.0, "show": False, **options})


every_engine = pytest.mark.parametrize("engine", ["processes", "virtual"])


# --- what comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.bool])
def test_tensors_of_every_kind_come_back_and_can_be_written_to(dtype: torch.dtype) -> None:
    tensor = torch.arange(300_000).remainder(7).to(dtype)
    results = run(lambda comm, t: (t, t[:0], t.sum().reshape(())), tensor)
    for back, empty, scalar in results:
        assert torch.equal(back, tensor) and empty.shape == (0,) and scalar.shape == ()
        back.zero_()
    assert tensor.any()


@every_engine
def test_big_arguments_are_each_ranks_own(engine: str) -> None:
    tensor = torch.ones(200_000)

    def fn(comm: Comm, t: torch.Tensor) -> float:
        t += comm.rank
        comm.barrier()
        return float(t.sum())

    assert list(run(fn, tensor, ranks=3, engine=engine)) == [200_000.0, 400_000.0, 600_000.0]
    assert float(tensor.sum()) == 200_000.0


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


@every_engine
def test_arguments_that_cannot_be_sent_are_told(engine: str) -> None:
    with pytest.raises(TypeError, match=r"locks .* make them inside the function"):
        run(lambda comm, lock: None, threading.Lock(), engine=engine)


# --- messages --------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["shared memory", "sockets"])
def test_tensors_travel_whole(transport: str) -> None:
    shapes = [(), (0,), (5, 3), (2, 1000, 1000)]

    def fn(comm: Comm) -> Any:
        got = []
        for shape in shapes:
            if comm.rank == 0:
                comm.send(torch.full(shape, 7.0, dtype=torch.float64), 1)
                comm.send(np.full(shape, 5, np.int16), 1)
            else:
                got.append((comm.recv(0), comm.recv(0)))
        return got

    results = run(fn, transport=transport)
    for shape, (tensor, array) in zip(shapes, results[1], strict=True):
        assert tensor.dtype == torch.float64 and tensor.shape == shape and bool((tensor == 7).all())
        assert array.dtype == np.int16 and array.shape == shape and (array == 5).all()
    assert results.stats.bytes == [10 * 2_000_016, 0] and results.stats.messages == [8, 0]


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


@every_engine
def test_shared_buffers_are_seen_by_all_and_start_at_zero(engine: str) -> None:
    def fn(comm: Comm) -> Any:
        for _ in range(3):
            buffers = comm.shared((4,), torch.float64)
            assert all(float(buffer.sum()) == 0 for buffer in buffers)
            comm.barrier()
            buffers[comm.rank] += comm.rank + 1
            comm.barrier()
        return [float(buffer.sum()) for buffer in buffers]

    results = run(fn, ranks=3, engine=engine)
    assert list(results) == [[4.0, 8.0, 12.0]] * 3 and results.stats.bytes == [0] * 3


@every_engine
def test_shared_buffers_of_different_shapes_are_told(engine: str) -> None:
    with pytest.raises(RankFailed, match=r"comm.shared with the same shape"):
        run(lambda comm: comm.shared((3 + comm.rank,)), engine=engine)


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
@pytest.mark.parametrize(
    "binding", ["torch", pytest.param("tensorflow", marks=pytest.mark.thorough)]
)
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


# --- traces ----------------------------------------------------------------------------------


def test_the_trace_tells_computing_sending_and_waiting() -> None:
    def fn(comm: Comm) -> None:
        waits = comm.shared((1,))[1]
        if comm.rank == 0:
            while not waits[0]:
                time.sleep(0.001)
            comm.compute(0.2)
            comm.send(torch.ones(10), 1)
        else:
            waits[0] = 1
            comm.recv(0)

    trace = run(fn).trace
    assert trace.seconds(0, "computing") >= 0.19
    assert trace.seconds(1, "waiting") > 0
    labels = {(event.rank, event.label) for event in trace}
    assert {(0, "send to 1"), (1, "receive from 0")} <= labels
    assert all(0 <= event.start <= event.end for event in trace)
