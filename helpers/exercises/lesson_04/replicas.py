"""What replicas would do, and what goes wrong between them in any exercise: 04.1 to 04.5."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.training import network
from helpers.exercises.drives.values import plain
from helpers.exercises.random_states import seed_there
from helpers.exercises.spec import Case, Observation

KERAS_2 = (
    "the optimizer has no `apply`: it is of tf_keras (Keras 2), which says "
    "`optimizer.apply_gradients(zip(gradients, model.trainable_variables))`."
)
Arrays = list[np.ndarray]
Rows = tuple[np.ndarray, np.ndarray]


BACKWARD = 2e-4  # seconds of a forward and a backward on the virtual clock


def give_buffer(model: Any, buffer: Tensor) -> None:
    """A tensor that belongs to a model's state and is not trained."""
    model.register_buffer("mean", buffer)


def sgd(model: Any, rate: float, momentum: float) -> Any:
    """A model's optimizer."""
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)


def copies(model: Any) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def element_losses(outputs: Any, targets: Any) -> Any:
    """For each element (1 + t²) · (y − t)² / 2, which changes where the two are exchanged."""
    return 0.5 * (1 + targets * targets) * (outputs - targets) ** 2


def differ(fn: Function, rank: int) -> None:
    """Every rank's global random state differs, as it does on real ranks."""
    seed_there(fn, rank)


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


def plain_number(value: Any) -> Any:
    """A loss as a plain number, where it is one."""
    return plain(np.asarray(value.numpy()) if hasattr(value, "numpy") else value)


def loss_and_gradients(weights: Arrays, rows: Rows) -> tuple[float, Arrays]:
    """The mean loss over these rows, and its gradient."""
    model = network([torch.from_numpy(w) for w in weights])
    inputs, targets = map(torch.from_numpy, rows)
    loss = element_losses(model(inputs), targets).mean()
    found = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), [g.numpy() for g in found]


def as_float32(value: float) -> float:
    """A learning rate or a momentum as Keras keeps it, whatever the weights' type."""
    return float(np.float32(value))


def together(steps: Sequence[Sequence[Rows]]) -> list[Rows]:
    """For each step, the rows of all ranks as one batch."""
    return [
        (np.concatenate([x for x, _ in step]), np.concatenate([y for _, y in step]))
        for step in steps
    ]


def alone(
    start: Arrays,
    steps: Sequence[Rows],
    rate: float,
    momentum: float = 0.0,
    momenta: Arrays | None = None,
) -> list[tuple[Arrays, Arrays]]:
    """The weights and the momenta of one process after each step, each on all rows, as Keras counts
    them: v ← momentum · v − rate · g, then w ← w + v."""
    weights, found = start, []
    moving = momenta or [np.zeros_like(w) for w in start]
    for rows in steps:
        _, slopes = loss_and_gradients(weights, rows)
        moving = [momentum * v - rate * g for v, g in zip(moving, slopes, strict=True)]
        weights = [w + v for w, v in zip(weights, moving, strict=True)]
        found.append((weights, moving))
    return found


def nbytes(arrays: Arrays) -> int:
    """Bytes of some arrays."""
    return sum(a.nbytes for a in arrays)


def averages(seen: Observation, steps: int, tensors: int) -> float:
    """How often all gradients, of so many bytes, were averaged in a step; 0 where it is once or
    never. Ranks other than 0 send for nothing else than an average."""
    most = max(seen.bytes[1:], default=0)
    return most / steps / tensors if most > steps * (tensors + 100) + 1000 else 0.0


def often(times: float) -> str:
    """How often in whole numbers, rounded down: "twice", "3 times"."""
    return {1: "more than once", 2: "twice"}.get(int(times), f"{int(times)} times")


def apart(given: Any, end: str = "") -> Any:
    """A copy, for wrong answers: what is sent into it is not taken. end: of tensors by name, only
    those whose names end so are copied."""
    if not end:
        return deepcopy(given)
    return {name: t.clone() if name.endswith(end) else t for name, t in given.items()}


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
        waits = [f"rank {r} {words}" for r, words in sorted(seen.waiting.items())]
        why = f"{'; '.join(waits)}, and it will not come"
    else:
        return None
    return (
        f"{why}: a broadcast or an all-reduce is called by every rank, in the same order, also by "
        "those that only receive."
    )
