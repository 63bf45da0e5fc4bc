"""Exercise 04.3, one replica's part of a step under `tf.distribute`.

The claim: on uneven rows every replica ends with the weights of one process on all rows, in float64
to 1e-10; each gradient is reduced once; the parts of the loss add up to its mean.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.common import WORLDS, random_weights
from helpers.checks.compare import all_close, close, count, describe, listing, number
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import replica_step as reference
from helpers.lessons.frameworks.exercises import replicas

_TOLERANCE = 1e-10
_LAYERS = (4, 6, 2)


@driver(arguments=6)
def mirrored_steps(fn: Function, weights: list[Tensor], rate: float, steps: Any) -> Any:
    """`fn(model, optimizer, losses, inputs, targets, global_batch)` on every replica.

    steps: for each a list of (inputs, targets), one for each replica. `values[0]`: parts (what each
    replica returned, a list a step, at last for the first one again), weights of every replica
    after each step, reduced (the gradients that were summed over the replicas in these steps). Only
    parts is more than this process's own word.
    """
    import tensorflow as tf
    import tf_keras

    from helpers.checks.drives.tf import cpus

    class Counting(tf.distribute.ReductionToOneDevice):
        reduced = 0  # values that it was given

        def reduce_implementation(self, *args: Any, **options: Any) -> Any:
            self.reduced += 1
            return super().reduce_implementation(*args, **options)

    def losses(targets: Any, outputs: Any) -> Any:
        return tf.reduce_mean(replicas.element_losses(outputs, targets), axis=-1)

    tf.get_logger().setLevel("ERROR")  # that there are quicker ways than one op at a time
    counted, n = Counting(), len(steps[0])
    strategy = tf.distribute.MirroredStrategy(cpus(n), cross_device_ops=counted)
    local = strategy.experimental_local_results
    with strategy.scope():
        model = replicas.keras_network(weights)
        optimizer = tf_keras.optimizers.SGD(rate)
        optimizer.build(model.trainable_variables)
    seen: dict[str, Any] = {"parts": [], "weights": []}
    begun = counted.reduced
    for step in [*steps, steps[0]]:
        batch = sum(len(inputs) for inputs, _ in step)

        def take(which: int, step: Any = step) -> Any:
            return strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant(step[context.replica_id_in_sync_group][which].numpy())
            )

        parts = strategy.run(fn, args=(model, optimizer, losses, take(0), take(1), batch))
        numbers = [part.numpy() if hasattr(part, "numpy") else part for part in local(parts)]
        seen["parts"].append(numbers)
        if len(seen["parts"]) <= len(steps):
            seen["reduced"] = counted.reduced - begun
            own = [local(variable) for variable in model.variables]
            seen["weights"].append([replicas.torch_layout([v[r] for v in own]) for r in range(n)])
    return plain(seen)


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven rows on 3 replicas, then equal ones; 1, 2 and 5; else others."""
    random, made = rng(seed, "04.3"), []
    shapes, rate, steps = [[4, 3, 2], [4, 4, 4], [4], [5, 2], [3, 3, 3, 2, 1]], 0.1, 2
    if seed:
        some = [int(rows) for rows in random.integers(2, 6, len(WORLDS))]
        shapes = [[r + 1] * (n - 1) + [r] for n, r in zip(WORLDS, some, strict=True)]
        shapes.append([some[0]] * 3)
        rate, steps = random.uniform(0.05, 0.2), int(random.integers(2, 4))
    rate = float(np.float32(rate))  # as Keras keeps it, whatever the weights' type
    for shape in shapes:
        start = random_weights(random, _LAYERS)
        batches: list[list[Any]] = [
            [tuple(random.standard_normal((r, _LAYERS[end])) for end in (0, -1)) for r in shape]
            for _ in range(steps)
        ]
        ends = [weights for weights, _ in replicas.alone(start, batches, rate)]
        # At last the first batch once more: its loss shows where the last step has led.
        parts = [
            [replicas.loss_and_gradients(w, rows)[0] * len(rows[0]) / sum(shape) for rows in step]
            for w, step in zip([start, *ends], [*batches, batches[0]], strict=True)
        ]
        facts = {"rows": shape, "ends": ends, "parts": parts}
        name = f"On {count(len(shape), 'replica')} with {listing(shape)} rows"
        made.append(Case(name, ((start, rate, batches),), facts=facts))
    return made


def _is_right(case: Case, got: Any) -> bool:
    """Whether all replicas hold one process's weights after each step."""
    return all(
        all_close(replica, want, _TOLERANCE)
        for step, want in zip(got["weights"], case.facts["ends"], strict=True)
        for replica in step
    )


