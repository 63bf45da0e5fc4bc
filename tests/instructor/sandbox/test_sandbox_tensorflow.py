"""TensorFlow in a sandbox: loaded before a submission comes, within the limits, on several CPUs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from in_sandbox import NUMBER, Person, needs_sandbox

from helpers.instructor.sandbox import Sandbox

pytestmark = [pytest.mark.real, pytest.mark.thorough]

MIRRORED = """
import sys
assert "tensorflow" in sys.modules
import tensorflow as tf
from helpers.checks.drives.tf import cpus
strategy = tf.distribute.MirroredStrategy(cpus(3))
with strategy.scope():
    weight = tf.Variable(1.0)
total = strategy.reduce("SUM", strategy.run(lambda: weight * 2), axis=None)
return float(total)
"""
SESSION = """
import tensorflow as tf
from helpers.checks.drives.tf import settings
v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    with tf.device("/CPU:0"):
        weight = v1.get_variable("weight", initializer=1.0, use_resource=True)
    with tf.device("/CPU:4"):
        grown = weight.assign_add(2.0)
    with v1.Session(graph=graph, config=settings(5)) as session:
        session.run(weight.initializer)
        return float(session.run(grown))
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox as it is for a lesson whose exercises need TensorFlow."""
    needs_sandbox()
    with pytest.MonkeyPatch.context() as patch:
        loads = "helpers.instructor.sandbox.sandbox.frameworks"
        patch.setattr(loads, lambda lesson: ["tensorflow"])
        made = Sandbox(NUMBER + 20, "03")
        made.prepare()
    yield made
    made.stop()


@pytest.mark.parametrize("body, value", [(MIRRORED, 6.0), (SESSION, 3.0)])
def test_tensorflow_computes_on_several_cpus(sandbox: Sandbox, body: str, value: float) -> None:
    child = sandbox.fork()
    assert Person(child).says(body) == value
    sandbox.end(child)
    assert not sandbox.trouble, sandbox.why


def test_torch_and_tensorflow_compute_in_one_process(sandbox: Sandbox) -> None:
    child = sandbox.fork()
    person = Person(child)
    assert (
        person.says("import torch; return float(torch.ones(3, 3).mm(torch.ones(3, 1)).sum())") == 9
    )
    assert person.says(MIRRORED) == 6
    sandbox.end(child)
