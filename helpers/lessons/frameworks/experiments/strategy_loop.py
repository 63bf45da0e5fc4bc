"""A training loop of one's own under any strategy of `tf.distribute`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.lessons.frameworks.experiments import setting


def train(
    strategy: Any,
    whole: setting.Task,
    step: Callable[..., Any],
    *starts: Sequence[np.ndarray],
) -> tuple[setting.Part, Any]:
    """Train with `step(model, optimizer, losses, inputs, targets, global_batch)`; also the model.

    The step runs on every replica; the strategy deals out each batch's rows. starts: weights
    that the initialisers give, one after the other.
    """
    import tensorflow as tf
    import tf_keras

    from helpers.lessons.frameworks.experiments import in_keras

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
