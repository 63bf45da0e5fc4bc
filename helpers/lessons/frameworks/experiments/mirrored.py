"""MirroredStrategy: one process, a replica a device; here one CPU is split into several."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import replica_step
from helpers.lessons.frameworks.experiments import setting


def strategy_on(replicas: int) -> Any:
    """A MirroredStrategy on this process's CPU, split into so many logical devices.

    Has to come before TensorFlow's first use in the process.
    """
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration() for _ in range(replicas)]
    tf.config.set_logical_device_configuration(cpu, parts)
    return tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(replicas)])


def train_fit(whole: setting.Task, replicas: int) -> list[setting.Part]:
    """Keras 3's `fit` on all replicas: the strategy deals out the rows of each batch."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    from helpers.lessons.frameworks.experiments import in_keras

    strategy = strategy_on(replicas)
    starts = [setting.weights(replica, whole.widths) for replica in range(replicas)]
    with strategy.scope():
        model = in_keras.network(keras, *starts)
        model.compile(
            optimizer=keras.optimizers.SGD(setting.RATE),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    record = in_keras.recorder(keras)
    model.fit(in_keras.rows(whole), verbose=0, shuffle=False, callbacks=[record])
    part = setting.Part(record.losses, [], record.seconds, {})
    return by_replica(part, strategy, [variable.value for variable in model.weights])


def train_loop(
    whole: setting.Task, replicas: int, step: Callable[..., Any] = replica_step
) -> list[setting.Part]:
    """A loop of one's own over `step(model, optimizer, losses, inputs, targets, global_batch)`."""
    from helpers.lessons.frameworks.experiments import strategy_loop

    strategy = strategy_on(replicas)
    starts = [setting.weights(replica, whole.widths) for replica in range(replicas)]
    part, model = strategy_loop.train(strategy, whole, step, *starts)
    return by_replica(part, strategy, model.weights)


def by_replica(part: setting.Part, strategy: Any, variables: list[Any]) -> list[setting.Part]:
    """The part of each replica, with the weights on its own device."""
    values = [strategy.experimental_local_results(variable) for variable in variables]
    return [
        part._replace(weights=setting.turned([value.numpy() for value in replica]))
        for replica in zip(*values, strict=True)
    ]
