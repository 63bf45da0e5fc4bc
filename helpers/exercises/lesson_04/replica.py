"""Exercise 04.3, one replica's part of a step under `tf.distribute`.

`replica_step(model, optimizer, losses, inputs, targets, global_batch) -> loss` to write. The claim:
on 1, 2, 3 and 5 replicas with uneven rows every replica ends with the weights of one process on all
rows, in float64 to 1e-10; each gradient is reduced once; the parts of the loss add up to its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import all_close, close, count, describe, is_array, listing, number
from helpers.exercises.drives_frameworks_keras import mirrored_steps
from helpers.exercises.lesson_04 import replica_wrong as wrong
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.lesson_04.replicas import Arrays
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_NEAR = 1e-8
_LAYERS = (4, 6, 2)


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven rows on 3 replicas, then equal ones; 1, 2 and 5; else others."""
    random, made = rng(seed, "04.3"), []
    shapes = [[4, 3, 2], [4, 4, 4], [4], [5, 2], [3, 3, 3, 2, 1]]
    rate, steps = replicas.as_float32(0.1), 2
    if seed:
        some = [int(rows) for rows in random.integers(2, 6, len(WORLDS))]
        shapes = [[r + 1] * (n - 1) + [r] for n, r in zip(WORLDS, some, strict=True)]
        shapes.append([some[0]] * 3)
        rate, steps = replicas.as_float32(random.uniform(0.05, 0.2)), int(random.integers(2, 4))
    for shape in shapes:
        start = replicas.random_weights(random, _LAYERS)
        batches = [
            [
                (random.standard_normal((r, _LAYERS[0])), random.standard_normal((r, _LAYERS[-1])))
                for r in shape
            ]
            for _ in range(steps)
        ]
        whole = replicas.together(batches)
        ends = [weights for weights, _ in replicas.alone(start, whole, rate)]
        before = [start, *ends]
        found = [replicas.loss_and_gradients(start, rows) for rows in batches[0]]
        # At last the first batch once more: its loss shows where the last step has led.
        losses = [
            [
                replicas.loss_and_gradients(w, rows)[0] * len(rows[0]) / sum(shape)
                for rows in batches[s % steps]
            ]
            for s, w in enumerate(before)
        ]
        facts = {
            "start": start,
            "rate": rate,
            "rows": shape,
            "ends": ends,
            "parts": losses,
            "local": [gradient for _, gradient in found],
            "steps": steps,
        }
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


def claim(case: Case, seen: Observation) -> str | None:
    """One process's weights, one reduction a gradient, parts that add up."""
    got, facts = seen.values[0], case.facts
    if got["weights"] is not None and not _is_right(case, got):
        return f"{case.name}, the weights are not those of one process on all rows."
    if got["reduced"] is not None and got["reduced"] > facts["steps"] * len(facts["start"]):
        return f"{case.name}, gradients were reduced more than once in a step."
    for step, (mine, want) in enumerate(zip(got["parts"], facts["parts"], strict=True), 1):
        parts = [number(part) for part in mine]
        if any(p is None for p in parts) or not close(np.array(parts), np.array(want), 1e-9):
            return (
                f"{case.name}, the replicas returned {describe(parts)} in step {step}; the parts "
                f"of the mean loss over all rows are {describe(want)}."
            )
    return None


def _times(case: Case, seen: Observation, weights: Sequence[float]) -> float | None:
    """The gradient of the first step as a multiple of the replicas' means, so weighted."""
    facts = case.facts
    after = seen.values[0]["weights"][0][0]
    used = replicas.used_gradient(facts["start"], after, facts["rate"])
    return replicas.factor(used, _weighted(facts["local"], weights))


def _weighted(local: list[Arrays], weights: Sequence[float]) -> Arrays:
    return replicas.mean(local, [float(w) for w in weights])


def _own_rows(case: Case, seen: Observation) -> str | None:
    """A mean over the replica's own rows, which the strategy then adds up, or worse."""
    rows = case.facts["rows"]
    n = len(rows)
    times = _times(case, seen, [1.0] * n)
    if n == 1 or times is None:
        return None
    if replicas.is_near(times, 1.0):
        return (
            f"{case.name}, each replica divided by its own rows, and the strategy adds up the "
            f"gradients of {n} replicas: the step is about {n} times too long. Divide the sum of "
            f"the losses by all {sum(rows)} rows."
        )
    if replicas.is_near(times, 1 / n) and len(set(rows)) > 1:
        return (
            f"{case.name}, every replica counts the same, though one has {max(rows)} rows and "
            f"another {min(rows)}: a mean over its own rows, divided by the number of replicas, is "
            f"right only where all have as many. Divide the sum by all {sum(rows)} rows."
        )
    if replicas.is_near(times, *[n**-k / sum(rows) for k in (0, 1)], *[n**-k for k in (2, 3)]):
        return (
            f"{case.name}, averaged twice: the loss is a mean over the replica's own rows already, "
            "and was divided once more. Divide the *sum* of the losses, once."
        )
    return None