def _reduced(case: Case, got: Any) -> float:
    """How often each gradient was reduced in a step; 0 for a grader, who does not see it."""
    gradients = len(case.facts["ends"]) * len(case.args[0][0])
    return float((got["reduced"] or 0) / gradients)


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """One process's weights, one reduction a gradient, parts that add up."""
    got, facts = seen.values[0], case.facts
    if got["weights"] is not None and not _is_right(case, got):
        yield "the weights are not those of one process on all rows."
    for step, (mine, want) in enumerate(zip(got["parts"], facts["parts"], strict=True), 1):
        parts = [number(part) for part in mine]
        if any(p is None for p in parts) or not close(np.array(parts), np.array(want), 1e-9):
            yield (
                f"the replicas returned {describe(parts)} in step {step}; the parts of the mean "
                f"loss over all rows are {describe(want)}: each replica's rows summed, divided by "
                f"all {sum(facts['rows'])}."
            )
    if _reduced(case, got) > 1:
        many, enough = got["reduced"] // len(facts["ends"]), len(case.args[0][0])
        yield f"{many} tensors were reduced in a step: {enough} gradients are enough."


def compared(case: Case, seen: Observation) -> Any:
    """The weights after one step where they are wrong, else the losses and what they took."""
    got = seen.values[0]
    if got["weights"] is not None and not _is_right(case, got):
        first = got["weights"][0]
        alike = all(all_close(replica, first[0], 1e-8) for replica in first)
        return first[0] if alike else "replicas apart"
    return {"parts": got["parts"], "reduced": got["reduced"] and _reduced(case, got)}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    rows = case.facts["rows"]
    told = {"n": len(rows), "total": sum(rows), "most": max(rows), "fewest": min(rows)}
    if seen.trouble:
        return told
    got = seen.values[0]
    return told | {"part": describe(got["parts"][0][0]), "reduced": f"{_reduced(case, got):.3g}"}


WRONG = """
divides by its own rows
    | reduce_sum => reduce_mean
    | / global_batch =>
    each replica divided by its own rows, and the strategy adds up the gradients of {n} replicas:
    the step is about {n} times too long. Divide the sum of the losses by all {total} rows.
mean of the means
    | reduce_sum => reduce_mean
    | / global_batch => / tf.distribute.get_replica_context().num_replicas_in_sync
    every replica counts the same, though one has {most} rows and another {fewest}: a mean over its
    own rows, divided by the number of replicas, is right only where all have as many. Divide the
    sum by all {total} rows.
never divides
    | / global_batch =>
    the losses were added up and not divided before the gradients were asked for: the step is
    {total} times too long. Divide by global_batch, within the tape.
averaged twice
    | / global_batch => / global_batch / tf.distribute.get_replica_context().num_replicas_in_sync
    averaged twice: the gradients are {n} times too small. The sum of the losses divided by
    global_batch is this replica's part; the strategy only adds the parts up.
mean and global batch
    | reduce_sum => reduce_mean
    averaged twice: the loss is a mean over the replica's own rows already, and was divided once
    more. Divide the *sum* of the losses, once.
summed twice
    | gradients = => gradients = tf.distribute.get_replica_context().all_reduce("sum",
    | (part, model.trainable_variables) => (part, model.trainable_variables))
    summed twice: the gradients are {n} times too large. `apply_gradients` adds them up over the
    replicas by itself; leave that to it, and divide the losses by global_batch.
applies its own alone
    | strict=True) => strict=True), skip_gradients_aggregation=True
    the replicas' weights differ after a step: each applied gradients of its own.
    `optimizer.apply_gradients` adds them up over the replicas unless it is told not to.
reduced twice
    | gradients = => gradients = tf.distribute.get_replica_context().all_reduce("mean",
    | (part, model.trainable_variables) => (part, model.trainable_variables))
    averaged twice: the weights are right, for the sum of equal parts of a mean is the mean, but
    each gradient went between the replicas {reduced} times. `apply_gradients` does it once, by
    itself.
each row
    | tf.reduce_sum(losses(targets, model(inputs))) => losses(targets, model(inputs))
    a replica returned {part}, a loss for each row: sum them.
Keras 3's apply
    | optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        => optimizer.apply(gradients, model.trainable_variables)
    ! keras_2
no update
    | optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True)) =>
    no weight has moved: call `optimizer.apply_gradients`.
returns its own mean
    | return part => return part * global_batch / len(inputs)
    each replica returned the mean over its own rows, and these do not add up to the mean over all.
    Return what you differentiate.
returns the whole loss
    | return part => return tf.distribute.get_replica_context().all_reduce("sum", part)
    each replica returned {part}, the loss over all rows, by an all-reduce of its own. Return this
    replica's part: who asks for the loss adds the parts up.
returns nothing
    | return part =>
    a replica returned {part}: return its part.
outputs for targets
    | losses(targets, model(inputs)) => losses(model(inputs), targets)
    the losses were given the outputs for targets: here it is losses(targets, outputs), targets
    first, as Keras has it.
"""

EXERCISE = Exercise(
    number="04.3",
    title="A step under tf.distribute",
    size=Size(stars=2, minutes=12, points=3),
    function="replica_step",
    asks=(
        "each replica's loss is its part of the mean over all `global_batch` rows; its gradients "
        "are applied by the optimizer, which adds them up over the replicas."
    ),
    cases=cases,
    drive=mirrored_steps,
    framework="tensorflow",
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=(
        "Passed on 1, 2, 3 and 5 replicas, with uneven rows too: all equal to one process on all "
        "rows, each gradient reduced once."
    ),
    reference=reference,
    wrong=wrong_answers("04.3", WRONG, reference, keras_2=replicas.KERAS_2),
    ranked=False,
)
