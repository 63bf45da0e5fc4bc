"""The reference of exercise 08.1, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.four_ways import in_graph_sync

    return in_graph_sync(devices, server, batches, loss, variables, step, optimizer)


def gradients_of(devices: Any, batches: Any, loss: Any, variables: Any) -> list[Any]:
    """Each replica's gradients, on its device."""
    import tensorflow as tf

    found = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            found.append(tf.gradients(loss(batch, variables), variables))
    return found


def averaged(
    found: Any, server: str, variables: Any, step: Any, optimizer: Any, share: float
) -> Any:
    """Their sum times `share`, applied on the server."""
    import tensorflow as tf

    with tf.device(server):
        means = [tf.add_n(each) * share for each in zip(*found, strict=True)]
        return optimizer.apply_gradients(list(zip(means, variables, strict=True)), global_step=step)


def sums(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Never divides."""
    found = gradients_of(devices, batches, loss, variables)
    return averaged(found, server, variables, step, optimizer, 1.0)


def nowhere(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Leaves the replicas' devices to TensorFlow."""
    found = gradients_of([None] * len(devices), batches, loss, variables)
    return averaged(found, server, variables, step, optimizer, 1 / len(devices))


def one_device(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """All replicas on the first worker."""
    found = gradients_of([devices[0]] * len(devices), batches, loss, variables)
    return averaged(found, server, variables, step, optimizer, 1 / len(devices))


def gradients_outside(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Losses on their devices, gradients where the code happens to be."""
    import tensorflow as tf

    losses = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            losses.append(loss(batch, variables))
    pairs = [optimizer.compute_gradients(each, variables) for each in losses]
    found = [[gradient for gradient, _ in each] for each in pairs]
    return averaged(found, server, variables, step, optimizer, 1 / len(devices))


def first_batch(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """The same rows for everybody."""
    found = gradients_of(devices, [batches[0]] * len(devices), loss, variables)
    return averaged(found, server, variables, step, optimizer, 1 / len(devices))


def last_gradient(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Overwrites the gradients in the loop."""
    found = gradients_of(devices, batches, loss, variables)[-1:]
    return averaged(found, server, variables, step, optimizer, 1.0)


def on_a_worker(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Averages within the last replica's `with`."""
    found = gradients_of(devices, batches, loss, variables)
    return averaged(found, devices[-1], variables, step, optimizer, 1 / len(devices))


def applies_each(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """An update for each replica, all in one group."""
    import tensorflow as tf

    found = gradients_of(devices, batches, loss, variables)
    return tf.group(
        *(optimizer.apply_gradients(list(zip(g, variables, strict=True)), step) for g in found)
    )


def no_step(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Forgets to count."""
    found = gradients_of(devices, batches, loss, variables)
    return averaged(found, server, variables, None, optimizer, 1 / len(devices))


def gives_means(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """The means, and nobody applies them."""
    import tensorflow as tf

    found = gradients_of(devices, batches, loss, variables)
    with tf.device(server):
        return [tf.add_n(each) / len(devices) for each in zip(*found, strict=True)]


def gives_nothing(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> None:
    """Forgets to return."""
    found = gradients_of(devices, batches, loss, variables)
    averaged(found, server, variables, step, optimizer, 1 / len(devices))


def one_number(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """The mean over all elements too."""
    import tensorflow as tf

    found = gradients_of(devices, batches, loss, variables)
    with tf.device(server):
        means = [tf.reduce_mean(each) for each in zip(*found, strict=True)]
        return optimizer.apply_gradients(list(zip(means, variables, strict=True)), step)


def variables_first(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    """Pairs the other way round."""
    import tensorflow as tf

    found = gradients_of(devices, batches, loss, variables)
    with tf.device(server):
        means = [tf.add_n(each) / len(devices) for each in zip(*found, strict=True)]
        return optimizer.apply_gradients(list(zip(variables, means, strict=True)), step)
