"""Replicas: how they are made and trained, what they would do, and what goes wrong between them.

Weights are lists [W₁, b₁, W₂, b₂, …] in torch's layout, float64.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.drives.training import network
from helpers.checks.spec import Case, Mistake, Observation
from helpers.checks.trouble import waits

BACKWARD = 2e-4  # seconds of a forward and a backward on the virtual clock
KERAS_2 = (
    "the optimizer has no `apply`: it is of tf_keras (Keras 2), which says "
    "`optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."
)
Arrays = list[np.ndarray]
Rows = tuple[np.ndarray, np.ndarray]


def give_buffer(model: Any, buffer: Tensor) -> None:
    """A tensor that belongs to a model's state and is not trained."""
    model.register_buffer("mean", buffer)


def sgd(model: Any, rate: float, momentum: float) -> Any:
    """A model's optimizer."""
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)


def copies(model: Any) -> list[Tensor]:
    """A torch model's weights as they are now."""
    return [parameter.detach().clone() for parameter in model.parameters()]


def element_losses(outputs: Any, targets: Any) -> Any:
    """For each element (1 + t²) · (y − t)² / 2, which changes where the two are exchanged."""
    return 0.5 * (1 + targets * targets) * (outputs - targets) ** 2


def keras_network(weights: list[Tensor], frozen: Tensor | None = None) -> Any:
    """As `network`, a Keras model that Horovod and `tf.distribute` can use.

    frozen: a matrix that the inputs are multiplied by first, and that is not trained.
    """
    import tf_keras

    def dense(units: int, **options: Any) -> Any:
        return tf_keras.layers.Dense(units, dtype="float64", **options)

    inputs = tf_keras.Input((weights[0].shape[1],), dtype="float64")
    layers = [dense(len(weight), activation="tanh") for weight in weights[:-2:2]]
    layers.append(dense(len(weights[-1])))
    if frozen is not None:
        layers.insert(0, dense(len(frozen), use_bias=False, trainable=False))
    model = tf_keras.Sequential([inputs, *layers])
    assign(model.trainable_variables, weights)
    assign(model.non_trainable_variables, [] if frozen is None else [frozen.T])
    return model


def assign(variables: Any, values: list[Tensor]) -> None:
    """Give Keras's variables what torch would hold: matrices lie the other way round there."""
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value.numpy().T)


def torch_layout(variables: Any) -> list[np.ndarray]:
    """Keras's variables as torch keeps them."""
    return [np.array(variable.numpy().T) for variable in variables]


def loss_and_gradients(weights: Arrays, rows: Rows) -> tuple[float, Arrays]:
    """The mean loss over these rows, and its gradient."""
    model = network([torch.from_numpy(w) for w in weights])
    inputs, targets = map(torch.from_numpy, rows)
    loss = element_losses(model(inputs), targets).mean()
    found = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), [g.numpy() for g in found]


def alone(
    start: Arrays,
    steps: Sequence[Sequence[Rows]],
    rate: float,
    momentum: float = 0.0,
    momenta: Arrays | None = None,
) -> list[tuple[Arrays, Arrays]]:
    """The weights and the momenta of one process after each step, each on all replicas' rows, as
    Keras counts them: v ← momentum · v − rate · g, then w ← w + v."""
    weights, found = start, []
    moving = momenta or [np.zeros_like(w) for w in start]
    for step in steps:
        _, slopes = loss_and_gradients(
            weights, (np.concatenate([x for x, _ in step]), np.concatenate([y for _, y in step]))
        )
        moving = [momentum * v - rate * g for v, g in zip(moving, slopes, strict=True)]
        weights = [w + v for w, v in zip(weights, moving, strict=True)]
        found.append((weights, moving))
    return found


def apart(given: Any) -> Any:
    """A copy, for wrong answers: what is sent into it is not taken."""
    return deepcopy(given)


def averaged_twice(seen: Observation, steps: int, tensors: Arrays, who: str) -> str | None:
    """The hint where gradients, as large as these, were averaged more than once in a step.

    Ranks other than 0 send for nothing else than an average. who: what averages by itself.
    """
    most, once = max(seen.bytes[1:], default=0), sum(each.nbytes for each in tensors)
    if most <= steps * (once + 100) + 1000:
        return None
    times = most // (steps * once)
    often = {1: "more than once", 2: "twice"}.get(times, f"{times} times")
    return (
        "averaged twice: the weights are right, for the mean of a mean is the mean, but the "
        f"gradients crossed the network {often} in each step. {who} does it once, by itself."
    )


def own_root(case: Case, seen: Observation) -> str | None:
    """Each rank broadcasts its own: all wait for the others to come to it."""
    words = list(seen.waiting.values())
    if len(words) < case.ranks or not all("receive" in each for each in words):
        return None
    return (
        "every rank sends its own and nobody takes it: root_rank says whose tensors all ranks get, "
        "so it is the same number everywhere, 0, and not this rank's own."
    )


def not_all_come(case: Case, seen: Observation) -> str | None:
    """Ranks that wait for ranks which call something else, or nothing."""
    if seen.trouble == "failed" and "Mismatched calls" in seen.text:
        why = f"rank {seen.rank} came to a call that another rank did not come to"
    elif seen.waiting:
        why = f"{waits(seen)}, and it will not come"
    else:
        return None
    return (
        f"{why}: a broadcast or an all-reduce is called by every rank, in the same order and with "
        "the same `root_rank`, also by those that only receive."
    )


NOT_ALL_COME = Mistake("not every rank takes part", not_all_come, unfinished=True)
UNEQUAL_CALLS = (Mistake("root is each rank's own", own_root, unfinished=True), NOT_ALL_COME)
