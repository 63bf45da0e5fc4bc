"""TensorFlow's ParameterServerStrategy on real servers and workers, with a loop of one's own.

A coordinator hands steps to whichever worker is free; each worker pulls the weights from the
servers, computes a gradient and applies it there, without waiting for anyone. A partitioner cuts
variables into shards, which go to the servers in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from helpers.engine.tf_cluster import Task, run_cluster

HIDDEN, BATCH, RATE = 128, 32, 0.2


class Shard(NamedTuple):
    """A part of a variable and where it lives. shape: of the part; device: its server's."""

    variable: str
    shape: tuple[int, ...]
    device: str
    nbytes: int


class ServerRun(NamedTuple):
    """What came out. losses: over all training rows, in nats, before the first step and after
    each block of steps; shards: of every variable; updates: as counted on a server."""

    losses: list[float]
    steps: list[int]
    shards: list[Shard]
    updates: int


def train_parameter_server(
    servers: int = 2, workers: int = 2, steps: int = 200, block: int = 20, shards: int | None = None
) -> ServerRun:
    """Train a network of one hidden layer on the digits, asynchronously; see `ServerRun`.

    steps: all workers' together. block: steps between two looks at the loss, for which everybody
    waits. shards: cut every variable into so many, none where nothing is said. A variable is never
    cut into more parts than it has rows.
    """
    if servers < 1:
        raise ValueError("The parameters need a server to live on: give servers=1 or more.")
    if block < 1 or steps < block:
        raise ValueError(f"{steps} steps make no block of {block}; give steps ≥ block ≥ 1.")
    from helpers.lessons.data_parallel.experiments.digits import digits

    data = digits()
    rows = data.train_x.numpy(), data.train_y.numpy()
    options: dict[str, Any] = {"servers": servers, "workers": workers, "coordinator": True}
    return ServerRun(*run_cluster(coordinate, rows, shards, steps, block, **options)[0])


def coordinate(
    task: Task, rows: tuple[np.ndarray, np.ndarray], shards: int | None, steps: int, block: int
) -> tuple[Any, ...]:
    """The coordinator's program; the workers have none, they run what is scheduled on them."""
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(task.cluster), task_type=task.kind, task_id=0, rpc_layer="grpc"
    )
    cut = None
    if shards is not None:
        cut = tf.distribute.experimental.partitioners.FixedShardsPartitioner(shards)
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=cut)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variables = make_variables(rows[0].shape[1], int(rows[1].max()) + 1)
        updates = tf.Variable(0, dtype=tf.int64, name="updates")
    # The parts of a variable that was cut; itself where it was not.
    parts = {name: list(getattr(v, "variables", [v])) for name, v in variables.items()}
    flat = [part for each in parts.values() for part in each]

    def replica(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = loss(variables, x, y)
        for part, gradient in zip(flat, tape.gradient(value, flat), strict=True):
            part.assign_sub(RATE * gradient)
        updates.assign_add(1)

    @tf.function
    def step(numbers: Any) -> None:
        strategy.run(replica, args=(tf.gather(rows[0], numbers), tf.gather(rows[1], numbers)))

    random = np.random.default_rng(0)
    seen = [(0, float(loss(variables, *rows)))]
    for begun in range(0, steps, block):
        done = min(begun + block, steps)
        for _ in range(begun, done):  # who takes which batch is up to who is free
            numbers = random.choice(len(rows[1]), BATCH, replace=False)
            coordinator.schedule(step, args=(tf.constant(numbers),))
        coordinator.join()
        seen.append((done, float(loss(variables, *rows))))
    placed = [
        Shard(name, tuple(part.shape), short(part.device), part.shape.num_elements() * 4)
        for name, each in parts.items()
        for part in each
    ]
    return [value for _, value in seen], [done for done, _ in seen], placed, int(updates)


def make_variables(inputs: int, classes: int) -> dict[str, Any]:
    """Two layers; in the scope of a strategy, which puts them on servers and may cut them."""
    import tensorflow as tf

    random = np.random.default_rng(0)
    initial = {
        "hidden": random.normal(size=(inputs, HIDDEN)) / np.sqrt(inputs),
        "hidden_bias": np.zeros(HIDDEN),
        "out": random.normal(size=(HIDDEN, classes)) / np.sqrt(HIDDEN),
        "out_bias": np.zeros(classes),
    }
    return {n: tf.Variable(tf.constant(v, tf.float32), name=n) for n, v in initial.items()}


def loss(variables: dict[str, Any], x: Any, y: Any) -> Any:
    """The mean cross-entropy in nats; reading a cut variable puts its parts together."""
    import tensorflow as tf

    hidden = tf.nn.relu(tf.matmul(x, variables["hidden"]) + variables["hidden_bias"])
    logits = tf.matmul(hidden, variables["out"]) + variables["out_bias"]
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def short(device: str) -> str:
    """A device's name without what is the same everywhere: "/job:ps/task:1"."""
    parts = [part for part in device.split("/") if part.startswith(("job:", "task:"))]
    return "/" + "/".join(parts)
