"""The graph of one search client: its network on one device, its variables in one container."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers.lessons.search.experiments.search_rows import Part, parts

BATCH = 32
CLASSES = 10


class Graph:
    """What a client runs, in this order: `begin` once, `step` each step, `end` at last.

    begin: initialises the weights and signs the guest book beside them. end: removes all from the
    server. loss, accuracy: over the validation rows, mean cross-entropy (nats) and share of right
    ones; test_accuracy: the same over the test rows, which no search may choose by. guests: how
    many clients have signed. count: the steps that the weights have seen.
    """

    def __init__(self, given: SimpleNamespace) -> None:
        import tensorflow as tf

        self.tf, self.given = tf, given
        v1 = tf.compat.v1
        rows = parts(given.seed)
        with tf.Graph().as_default() as self.graph, v1.device(given.device or None):
            with v1.container(given.container):
                self.weights = [
                    v1.get_variable(name, initializer=value, use_resource=True)
                    for name, value in first_weights(given).items()
                ]
                self.count = v1.get_variable("count", initializer=np.int64(0), use_resource=True)
                self._training(rows.train)
                self._guest_book()
            self.loss, self.accuracy = self._judged(rows.valid)
            _, self.test_accuracy = self._judged(rows.test)

    def _training(self, rows: Part) -> None:
        """A step of SGD with momentum and weight decay."""
        tf, given = self.tf, self.given
        order = tf.constant(batches(given, len(rows.y)))
        chosen = tf.gather(order, self.count.read_value() % given.steps)
        x, y = (tf.gather(tf.constant(each), chosen) for each in rows)
        slopes = tf.gradients(self._loss(x, y), self.weights)
        pulls = [
            slope + given.decay * weight.read_value()
            for slope, weight in zip(slopes, self.weights, strict=True)
        ]
        optimizer = tf.compat.v1.train.MomentumOptimizer(given.rate, given.momentum)
        pairs = list(zip(pulls, self.weights, strict=True))
        self.step = optimizer.apply_gradients(pairs, self.count)
        self.variables = [*self.weights, self.count, *optimizer.variables()]

    def _guest_book(self) -> None:
        """Who uses the variables, beside them; and their beginning and end.

        It is a queue, which is there as soon as it is used: two that begin at once cannot miss each
        other.
        """
        tf = self.tf
        book = tf.queue.FIFOQueue(10_000, tf.int64, shapes=[()], shared_name="guests")
        with tf.control_dependencies([each.initializer for each in self.variables]):
            self.begin = book.enqueue(np.int64(0))
        self.guests = book.size()
        self.end = tf.group(
            *[
                tf.raw_ops.DestroyResourceOp(resource=each, ignore_lookup_error=True)
                for each in (book.queue_ref, *(variable.handle for variable in self.variables))
            ]
        )

    def _judged(self, part: Part) -> tuple[Any, Any]:
        tf = self.tf
        x, y = tf.constant(part.x), tf.constant(part.y)
        right = tf.equal(tf.argmax(self._outputs(x), 1), y)
        return self._loss(x, y), tf.reduce_mean(tf.cast(right, tf.float64))

    def _loss(self, x: Any, y: Any) -> Any:
        each = self.tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=y, logits=self._outputs(x)
        )
        return self.tf.reduce_mean(each)

    def _outputs(self, x: Any) -> Any:
        tf = self.tf
        active = {"relu": tf.nn.relu, "tanh": tf.tanh, "sigmoid": tf.sigmoid}[self.given.activation]
        hidden, hidden_bias, out, out_bias = self.weights
        return tf.matmul(active(tf.matmul(x, hidden) + hidden_bias), out) + out_bias


def first_weights(given: SimpleNamespace) -> dict[str, np.ndarray]:
    """The weights before training, by name: they depend on seed, trial and width alone."""
    drawn = np.random.default_rng([given.seed, given.trial, 1])

    def uniform(rows: int, columns: int) -> np.ndarray:
        most = 1 / np.sqrt(rows)
        return drawn.uniform(-most, most, (rows, columns)).astype(np.float32)

    return {
        "hidden": uniform(64, given.width),
        "hidden_bias": np.zeros(given.width, np.float32),
        "out": uniform(given.width, CLASSES),
        "out_bias": np.zeros(CLASSES, np.float32),
    }


def batches(given: SimpleNamespace, rows: int) -> np.ndarray:
    """The rows of each step's batch, (steps, 32): epoch after epoch, each in a new order."""
    drawn = np.random.default_rng([given.seed, given.trial, 2])
    whole = rows - rows % BATCH
    epochs = -(-given.steps * BATCH // whole)
    order = np.concatenate([drawn.permutation(rows)[:whole] for _ in range(epochs)])
    return order[: given.steps * BATCH].reshape(given.steps, BATCH)
