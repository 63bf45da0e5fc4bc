"""TensorFlow's strategies: Keras's `fit` under each, and a loop of one's own.

MirroredStrategy is one process, a replica a device; here one CPU is split into several.
MultiWorkerMirroredStrategy is a process a replica; they find each other through TF_CONFIG.
Keras 3's `fit` does not run under it; tf_keras, which is Keras 2, does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import replica_step
from helpers.lessons.frameworks.experiments import in_keras, setting

Step = Callable[..., Any]
"""step(model, optimizer, losses, inputs, targets, global_batch): one replica's part of a step."""


def mirrored(whole: setting.Task, replicas: int) -> list[setting.Part]:
    """Keras 3's `fit` on all replicas: the strategy deals out the rows of each batch."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    strategy, starts = _mirrored(whole, replicas)
    part, model = _fit(strategy, keras, whole, *starts)
    return _by_replica(part, strategy, [variable.value for variable in model.weights])


def mirrored_loop(
    whole: setting.Task, replicas: int, step: Step = replica_step
) -> list[setting.Part]:
    """A loop of one's own on all replicas."""
    strategy, starts = _mirrored(whole, replicas)
    part, model = _loop(strategy, whole, step, *starts)
    return _by_replica(part, strategy, model.weights)


def multi_worker(whole: setting.Task) -> setting.Part:
    """tf_keras's `fit` in every process at once; each keeps its share of the batches it reads.

    Notes: "worker", this process's number, and "workers", how many there are.
    """
    import tf_keras

    strategy, index, start = _multi_worker(whole)
    part, _ = _fit(strategy, tf_keras, whole, start)
    return part._replace(notes={"worker": index, "workers": strategy.num_replicas_in_sync})


def multi_worker_loop(whole: setting.Task, step: Step = replica_step) -> setting.Part:
    """A loop of one's own in every process at once."""
    strategy, _, start = _multi_worker(whole)
    return _loop(strategy, whole, step, start)[0]


def _mirrored(whole: setting.Task, replicas: int) -> tuple[Any, list[Any]]:
    """A strategy on this process's CPU, split into logical devices, and each replica's weights.

    Has to come before TensorFlow's first use in the process.
    """
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration() for _ in range(replicas)]
    tf.config.set_logical_device_configuration(cpu, parts)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(replicas)])
    return strategy, [setting.weights(replica, whole.widths) for replica in range(replicas)]


def _multi_worker(whole: setting.Task) -> tuple[Any, int, Any]:
    """A strategy of all workers, this process's number among them, and its weights."""
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index = int(strategy.cluster_resolver.task_id)
    return strategy, index, setting.weights(index, whole.widths)


def _fit(strategy: Any, keras: Any, whole: setting.Task, *starts: Any) -> tuple[setting.Part, Any]:
    """Train by `fit`; the part and the model. starts: what the initialisers give in turn."""
    with strategy.scope():
        model = in_keras.network(keras, *starts)
        model.compile(
            optimizer=keras.optimizers.SGD(setting.RATE),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    record = in_keras.recorder(keras)
    model.fit(in_keras.rows(whole), verbose=0, shuffle=False, callbacks=[record])
    return setting.Part(record.losses, in_keras.arrays(model), record.seconds, {}), model


def _loop(strategy: Any, whole: setting.Task, step: Step, *starts: Any) -> tuple[setting.Part, Any]:
    """Train by the step on every replica; the strategy deals out each batch's rows."""
    import tensorflow as tf
    import tf_keras

    with strategy.scope():
        model = in_keras.network(tf_keras, *starts)
        optimizer = tf_keras.optimizers.SGD(setting.RATE)
        optimizer.build(model.trainable_variables)
        losses = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    global_batch = whole.y.shape[1]

    @tf.function(autograph=False)
    def run_step(inputs: Any, targets: Any) -> Any:
        parts = strategy.run(step, (model, optimizer, losses, inputs, targets, global_batch))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)

    found, start = [], time.perf_counter()
    for inputs, targets in strategy.experimental_distribute_dataset(in_keras.rows(whole)):
        found.append(float(run_step(inputs, targets)))
    seconds = time.perf_counter() - start
    return setting.Part(found, in_keras.arrays(model), seconds, {}), model


def _by_replica(part: setting.Part, strategy: Any, variables: list[Any]) -> list[setting.Part]:
    """The part of each replica, with the weights on its own device."""
    values = [strategy.experimental_local_results(variable) for variable in variables]
    return [
        part._replace(weights=setting.turned([value.numpy() for value in replica]))
        for replica in zip(*values, strict=True)
    ]
