"""Wrong answers to exercise 04.2: the reference with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _changed(
    model_sent: Callable[[Any], Any] = lambda model: model.variables,
    state_sent: Callable[[Any], Any] = lambda variables: variables,
    root: Callable[[Any], int] = lambda hvd: 0,
    sends: Callable[[Any, bool], bool] = lambda hvd, first: first,
    late: bool = False,
    tape_of: Callable[[Any, Any], Any] = lambda hvd, tape: hvd.DistributedGradientTape(tape),
    change: Callable[[Any, Any], Any] = lambda hvd, gradient: gradient,
    loss_of: Callable[[Any, Any, Any], Any] = lambda loss, targets, outputs: loss(targets, outputs),
    apply: Callable[[Any, Any], Any] = lambda optimizer, pairs: optimizer.apply_gradients(pairs),
    gives: Callable[[Any], Any] = lambda value: value,
) -> Callable[..., Any]:
    """The reference with one thing changed; what is sent into copies is not taken. sends: whether
    this call sends the variables. late: it does so behind the step."""

    def tape_step(
        hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
    ) -> Any:
        import tensorflow as tf

        def send() -> None:
            hvd.broadcast_variables(model_sent(model), root_rank=root(hvd))
            hvd.broadcast_variables(state_sent(optimizer.variables), root_rank=root(hvd))

        if sends(hvd, first) and not late:
            send()
        with tf.GradientTape() as tape:
            value = loss_of(loss, targets, model(inputs))
        found = tape_of(hvd, tape).gradient(value, model.trainable_variables)
        gradients = [change(hvd, gradient) for gradient in found]
        apply(optimizer, list(zip(gradients, model.trainable_variables, strict=True)))
        if sends(hvd, first) and late:
            send()
        return gives(value)

    return tape_step


def _copies(variables: Any) -> list[Any]:
    import tensorflow as tf

    return [tf.Variable(each) for each in variables]


def _frozen_apart(model: Any) -> list[Any]:
    trained = {id(each) for each in model.trainable_variables}
    return [each if id(each) in trained else _copies([each])[0] for each in model.variables]


def _in_vain(hvd: Any, gradient: Any) -> Any:
    hvd.allreduce(gradient)
    return gradient


no_broadcast = _changed(lambda model: _copies(model.variables), _copies)
state_alone = _changed(lambda model: _copies(model.variables))
no_state = _changed(state_sent=_copies)
trained_alone = _changed(_frozen_apart)
last_root = _changed(root=lambda hvd: hvd.size() - 1)
own_root = _changed(root=lambda hvd: hvd.rank())
every_step = _changed(sends=lambda hvd, first: True)
rank_0_alone = _changed(sends=lambda hvd, first: first and hvd.rank() == 0)
afterwards = _changed(late=True)
own_tape = _changed(tape_of=lambda hvd, tape: tape, change=_in_vain)
sums = _changed(tape_of=lambda hvd, tape: hvd.DistributedGradientTape(tape, op=hvd.Sum))
divides_again = _changed(change=lambda hvd, gradient: gradient / hvd.size())
by_hand = _changed(change=lambda hvd, gradient: hvd.allreduce(gradient))
exchanged = _changed(loss_of=lambda loss, targets, outputs: loss(outputs, targets))
keras_3 = _changed(apply=lambda optimizer, pairs: optimizer.apply(*zip(*pairs, strict=True)))
no_update = _changed(apply=lambda optimizer, pairs: None)
no_loss = _changed(gives=lambda value: None)
