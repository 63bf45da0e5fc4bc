"""The mistakes of exercise 14.3, by the ranks' losses and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.compare import close, count, describe, is_array, listing, number
from helpers.exercises.lesson_14.cut_scores import Array, dense_of
from helpers.exercises.spec import Case, Observation

TOLERANCE = 1e-10


def returned(value: Any) -> tuple[Any, Any]:
    """The loss and the gradient that a rank gave; None, None where it gave no pair."""
    gave = value["returned"]
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def right_loss(case: Case, value: Any) -> bool:
    """Whether a rank gave the dense loss."""
    loss = number(returned(value)[0])
    want = dense_of(case)[0]
    return loss is not None and abs(loss - want) <= TOLERANCE * max(1.0, abs(want))


def gradients(case: Case, seen: Observation, want: Sequence[Array]) -> bool:
    """Whether every rank gave this gradient."""
    return not seen.trouble and all(
        close(returned(v)[1], w, TOLERANCE) for v, w in zip(seen.values, want, strict=True)
    )


def limit(case: Case) -> int:
    """Bytes of four numbers a position from every rank to every other."""
    return 4 * case.ranks * (case.ranks - 1) * len(case.args[0][1]) * 8


def gathers(case: Case, seen: Observation) -> str | None:
    """Scores went over the wire."""
    if sum(seen.bytes) <= limit(case):
        return None
    positions, tokens = len(case.args[0][1]), case.facts["tokens"]
    return (
        f"{case.name}, {sum(seen.bytes)} B were sent, and {limit(case)} B are ample: scores went "
        f"over the wire, {tokens} numbers a position. Send what a rank makes of its own: a "
        f"maximum, a sum and a target's score for each of the {positions} positions."
    )


def no_pair(case: Case, seen: Observation) -> str | None:
    """No loss and gradient."""
    for rank, value in enumerate(seen.values):
        if returned(value) == (None, None):
            what = describe(value["returned"])
            return f"{case.name}, rank {rank} returned {what}: return the pair (loss, gradient)."
    return None


def overflow(case: Case, seen: Observation) -> str | None:
    """Infinite or undefined."""
    for rank, value in enumerate(seen.values):
        loss, gradient = returned(value)
        figure = number(loss)
        if figure is None or (np.isfinite(figure) and np.all(np.isfinite(gradient))):
            continue
        if case.facts["mixed"]:
            return _not_the_largest(case, seen, rank)
        finite = np.isfinite(gradient).all(axis=-1)
        if finite.any() and not finite.all():
            return (
                f"{case.name}, rank {rank}'s gradient is finite at {np.sum(finite)} of "
                f"{count(finite.size, 'position')}: one maximum for all of them leaves exp(−2000), "
                "which is 0, where the scores are low. Take the largest score at each position, "
                "`scores.amax(1)`, and the largest of these over the ranks."
            )
        return (
            f"{case.name}, rank {rank}'s loss or gradient is not finite: exp(1000) is infinite and "
            "a sum of exp(−1000) is zero. Subtract, at each position, the largest score that any "
            "rank has there."
        )
    return None


def _not_the_largest(case: Case, seen: Observation, rank: int) -> str:
    """Why something is not finite where the ranks' scores lie far apart."""
    if gradients(case, seen, [p.gradient for p in dense_of(case)[1]]):
        return (
            f"{case.name}, rank {rank}'s loss is not finite, though the gradients are right: a "
            "target 2000 under the maximum has a probability of exp(−2000), which is 0 in "
            "floating point, and log 0 is −∞. Take no logarithm of a probability: "
            "loss = log Σ exp(s − top) − (target − top)."
        )
    return (
        f"{case.name}, rank {rank}'s loss or gradient is not finite, where one rank's scores lie "
        "around 1000 and another's around −1000: what was subtracted is not the largest of them "
        "all, such as a sum or a mean of the ranks' maxima. `all_reduce_max` gives the largest."
    )


def cut_off(case: Case, seen: Observation) -> str | None:
    """A loss that cannot grow as far as it has to."""
    found, want = losses(case, seen), dense_of(case)[0]
    if found is None or not case.facts["mixed"] or max(found) - min(found) > 1e-6:
        return None
    if found[0] >= want - 1e-6:
        return None
    return (
        f"{case.name}, the gradients are right, but the loss is {found[0]:.5g} and the dense one "
        f"{want:.5g}: a target far under the maximum was cut off, by a clamp or by a small number "
        "inside the logarithm. With loss = log Σ exp(s − top) − (target − top) neither is needed."
    )


def own_maximum(case: Case, seen: Observation) -> str | None:
    """Sums that belong to different maxima."""
    _, parts = dense_of(case)
    total = sum(part.own.sum(1, keepdims=True) for part in parts)
    want = [(p.own / total - p.one_hot) / len(total) for p in parts]
    if case.ranks == 1 or not gradients(case, seen, want):
        return None
    return (
        f"{case.name}, every rank subtracted its own maximum, so the sums that were added belong "
        "to different maxima: agree on the largest of all ranks first, with `all_reduce_max`."
    )


def own_tokens(case: Case, seen: Observation) -> str | None:
    """A softmax over each rank's tokens."""
    _, parts = dense_of(case)
    want = [(p.own / p.own.sum(1, keepdims=True) - p.one_hot) / len(p.own) for p in parts]
    if case.ranks == 1 or not gradients(case, seen, want):
        return None
    return (
        f"{case.name}, the gradient is that of a softmax over each rank's own tokens: sum the "
        "exponentials over the ranks before you divide."
    )


