"""Exercise 04.2, one step with a gradient tape.

Every rank starts with weights and momenta of its own. The claim: each step, the first too, moves
all ranks as one process would move from rank 0's weights on all rows, in float64 to 1e-10; the
variables are sent once and every gradient is averaged once, which the bytes show.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.common import random_weights
from helpers.checks.compare import all_close, count, number, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.values import plain
from helpers.checks.random_states import seed_all
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import tape_step as reference
from helpers.lessons.frameworks.exercises import replicas
from helpers.lessons.frameworks.exercises.horovod import StandIn

_TOLERANCE = 1e-10
_SMALL = 100  # bytes a step for counters, a loss and the like
_LAYERS = (4, 8, 2)


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
        import tensorflow as tf
        import tf_keras

        from helpers.checks.drives.tf import split_cpu

        def loss(targets: Any, outputs: Any) -> Any:
            """The mean over all elements."""
            return tf.reduce_mean(replicas.element_losses(outputs, targets))

        split_cpu()
        self.model = replicas.keras_network(weights, frozen)
        self.optimizer = tf_keras.optimizers.SGD(rate, momentum=momentum)
        self.optimizer.build(self.model.trainable_variables)
        replicas.assign(self.optimizer.momentums, momenta)
        self.loss = loss  # not a method: it is handed over


def _on_tape(fn: Function, comm: Any, *its: Any) -> Any:
    """`fn(hvd, model, optimizer, loss, inputs, targets, first)` for each of this rank's batches.

    A rank's arguments: its weights, momenta and frozen first layer, learning rate, momentum, inputs
    and targets. `values[rank]`: losses (what was returned; at last for the first batch again), and
    weights, momenta and the frozen layer after each step.
    """
    seed_all(comm.rank)  # every rank's random state differs, as it does on real ranks
    *start, inputs, targets = its
    mine = Trained(*start)
    hvd = StandIn(comm)
    model, optimizer, loss = mine.model, mine.optimizer, mine.loss
    batches = list(zip(inputs.numpy(), targets.numpy(), strict=True))
    losses, held = list[Any](), {"weights": list[Any](), "momenta": [], "frozen": []}
    for at, (batch, wanted) in enumerate([*batches, batches[0]]):
        comm.compute(replicas.BACKWARD)
        value = fn(hvd, model, optimizer, loss, batch, wanted, at == 0)
        losses.append(plain(value.numpy() if hasattr(value, "numpy") else value))
        if at < len(batches):
            held["weights"].append(replicas.torch_layout(model.trainable_variables))
            held["frozen"].append(model.layers[0].kernel.numpy())
            held["momenta"].append(replicas.torch_layout(optimizer.momentums))
    return {"losses": losses, **held}


on_tape = Ranked(_on_tape, arguments=7)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with 4 rows each; else other rows, rates and steps."""
    random, made = rng(seed, "04.2"), []
    for n in (3, 1, 2, 5):
        rows = int(random.integers(2, 7)) if seed else 4
        steps = int(random.integers(3, 5)) if seed else 3
        # As Keras keeps them, whatever the weights' type.
        rate = float(np.float32(random.uniform(0.05, 0.2) if seed else 0.1))
        momentum = float(np.float32(random.uniform(0.5, 0.9) if seed else 0.5))
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        momenta = [[0.1 * w for w in random_weights(random, _LAYERS)] for _ in range(n)]
        frozen = [random_weights(random, (_LAYERS[0],) * 2)[0] for _ in range(n)]
        inputs = random.standard_normal((n, steps, rows, _LAYERS[0]))
        targets = random.standard_normal((n, steps, rows, _LAYERS[-1]))
        args = tuple(
            (starts[r], momenta[r], frozen[r], rate, momentum, inputs[r], targets[r])
            for r in range(n)
        )
        # What the trained layers get, where all ranks have rank 0's frozen layer.
        batches = [
            [(inputs[r, s] @ frozen[0], targets[r, s]) for r in range(n)] for s in range(steps)
        ]
        ends = replicas.alone(starts[0], batches, rate, momentum, momenta[0])
        before = [starts[0], *(weights for weights, _ in ends)]
        # At last the first batch once more: its loss shows where the last step has led.
        losses = [
            [replicas.loss_and_gradients(w, batches[s % steps][r])[0] for s, w in enumerate(before)]
            for r in range(n)
        ]
        facts = {"ends": [list(end) for end in ends], "losses": losses}
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """One process's steps from rank 0's variables; each gradient averaged once."""
    yield from _faults(case, seen)
    yield _too_many_bytes(case, seen)


def _faults(case: Case, seen: Observation) -> Iterator[str]:
    for rank, value in enumerate(seen.values):
        if value["weights"] is not None:  # a grader knows by the losses alone
            yield from (f"rank {rank}{fault}" for fault in _held(case, value))
        for step, want in enumerate(case.facts["losses"][rank]):
            loss = number(value["losses"][step])
            if loss is None or abs(loss - want) > 1e-6 * want:
                said = "return the loss that is differentiated, of its own rows, before the update"
                yield f"rank {rank} gave another loss in step {step + 1}: {said}."


