"""The network in Keras, in Keras 3 and in tf_keras (which is Keras 2), and its losses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.lessons.frameworks.experiments.setting import Task, turned


def network(keras: Any, *starts: Sequence[np.ndarray]) -> Any:
    """The network as a Keras model; keras: Keras 3, or tf_keras.

    starts: weights in torch's layout. Where there are several, an initialiser gives the next ones
    each time that it is asked, as random ones do: a strategy that asked for each replica anew
    would have replicas that differ.
    """
    layers = [keras.Input((starts[0][0].shape[1],))]
    last = len(starts[0]) - 2
    for place in range(0, last + 2, 2):
        layers.append(
            keras.layers.Dense(
                len(starts[0][place + 1]),
                activation=None if place == last else "tanh",
                kernel_initializer=initializer(keras, [start[place].T for start in starts]),
                bias_initializer=initializer(keras, [start[place + 1] for start in starts]),
            )
        )
    return keras.Sequential(layers)


def initializer(keras: Any, values: Sequence[np.ndarray]) -> Any:
    """An initialiser that gives one value after the other, and then always the last."""

    class Given(keras.initializers.Initializer):
        def __init__(self, left: list[np.ndarray]) -> None:
            self.left = left

        def __call__(self, shape: Any, dtype: Any = None, **_: Any) -> Any:
            import tensorflow as tf

            return tf.constant(self.left.pop(0) if len(self.left) > 1 else self.left[0])

    return Given(list(values))


def arrays(model: Any) -> list[np.ndarray]:
    """A model's weights in torch's layout."""
    return turned(model.get_weights())


def rows(part: Task) -> Any:
    """A `tf.data.Dataset` of which each element is the batch of a step."""
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((part.x, part.y))


def recorder(keras: Any) -> Any:
    """A callback with `.losses`, of the single steps, and `.seconds`, of all of them.

    Keras's own figure is the mean since the epoch began. It is read from the metric and not from
    the logs of a batch: under MultiWorkerMirroredStrategy these show the loss times the ranks.
    """

    class Recorder(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.losses: list[float] = []
            self.seconds = 0.0

        def on_train_begin(self, logs: Any = None) -> None:
            self._start = time.perf_counter()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self.model.reset_metrics()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.losses.append(float(self.model.metrics[0].result()))

        def on_train_end(self, logs: Any = None) -> None:
            self.seconds = time.perf_counter() - self._start

    return Recorder()
