"""The reference of exercise 14.3, and losses over a cut vocabulary with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """The course's own steps, with the gradient written out."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring
    from helpers.algorithms.messages.maximum import all_reduce_max

    top = all_reduce_max(comm, scores.amax(1))
    weights = (scores - top[:, None]).exp()
    mine = ((targets >= first) & (targets < first + scores.shape[1])).nonzero()[:, 0]
    columns = targets[mine] - first
    target = torch.zeros_like(top)
    target[mine] = scores[mine, columns] - top[mine]
    total, target = all_reduce_ring(comm, torch.stack([weights.sum(1), target]))
    gradient = weights / total[:, None]
    gradient[mine, columns] -= 1
    return (total.log() - target).mean(), gradient / len(targets)


def _loss(
    comm: Any, scores: Any, targets: Any, first: int, *, mean: bool = True, **options: Any
) -> Any:
    """The loss, with each step as it should be or not."""
    each, gradient = _each(comm, scores, targets, first, **options)
    return (each.mean(), gradient / len(targets)) if mean else (each.sum(), gradient)


def _each(
    comm: Any,
    scores: Any,
    targets: Any,
    first: int,
    *,
    top: str = "all",
    sum_total: bool = True,
    sum_target: bool = True,
    mask: bool = True,
    one_hot: bool = True,
    scaled: bool = True,
    probability: bool = False,
) -> Any:
    """Each position's loss, and the gradient of their sum."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring
    from helpers.algorithms.messages.maximum import all_reduce_max

    largest = scores.amax(1) if top != "none" else torch.zeros(len(targets), dtype=scores.dtype)
    if top == "all":
        all_reduce_max(comm, largest)
    elif top == "one":
        largest = all_reduce_max(comm, scores.max().reshape(1)).expand(len(targets))
    elif top == "mean":
        largest = all_reduce_ring(comm, largest) / comm.size
    weights = (scores - largest[:, None]).exp()
    total = weights.sum(1)
    if sum_total:
        all_reduce_ring(comm, total)
    mine = (targets >= first) & (targets < first + scores.shape[1])
    if not mask:
        mine = torch.ones_like(mine)
    rows = mine.nonzero()[:, 0]
    columns = (targets[rows] - first).clamp(0, scores.shape[1] - 1)
    target = torch.zeros_like(total)
    if probability:
        target[rows] = weights[rows, columns] / total[rows]
    else:
        target[rows] = scores[rows, columns] - (largest[rows] if scaled else 0)
    if sum_target:
        all_reduce_ring(comm, target)
    gradient = weights / total[:, None]
    if one_hot:
        gradient[rows, columns] -= 1
    return (-target.log() if probability else total.log() - target), gradient


def no_maximum(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Takes the exponentials of the scores as they are."""
    return _loss(comm, scores, targets, first, top="none")


def one_maximum(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Subtracts the largest score of all positions from every score."""
    return _loss(comm, scores, targets, first, top="one")


def own_maximum(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Every rank subtracts its own maximum."""
    return _loss(comm, scores, targets, first, top="own")


def own_tokens(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """A softmax over this rank's tokens."""
    return _loss(comm, scores, targets, first, sum_total=False)


def clamps(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Takes a score on every rank, also where the target is another's."""
    return _loss(comm, scores, targets, first, mask=False)


def own_targets(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Forgets that the target's score is on one rank only."""
    return _loss(comm, scores, targets, first, sum_target=False)


def two_scales(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Forgets that the maximum was taken off."""
    return _loss(comm, scores, targets, first, scaled=False)


def sums_losses(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Sums a loss that every rank has."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    loss, gradient = _loss(comm, scores, targets, first)
    return all_reduce_ring(comm, loss.reshape(1))[0], gradient


def no_mean(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Adds the positions up."""
    return _loss(comm, scores, targets, first, mean=False)


def no_one_hot(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """The gradient is the softmax alone."""
    return _loss(comm, scores, targets, first, one_hot=False)


def whole_ids(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Looks the target's score up by its number in the whole vocabulary."""
    rows = range(len(targets))
    scores[list(rows), targets]
    return _loss(comm, scores, targets, first)


def gathers(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Sends every score to every rank, and computes the dense loss."""
    import torch
    from torch.nn import functional

    parts, requests = [scores] * comm.size, []
    for other in range(comm.size):
        if other != comm.rank:
            requests.append(comm.isend(scores, other))
    for other in range(comm.size):
        if other != comm.rank:
            parts[other] = comm.recv(other)
    for request in requests:
        request.wait()
    whole = torch.cat(parts, dim=1).requires_grad_()
    loss = functional.cross_entropy(whole, targets)
    (gradient,) = torch.autograd.grad(loss, whole)
    return loss.detach(), gradient[:, first : first + scores.shape[1]].clone()


def in_place(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Makes the gradient out of the scores themselves."""
    loss, gradient = _loss(comm, scores, targets, first)
    return loss, scores.copy_(gradient)


def loss_alone(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """No gradient."""
    return _loss(comm, scores, targets, first)[0]


def mean_of_maxima(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Takes the mean of the ranks' maxima for the largest of them."""
    return _loss(comm, scores, targets, first, top="mean")


def log_of_probability(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """The logarithm of the softmax."""
    each, gradient = _each(comm, scores, targets, first, probability=True)
    return each.mean(), gradient / len(targets)


def clamps_scores(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Lets no score lie more than 100 under the maximum."""
    from helpers.algorithms.messages.maximum import all_reduce_max

    top = all_reduce_max(comm, scores.amax(1))
    return _loss(comm, (scores - top[:, None]).clamp(min=-100), targets, first)


def each_position(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Forgets the mean of the loss."""
    each, gradient = _each(comm, scores, targets, first)
    return each, gradient / len(targets)


def row_of_one(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """A loss of shape (1,)."""
    loss, gradient = _loss(comm, scores, targets, first)
    return loss.reshape(1), gradient


def sum_of_losses(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Adds the losses up, and takes the gradient of their mean."""
    each, gradient = _each(comm, scores, targets, first)
    return each.sum(), gradient / len(targets)


def minus(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """One-hot minus softmax."""
    loss, gradient = _loss(comm, scores, targets, first)
    return loss, -gradient


def by_ranks(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Divides by the number of ranks too, as data parallelism does."""
    loss, gradient = _loss(comm, scores, targets, first)
    return loss, gradient / comm.size


def no_wait(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Says its maximum to everybody, and waits for none of the messages."""
    largest = scores.amax(1)
    others = [r for r in range(comm.size) if r != comm.rank]
    for other in others:
        comm.isend(largest.clone(), other)
    for other in others:
        largest = largest.maximum(comm.recv(other))
    return _loss(comm, scores, targets, first)
