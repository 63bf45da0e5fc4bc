"""The reference of exercise 04.3, and replicas' steps with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reference(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import replica_step

    return replica_step(model, optimizer, losses, inputs, targets, global_batch)


def _step(
    model: Any,
    optimizer: Any,
    own: Callable[[], Any],
    scale: Callable[[Any], Any],
    change: Callable[[Any], Any] | None = None,
    **options: Any,
) -> Any:
    """own: this replica's losses. scale: of these, what is differentiated."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        part = scale(own())
    gradients = tape.gradient(part, model.trainable_variables)
    if change is not None:
        gradients = change(gradients)
    pairs = zip(gradients, model.trainable_variables, strict=True)
    optimizer.apply_gradients(pairs, **options)
    return part


def _replicas() -> int:
    import tensorflow as tf

    return int(tf.distribute.get_replica_context().num_replicas_in_sync)


def _reduce(kind: str) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda gradients: tf.distribute.get_replica_context().all_reduce(kind, gradients)


def own_mean(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """The mean over its own rows, as on one device."""
    import tensorflow as tf

    return _step(model, optimizer, lambda: losses(targets, model(inputs)), tf.reduce_mean)


def mean_of_means(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """The mean over its own rows, divided by the replicas."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_mean(own) / _replicas(),
    )


def never(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """The sum."""
    import tensorflow as tf

    return _step(model, optimizer, lambda: losses(targets, model(inputs)), tf.reduce_sum)


def divides_again(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Divides by all rows and by the replicas."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_sum(own) / global_batch / _replicas(),
    )


def both(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """A mean, divided by all rows."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_mean(own) / global_batch,
    )


def sums_too(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Sums over the replicas before the optimizer does."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_sum(own) / global_batch,
        _reduce("sum"),
    )


def averages_too(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Averages over the replicas before the optimizer sums."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_sum(own) / global_batch,
        _reduce("mean"),
    )


def own_alone(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Tells the optimizer that the gradients are added up, which they are not."""
    import tensorflow as tf

    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_sum(own) / global_batch,
        skip_gradients_aggregation=True,
    )


def vector(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Divides each row's loss and adds nothing up."""
    return _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: own / global_batch,
    )


def keras_3(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Keras 3's call."""
    optimizer.apply(model.trainable_variables, model.trainable_variables)


def no_update(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Computes the loss and no more."""
    import tensorflow as tf

    return tf.reduce_sum(losses(targets, model(inputs))) / global_batch


def other_loss(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """Returns the mean over its own rows."""
    import tensorflow as tf

    part = _step(
        model,
        optimizer,
        lambda: losses(targets, model(inputs)),
        lambda own: tf.reduce_sum(own) / global_batch,
    )
    return part * global_batch / len(inputs)
