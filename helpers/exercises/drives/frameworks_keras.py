"""Drivers for lesson 04's steps with Keras models, which live where the learner's function is.

Weights are lists [W₁, b₁, W₂, b₂, …] in torch's layout, float64. What a model holds, only its own
process knows; a grader knows it by the losses of the steps that follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.exercises.drives.calling import (
    Function,
    at_hand,
    failed,
    inside,
    made,
    wrong_signature,
)
from helpers.exercises.drives.frameworks import StandIn
from helpers.exercises.drives.frameworks_runs import BACKWARD, differ, element_losses
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.values import Remote, plain
from helpers.exercises.spec import Case, Observation


class Trained:
    """A Keras model with its optimizer and its loss, for one rank."""

    def __init__(
        self,
        weights: list[Tensor],
        momenta: list[Tensor],
        frozen: Tensor,
        rate: float,
        momentum: float,
    ) -> None:
        import tf_keras

        from helpers.exercises.drives.tf import split_cpu

        split_cpu()
        self.model = keras_network(weights, frozen)
        self.optimizer = tf_keras.optimizers.SGD(rate, momentum=momentum)
        self.optimizer.build(self.model.trainable_variables)
        for variable, value in zip(self.optimizer.momentums, keras_layout(momenta), strict=True):
            variable.assign(value)
        self.loss = _mean_loss


def _on_tape(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    momenta: list[Tensor],
    frozen: Tensor,
    rate: float,
    momentum: float,
    inputs: Tensor,
    targets: Tensor,
) -> Any:
    """`fn(hvd, model, optimizer, loss, inputs, targets, first)` for each of this rank's batches.

    A rank's arguments: its weights, momenta and frozen first layer, learning rate, momentum, inputs
    and targets. `values[rank]`: losses (what was returned; at last for the first batch again), and
    weights, momenta and the frozen layer after each step, None where they are elsewhere.
    """
    differ(fn, comm.rank)
    mine = at_hand(fn, made(fn, Trained, weights, momenta, frozen, rate, momentum))
    hvd = at_hand(fn, made(fn, StandIn, comm))
    model, optimizer, loss = mine.model, mine.optimizer, mine.loss
    batches = list(zip(inputs.numpy(), targets.numpy(), strict=True))
    losses, held = list[Any](), {"weights": list[Any](), "momenta": [], "frozen": []}
    for number, (batch, wanted) in enumerate([*batches, batches[0]]):
        comm.compute(BACKWARD)
        value = fn(hvd, model, optimizer, loss, batch, wanted, number == 0)
        losses.append(_number(value))
        if not isinstance(fn, Remote) and number < len(batches):
            held["weights"].append(torch_layout(model.trainable_variables))
            held["frozen"].append(model.layers[0].kernel.numpy())
            held["momenta"].append(torch_layout(optimizer.momentums))
    return {"losses": losses, **(dict.fromkeys(held) if isinstance(fn, Remote) else held)}


on_tape = Ranked(_on_tape, arguments=7)


@inside
def mirrored_steps(fn: Function, case: Case) -> Observation:
    """`fn(model, optimizer, losses, inputs, targets, global_batch)` on every replica.

    The case's arguments: weights, rate, a list of steps, each a list of (inputs, targets), one for
    each replica. `values[0]`: parts (what each replica returned, a list a step, at last for the
    first one again), weights of every replica after each step, reduced (the gradients that were
    summed over the replicas in these steps). Only parts is more than this process's own word.
    """
    trouble = wrong_signature(fn, 6)
    if trouble:
        return trouble
    try:
        return Observation(values=[_mirrored(fn, *case.args[0])])
    except Exception as error:
        return failed(error, fn)


def _mirrored(fn: Function, weights: Any, rate: float, steps: Any) -> dict[str, Any]:
    import tensorflow as tf
    import tf_keras

    from helpers.exercises.drives.tf import cpus

    tf.get_logger().setLevel("ERROR")  # that there are quicker ways than one op at a time
    counted = _counting(tf)()
    replicas = len(steps[0])
    strategy = tf.distribute.MirroredStrategy(cpus(replicas), cross_device_ops=counted)
    with strategy.scope():
        model = keras_network([torch.from_numpy(w) for w in weights])
        optimizer = tf_keras.optimizers.SGD(rate)
        optimizer.build(model.trainable_variables)
    seen: dict[str, Any] = {"parts": [], "weights": []}
    begun = counted.reduced
    for number, step in enumerate([*steps, steps[0]]):
        batch = sum(len(inputs) for inputs, _ in step)

        def take(which: int, step: Any = step) -> Any:
            return strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant(step[context.replica_id_in_sync_group][which])
            )

        args = (model, optimizer, _row_losses, take(0), take(1), batch)
        parts = strategy.run(fn, args=args)
        seen["parts"].append([_number(p) for p in strategy.experimental_local_results(parts)])
        if number == len(steps):
            break
        seen["reduced"] = counted.reduced - begun
        own = [strategy.experimental_local_results(v) for v in model.variables]
        seen["weights"].append([torch_layout([v[r] for v in own]) for r in range(replicas)])
    return plain(seen)


def _counting(tf: Any) -> Any:
    """A class of cross-device operations that counts the values that it is given."""

    class Counting(tf.distribute.ReductionToOneDevice):
        reduced = 0

        def reduce_implementation(self, *args: Any, **options: Any) -> Any:
            self.reduced += 1
            return super().reduce_implementation(*args, **options)

    return Counting


def keras_network(weights: list[Tensor], frozen: Tensor | None = None) -> Any:
    """As `network`, a Keras model that Horovod and `tf.distribute` can use.

    frozen: a matrix that the inputs are multiplied by first, and that is not trained.
    """
    import tf_keras

    shapes = [tuple(weight.shape) for weight in weights[::2]]
    layers = [
        tf_keras.layers.Dense(
            rows, activation="tanh" if number < len(shapes) - 1 else None, dtype="float64"
        )
        for number, (rows, _) in enumerate(shapes)
    ]
    if frozen is not None:
        first = tf_keras.layers.Dense(len(frozen), use_bias=False, trainable=False, dtype="float64")
        layers = [first, *layers]
    model = tf_keras.Sequential([tf_keras.Input((shapes[0][1],), dtype="float64"), *layers])
    for variable, value in zip(model.trainable_variables, keras_layout(weights), strict=True):
        variable.assign(value)
    if frozen is not None:
        first.kernel.assign(frozen.numpy())
    return model


def keras_layout(weights: list[Tensor]) -> list[np.ndarray]:
    """Torch's weights as Keras keeps them: (inputs, outputs)."""
    return [weight.numpy().T if weight.dim() == 2 else weight.numpy() for weight in weights]


def torch_layout(variables: Any) -> list[np.ndarray]:
    """Keras's variables as torch keeps them."""
    return [np.array(variable.numpy().T) for variable in variables]


def _mean_loss(targets: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(element_losses(outputs, targets))


def _row_losses(targets: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(element_losses(outputs, targets), axis=-1)


def _number(value: Any) -> Any:
    """A loss as a plain number, where it is one."""
    return plain(np.asarray(value.numpy()) if hasattr(value, "numpy") else value)
