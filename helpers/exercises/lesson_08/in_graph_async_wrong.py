"""The reference of exercise 08.2, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.four_ways import in_graph_async

    return in_graph_async(devices, batches, loss, variables, step, make_optimizer)


def updates(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> list[Any]:
    """An op a replica."""
    import tensorflow as tf

    found = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            mine = loss(batch, variables)
            found.append(make_optimizer().minimize(mine, step, var_list=variables))
    return found


def one_op(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """All updates in a group."""
    import tensorflow as tf

    return tf.group(*updates(devices, batches, loss, variables, step, make_optimizer))


def mean_in_each(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Applies the mean of all, as often as there are replicas."""
    import tensorflow as tf

    replicas = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            replicas.append(tf.gradients(loss(batch, variables), variables))
    means = [tf.add_n(each) / len(devices) for each in zip(*replicas, strict=True)]
    return [
        make_optimizer().apply_gradients(list(zip(means, variables, strict=True)), step)
        for _ in devices
    ]


def chained(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Each loss waits for the one before, for the sake of order."""
    import tensorflow as tf

    found: list[Any] = []
    losses: list[Any] = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device), tf.control_dependencies(losses):
            losses.append(loss(batch, variables))
            found.append(make_optimizer().minimize(losses[-1], step, var_list=variables))
    return found


def divides(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """As for a mean."""

    def part(batch: Any, variables: Any) -> Any:
        return loss(batch, variables) / len(devices)

    return updates(devices, batches, part, variables, step, make_optimizer)


def first_batch(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """The same rows for everybody."""
    first = [batches[0]] * len(devices)
    return updates(devices, first, loss, variables, step, make_optimizer)


def one_device(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """All replicas on the first worker."""
    here = [devices[0]] * len(devices)
    return updates(here, batches, loss, variables, step, make_optimizer)


def no_step(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Forgets to count."""
    return updates(devices, batches, loss, variables, None, make_optimizer)


def last_only(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Overwrites its op in the loop."""
    return updates(devices, batches, loss, variables, step, make_optimizer)[-1:]


def losses(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Collects losses instead of updates."""
    import tensorflow as tf

    found = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            found.append(loss(batch, variables))
            make_optimizer().minimize(found[-1], step, var_list=variables)
    return found


def step_for_variables(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    """Hands over the variables where the step goes."""
    import tensorflow as tf

    updates = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            updates.append(make_optimizer().minimize(loss(batch, variables), variables, step))
    return updates