def clamped(case: Case, seen: Observation) -> str | None:
    """A score for every target on every rank."""
    _, parts = dense_of(case)
    if case.ranks == 1 or not gradients(
        case, seen, [(p.softmax - p.clamped) / len(p.own) for p in parts]
    ):
        return None
    return (
        f"{case.name}, every rank counts a score for every target, but a target belongs to one "
        "rank: where it is not between first and first + tokens here, this rank adds zero and "
        "subtracts nothing."
    )


def no_one_hot(case: Case, seen: Observation) -> str | None:
    """The softmax alone."""
    if not gradients(case, seen, [p.softmax / len(p.own) for p in dense_of(case)[1]]):
        return None
    return (
        f"{case.name}, the gradient is the softmax alone: subtract 1 at the target, on the rank "
        "that has it."
    )


def not_the_mean(case: Case, seen: Observation) -> str | None:
    """A gradient of the sum over positions."""
    positions = len(case.args[0][1])
    if not gradients(case, seen, [p.gradient * positions for p in dense_of(case)[1]]):
        return None
    return (
        f"{case.name}, the gradient is {positions} times too large: the loss is the mean over "
        f"{positions} positions, so its gradient is divided by {positions} as well."
    )


def losses(case: Case, seen: Observation) -> list[float] | None:
    """The ranks' losses, where the gradients are right and they are not; None otherwise."""
    if not gradients(case, seen, [part.gradient for part in dense_of(case)[1]]):
        return None
    if all(right_loss(case, v) for v in seen.values):
        return None
    found = [number(returned(v)[0]) for v in seen.values]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else None


def loss_shape(case: Case, seen: Observation) -> str | None:
    """A loss that is not a number."""
    for rank, value in enumerate(seen.values):
        loss, _ = returned(value)
        if not is_array(loss) or loss.ndim == 0:
            continue
        how = "take its `.mean()`" if loss.size > 1 else "leave the dimension out, `loss[0]`"
        return (
            f"{case.name}, rank {rank}'s loss has the shape {loss.shape}: it is one number, the "
            f"mean over the {len(case.args[0][1])} positions, so {how}."
        )
    return None


def own_targets(case: Case, seen: Observation) -> str | None:
    """Losses that differ from rank to rank."""
    found = losses(case, seen)
    if found is None or max(found) - min(found) < 1e-6:
        return None
    return (
        f"{case.name}, the gradients are right, but the ranks' losses are "
        f"{listing(f'{value:.4g}' for value in found)}, and the dense one is "
        f"{dense_of(case)[0]:.4g}: the target's score is on one rank, so it has to be summed over "
        "the ranks as well."
    )


def loss_many_times(case: Case, seen: Observation) -> str | None:
    """The loss summed over the ranks."""
    found, want = losses(case, seen), dense_of(case)[0]
    if case.ranks == 1 or found is None or not np.allclose(found, case.ranks * want, 1e-9):
        return None
    return (
        f"{case.name}, the loss is {case.ranks} times too large: every rank has the whole loss "
        "already, so it is not summed over the ranks."
    )


def two_scales(case: Case, seen: Observation) -> str | None:
    """The maximum taken off in one place only."""
    found, (want, _) = losses(case, seen), dense_of(case)
    top = np.max([args[0].max(1) for args in case.args], axis=0).mean()
    if found is None or not (
        np.allclose(found, want - top, 1e-6) or np.allclose(found, want + top, 1e-6)
    ):
        return None
    return (
        f"{case.name}, the gradients are right, but the maximum was subtracted from the scores in "
        "the sum and not from the target's score, or the other way round: "
        "loss = log Σ exp(s − top) − (target − top)."
    )


def changed(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    if seen.trouble or not any(v["changed"] for v in seen.values):
        return None
    return (
        f"{case.name}, the scores or targets that were handed in have changed: an operation worked "
        "in place. Work on a new tensor, such as `scores - top[:, None]`."
    )


def outside(case: Case, seen: Observation) -> str | None:
    """A target looked up where it is not."""
    if seen.trouble != "failed" or "out of" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} looked for a target that it does not have "
        f"({seen.text.splitlines()[0]}): its columns are tokens first to first + tokens here − 1, "
        "so the column is target − first, and only where that lies inside."
    )


def summed_loss(case: Case, seen: Observation) -> str | None:
    """The sum of the positions' losses, with the gradient of their mean."""
    found, positions = losses(case, seen), len(case.args[0][1])
    if found is None or not np.allclose(found, positions * dense_of(case)[0], 1e-9):
        return None
    return (
        f"{case.name}, the gradients are right, but the loss is {positions} times too large: it is "
        f"the mean over the {positions} positions, `.mean()`, and not their sum."
    )


def other_sign(case: Case, seen: Observation) -> str | None:
    """Minus the gradient."""
    if not gradients(case, seen, [-part.gradient for part in dense_of(case)[1]]):
        return None
    return (
        f"{case.name}, the gradient has the opposite sign: it is softmax − one-hot, which is "
        "negative at the target only."
    )


def by_ranks(case: Case, seen: Observation) -> str | None:
    """The gradient divided by N too."""
    want = [part.gradient / case.ranks for part in dense_of(case)[1]]
    if case.ranks == 1 or not gradients(case, seen, want):
        return None
    return (
        f"{case.name}, the gradient was divided by {case.ranks} ranks as well: every rank has the "
        "same positions here, so the mean over the positions is all there is to divide by."
    )
