"""MultiWorkerMirroredStrategy: a process a replica; they find each other through TF_CONFIG.

Keras 3's `fit` does not run under it; tf_keras, which is Keras 2, does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import replica_step
from helpers.lessons.frameworks.experiments import setting


def train_fit(whole: setting.Task) -> setting.Part:
    """tf_keras's `fit` in every process at once; each keeps its share of the batches it reads.

    Notes: "worker", this process's number, and "workers", how many there are.
    """
    import tensorflow as tf
    import tf_keras

    from helpers.lessons.frameworks.experiments import in_keras

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = in_keras.network(tf_keras, setting.weights(index(strategy), whole.widths))
        model.compile(
            optimizer=tf_keras.optimizers.SGD(setting.RATE),
            loss=tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    record = in_keras.recorder(tf_keras)
    model.fit(in_keras.rows(whole), verbose=0, callbacks=[record])
    notes = {"worker": index(strategy), "workers": strategy.num_replicas_in_sync}
    return setting.Part(record.losses, in_keras.arrays(model), record.seconds, notes)


def train_loop(whole: setting.Task, step: Callable[..., Any] = replica_step) -> setting.Part:
    """A loop of one's own over `step(model, optimizer, losses, inputs, targets, global_batch)`."""
    import tensorflow as tf

    from helpers.lessons.frameworks.experiments import strategy_loop

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    start = setting.weights(index(strategy), whole.widths)
    return strategy_loop.train(strategy, whole, step, start)[0]


def index(strategy: Any) -> int:
    """This process's number among the workers."""
    return int(strategy.cluster_resolver.task_id)
