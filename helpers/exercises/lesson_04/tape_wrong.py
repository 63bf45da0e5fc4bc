"""The reference of exercise 04.2, and steps with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import tape_step

    return tape_step(hvd, model, optimizer, loss, inputs, targets, first)


def _send(hvd: Any, model: Any, optimizer: Any, root: int = 0) -> None:
    hvd.broadcast_variables(model.variables, root_rank=root)
    hvd.broadcast_variables(optimizer.variables, root_rank=root)


def _step(
    hvd: Any,
    model: Any,
    optimizer: Any,
    loss: Any,
    inputs: Any,
    targets: Any,
    wrap: bool = True,
    change: Any = None,
    apply: bool = True,
    **options: Any,
) -> Any:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss(targets, model(inputs))
    if wrap:
        tape = hvd.DistributedGradientTape(tape, **options)
    gradients = tape.gradient(value, model.trainable_variables)
    if change is not None:
        gradients = [change(gradient) for gradient in gradients]
    if apply:
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return value


def no_broadcast(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Replicas start different."""
    return _step(hvd, model, optimizer, loss, inputs, targets)


def afterwards(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """As Horovod's own examples do it."""
    value = _step(hvd, model, optimizer, loss, inputs, targets)
    if first:
        _send(hvd, model, optimizer)
    return value


def no_state(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Sends the model's variables alone."""
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
    return _step(hvd, model, optimizer, loss, inputs, targets)


def own_tape(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """An ordinary tape."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets, wrap=False)


def divides_again(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Divides what is a mean already."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets, change=lambda g: g / hvd.size())


def by_hand(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Averages what the tape has averaged."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets, change=hvd.allreduce)


def sums(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Adds gradients up."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets, op=hvd.Sum)


def every_step(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Does not look at `first`."""
    _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets)


def last_root(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """The last rank's variables for all."""
    if first:
        _send(hvd, model, optimizer, hvd.size() - 1)
    return _step(hvd, model, optimizer, loss, inputs, targets)


def rank_0_alone(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Rank 0 sends and nobody receives."""
    if first and hvd.rank() == 0:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets)


def trained_alone(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Sends what is trained, and the optimizer's."""
    if first:
        hvd.broadcast_variables(model.trainable_variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    return _step(hvd, model, optimizer, loss, inputs, targets)


def exchanged(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Gives the loss its arguments the wrong way round."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, lambda t, y: loss(y, t), inputs, targets)


def keras_3(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Keras 3's call."""
    value = no_update(hvd, model, optimizer, loss, inputs, targets, first)
    optimizer.apply(model.trainable_variables, model.trainable_variables)
    return value


def no_update(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """Averages and does not apply."""
    if first:
        _send(hvd, model, optimizer)
    return _step(hvd, model, optimizer, loss, inputs, targets, apply=False)


def no_loss(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> None:
    """Returns nothing."""
    if first:
        _send(hvd, model, optimizer)
    _step(hvd, model, optimizer, loss, inputs, targets)
