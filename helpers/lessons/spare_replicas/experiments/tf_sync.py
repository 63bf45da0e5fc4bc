"""TensorFlow's SyncReplicasOptimizer on a real server and real workers.

Softmax regression on the digits: two variables, so two accumulators. Each worker's computing takes
a time that is given, so that a slow worker is slow on purpose.
`sync_replay.replay_sync_replicas` trains the same with the rebuilt optimizer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.engine.tf_cluster import Task, run_cluster
from helpers.lessons.spare_replicas.experiments import softmax
from helpers.lessons.spare_replicas.experiments.sync_replay import (
    BATCH,
    RATE,
    SEED,
    Setting,
    SyncRun,
    check,
)


def train_sync_replicas(
    seconds: Sequence[float] = (0.02, 0.02, 0.08),
    aggregate: int = 2,
    steps: int = 30,
    num_tokens: int = 0,
) -> SyncRun:
    """Train with TensorFlow's SyncReplicasOptimizer, between-graph, on one server.

    seconds: that a gradient takes each worker; there are as many workers. aggregate: how many
    gradients make an update; the other workers are spare. steps: updates. num_tokens: at the
    start; TensorFlow's own default, −1, lets workers run ahead in the first step.

    A gradient is seen to be dropped by its local step, below the global step that the server has
    when the gradient arrives there. One that arrives in the moment of an update may be misread.
    """
    setting = check(Setting(tuple(seconds), aggregate, steps, num_tokens))
    workers = len(setting.seconds)
    rows = softmax.training_rows()
    results = run_cluster(worker_program, setting, rows, servers=1, workers=workers, timeout=60.0)
    _, _, loss, times = results[0]
    return SyncRun([value[0] for value in results], [value[1] for value in results], loss, times)


def worker_program(
    task: Task, setting: Setting, rows: softmax.Rows
) -> tuple[int, int, float, list[float]]:
    """One worker's own program; worker 0 is the chief as well.

    Returns how many of its gradients counted and were dropped, and for the chief the loss and the
    times of the updates.
    """
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.device(task.placement()):
        ops = build(task, setting, rows)
    order = softmax.batches(len(rows[1]), BATCH, SEED, task.index)
    with task.session(graph) as session:
        gather(session, ops, task, len(setting.seconds))
        start = time.perf_counter()
        times: list[float] = []
        chief = threading.Thread(target=be_chief, args=(session, ops, setting.steps, times))
        if task.is_chief:
            chief.start()
        counted, dropped, local = 0, 0, 0
        while local < setting.steps:
            try:
                feed = {ops["rows"]: next(order)}
                token, global_step = session.run([ops["train"], ops["seen"]], feed)
            except tf.errors.OutOfRangeError:  # the chief has closed the queue
                break
            late = bool(local < global_step)
            counted, dropped, local = counted + (not late), dropped + late, int(token)
        if not task.is_chief:
            return counted, dropped, 0.0, []
        chief.join()
        loss = softmax.loss(session.run(ops["variables"]), rows)
    return counted, dropped, loss, [each - start for each in times]


def be_chief(session: Any, ops: dict[str, Any], steps: int, times: list[float]) -> None:
    """The chief's thread: wait for R gradients, update, hand out tokens; in the end close up."""
    for _ in range(steps):
        session.run(ops["sync"])
        times.append(time.perf_counter())
    session.run(ops["close"])


def gather(session: Any, ops: dict[str, Any], task: Task, workers: int) -> None:
    """Set up what is on the server, and wait until every worker is there."""
    if task.is_chief:
        session.run(ops["initial"])
        session.run(ops["chief_initial"])
        session.run(ops["tokens"])
    while len(session.run(ops["missing"])):
        time.sleep(0.005)
    session.run(ops["worker_initial"])
    session.run(ops["arrive"])
    while session.run(ops["here"]) < workers:
        time.sleep(0.005)


def build(task: Task, setting: Setting, rows: softmax.Rows) -> dict[str, Any]:
    """One worker's graph: its own computing, and by their names what is shared on the server."""
    import tensorflow as tf

    v1 = tf.compat.v1
    step = v1.train.get_or_create_global_step()
    names = ("weights", "bias")
    pairs = zip(names, softmax.initial(rows), strict=True)
    variables = [v1.get_variable(name, initializer=value) for name, value in pairs]
    here = v1.get_variable("here", initializer=0, trainable=False)
    chosen = v1.placeholder(tf.int64, [None])
    logits = tf.matmul(tf.gather(rows[0], chosen), variables[0]) + variables[1]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.gather(rows[1], chosen), logits)

    optimizer = v1.train.SyncReplicasOptimizer(
        v1.train.GradientDescentOptimizer(RATE), setting.aggregate, len(setting.seconds)
    )
    gradients = [g for g, _ in optimizer.compute_gradients(tf.reduce_mean(losses), variables)]
    with tf.control_dependencies(gradients):  # computed on weights as they were; now be slow
        slow = tf.numpy_function(pause, [np.float64(setting.seconds[task.index])], tf.float64)
    with tf.control_dependencies([slow]):
        gradients = [tf.identity(gradient) for gradient in gradients]
    with v1.device("/job:ps/task:0"):
        gradients = [tf.identity(gradient) for gradient in gradients]
        with tf.control_dependencies(gradients):
            seen = step.read_value()
        with tf.control_dependencies([seen]):
            gradients = [tf.identity(gradient) for gradient in gradients]
    train = optimizer.apply_gradients(zip(gradients, variables, strict=True), global_step=step)
    queue = optimizer.get_chief_queue_runner()
    return {
        "rows": chosen,
        "variables": variables,
        "train": train,
        "seen": seen,
        "sync": queue.enqueue_ops[0],
        "close": queue.cancel_op,
        "tokens": optimizer.get_init_tokens_op(setting.num_tokens),
        "chief_initial": optimizer.chief_init_op,
        "worker_initial": optimizer.local_step_init_op,
        "missing": optimizer.ready_for_local_init_op,
        "arrive": here.assign_add(1),
        "here": here,
        "initial": v1.global_variables_initializer(),
    }


def pause(seconds: np.ndarray) -> np.ndarray:
    """Take so long, as a machine that is slow."""
    time.sleep(float(seconds))
    return seconds
