"""Wrong answers to exercise 01.5, each with one thing wrong."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.devices.device_graphs import find_model


def no_container(container: str, model: Any) -> Any:
    """In the default one."""
    import tensorflow as tf

    made = {}
    for name, (shape, device) in model.items():
        with tf.device(device):
            made[name] = tf.compat.v1.get_variable(name, shape)
    return made


def no_device(container: str, model: Any) -> Any:
    """Never pins."""
    import tensorflow as tf

    with tf.compat.v1.container(container):
        return {name: tf.compat.v1.get_variable(name, shape) for name, (shape, _) in model.items()}


def initialised(container: str, model: Any) -> Any:
    """Makes sure that they have a value."""
    import tensorflow as tf

    made, zeros = {}, tf.compat.v1.zeros_initializer()
    with tf.compat.v1.container(container):
        for name, (shape, device) in model.items():
            with tf.device(device):
                variable = tf.compat.v1.get_variable(name, shape, initializer=zeros)
                with tf.control_dependencies([variable.initializer]):
                    made[name] = variable.read_value()
    return made


def by_tf_variable(container: str, model: Any) -> Any:
    """New variables without a name."""
    import tensorflow as tf

    with tf.compat.v1.container(container):
        return {name: tf.Variable(tf.zeros(shape)) for name, (shape, _) in model.items()}


def in_a_scope(container: str, model: Any) -> Any:
    """Takes a scope of names for a container."""
    import tensorflow as tf

    with tf.compat.v1.variable_scope(container):
        return no_container(container, model)


def always_spring(container: str, model: Any) -> Any:
    """In the container of the example."""
    return find_model("spring", model)


def in_double(container: str, model: Any) -> Any:
    """In float64."""
    import tensorflow as tf

    made = {}
    with tf.compat.v1.container(container):
        for name, (shape, device) in model.items():
            with tf.device(device):
                made[name] = tf.compat.v1.get_variable(name, shape, tf.float64)
    return made


def only_reads(container: str, model: Any) -> Any:
    """Tensors that hold the variables' values."""
    return {name: found.read_value() for name, found in find_model(container, model).items()}


def in_another_shape(container: str, model: Any) -> Any:
    """As if each were a vector of one more."""
    for name, (shape, device) in model.items():
        model[name] = ((sum(shape) + 1,), device)
    return find_model(container, model)


def constants(container: str, model: Any) -> Any:
    """Zeros."""
    import tensorflow as tf

    return {name: tf.zeros(shape) for name, (shape, _) in model.items()}


def as_list(container: str, model: Any) -> Any:
    """Some of them."""
    found = find_model(container, model)
    return {name: found[name] for name in list(found)[:1]}
