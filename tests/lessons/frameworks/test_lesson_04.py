"""Exercises 04.1 to 04.3 find a second average however it is made."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from helpers.checks import find
from helpers.lessons.frameworks.algorithms import framework_steps
from tests.checks.table import verdict

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("tensorflow")]


def changed(name: str, *changes: tuple[str, str]) -> Callable[..., Any]:
    """The course's own function with some of its text replaced."""
    source = textwrap.dedent(inspect.getsource(getattr(framework_steps, name)))
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    exec(f"from typing import Any\nfrom collections.abc import *\n{source}", names)
    found: Callable[..., Any] = names[name]
    return found


def step_divides(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Divides in the step of the optimizer, before or after it averages."""
    wrapped = framework_steps.prepare(hvd, model, optimizer)
    usual = wrapped.step

    def step() -> None:
        for parameter in model.parameters():
            parameter.grad /= hvd.size()
        usual()

    wrapped.step = step
    return wrapped


def step_averages(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Averages in the step of the optimizer, which then averages."""
    wrapped = framework_steps.prepare(hvd, model, optimizer)
    usual = wrapped.step

    def step() -> None:
        for parameter in model.parameters():
            hvd.allreduce_(parameter.grad, op=hvd.Average)
        usual()

    wrapped.step = step
    return wrapped


def wraps_twice(hvd: Any, model: Any, optimizer: Any) -> Any:
    """An optimizer in an optimizer."""
    return hvd.DistributedOptimizer(framework_steps.prepare(hvd, model, optimizer))


APPLY = "optimizer.apply_gradients("
GRADIENTS = "hvd.DistributedGradientTape(tape).gradient(value, model.trainable_variables)"
OWN = "tape.gradient(value, model.trainable_variables)"
TAPE, LOSS = "hvd.DistributedGradientTape(tape)", "loss(targets, model(inputs))"
CONTEXT = "tf.distribute.get_replica_context()"
REPLICAS = f"{CONTEXT}.num_replicas_in_sync"
DIVIDED = f"gradients = [g / {REPLICAS} for g in gradients]"
MEANS = f"gradients = {CONTEXT}.all_reduce('mean', gradients)"
SCALED = ((LOSS, f"{LOSS} / hvd.size()"), ("return value", "return value * hvd.size()"))
TWICE = [
    ("04.1", step_divides),
    ("04.1", step_averages),
    ("04.1", wraps_twice),
    ("04.2", changed("tape_step", *SCALED)),
    ("04.2", changed("tape_step", (GRADIENTS, f"[hvd.allreduce(g) / hvd.size() for g in {OWN}]"))),
    ("04.2", changed("tape_step", (GRADIENTS, f"[hvd.allreduce(g) for g in {GRADIENTS}]"))),
    ("04.2", changed("tape_step", (TAPE, f"hvd.DistributedGradientTape({TAPE})"))),
    ("04.3", changed("replica_step", ("tf.reduce_sum(", "tf.reduce_mean("))),
    ("04.3", changed("replica_step", ("/ global_batch", f"/ global_batch / {REPLICAS}"))),
    ("04.3", changed("replica_step", (APPLY, f"{DIVIDED}; {APPLY}"))),
    ("04.3", changed("replica_step", (APPLY, f"{MEANS}; {APPLY}"))),
]


# Everyday one of each exercise; the others come to the same observation.
EVERYDAY = (TWICE[1], TWICE[3], TWICE[7])
TOLD = [
    pytest.param(*each, marks=[] if each in EVERYDAY else [pytest.mark.thorough]) for each in TWICE
]


@pytest.mark.parametrize(("number", "function"), TOLD)
def test_it_is_told_however_it_is_made(number: str, function: Callable[..., Any]) -> None:
    found = verdict(find(number), function, 0)
    assert found.status == "wrong" and "averaged twice" in found.hint