def _by_rows(case: Case, seen: Observation) -> str | None:
    """Weighted by rows, with another factor."""
    rows = case.facts["rows"]
    n, total = len(rows), sum(rows)
    times = _times(case, seen, [r / total for r in rows])
    if times is None or replicas.is_near(times, 1.0):
        return None
    if replicas.is_near(times, total):
        return (
            f"{case.name}, the losses were added up and never divided: the step is {total} times "
            "too long. Divide by global_batch."
        )
    if n > 1 and replicas.is_near(times, *[n**-k for k in (1, 2, 3)], 1 / total):
        return (
            f"{case.name}, averaged twice: the gradients are {1 / times:.0f} times too small. The "
            "sum of the losses divided by global_batch is this replica's part; the strategy only "
            "adds the parts up."
        )
    if n > 1 and replicas.is_near(times, n, n**2):
        return (
            f"{case.name}, summed twice: the gradients are {times:.0f} times too large. "
            "`apply_gradients` adds them up over the replicas by itself; leave that to it, and "
            "divide the losses by global_batch."
        )
    return f"{case.name}, the gradients are {times:.3g} times those of one process on all rows."


def _no_update(case: Case, seen: Observation) -> str | None:
    after = seen.values[0]["weights"][0]
    if not all(all_close(each, case.facts["start"], 0.0) for each in after):
        return None
    return f"{case.name}, no weight has moved: call `optimizer.apply_gradients`."


def _apart(case: Case, seen: Observation) -> str | None:
    after = seen.values[0]["weights"][0]
    if all(all_close(each, after[0], _NEAR) for each in after):
        return None
    return (
        f"{case.name}, the replicas' weights differ after a step: each applied gradients of its "
        "own. `optimizer.apply_gradients` adds them up over the replicas unless it is told not to."
    )


def _reduced_twice(case: Case, seen: Observation) -> str | None:
    got, facts = seen.values[0], case.facts
    each = got["reduced"] / facts["steps"] / len(facts["start"])
    if len(facts["rows"]) == 1 or each <= 1 or not _is_right(case, got):
        return None
    return (
        f"{case.name}, averaged twice: the weights are right, for the sum of equal parts of a mean "
        f"is the mean, but each gradient went between the replicas {each:.3g} times. "
        "`apply_gradients` does it once, by itself."
    )


def _other_loss(case: Case, seen: Observation) -> str | None:
    got, facts = seen.values[0], case.facts
    if not _is_right(case, got):
        return None
    parts = [number(part) for part in got["parts"][0]]
    if any(is_array(part) and part.ndim for part in got["parts"][0]):
        return (
            f"{case.name}, a replica returned {describe(got['parts'][0][0])}, a loss for each row: "
            "return one number, their sum, `tf.reduce_sum`."
        )
    if any(part is None for part in parts):
        return f"{case.name}, a replica returned {describe(got['parts'][0][0])}: return its part."
    total = sum(facts["rows"])
    owns = [p * total / r for p, r in zip(facts["parts"][0], facts["rows"], strict=True)]
    if close(np.array(parts), np.array(owns), 1e-9):
        return (
            f"{case.name}, each replica returned the mean over its own rows, and these do not add "
            "up to the mean over all. Return what you differentiate."
        )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed on 1, 2, 3 and 5 replicas, with uneven rows too: all equal to one process on all "
        "rows, each gradient reduced once."
    )


EXERCISE = Exercise(
    number="04.3",
    title="A step under tf.distribute",
    stars=2,
    minutes=12,
    points=3,
    function="replica_step",
    asks=(
        "each replica's loss is its part of the mean over all `global_batch` rows; its gradients "
        "are applied by the optimizer, which adds them up over the replicas."
    ),
    cases=cases,
    drive=mirrored_steps,
    framework="tensorflow",
    claim=claim,
    mistakes=(
        Mistake("Keras 3's apply", replicas.keras_2, unfinished=True),
        Mistake("no update", _no_update),
        Mistake("replicas apart", _apart),
        Mistake("divides by its own rows", _own_rows),
        Mistake("another factor", _by_rows),
        Mistake("reduced twice", _reduced_twice),
        Mistake("another loss", _other_loss),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("mean of its own rows", wrong.own_mean, hint="divided by its own rows"),
        WrongAnswer("mean of the means", wrong.mean_of_means, hint="every replica counts the same"),
        WrongAnswer("never divides", wrong.never, hint="never divided"),
        WrongAnswer("divides again", wrong.divides_again, hint="averaged twice: the gradients are"),
        WrongAnswer("mean and global batch", wrong.both, hint="was divided once more"),
        WrongAnswer("sums by hand too", wrong.sums_too, hint="summed twice"),
        WrongAnswer("applies its own alone", wrong.own_alone, hint="applied gradients of its own"),
        WrongAnswer("averages by hand too", wrong.averages_too, hint="went between the replicas"),
        WrongAnswer("a loss for each row", wrong.vector, hint="return one number"),
        WrongAnswer("as in Keras 3", wrong.keras_3, hint="it is of tf_keras"),
        WrongAnswer("no update", wrong.no_update, hint="no weight has moved"),
        WrongAnswer("returns its own mean", wrong.other_loss, hint="Return what you differentiate"),
    ),
    ranked=False,
    unseen={
        "weights": "the weights themselves (the losses of the steps that follow tell of them)",
        "reduced": "how often gradients go between the replicas",
    },
)
