"""Lesson 01's experiments give on a machine without a GPU what its text says."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import helpers
from helpers.engine.tf_cluster import run_cluster
from helpers.lessons.devices.algorithms.device_graphs import find_model, log_then_assign
from helpers.lessons.devices.algorithms.device_memory import least_peak, step_memory
from helpers.lessons.devices.algorithms.placement import Op, place
from helpers.lessons.devices.exercises.order import ORDERS, peak_of
from helpers.lessons.devices.exercises.order import SHOWN as BRANCHES
from helpers.lessons.devices.exercises.place import SHOWN as OPS
from helpers.lessons.devices.experiments import (
    control,
    logical,
    memory,
    parallel,
    placement,
    servers,
)
from helpers.lessons.devices.experiments.graphs import Node, Seen, short, stem

MIB = 2**20


def tensorflow_ranks(test: Any) -> Any:
    """The marks of a test that runs TensorFlow in processes of their own."""
    lacks = importlib.util.find_spec("tensorflow") is None
    reason = "TensorFlow is not installed; ./course doctor says what that costs."
    marks = (pytest.mark.real, pytest.mark.tensorflow, pytest.mark.skipif(lacks, reason=reason))
    for mark in marks:
        test = mark(test)
    return test


def in_torch_rank(fn: Callable[..., Any], *args: Any) -> Any:
    return helpers.run(fn, *args, ranks=1, device="cpu")[0]


def in_tensorflow(fn: Callable[..., Any], *args: Any) -> Any:
    return helpers.run(fn, *args, ranks=1, framework="tensorflow", device="cpu")[0]


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.real
def test_a_batch_that_does_not_fit_raises_and_a_smaller_one_trains_afterwards() -> None:
    found = in_torch_rank(memory.train_until_full, 200, (100, 1_000, 10_000, 100_000))
    if not found["limited"]:
        pytest.skip("This system limits no process's memory.")
    assert found["fit"] == [100, 1_000, 10_000] and found["batch"] == 100_000
    assert found["error"] == "RuntimeError" and found["after"] is True
    assert "you tried to allocate 204800000 bytes" in found["text"]


@tensorflow_ranks
@pytest.mark.thorough
def test_tensorflow_raises_its_own_error_in_a_limited_process() -> None:
    found = in_tensorflow(memory.fill_tensorflow, 256, (32, 64, 128, 512))
    if not found["limited"]:
        pytest.skip("This system limits no process's memory.")
    assert found["fit"] == [32, 64, 128] and found["error"] == "ResourceExhaustedError"
    assert found["text"].startswith("OOM when allocating tensor with shape[512,262144]")
    assert found["text"].endswith("by allocator cpu") and found["after"] is True


@pytest.mark.real
@pytest.mark.parametrize(("widths", "slots"), [((64, 512, 10), 2), ((5, 9, 2), 1)])
def test_the_formula_is_what_a_step_holds_to_the_byte(widths: Any, slots: int) -> None:
    counted = in_torch_rank(memory.measured_step, widths, 33, slots)
    assert tuple(counted.values()) == step_memory(widths, 33, slots)


# --- placing --------------------------------------------------------------------------------------


@tensorflow_ranks
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_the_rules_place_as_tensorflow_does(soft: bool) -> None:
    more: list[Op] = [("w", "CPU:2", ["CPU", "GPU"], ""), ("use", "", ["CPU", "GPU"], "w")]
    ops, cpus = [*OPS, *more], ["CPU:0", "CPU:1", "CPU:2"]
    assert in_tensorflow(placement.place_for_real, ops, soft) == place(ops, cpus, soft)


def three_steps() -> Any:
    import tensorflow as tf

    with tf.device("/CPU:1"):
        half = tf.multiply(tf.random.uniform([4]), 0.5, name="half")
    between = tf.square(half, name="middle")
    with tf.device("/CPU:2"):
        return tf.exp(between, name="result")


def far_away() -> Any:
    import tensorflow as tf

    with tf.device("/CPU:7"):
        return tf.random.uniform([2], name="far")


@tensorflow_ranks
def test_an_op_without_a_pin_goes_to_the_first_device_wherever_its_input_is() -> None:
    seen = in_tensorflow(placement.see, three_steps)
    assert [seen.device_of(name) for name in ("half", "middle", "result")] == [
        "CPU:1",
        "CPU:0",
        "CPU:2",
    ]
    assert seen.transfers() == [
        ("half", "CPU:1", "CPU:0"),
        ("middle", "CPU:0", "CPU:2"),
        ("result", "CPU:2", "CPU:0"),
    ]


@tensorflow_ranks
@pytest.mark.thorough
def test_a_refusal_says_why_in_a_line() -> None:
    seen = in_tensorflow(placement.see, far_away)
    assert not seen.nodes and "was explicitly assigned to /device:CPU:7" in seen.value
    assert "\n" not in seen.value
    assert in_tensorflow(placement.see, far_away, 3, True).device_of("far/RandomUniform") == "CPU:0"


def test_names_of_devices_and_of_what_is_sent() -> None:
    assert short("/job:localhost/replica:0/task:0/device:CPU:1") == "CPU:1"
    assert short("/job:ps/replica:0/task:2/device:CPU:0") == "ps/2"
    assert [stem(name) for name in ("a/b/_3", "a/b_S12", "a/b", "_S", "x_Sum")] == [
        "a/b",
        "a/b",
        "a/b",
        "_S",
        "x_Sum",
    ]
    with pytest.raises(KeyError, match="No op 'b' ran"):
        Seen(None, (Node("a", "Square", "CPU:0"),), (), ()).device_of("b")


# --- parallel ops, control dependencies -----------------------------------------------------------


@tensorflow_ranks
@pytest.mark.thorough
def test_two_ops_of_one_device_overlap_where_there_are_two_threads() -> None:
    assert parallel.overlap(in_tensorflow(parallel.two_chains, 1)) == 0.0
    while not parallel.overlap(in_tensorflow(parallel.two_chains, 2)):
        pass  # a busy machine may have them take turns


@tensorflow_ranks
@pytest.mark.thorough
def test_control_dependencies_save_memory() -> None:
    chained = in_tensorflow(control.live_memory, True)
    assert round(chained.peak / MIB) == 8
    free = in_tensorflow(control.live_memory, False)
    while round(free.peak / MIB) != 28:  # a load came late, when an earlier one had been used
        free = in_tensorflow(control.live_memory, False)
    assert free.value == chained.value


@tensorflow_ranks
@pytest.mark.thorough
def test_the_peak_of_an_order_is_the_reckoned_one() -> None:
    for order in (*(way(BRANCHES) for way in ORDERS), least_peak(BRANCHES)):
        assert in_tensorflow(control.in_this_order, BRANCHES, order) == peak_of(BRANCHES, order)


@tensorflow_ranks
def test_a_log_that_is_waited_for_is_right_in_every_run() -> None:
    values = [float(n) for n in range(2, 32)]
    runs = in_tensorflow(control.logged, log_then_assign, values)
    assert runs == {"log": [1.0, *values[:-1]], "weight": values}


def never_logs(weight: Any, value: Any, log: Any) -> Any:
    log(weight.read_value())
    return weight.assign(value)


@tensorflow_ranks
def test_an_op_that_nothing_needs_does_not_run() -> None:
    assert in_tensorflow(control.logged, never_logs, [2.0, 3.0])["log"] == [-1.0, -1.0]


# --- clusters, logical devices, torch -------------------------------------------------------------


@tensorflow_ranks
@pytest.mark.thorough
@pytest.mark.parametrize(
    "at_home, sent", [(False, ("square/ReadVariableOp", 65536)), (True, ("mean", 4))]
)
def test_a_variable_on_a_server_is_used_from_a_worker(at_home: bool, sent: Any) -> None:
    seen, sizes = run_cluster(servers.use_from_afar, at_home, servers=1, workers=1)[0]
    assert float(seen.value) == 1.0 and sizes == dict([sent])
    assert seen.transfers() == [(sent[0], "ps/0", "worker/0")]


@tensorflow_ranks
def test_a_model_outlives_its_client_on_the_servers(tmp_path: Path) -> None:
    trained, found = run_cluster(
        servers.lose_and_find, str(tmp_path), 300, find_model, servers=2, workers=2
    )
    assert trained["loss"] < 1e-9
    assert found["found"] == found["saved"]
    assert found["found"]["weights"] == pytest.approx([1.0, 2.0], abs=1e-4)
    assert found["found"]["bias"] == pytest.approx(1.0, abs=1e-4)
    assert found["files"] == ["model.data-00000-of-00001", "model.index"]
    assert found["elsewhere"] == found["cleared"] == "FailedPreconditionError"


@tensorflow_ranks
@pytest.mark.thorough
def test_logical_devices_are_made_once_and_have_no_limit_on_a_cpu() -> None:
    split = in_tensorflow(logical.split_cpu, 3)
    assert split["logical"] == [f"/device:CPU:{n}" for n in range(3)]
    assert split["devices"] == ["CPU:0", "CPU:1", "CPU:2"]
    assert "cannot be modified after being initialized" in split["too late"]
    assert "not supported" in in_tensorflow(logical.limit_of_cpu, 1024)
    assert in_tensorflow(logical.gpus_of_tensorflow) == 0
    assert in_tensorflow(logical.hidden) == []


def test_a_gpu_that_is_full_says_so() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("There is no GPU here.")
    share = helpers.run(logical.fill_torch_gpu, 0.05, ranks=1)[0]
    assert share["fit"] and share["batch"] and "out of memory" in share["text"]
