"""Drivers for lesson 04: a few training steps with what a learner's function prepares.

Weights are lists [W₁, b₁, W₂, b₂, …] in torch's layout, float64, in TensorFlow too.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.exercises.drives import Function, Ranked, failed, inside, plain, wrong_signature
from helpers.exercises.drives_frameworks import StandIn
from helpers.exercises.drives_training import network
from helpers.exercises.spec import Case, Observation

BACKWARD = 2e-4  # seconds of a forward and a backward on the virtual clock


def _on_prepare(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    rate: float,
    momentum: float,
    inputs: Tensor,
    targets: Tensor,
) -> Any:
    """`fn(hvd, model, optimizer)`, then a step for each of this rank's batches.

    A rank's arguments: its weights, learning rate and momentum, inputs (steps, rows, width) and
    targets. `values[rank]`: start, rates and momentum after the call, weights after each step,
    returned.
    """
    _differ(comm.rank)
    model = network(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    used = fn(StandIn(comm), model, optimizer)
    steps = callable(getattr(used, "step", None)) and callable(getattr(used, "zero_grad", None))
    seen: dict[str, Any] = {
        "returned": "an optimizer" if steps else type(used).__name__,
        "start": _copies(model),
        "rates": [float(group["lr"]) for group in used.param_groups] if steps else [],
        "momentum": [group.get("momentum") for group in used.param_groups] if steps else [],
        "weights": [],
    }
    for batch, wanted in zip(inputs, targets, strict=True) if steps else ():
        used.zero_grad()
        element_losses(model(batch), wanted).mean().backward()
        comm.compute(BACKWARD)
        used.step()
        seen["weights"].append(_copies(model))
    return seen


def _on_metric(fn: Function, comm: Any, value: float, rows: int) -> Any:
    """`fn(hvd, value, rows)`; `values[rank]` is what it gave."""
    return fn(StandIn(comm), value, rows)


def _on_resume(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    rate: float,
    saved: dict[str, Any] | None,
) -> Any:
    """`fn(hvd, model, optimizer, load)` where rank 0 alone has the file.

    A rank's arguments: its weights, its learning rate, and what it can load: {"weights", "momenta",
    "rate", "step"} or None. `values[rank]`: step (what was returned), weights, momenta, rates,
    loads (how often `load` was called).
    """
    _differ(comm.rank)
    model, loads = network(weights), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)

    def load() -> dict[str, Any]:
        nonlocal loads
        loads += 1
        if saved is None:
            raise FileNotFoundError(f"There is no checkpoint.pt on rank {comm.rank}'s disk.")
        other = network(saved["weights"])
        other_optimizer = torch.optim.SGD(other.parameters(), lr=saved["rate"], momentum=0.9)
        for parameter, momentum in zip(other.parameters(), saved["momenta"], strict=True):
            other_optimizer.state[parameter]["momentum_buffer"] = momentum
        held = {"model": other.state_dict(), "optimizer": other_optimizer.state_dict()}
        return {**held, "step": saved["step"]}

    step = fn(StandIn(comm), model, optimizer, load)
    state = [optimizer.state[p].get("momentum_buffer") for p in model.parameters()]
    return {
        "step": step,
        "weights": _copies(model),
        "momenta": [None if m is None else m.clone() for m in state],
        "rates": [float(group["lr"]) for group in optimizer.param_groups],
        "loads": loads,
    }


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
    and targets. `values[rank]`: losses (what was returned), weights, momenta and the frozen layer
    after each step.
    """
    import tf_keras

    from helpers.exercises.drives_tf import split_cpu

    split_cpu()
    _differ(comm.rank)
    model = keras_network(weights, frozen)
    optimizer = tf_keras.optimizers.SGD(rate, momentum=momentum)
    optimizer.build(model.trainable_variables)
    for variable, value in zip(optimizer.momentums, keras_layout(momenta), strict=True):
        variable.assign(value)
    hvd = StandIn(comm)
    seen: dict[str, Any] = {"losses": [], "weights": [], "momenta": [], "frozen": []}
    for number, (batch, wanted) in enumerate(zip(inputs.numpy(), targets.numpy(), strict=True)):
        comm.compute(BACKWARD)
        value = fn(hvd, model, optimizer, _mean_loss, batch, wanted, number == 0)
        seen["losses"].append(_number(value))
        seen["weights"].append(torch_layout(model.trainable_variables))
        seen["frozen"].append(model.layers[0].kernel.numpy())
        seen["momenta"].append(torch_layout(optimizer.momentums))
    return seen


@inside
def mirrored_steps(fn: Function, case: Case) -> Observation:
    """`fn(model, optimizer, losses, inputs, targets, global_batch)` on every replica.

    The case's arguments: weights, rate, a list of steps, each a list of (inputs, targets), one for
    each replica. `values[0]`: parts (what each replica returned, a list a step), weights of every
    replica after each step, reduced (the gradients that were summed over the replicas).
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

    from helpers.exercises.drives_tf import cpus

    tf.get_logger().setLevel("ERROR")  # that there are quicker ways than one op at a time
    counted = _counting(tf)()
    replicas = len(steps[0])
    strategy = tf.distribute.MirroredStrategy(cpus(replicas), cross_device_ops=counted)
    with strategy.scope():
        model = keras_network([torch.from_numpy(w) for w in weights])
        optimizer = tf_keras.optimizers.SGD(rate)
        optimizer.build(model.trainable_variables)
    seen: dict[str, Any] = {"parts": [], "weights": []}
    reduced = counted.reduced
    for step in steps:
        batch = sum(len(inputs) for inputs, _ in step)

        def take(which: int, step: Any = step) -> Any:
            return strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant(step[context.replica_id_in_sync_group][which])
            )

        args = (model, optimizer, _row_losses, take(0), take(1), batch)
        parts = strategy.run(fn, args=args)
        seen["parts"].append([_number(p) for p in strategy.experimental_local_results(parts)])
        own = [strategy.experimental_local_results(v) for v in model.variables]
        seen["weights"].append([torch_layout([v[r] for v in own]) for r in range(replicas)])
    seen["reduced"] = counted.reduced - reduced
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


def element_losses(outputs: Any, targets: Any) -> Any:
    """For each element (1 + t²) · (y − t)² / 2, which changes where the two are exchanged."""
    return 0.5 * (1 + targets * targets) * (outputs - targets) ** 2


def _mean_loss(targets: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(element_losses(outputs, targets))


def _row_losses(targets: Any, outputs: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_mean(element_losses(outputs, targets), axis=-1)


def _number(value: Any) -> Any:
    """A loss as a plain number, where it is one."""
    return plain(np.asarray(value.numpy()) if hasattr(value, "numpy") else value)


def _copies(model: Any) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def _differ(rank: int) -> None:
    """Every rank's global random state differs, as it does on real ranks."""
    torch.default_generator.manual_seed(rank)
    np.random.seed(rank)
    random.seed(rank)


on_prepare = Ranked(_on_prepare, arguments=3, inside=True)
on_metric = Ranked(_on_metric, arguments=3, inside=True)
on_resume = Ranked(_on_resume, arguments=4, inside=True)
on_tape = Ranked(_on_tape, arguments=7, inside=True)
