"""Wrong answers to exercise 01.4, each with one thing wrong."""

from __future__ import annotations

from typing import Any


def after(weight: Any, value: Any, log: Any) -> Any:
    """The log waits for the assignment."""
    import tensorflow as tf

    with tf.control_dependencies([weight.assign(value)]):
        return log(weight.read_value())


def made_before(weight: Any, value: Any, log: Any) -> Any:
    """The assignment exists before the dependency does."""
    import tensorflow as tf

    assign = weight.assign(value)
    with tf.control_dependencies([log(weight.read_value())]):
        return assign


def not_run(weight: Any, value: Any, log: Any) -> Any:
    """As it would be written outside of a graph."""
    log(weight.read_value())
    return weight.assign(value)


def grouped(weight: Any, value: Any, log: Any) -> Any:
    """Both, in any order."""
    import tensorflow as tf

    return tf.group(log(weight.read_value()), weight.assign(value))


def waits_for_reading(weight: Any, value: Any, log: Any) -> Any:
    """The assignment waits for the reading alone."""
    import tensorflow as tf

    old = weight.read_value()
    with tf.control_dependencies([old]):
        assign = weight.assign(value)
    return tf.group(log(old), assign)


def new_value(weight: Any, value: Any, log: Any) -> Any:
    """Logs what is assigned."""
    import tensorflow as tf

    with tf.control_dependencies([log(value)]):
        return weight.assign(value)


def only_log(weight: Any, value: Any, log: Any) -> Any:
    """Returns the log."""
    return log(weight.read_value())


def both(weight: Any, value: Any, log: Any) -> Any:
    """A pair."""
    return log(weight.read_value()), weight.assign(value)


def not_a_list(weight: Any, value: Any, log: Any) -> Any:
    """The op itself instead of a list of it."""
    import tensorflow as tf

    with tf.control_dependencies(log(weight.read_value())):
        return weight.assign(value)