def _held(case: Case, value: Any) -> Iterator[str]:
    """What a rank's model and optimizer should not hold."""
    ends = case.facts["ends"]
    if not all_close(value["frozen"], [case.args[0][2]] * len(ends), 0.0):
        yield " has not rank 0's frozen layer."
    for step, (weights, momenta) in enumerate(ends):
        got = value["weights"][step]
        if not all_close(got, weights, _TOLERANCE):
            why = rounded(got, weights)
            yield f"'s weights after step {step + 1} are not those of one process{why}."
        if not all_close(value["momenta"][step], momenta, _TOLERANCE):
            yield f"'s momenta after step {step + 1} are not those of one process."


def _too_many_bytes(case: Case, seen: Observation) -> str | None:
    """Of an answer whose steps are right."""
    if any(_faults(case, seen)):
        return None
    start, _, frozen, *_ = case.args[0]
    calls, tensors = len(case.facts["ends"]) + 1, sum(w.nbytes for w in start)
    if twice := replicas.averaged_twice(seen, calls, start, "The distributed tape"):
        return twice
    # What rank 0 sends each of the others where it sends its variables once.
    once = 2 * tensors + frozen.nbytes + calls * (tensors + _SMALL)
    if seen.bytes[0] <= (case.ranks - 1) * once:
        return None
    return (
        "the variables were sent in every step. Replicas that are equal and take equal steps stay "
        "equal: send them once, where `first` is true."
    )


WRONG = """
no broadcast
    | model.variables => [*map(tf.Variable, model.variables)]
    | optimizer.variables => [*map(tf.Variable, optimizer.variables)]
    the initial broadcast is missing: rank 1 went on from weights of its own. In the first step,
    give all ranks rank 0's variables before anything is computed with them.
the model is not sent
    | model.variables => [*map(tf.Variable, model.variables)]
    ! no broadcast
broadcast too late
    | if first => if False
    | return value
        => [first and hvd.broadcast_variables(its.variables, 0) for its in (model, optimizer)];
        return value
    the broadcast came too late. The ranks are equal now, but the first losses and their gradients
    are of different weights, and their average is no step of one process. Send the variables before
    anything is computed with them.
no optimizer state
    | optimizer.variables => [*map(tf.Variable, optimizer.variables)]
    the optimizer's variables were not sent: the ranks have equal weights and equal gradients, but
    momenta of their own, and drift apart. They are in `optimizer.variables`.
nothing is averaged
    | hvd.DistributedGradientTape(tape).gradient => tape.gradient
    | optimizer.apply => [hvd.allreduce(each) for each in gradients]; optimizer.apply
    every rank steps with the gradient of its own rows: nothing is averaged. Ask the tape that
    `hvd.DistributedGradientTape` gives for the gradients.
averaged twice
    | zip(gradients => zip([each / hvd.size() for each in gradients]
    averaged twice: the gradients are {n} times too small. The distributed tape divides their sum by
    {n} already; do not divide again.
averages by hand
    | zip(gradients => zip([hvd.allreduce(each) for each in gradients]
    ? the mean of a mean is the mean
summed
    | DistributedGradientTape(tape) => DistributedGradientTape(tape, op=hvd.Sum)
    the gradients are {n} times those of one process on all rows: they were summed and not averaged.
    hvd.Average is the default.
sends in every step
    | if first => if True
    ? sent in every step
last root
    | root_rank=0 *=> root_rank=hvd.size() - 1
    all ranks have rank {last}'s weights: root_rank is 0.
own root
    | root_rank=0 *=> root_rank=hvd.rank()
    ? every rank sends its own
rank 0 alone
    | if first => if first and hvd.rank() == 0
    ? also by those that only receive
frozen variables not sent
    | model.variables
        => model.trainable_variables + [*map(tf.Variable, model.non_trainable_variables)]
    each rank keeps a frozen layer of its own: `model.trainable_variables` leaves out what is not
    trained. Send `model.variables`.
outputs for targets
    | loss(targets, model(inputs)) => loss(model(inputs), targets)
    the loss was given the outputs for targets: here it is loss(targets, outputs), targets first, as
    Keras has it.
Keras 3's apply
    | optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        => optimizer.apply(gradients, model.trainable_variables)
    ! keras_2
no update
    | optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True)) =>
    no weight has moved: apply the gradients, `optimizer.apply_gradients`.
no loss
    | return value =>
    nothing was returned: return this rank's loss.
divides the loss
    | loss(targets, model(inputs)) => loss(targets, model(inputs)) / hvd.size()
    averaged twice: the loss was divided by {n}, and so are its gradients, of which the distributed
    tape takes the mean already. Take the loss as it is.
"""

EXERCISE = Exercise(
    number="04.2",
    title="A step with a gradient tape",
    size=Size(stars=2, minutes=15, points=3),
    function="tape_step",
    asks=(
        "in the first step all ranks get rank 0's variables, the model's and the optimizer's, "
        "before a gradient is computed; in every step the gradients are averaged and applied."
    ),
    cases=cases,
    drive=on_tape,
    framework="tensorflow",
    claim=claim,
    mistakes=(*replicas.UNEQUAL_CALLS, Mistake("sends too much", _too_many_bytes)),
    numbers=lambda case, seen: {"n": case.ranks, "last": case.ranks - 1},
    # What a grader sees, too: the losses, which show what the steps before came to.
    compared=lambda case, seen: [[*map(number, value["losses"])] for value in seen.values],
    praise=(
        "Passed on {worlds}: from the first step on all ranks moved as one process on all "
        "rows, and every gradient was averaged once."
    ),
    reference=reference,
    wrong=wrong_answers("04.2", WRONG, reference, keras_2=replicas.KERAS_2),
)
