"""What lesson 01's cells show and leave uncompared; its rules beside what TensorFlow does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import helpers
from helpers.lessons.devices.algorithms.device_memory import step_memory
from helpers.lessons.devices.algorithms.placement import Op, place
from helpers.lessons.devices.exercises.place import SHOWN as OPS
from helpers.lessons.devices.experiments import control, memory, parallel, placement
from helpers.lessons.devices.experiments.graphs import short, stem

MIB = 2**20


def in_tensorflow(fn: Callable[..., Any], *args: Any) -> Any:
    return helpers.run(fn, *args, ranks=1, framework="tensorflow", device="cpu")[0]


@pytest.mark.real
@pytest.mark.parametrize(("widths", "slots"), [((64, 512, 10), 2), ((5, 9, 2), 1)])
def test_the_formula_is_what_a_step_holds_to_the_byte(widths: Any, slots: int) -> None:
    (counted,) = helpers.run(memory.measured_step, widths, 33, slots, ranks=1, device="cpu")
    assert tuple(counted.values()) == step_memory(widths, 33, slots)


@pytest.mark.real
@pytest.mark.tensorflow
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_the_rules_place_as_tensorflow_does(soft: bool) -> None:
    more: list[Op] = [("w", "CPU:2", ["CPU", "GPU"], ""), ("use", "", ["CPU", "GPU"], "w")]
    ops, cpus = [*OPS, *more], ["CPU:0", "CPU:1", "CPU:2"]
    assert in_tensorflow(placement.place_for_real, ops, soft) == place(ops, cpus, soft)


def test_names_of_devices_and_of_what_is_sent() -> None:
    assert short("/job:localhost/replica:0/task:0/device:CPU:1") == "CPU:1"
    assert short("/job:ps/replica:0/task:2/device:CPU:0") == "ps/2"
    for name, wanted in (("a/b/_3", "a/b"), ("a/b_S12", "a/b"), ("_S", "_S"), ("x_Sum", "x_Sum")):
        assert stem(name) == wanted


@pytest.mark.real
@pytest.mark.tensorflow
@pytest.mark.thorough
def test_two_ops_of_one_device_overlap_where_there_are_two_threads() -> None:
    assert parallel.overlap(in_tensorflow(parallel.two_chains, 1)) == 0.0
    while not parallel.overlap(in_tensorflow(parallel.two_chains, 2)):
        pass  # a busy machine may have them take turns


@pytest.mark.real
@pytest.mark.tensorflow
@pytest.mark.thorough
def test_control_dependencies_save_memory() -> None:
    chained = in_tensorflow(control.live_memory, True)
    assert round(chained.peak / MIB) == 8
    free = in_tensorflow(control.live_memory, False)
    while round(free.peak / MIB) != 28:  # a load came late, when an earlier one had been used
        free = in_tensorflow(control.live_memory, False)
    assert free.value == chained.value
