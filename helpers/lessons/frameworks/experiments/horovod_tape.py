"""Horovod with TensorFlow: a gradient tape that averages the gradients it gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import tape_step
from helpers.lessons.frameworks.experiments import setting


def train_rank(whole: setting.Task, tape_step: Callable[..., Any] = tape_step) -> setting.Part:
    """One rank's training over `tape_step(hvd, model, optimizer, loss, inputs, targets, first)`.

    Horovod's TensorFlow binding is up (`hvd.init()`). The step is compiled twice, as it is for
    the first batch and as it is for all others.
    """
    import horovod.tensorflow as hvd
    import tensorflow as tf
    import tf_keras

    from helpers.lessons.frameworks.experiments import in_keras

    model = in_keras.network(tf_keras, setting.weights(hvd.rank(), whole.widths))
    optimizer = tf_keras.optimizers.SGD(setting.RATE)
    optimizer.build(model.trainable_variables)
    loss = tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(autograph=False)
    def run_step(inputs: Any, targets: Any, first: bool) -> Any:
        return tape_step(hvd, model, optimizer, loss, inputs, targets, first)

    losses: list[float] = []
    start = time.perf_counter()
    for inputs, targets in in_keras.rows(setting.share(whole, hvd.rank(), hvd.size())):
        losses.append(float(run_step(inputs, targets, first=not losses)))
    return setting.Part(losses, in_keras.arrays(model), time.perf_counter() - start, {})
