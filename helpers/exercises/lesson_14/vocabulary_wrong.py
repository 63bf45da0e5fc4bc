"""Losses over a cut vocabulary with one thing wrong, for exercise 14.3, and hints for families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.exercises.compare import close, describe, is_array, number
from helpers.exercises.lesson_14.shared import summed, told_by_all
from helpers.exercises.spec import Case, Observation


def _largest(comm: Any, scores: Any) -> Any:
    """The largest score of any rank, at each position."""
    from helpers.algorithms.messages.maximum import all_reduce_max

    return all_reduce_max(comm, scores.amax(1))


def _own_largest(comm: Any, scores: Any) -> Any:
    _largest(comm, scores)
    return scores.amax(1)


def _largest_of_all(comm: Any, scores: Any) -> Any:
    return _largest(comm, scores).amax().expand(len(scores))


def _smallest_of_largest(comm: Any, scores: Any) -> Any:
    """It overflows where a mean or a sum of them does, and needs no other messages."""
    from helpers.algorithms.messages.maximum import all_reduce_max

    return -all_reduce_max(comm, -scores.amax(1))


def _largest_without_waiting(comm: Any, scores: Any) -> Any:
    import torch

    return torch.stack(told_by_all(comm, scores.amax(1))).amax(0)


def _loss(
    end: Callable[..., Any] = lambda comm, each, gradient: (each.mean(), gradient / len(each)),
    *,
    top_of: Callable[[Any, Any], Any] = _largest,
    own_total: bool = False,
    own_target: bool = False,
    everywhere: bool = False,
    ends: tuple[int, int] = (0, 0),
    one_hot: bool = True,
    mask: bool = True,
    shift: float = 1,
    probability: bool = False,
) -> Callable[..., Any]:
    """The right one, with one thing exchanged.

    end: what is returned, of each position's loss and the gradient of their sum. top_of: what is
    subtracted. own_total, own_target: not the sum over the ranks. everywhere: a target on every
    rank. ends: by how many a rank's tokens begin and end too late. one_hot: whether it is
    subtracted. mask: only where the target is. shift: how often the maximum is taken off the
    target's score. probability: the loss by the logarithm of a quotient.
    """

    def vocabulary_loss(comm: Any, scores: Any, targets: Any, first: int) -> Any:
        import torch

        top = top_of(comm, scores)
        weights = (scores - top[:, None]).exp()
        here = (targets >= first + ends[0]) & (targets < first + scores.shape[1] + ends[1])
        mine = (torch.ones_like(here) if everywhere else here).nonzero()[:, 0]
        columns = (targets[mine] - first).clamp(0, scores.shape[1] - 1)
        target = torch.zeros_like(top)
        target[mine] = scores[mine, columns] - shift * top[mine]
        if probability:
            target[mine] = weights[mine, columns]
        own = torch.stack([weights.sum(1), target])
        both = summed(comm, own.clone())
        total, target = (own if own_total else both)[0], (own if own_target else both)[1]
        gradient = weights / total[:, None]
        if one_hot:
            place = columns if mask else (targets - first).clamp(0, scores.shape[1] - 1)
            gradient[mine if mask else torch.arange(len(targets)), place] -= 1
        each = -(target / total).log() if probability else total.log() - target
        return end(comm, each, gradient)

    return vocabulary_loss


_right = _loss()
no_maximum = _loss(top_of=lambda comm, scores: 0 * _largest(comm, scores))
one_maximum = _loss(top_of=_largest_of_all)
own_maximum = _loss(top_of=_own_largest)
not_the_largest = _loss(top_of=_smallest_of_largest)
no_wait = _loss(top_of=_largest_without_waiting)
own_tokens = _loss(own_total=True)
own_targets = _loss(own_target=True)
clamps = _loss(everywhere=True)
one_too_many = _loss(ends=(0, 1))
not_the_first = _loss(ends=(1, 0))
no_mask = _loss(mask=False)
no_one_hot = _loss(one_hot=False)
two_scales = _loss(shift=0)
twice_off = _loss(shift=2)
log_of_probability = _loss(probability=True)
loss_alone = _loss(lambda comm, each, gradient: each.mean())
each_position = _loss(lambda comm, each, gradient: (each, gradient / len(each)))
row_of_one = _loss(lambda comm, each, gradient: (each.mean(0, True), gradient / len(each)))
no_mean = _loss(lambda comm, each, gradient: (each.sum(), gradient))
sum_of_losses = _loss(lambda comm, each, gradient: (each.sum(), gradient / len(each)))
# What a sum over the ranks gives, whatever messages it takes.
sums_losses = _loss(lambda comm, each, gradient: (comm.size * each.mean(), gradient / len(each)))
minus = _loss(lambda comm, each, gradient: (each.mean(), -gradient / len(each)))
by_ranks = _loss(lambda comm, each, gradient: (each.mean(), gradient / len(each) / comm.size))


def clamps_scores(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    shifted = scores - _largest(comm, scores)[:, None]
    return _right(comm, shifted.clamp(min=-100), targets, first)


def in_place(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    loss, gradient = _right(comm, scores, targets, first)
    return loss, scores.copy_(gradient)


def whole_ids(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    scores[list(range(len(targets))), targets]
    return _right(comm, scores, targets, first)


def gathers(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    import torch

    whole = torch.cat(told_by_all(comm, scores, waits=True), dim=1).requires_grad_()
    loss = torch.nn.functional.cross_entropy(whole, targets)
    (gradient,) = torch.autograd.grad(loss, whole)
    return loss.detach(), gradient[:, first : first + scores.shape[1]].clone()


# --- families of them -----------------------------------------------------------------------------


def returned(value: Any) -> tuple[Any, Any]:
    """The loss and the gradient that a rank gave; None, None where it gave no pair."""
    gave = value["returned"]
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def dense_of(case: Case) -> tuple[float, list[Any]]:
    """The dense loss, and its gradient for each rank's scores."""
    scores = np.concatenate([args[0] for args in case.args], axis=1)
    targets, rows = case.args[0][1], np.arange(len(scores))
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(1, keepdims=True)
    loss = float(np.mean(np.log(total[:, 0]) + top[:, 0] - scores[rows, targets]))
    gradient = weights / total
    gradient[rows, targets] -= 1
    return loss, np.split(gradient / len(scores), [args[2] for args in case.args][1:], 1)


