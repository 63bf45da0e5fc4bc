"""The four ways to train with a graph on several devices, each in a few lines of `tf.compat.v1`.

In-graph: one client builds one graph with a replica a device. Between-graph: every worker is a
client with a graph of its own, and what they share lies on the servers. Either is synchronous or
asynchronous. These are the course's own answers to the exercises of lesson 08.

Source: TensorFlow's guide "Distributed TensorFlow" (2017) and its `sync_replicas_optimizer.py`.

What the functions are given, all made inside the graph that is the default one:
- batches: (pictures, classes), a pair of tensors; each `session.run` draws the replica's next.
- loss(batch, variables): the replica's mean loss, reading the variables where it is called.
- variables: a list. step: the global step, an int64 variable that counts the updates.
- make_variables(): makes the variables and returns them.
- optimizer: a `tf.compat.v1.train.Optimizer`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.engine.tf_cluster import Task


def in_graph_sync(
    devices: Sequence[str],
    server: str,
    batches: Sequence[Any],
    loss: Callable[[Any, list[Any]], Any],
    variables: list[Any],
    step: Any,
    optimizer: Any,
) -> Any:
    """The op that makes one update from all replicas.

    Each replica's gradients are computed on its device, averaged on the server, applied once.
    """
    import tensorflow as tf

    replicas = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            replicas.append(tf.gradients(loss(batch, variables), variables))
    with tf.device(server):
        means = [tf.add_n(each) / len(devices) for each in zip(*replicas, strict=True)]
        return optimizer.apply_gradients(zip(means, variables, strict=True), global_step=step)


def in_graph_async(
    devices: Sequence[str],
    batches: Sequence[Any],
    loss: Callable[[Any, list[Any]], Any],
    variables: list[Any],
    step: Any,
    make_optimizer: Callable[[], Any],
) -> list[Any]:
    """For each replica an op that makes an update from its gradients alone.

    Each has an optimizer of its own, and computes on its device.
    """
    import tensorflow as tf

    updates = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            mine = loss(batch, variables)
            updates.append(make_optimizer().minimize(mine, step, var_list=variables))
    return updates


def run_threads(session: Any, updates: Sequence[Any], step: Any, last: int) -> None:
    """Run each op over and over in a thread of its own, until the global step is `last` or more.

    Returns when all threads have ended.
    """

    def work(update: Any) -> None:
        while session.run(step) < last:
            session.run(update)

    threads = [threading.Thread(target=work, args=(update,)) for update in updates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def between_graph_async(
    task: Task,
    container: str,
    make_variables: Callable[[], list[Any]],
    batch: Any,
    loss: Callable[[Any, list[Any]], Any],
    optimizer: Any,
) -> tuple[Any, Any, Any]:
    """One worker's graph: (version before, update, version after).

    Variables and global step lie on the servers, in the container; the rest is on this task. The
    version is the global step: read before the weights are, and again after this update.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.device(task.placement()), v1.container(container):
        step, variables = v1.train.get_or_create_global_step(), make_variables()
        before = step.read_value()
        with tf.control_dependencies([before]):
            mine = loss(batch, variables)
        update = optimizer.minimize(mine, step, var_list=variables)
        with tf.control_dependencies([update]):
            after = step.read_value()
    return before, update, after


def between_graph_sync(
    task: Task,
    make_variables: Callable[[], list[Any]],
    batch: Any,
    loss: Callable[[Any, list[Any]], Any],
    optimizer: Any,
    aggregate: int,
    total: int,
) -> tuple[Any, Any]:
    """One worker's graph: (update, hook) of a SyncReplicasOptimizer.

    aggregate: how many gradients make an update. total: workers; those above aggregate are spare.
    The hook starts the chief's part. No tokens at the start: with TensorFlow's own default a
    worker can begin its second step before another has ended its first.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.device(task.placement()):
        step, variables = v1.train.get_or_create_global_step(), make_variables()
        together = v1.train.SyncReplicasOptimizer(optimizer, aggregate, total)
        gradients = together.compute_gradients(loss(batch, variables), variables)
        update = together.apply_gradients(gradients, global_step=step)
        return update, together.make_session_run_hook(task.is_chief, num_tokens=0)
