"""What the four ways train: a 64-32-10 network on the digits, in float32, by plain descent.

Arrays come from the parent process, so that no rank needs scikit-learn or torch. A replica's
batches come from its own device: each run of the graph draws the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

WIDTHS = (64, 32, 10)
NAMES = ("hidden", "hidden_bias", "out", "out_bias")


@dataclass(frozen=True)
class Data:
    """x: (rows, 64) float32. y: (rows,) int64. order: (steps, workers, batch), row numbers.

    weights: what training starts from, in the order of `NAMES`. When the order has come to its
    end, it begins again.
    """

    x: np.ndarray
    y: np.ndarray
    order: np.ndarray
    weights: list[np.ndarray]


def data(workers: int, batch: int, steps: int, seed: int) -> Data:
    """The digits' training rows, and each worker's share of the same big batches."""
    from helpers.lessons.data_parallel.experiments.digits import batches, digits

    rows = digits()
    drawn = batches(len(rows.train_y), workers * batch, seed)
    order = np.stack([next(drawn).numpy() for _ in range(steps)])
    return Data(
        rows.train_x.numpy(),
        rows.train_y.numpy(),
        order.reshape(steps, workers, batch),
        initial(seed),
    )


def initial(seed: int) -> list[np.ndarray]:
    """The weights before training: small, the biases zero."""
    random = np.random.default_rng(seed)
    weights: list[np.ndarray] = []
    for rows, columns in pairwise(WIDTHS):
        scale = 1 / np.sqrt(rows)
        weights.append(random.uniform(-scale, scale, (rows, columns)).astype(np.float32))
        weights.append(np.zeros(columns, np.float32))
    return weights


def variables(weights: Sequence[np.ndarray]) -> list[Any]:
    """Make the variables in the default graph."""
    import tensorflow as tf

    pairs = zip(NAMES, weights, strict=True)
    return [tf.compat.v1.get_variable(name, initializer=value) for name, value in pairs]


def loss(batch: Any, variables: Sequence[Any]) -> Any:
    """The mean cross-entropy (nats) of a batch, in the graph, where it is called."""
    import tensorflow as tf

    pictures, classes = batch
    hidden, hidden_bias, out, out_bias = variables
    with tf.name_scope("loss"):
        logits = tf.matmul(tf.tanh(tf.matmul(pictures, hidden) + hidden_bias), out) + out_bias
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
        return tf.reduce_mean(each)


def batch(rows: Data, worker: int, device: str, seconds: float = 0.0) -> Any:
    """A worker's next batch on its device: (pictures, classes), which each run draws anew.

    seconds: that it takes to come, as on a slow worker. A local variable counts the batches.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.device(device), v1.variable_scope(f"batch_{worker}"):
        turn = v1.get_variable(
            "turn",
            initializer=np.int64(-1),
            trainable=False,
            collections=[v1.GraphKeys.LOCAL_VARIABLES],
        )
        order = tf.constant(rows.order[:, worker])
        drawn = turn.assign_add(1).read_value()
        chosen = tf.gather(order, drawn % len(rows.order))
        if seconds:
            chosen = late(chosen, seconds)
        return tf.gather(tf.constant(rows.x), chosen), tf.gather(tf.constant(rows.y), chosen)


def late(tensor: Any, seconds: float) -> Any:
    """The same tensor, so much later. It needs no Python, so it works on any task's device."""
    import tensorflow as tf

    raw, kind = tf.raw_ops, {"output_shapes": [tensor.shape]}
    one = raw.TensorDataset(components=[tensor], **kind)
    kind["output_types"] = [tensor.dtype]
    # It sleeps a second time, to see that no other element comes.
    micro = tf.constant(round(seconds / 2 * 1e6), tf.int64)
    slow = raw.SleepDataset(input_dataset=one, sleep_microseconds=micro, **kind)
    return raw.DatasetToSingleElement(dataset=slow, **kind)[0]


def mean_loss(weights: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """The mean cross-entropy (nats) over all rows, computed in numpy."""
    hidden, hidden_bias, out, out_bias = weights
    logits = np.tanh(x @ hidden + hidden_bias) @ out + out_bias
    logits -= logits.max(1, keepdims=True)
    chances = np.exp(logits)
    chances /= chances.sum(1, keepdims=True)
    return float(-np.log(chances[np.arange(len(y)), y]).mean())


def train_alone(rows: Data, steps: int, rate: float) -> list[np.ndarray]:
    """Big-batch training in torch, no TensorFlow: what a synchronous way must come to.

    Each step takes all workers' batches of that step as one.
    """
    import torch
    from torch.nn.functional import cross_entropy

    x, y, weights = torch.from_numpy(rows.x), torch.from_numpy(rows.y), rows.weights
    for step in range(steps):
        chosen = rows.order[step % len(rows.order)].reshape(-1)
        own = [torch.tensor(each, requires_grad=True) for each in weights]
        hidden, hidden_bias, out, out_bias = own
        logits = torch.tanh(x[chosen] @ hidden + hidden_bias) @ out + out_bias
        slopes = torch.autograd.grad(cross_entropy(logits, y[chosen]), own)
        weights = [w - rate * s.numpy() for w, s in zip(weights, slopes, strict=True)]
    return weights


def data_of_nothing(workers: int) -> Data:
    """The same shapes with a row a worker, for a graph that is only looked at."""
    order = np.arange(workers).reshape(1, workers, 1)
    return Data(np.zeros((workers, 64), np.float32), np.zeros(workers, np.int64), order, initial(0))