def right_gradients(case: Case, seen: Observation) -> list[bool]:
    """Which ranks gave the dense gradient of their scores."""
    want = dense_of(case)[1]
    return [close(returned(v)[1], w, 1e-10) for v, w in zip(seen.values, want, strict=True)]


def _right_losses(case: Case, seen: Observation) -> bool:
    want = dense_of(case)[0]
    return all(abs(float(returned(v)[0]) - want) <= 1e-10 * max(1, abs(want)) for v in seen.values)


def on_every_rank(case: Case, seen: Observation) -> str | None:
    """What is said where each rank takes each target for its own, unless the loss is right."""
    if _right_losses(case, seen):
        return None
    return (
        f"{case.name}, every rank counts a score for every target, but a target belongs to one "
        "rank: where it is not between first and first + tokens here, this rank adds zero and "
        "subtracts nothing."
    )


def one_hot_elsewhere(case: Case, seen: Observation) -> str | None:
    """Right losses; in the gradient 1 is subtracted at a token for a target of another rank."""
    if not _right_losses(case, seen):
        return None
    for value, want, args in zip(seen.values, dense_of(case)[1], case.args, strict=True):
        scores, targets, first = args
        off = (returned(value)[1] - want) * len(scores)
        there = (targets >= first) & (targets < first + scores.shape[1])
        if np.any(np.abs(off[there]) > 1e-9) or np.any(np.abs(off[~there].sum(1) + 1) > 1e-9):
            return None
    return (
        f"{case.name}, the loss is right, but in its gradient a rank subtracts 1 at a token of its "
        "own for each target that another rank has. Subtract the mask, 1 where first ≤ target < "
        "first + tokens here and 0 elsewhere, and not 1."
    )


def no_pair(case: Case, seen: Observation) -> str | None:
    """No loss and gradient."""
    for rank, value in enumerate(seen.values):
        if returned(value) == (None, None):
            what = describe(value["returned"])
            return f"{case.name}, rank {rank} returned {what}: return the pair (loss, gradient)."
    return None


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


def overflow(case: Case, seen: Observation) -> str | None:
    """Infinite or undefined."""
    for rank, value in enumerate(seen.values):
        loss, gradient = returned(value)
        figure = number(loss)
        if figure is not None and not (np.isfinite(figure) and np.all(np.isfinite(gradient))):
            return (
                f"{case.name}, rank {rank}'s loss or gradient is not finite: exp(1000) is infinite "
                "and a sum of exp(−1000) is zero. Subtract, at each position, the largest score "
                "that any rank has there."
            )
    return None


def cut_off(case: Case, seen: Observation) -> str | None:
    """A loss that cannot grow as far as it has to."""
    found, want = [float(returned(v)[0]) for v in seen.values], dense_of(case)[0]
    alike = all(right_gradients(case, seen)) and max(found) - min(found) <= 1e-6
    if not case.facts["mixed"] or not alike or found[0] >= want - 1e-6:
        return None
    return (
        f"{case.name}, the gradients are right, but the loss is {found[0]:.5g} and the dense one "
        f"{want:.5g}: a target far under the maximum was cut off, by a clamp or by a small number "
        "inside the logarithm. With loss = log Σ exp(s − top) − (target − top) neither is needed."
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


def changed(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    if not any(v["changed"] for v in seen.values):
        return None
    return (
        f"{case.name}, the scores or targets that were handed in have changed: an operation worked "
        "in place. Work on a new tensor, such as `scores - top[:, None]`."
    )
