"""Horovod with TensorFlow: a gradient tape that averages, or Keras's optimizer and callbacks.

Horovod's TensorFlow binding is up (`hvd.init()`) in all of this.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import tape_step
from helpers.lessons.frameworks.experiments import in_keras, setting


def tape(whole: setting.Task, tape_step: Callable[..., Any] = tape_step) -> setting.Part:
    """One rank's training over `tape_step(hvd, model, optimizer, loss, inputs, targets, first)`.

    The step is compiled twice, as it is for the first batch and as it is for all others.
    """
    import horovod.tensorflow as hvd
    import tensorflow as tf
    import tf_keras

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


def wrap(hvd: Any, optimizer: Any) -> Any:
    """The optimizer that averages gradients over the ranks before it applies them."""
    return hvd.DistributedOptimizer(optimizer)


def callbacks(hvd: Any, checkpoint: Any) -> list[Any]:
    """What `fit` is given on this rank. checkpoint: a callback that saves the model.

    Horovod's own broadcast comes after the first batch, when the optimizer has all its variables;
    by then the first step has averaged gradients of models that differ. So it is done at the
    start too.
    """

    class Broadcast(hvd.callbacks.BroadcastGlobalVariablesCallback):
        def on_train_begin(self, logs: Any = None) -> None:
            self.model.optimizer.build(self.model.trainable_variables)
            self.on_batch_end(0)

    mine = [Broadcast(0), hvd.callbacks.MetricAverageCallback()]
    return [*mine, checkpoint] if hvd.rank() == 0 else mine


def keras(
    whole: setting.Task,
    wrap: Callable[[Any, Any], Any] = wrap,
    callbacks: Callable[[Any, Any], list[Any]] = callbacks,
) -> setting.Part:
    """One rank's training. wrap: `wrap(hvd, optimizer)`; callbacks: `callbacks(hvd, checkpoint)`.

    The learning rate is the one that suits this rank's rows, times the number of ranks: the rule of
    linear scaling. Notes: "epoch loss", as `fit` tells it, and "checkpoints", the files that this
    rank has written.
    """
    import horovod.tensorflow.keras as hvd
    import tf_keras

    mine = setting.share(whole, hvd.rank(), hvd.size())
    rate = setting.RATE * mine.y.shape[1] / whole.y.shape[1]
    model = in_keras.network(tf_keras, setting.weights(hvd.rank(), whole.widths))
    model.compile(
        optimizer=wrap(hvd, tf_keras.optimizers.SGD(rate * hvd.size())),
        loss=tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    record = in_keras.recorder(tf_keras)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "epoch-{epoch}.weights.h5")
        checkpoint = tf_keras.callbacks.ModelCheckpoint(file, save_weights_only=True)
        history = model.fit(
            in_keras.rows(mine), verbose=0, callbacks=[*callbacks(hvd, checkpoint), record]
        )
        notes = {
            "epoch loss": float(history.history["loss"][-1]),
            "checkpoints": sorted(os.listdir(folder)),
        }
    return setting.Part(record.losses, in_keras.arrays(model), record.seconds, notes)
