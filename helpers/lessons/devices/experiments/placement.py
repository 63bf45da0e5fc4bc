"""Where TensorFlow puts the ops of a small graph, by their pins, their kernels and the devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.lessons.devices.experiments.graphs import Seen, settings, watch

# name, pin, kernels, variable: as exercise 01.2 has them.
Op = tuple[str, str, list[str], str]


def place_for_real(comm: Any, ops: list[Op], soft: bool) -> dict[str, str | None]:
    """Where TensorFlow places each op on three CPUs, None where it refuses to.

    Each op is placed by itself, or with the variable that it uses. An op whose only kernel is the
    GPU's is a real one of cuDNN.
    """
    import tensorflow as tf

    pins = {name: pin for name, pin, _, _ in ops}
    found: dict[str, str | None] = {}
    for op in ops:
        with tf.Graph().as_default() as graph:
            made = _make(op, pins)
            init = tf.compat.v1.global_variables_initializer()
            found[op[0]] = _placed(graph, init, made, settings(3, soft=soft))
    return found


def _make(op: Op, pins: dict[str, str]) -> Any:
    import tensorflow as tf

    v1 = tf.compat.v1
    name, pin, kernels, variable = op
    held = None
    if variable:
        with v1.device(pins[variable] and f"/{pins[variable]}"):
            held = v1.get_variable(variable, initializer=1.0, use_resource=True)
    with v1.device(pin and f"/{pin}"):
        if held is not None:
            return tf.raw_ops.ReadVariableOp(resource=held.handle, dtype=tf.float32, name=name)
        if kernels == ["GPU"]:
            return tf.raw_ops.CudnnRNNParamsSize(
                num_layers=1, num_units=2, input_size=3, T=tf.float32, S=tf.int32, name=name
            )
        if kernels == ["CPU"]:
            return tf.raw_ops.AsString(input=tf.constant(1.0), name=name)
        return tf.raw_ops.RandomUniform(shape=tf.constant([2]), dtype=tf.float32, name=name)


def _placed(graph: Any, init: Any, made: Any, config: Any) -> str | None:
    import tensorflow as tf

    with tf.compat.v1.Session(graph=graph, config=config) as session:
        try:
            session.run(init)
            return watch(session, made).device_of(made.op.name)
        except tf.errors.InvalidArgumentError:
            return None


def see(comm: Any, build: Callable[[], Any], cpus: int = 3, soft: bool = False) -> Seen:
    """Build a graph, initialise its variables, run a step; what it did, or what it was refused for.

    build: a function without arguments that makes the ops in the default graph and returns what to
    run. Where TensorFlow refuses to place an op, the value is its reason, in a line.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        fetch = build()
        init = v1.global_variables_initializer()
    with v1.Session(graph=graph, config=settings(cpus, soft=soft)) as session:
        try:
            session.run(init)
            return watch(session, fetch)
        except tf.errors.InvalidArgumentError as error:
            return Seen(refusal(error.message), (), (), ())


def refusal(message: str) -> str:
    """Of TensorFlow's long message the line that says why an op cannot be placed."""
    for line in message.splitlines():
        if "Cannot assign a device" in line or "No OpKernel" in line:
            return line.replace("Cannot assign", "cannot assign").strip()
    return message.splitlines()[0]
