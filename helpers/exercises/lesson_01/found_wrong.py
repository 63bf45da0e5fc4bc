"""Wrong answers to exercise 01.5, each with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from helpers.algorithms.devices.device_graphs import find_model


def _variable(tf: Any, name: str, shape: Any, **options: Any) -> Any:
    return tf.compat.v1.get_variable(name, shape, **options)


def _search(
    make: Callable[[Any, str, Any], Any] = _variable, container: bool = True, device: bool = True
) -> Callable[..., Any]:
    """The reference with another way to make a variable, without a container or devices."""

    def find_model(where: str, model: Any) -> Any:
        import tensorflow as tf

        found = {}
        with tf.compat.v1.container(where) if container else nullcontext():
            for name, (shape, at) in model.items():
                with tf.device(at if device else None):
                    found[name] = make(tf, name, shape)
        return found

    return find_model


def _initialised(tf: Any, name: str, shape: Any) -> Any:
    variable = _variable(tf, name, shape, initializer=tf.compat.v1.zeros_initializer())
    with tf.control_dependencies([variable.initializer]):
        return variable.read_value()


no_container = _search(container=False)
no_device = _search(device=False)
initialised = _search(_initialised)
by_tf_variable = _search(lambda tf, name, shape: tf.Variable(tf.zeros(shape)))
constants = _search(lambda tf, name, shape: tf.zeros(shape))
in_double = _search(lambda tf, name, shape: _variable(tf, name, shape, dtype="float64"))
in_another_shape = _search(lambda tf, name, shape: _variable(tf, name, (sum(shape) + 1,)))
only_reads = _search(lambda tf, name, shape: _variable(tf, name, shape).read_value())


def in_a_scope(container: str, model: Any) -> Any:
    import tensorflow as tf

    with tf.compat.v1.variable_scope(container):
        return no_container(container, model)


def in_its_own_graph(container: str, model: Any) -> Any:
    import tensorflow as tf

    with tf.Graph().as_default():
        return find_model(container, model)


def always_spring(container: str, model: Any) -> Any:
    return find_model("spring", model)


def uses_it_up(container: str, model: Any) -> Any:
    return find_model(container, {name: model.pop(name) for name in list(model)})


def only_one(container: str, model: Any) -> Any:
    found = find_model(container, model)
    return {name: found[name] for name in list(found)[:1]}
