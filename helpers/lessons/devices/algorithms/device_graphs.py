"""Graphs of `tf.compat.v1` in which it matters what waits for what, and where variables live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def log_then_assign(weight: Any, value: Any, log: Callable[[Any], Any]) -> Any:
    """An op that assigns a value, after the value before has been written to a log.

    weight: a variable. value: a tensor. log: gives the op that writes a tensor's value.
    An op is ordered by the control dependencies that hold where it is made.
    """
    import tensorflow as tf

    written = log(weight.read_value())
    with tf.control_dependencies([written]):
        return weight.assign(value)


def find_model(container: str, model: dict[str, tuple[tuple[int, ...], str]]) -> dict[str, Any]:
    """The variables, by name, of a model that another client has left on servers.

    container: the resource container that it lies in. model: for each variable, by name, its shape
    and its device. In the default graph. They must not be initialised: their values are there.
    """
    import tensorflow as tf

    found = {}
    with tf.compat.v1.container(container):
        for name, (shape, device) in model.items():
            with tf.device(device):
                found[name] = tf.compat.v1.get_variable(name, shape)
    return found
