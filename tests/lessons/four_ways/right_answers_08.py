"""Right answers to lesson 08 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def sync_scaled_on_the_workers(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Each worker divides its own gradients; the server adds. The step is counted by hand."""
    import tensorflow as tf

    found = []
    for replica in range(len(devices)):
        with tf.device(devices[replica]):
            share = loss(batches[replica], variables) / len(devices)
            pairs = optimizer.compute_gradients(share, variables)
            found.append([gradient for gradient, _ in pairs])
    with tf.device(server):
        totals = [sum(each[1:], each[0]) for each in zip(*found, strict=True)]
        update = optimizer.apply_gradients(list(zip(totals, variables, strict=True)))
        with tf.control_dependencies([update]):
            return step.assign_add(1)


def async_by_gradients(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Gradients and `apply_gradients`, in a tuple; one plain optimizer for all."""
    from tensorflow.compat import v1

    optimizer, found = make_optimizer(), []
    for device, batch in zip(devices, batches, strict=True):
        with v1.device(device):
            gradients = v1.gradients(loss(batch, variables), variables)
        pairs = list(zip(gradients, variables, strict=True))
        found.append(optimizer.apply_gradients(pairs, global_step=step))
    return tuple(found)


def threads_of_a_pool(session: Any, updates: Any, step: Any, last: int) -> None:
    """A pool with a thread an op, which waits at its end."""

    def work(update: Any) -> None:
        while True:
            if session.run(step) >= last:
                return
            session.run(update)

    with ThreadPoolExecutor(len(updates)) as pool:
        list(pool.map(work, updates))


def async_setter_by_hand(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """The setter of TensorFlow itself, the graph's own container, a list of three."""
    import tensorflow as tf
    from tensorflow.compat import v1

    setter = v1.train.replica_device_setter(
        ps_tasks=len(task.cluster["ps"]), worker_device=task.device
    )
    with v1.get_default_graph().container(container), v1.device(setter):
        variables = make_variables()
        step = v1.train.create_global_step()
        before = tf.identity(step.read_value())
        with tf.control_dependencies([before]):
            gradients = v1.gradients(loss(batch, variables), variables)
        pairs = list(zip(gradients, variables, strict=True))
        update = optimizer.apply_gradients(pairs, global_step=step)
        with tf.control_dependencies([update]):
            after = tf.identity(step.read_value())
        return [before, update, after]


def sync_of_gradients(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Gradients by the inner optimizer, then those of the wrapped one applied; a list of two."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        variables = make_variables()
        step = v1.train.create_global_step()
        sync = v1.train.SyncReplicasOptimizer(
            optimizer, total_num_replicas=total, replicas_to_aggregate=aggregate
        )
        pairs = optimizer.compute_gradients(loss(batch, variables), variables)
        update = sync.apply_gradients(pairs, global_step=step)
        hook = sync.make_session_run_hook(num_tokens=0, is_chief=task.index == 0)
    return [update, hook]


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("08.1", sync_scaled_on_the_workers),
    ("08.2", async_by_gradients),
    ("08.3", threads_of_a_pool),
    ("08.4", async_setter_by_hand),
    ("08.5", sync_of_gradients),
]
