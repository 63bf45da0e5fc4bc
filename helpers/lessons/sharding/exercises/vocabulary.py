"""Exercise 14.3, cross-entropy over scores whose columns lie on different ranks.

`vocabulary_loss(comm, scores, targets, first) -> (loss, gradient)`: scores (positions, tokens
here) are those of tokens first, first + 1, …; targets (positions) are ids of the whole vocabulary.
The claim: the mean loss on every rank and the gradient of this rank's scores are the dense ones to
1e-10 (float32: 1e-5), in the scores' own type, for scores of any size; what is sent does not grow
with the vocabulary: at most four numbers a position from every rank to every other. 26 wrong
answers make this file long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from helpers.checks.compare import (
    close,
    count,
    is_array,
    listing,
    number,
    rounded,
    told_apart,
    worlds,
)
from helpers.checks.drives.arguments import left_alone
from helpers.checks.drives.requests import not_waited
from helpers.checks.drives.values import tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max
from helpers.lessons.sharding.exercises.shared import (
    fails,
    no_pair,
    returned,
    told_by_all,
    wrote_into,
)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with ordinary scores, then around ±1000 on 2, 3, 1 and 5 ranks; then around
    1000 on one rank and around −1000 on the others, one of which has a position's target. Last one
    token on each rank, and one position, in float32."""
    random, made = rng(seed, "14.3"), []
    settings = [(3, 0, False), (2, 1000, False), (3, 1000, False), (1, 1000, False)]
    for n, offset, mixed in [*settings, (5, 1000, False), (3 if seed else 2, 1000, True)]:
        tokens, positions = {1: 9, 2: 23, 3: 50, 5: 113}[n], 4
        if seed:
            tokens, positions = tokens + int(random.integers(0, 20)), int(random.integers(4, 8))
        cuts = [(r * tokens // n, (r + 1) * tokens // n) for r in range(n)]
        scores = 2 * random.standard_normal((positions, tokens))
        targets = random.integers(0, tokens, positions)
        # A rank's first token, another's last: where a cut is one off, it shows.
        targets[:2] = cuts[-1][0], cuts[0][1] - 1
        size = f", scores around ±{offset}" if offset else ""
        if mixed:
            size = f", scores around {offset} on one rank and around −{offset} elsewhere"
            scores -= offset
            for position, target in enumerate(targets):
                home = next(r for r, (a, b) in enumerate(cuts) if a <= target < b)
                scores[position, slice(*cuts[(home + 1) % n])] += 2 * offset
        else:
            scores += offset * np.resize([1.0, -1.0], positions)[:, None]
        args = tuple((scores[:, a:b], targets, a) for a, b in cuts)
        name = f"On {count(n, 'rank')} with {tokens} tokens{size}"
        made.append(Case(name, args, n, facts={"tokens": tokens, "mixed": mixed}))
    for n, positions, tokens, kind in ((3, 4, 3, np.float64), (2, 1, 7, np.float32)):
        scores = (2 * random.standard_normal((positions, tokens))).astype(kind)
        targets = random.integers(0, tokens, positions)
        cuts = [(r * tokens // n, (r + 1) * tokens // n) for r in range(n)]
        args = tuple((scores[:, a:b], targets, a) for a, b in cuts)
        name = f"On {count(n, 'rank')} with {tokens} tokens and {count(positions, 'position')}"
        name += ", in float32" * (kind == np.float32)
        made.append(Case(name, args, n, facts={"tokens": tokens, "mixed": False}))
    return made


def dense_of(case: Case) -> tuple[float, list[Any]]:
    """The dense loss, and its gradient for each rank's scores."""
    scores = [tensors(args[0]).requires_grad_() for args in case.args]
    with torch.enable_grad():
        loss = functional.cross_entropy(torch.cat(scores, 1), tensors(case.args[0][1]))
        loss.backward()
    return loss.item(), [part.grad.numpy() for part in scores]


def _tolerance(case: Case) -> float:
    return 1e-10 if case.args[0][0].itemsize == 8 else 1e-5


def right_gradients(case: Case, seen: Observation) -> list[bool]:
    """Which ranks gave the dense gradient of their scores."""
    want, off = dense_of(case)[1], _tolerance(case)
    return [close(returned(v)[1], w, off) for v, w in zip(seen.values, want, strict=True)]


def _right_losses(case: Case, seen: Observation) -> bool:
    want = dense_of(case)[0]
    off = _tolerance(case) * max(1, abs(want))
    return all(abs(float(returned(v)[0]) - want) <= off for v in seen.values)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The dense loss and gradient on every rank, few bytes, nothing changed."""
    (want, gradients), right = dense_of(case), right_gradients(case, seen)
    for rank, value in enumerate(seen.values):
        gave, gradient = returned(value)
        loss = number(gave)
        if loss is None:
            yield f"rank {rank}'s loss is no number."
        elif not abs(loss - want) <= _tolerance(case) * max(1.0, abs(want)):
            got, dense = told_apart(loss, want)
            why = rounded([np.asarray(loss)], [want])
            why = why and f"{why}. Or a small number was added: none is needed"
            yield f"rank {rank}'s loss is {got}; the dense one is {dense}{why}."
        if not right[rank]:
            why = rounded([gradient], [gradients[rank]])
            yield f"rank {rank}'s gradient is not that of the dense loss{why}."
        yield _another_type(rank, gave, gradient, case.args[rank][0].dtype)
    yield from changed(case, seen)
    yield from gathers(case, seen)
    yield not_waited(case, seen)


def _another_type(rank: int, loss: Any, gradient: Any, own: Any) -> str | None:
    """A loss that is no tensor, or one of the two in another type than the scores'."""
    if type(loss) is not np.ndarray:
        return (
            f"rank {rank}'s loss is a Python {type(loss).__name__}: return a tensor, which a "
            "backward pass can begin from, without `.item()` or `float(…)`."
        )
    for name, value in (("loss", loss), ("gradient", gradient)):
        if value.dtype != own:
            return f"rank {rank}'s {name} is {value.dtype}; the scores are {own}, and so is it."
    return None


def gathers(case: Case, seen: Observation) -> Iterator[str]:
    """More bytes than four numbers a position from every rank to every other."""
    n, positions = case.ranks, len(case.args[0][1])
    limit = 4 * n * (n - 1) * positions * 8
    if sum(seen.bytes) > limit:
        yield (
            f"{sum(seen.bytes)} B were sent, and {limit} B are ample: scores went over the wire, "
            f"{case.facts['tokens']} numbers a position. Send what a rank makes of its own: a "
            f"maximum, a sum and a target's score for each of the {positions} positions."
        )


def on_every_rank(case: Case, seen: Observation) -> Iterator[str]:
    """What is said where each rank takes each target for its own, unless the loss is right."""
    if not _right_losses(case, seen):
        yield (
            "every rank counts a score for every target, but a target belongs to one rank: where "
            "it is not between first and first + tokens here, this rank adds zero and subtracts "
            "nothing."
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
        "the loss is right, but in its gradient a rank subtracts 1 at a token of its own for each "
        "target that another rank has. Subtract the mask, 1 where first ≤ target < first + tokens "
        "here and 0 elsewhere, and not 1."
    )


def loss_shape(case: Case, seen: Observation) -> Iterator[str]:
    """A loss that is not a number."""
    for rank, value in enumerate(seen.values):
        loss, _ = returned(value)
        if is_array(loss, case.args[rank][0].shape):
            yield f"rank {rank}'s loss has the shape of its scores: return (loss, gradient)."
        if isinstance(loss, np.ndarray) and loss.ndim > 0:
            how = "take its `.mean()`" if loss.size > 1 else "leave the dimension out, `loss[0]`"
            yield (
                f"rank {rank}'s loss has the shape {loss.shape}: it is one number, the mean over "
                f"the {len(case.args[0][1])} positions, so {how}."
            )


def overflow(case: Case, seen: Observation) -> Iterator[str]:
    """Infinite or undefined."""
    for rank, value in enumerate(seen.values):
        loss, gradient = returned(value)
        if number(loss) is not None and not np.isfinite([number(loss), *np.ravel(gradient)]).all():
            yield (
                f"rank {rank}'s loss or gradient is not finite: exp(1000) is infinite and a sum of "
                "exp(−1000) is zero. Subtract, at each position, the largest score that any rank "
                "has there."
            )


def cut_off(case: Case, seen: Observation) -> Iterator[str]:
    """A loss that cannot grow as far as it has to."""
    found, want = [float(returned(v)[0]) for v in seen.values], dense_of(case)[0]
    alike = all(right_gradients(case, seen)) and max(found) - min(found) <= 1e-6
    if case.facts["mixed"] and alike and found[0] < want - 1e-6:
        yield (
            f"the gradients are right, but the loss is {found[0]:.5g} and the dense one "
            f"{want:.5g}: a target far under the maximum was cut off, by a clamp or by a small "
            "number inside the logarithm. With loss = log Σ exp(s − top) − (target − top) neither "
            "is needed."
        )


outside = fails(
    "rank {rank} looked for a target that it does not have ({said}): its columns are tokens first "
    "to first + tokens here − 1, so the column is target − first, and only where that lies inside.",
    "out of",
)
changed = wrote_into(
    "the scores or targets that were handed in have changed: an operation worked in place, on them "
    "or on a view of them, which a column, `scores[:, 0]`, is. Work on tensors of your own."
)


def compared(case: Case, seen: Observation) -> Any:
    """The gradients where one is wrong, else the losses; of changed scores neither tells why."""
    if any(changed(case, seen)):
        return None
    if all(right_gradients(case, seen)):
        return [number(returned(value)[0]) for value in seen.values]
    return [returned(value)[1] for value in seen.values]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    found = [number(returned(value)[0]) for value in seen.values]
    finite = np.isfinite(returned(seen.values[0])[1]).all(axis=-1)
    return {
        "n": case.ranks,
        "positions": len(case.args[0][1]),
        "losses": listing(f"{value:.4g}" for value in found if value is not None),
        "dense": f"{dense_of(case)[0]:.4g}",
        "finite": f"{np.sum(finite)} of {count(finite.size, 'position')}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, most = max(zip(cases, seen, strict=True), key=lambda pair: pair[0].ranks)
    scores = (case.ranks - 1) * sum(args[0].nbytes for args in case.args)
    return (
        f"Passed on {worlds(cases)}: the dense loss and gradient, for scores around ±1000 too; on "
        f"{case.ranks} ranks {sum(most.bytes)} B were sent in all, where gathering the scores "
        f"takes {scores} B."
    )


def reference(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """The course's own steps, with the gradient written out."""
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


WRONG = """
one maximum for all positions
    | scores.amax(1)) => scores.amax(1)).amax().expand(len(scores))
    rank 0's gradient is finite at {finite}: what was subtracted lies far above the scores where
    they are low, as one maximum for all positions does, or one that cannot fall so far, and
    exp(−800) is 0. Take the largest score at each position, `scores.amax(1)`, and the largest of
    these over the ranks.
the logarithm of a probability
    | scores[mine, columns] - top[mine] => weights[mine, columns]
    | (total.log() - target) => -(target / total).log()
    rank 0's loss is not finite, though the gradients are right: a target 2000 under the maximum has
    a probability of exp(−2000), which is 0 in floating point, and log 0 is −∞. Take no logarithm of
    a probability: loss = log Σ exp(s − top) − (target − top).
not the largest of the maxima
    | all_reduce_max(comm, scores => -all_reduce_max(comm, -scores
    rank 0's loss or gradient is not finite, where one rank's scores lie around 1000 and another's
    around −1000: what was subtracted is not the largest of them all, such as a sum or a mean of the
    ranks' maxima. `all_reduce_max` gives the largest.
each rank's own maximum
    | top = => top = scores.amax(1);
    every rank subtracted its own maximum, so the sums that were added belong to different maxima:
    agree on the largest of all ranks first, with `all_reduce_max`.
a softmax over its own tokens
    | gradient = weights => total = weights.sum(1); gradient = weights
    the gradient is that of a softmax over each rank's own tokens: sum the exponentials over the
    ranks before you divide.
a target on every rank
    | scores.shape[1])).nonzero => scores.shape[1]) | True).nonzero
    | targets[mine] - first => (targets - first).clamp(0, scores.shape[1] - 1)
    ! on_every_rank
one token too many
    | targets < first => targets <= first
    | targets[mine] - first => (targets[mine] - first).clamp(max=scores.shape[1] - 1)
    a target that is the next rank's first token is taken by two ranks: this one's tokens end before
    `first + tokens`, so compare with `<`, not `<=`.
not the first token
    | targets >= first => targets > first
    a target that is a rank's first token is taken by no rank: a rank's tokens begin at `first`, so
    compare with `>=`, not `>`.
no one-hot
    | gradient[mine, columns] -= 1 =>
    the gradient is the softmax alone: subtract 1 at the target, on the rank that has it.
not the mean
    | .mean(), gradient / len(targets) => .sum(), gradient
    the gradient is {positions} times too large: the loss is the mean over {positions} positions, so
    its gradient is divided by {positions} as well.
minus
    | gradient / len => -gradient / len
    the gradient has the opposite sign: softmax − one-hot.
divides by the ranks
    | gradient / len => gradient / comm.size / len
    the gradient was divided by {n} ranks as well: every rank has the same positions here, so the
    mean over the positions is all there is to divide by.
the target's score is not summed
    | total, target = => total, _ =
    the gradients are right, but the ranks' losses are {losses}, and the dense one is {dense}: the
    target's score is on one rank, so it has to be summed over the ranks as well.
# What a sum over the ranks gives, whatever messages it takes.
N losses
    | (total.log() => comm.size * (total.log()
    the loss is {n} times too large: each rank has it whole.
the sum of the losses
    | .mean() => .sum()
    the gradients are right, but the loss is {positions} times too large: it is the mean over the
    {positions} positions, `.mean()`, and not their sum.
the maximum in one place only
    | - top[mine] =>
    the gradients are right, but the maximum was subtracted from the scores in the sum and not from
    the target's score, or the other way round: loss = log Σ exp(s − top) − (target − top).
the maximum twice in the loss
    | - top[mine] => - 2 * top[mine]
    the gradients are right, but the maximum was subtracted from the scores in the sum and not
    from the target's score, or the other way round: loss = log Σ exp(s − top) − (target − top).
no mask
    | gradient[mine, columns]
        => gradient[torch.arange(len(targets)), (targets - first).clamp(0, scores.shape[1] - 1)]
    ? a token of its own
no maximum
    | top = => top = 0 *
    ? exp(1000) is infinite
whole ids
    | top = => scores[torch.arange(len(targets)), targets]; top =
    ? a target that it does not have
gathers
    | top = => every = torch.cat(told_by_all(comm, scores, waits=True), dim=1);
        gradient = every.softmax(1) - functional.one_hot(targets, every.shape[1]);
        return functional.cross_entropy(every, targets),
        gradient[:, first : first + scores.shape[1]] / len(targets); top =
    ? went over the wire
in place
    | gradient / len(targets) => scores.copy_(gradient / len(targets))
    ? worked in place
loss alone
    | , gradient / len(targets) =>
    ? return the pair
clamped scores
    | scores[mine, columns] - top[mine] => (scores[mine, columns] - top[mine]).clamp(min=-100)
    ? was cut off
losses
    | .mean() =>
    ? take its `.mean()`
a row of one
    | .mean() => .mean(0, True)
    ? leave the dimension out
no wait
    | all_reduce_max(comm, scores.amax(1)) => torch.stack(told_by_all(comm, scores.amax(1))).amax(0)
    ? without waiting for
"""

EXERCISE = Exercise(
    number="14.3",
    title="A loss over a cut vocabulary",
    size=Size(stars=3, minutes=20, points=4),
    function="vocabulary_loss",
    asks=(
        "the mean cross-entropy over all positions, on every rank, and its gradient with respect "
        "to this rank's scores, (softmax − one-hot) / positions; the scores stay where they are."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("looks outside its tokens", outside, unfinished=True),
        Mistake("returns no pair", no_pair("(loss, gradient)")),
        Mistake("a loss for each position", loss_shape),
        Mistake("overflows", overflow),
        Mistake("gathers the scores", gathers),
        Mistake("changes what it is given", changed),
        Mistake("messages not waited for", not_waited),
        Mistake("a target cut off", cut_off),
        Mistake("the one-hot without the mask", one_hot_elsewhere),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("14.3", WRONG, (reference, told_by_all), on_every_rank),
    figure=0,
)
