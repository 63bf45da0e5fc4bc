"""Exercise 14.3, cross-entropy over scores whose columns lie on different ranks.

`vocabulary_loss(comm, scores, targets, first) -> (loss, gradient)`: scores (positions, tokens
here) are those of tokens first, first + 1, …; targets (positions) are ids of the whole vocabulary.
The claim: the mean loss on every rank and the gradient of this rank's scores are the dense ones to
1e-10, for scores of any size; what is sent does not grow with the vocabulary: at most four numbers
a position from every rank to every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, is_array, listing, number, rounded, told_apart, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_tensor_parallel import on_scores
from helpers.exercises.lesson_14 import vocabulary_wrong as wrong
from helpers.exercises.lesson_14.vocabulary_wrong import dense_of, returned, right_gradients
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with ordinary scores, then scores around ±1000 on 2, 3, 1 and 5 ranks.

    Last the two together: a position's scores around 1000 on one rank and around −1000 on the
    others, one of which has its target.
    """
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
        args = tuple((np.ascontiguousarray(scores[:, a:b]), targets, a) for a, b in cuts)
        name = f"On {count(n, 'rank')} with {tokens} tokens{size}"
        made.append(Case(name, args, n, facts={"tokens": tokens, "mixed": mixed}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The dense loss and gradient on every rank, few bytes, nothing changed."""
    want, right = dense_of(case)[0], right_gradients(case, seen)
    for rank, value in enumerate(seen.values):
        loss = number(returned(value)[0])
        if loss is None:
            return f"{case.name}, rank {rank}'s loss is no number."
        if not abs(loss - want) <= 1e-10 * max(1.0, abs(want)):
            got, dense = told_apart(loss, want)
            why = rounded([np.asarray(loss)], [want])
            why = why and f"{why}. Or a small number was added: none is needed"
            return f"{case.name}, rank {rank}'s loss is {got}; the dense one is {dense}{why}."
        if not right[rank]:
            why = rounded([returned(value)[1]], [dense_of(case)[1][rank]])
            return f"{case.name}, rank {rank}'s gradient is not that of the dense loss{why}."
        if value["changed"]:
            return f"{case.name}, rank {rank} changed the scores or targets that it was given."
    return gathers(case, seen) or not_waited(case, seen)


def gathers(case: Case, seen: Observation) -> str | None:
    """More bytes than four numbers a position from every rank to every other."""
    n, positions = case.ranks, len(case.args[0][1])
    limit = 4 * n * (n - 1) * positions * 8
    if sum(seen.bytes) <= limit:
        return None
    return (
        f"{case.name}, {sum(seen.bytes)} B were sent, and {limit} B are ample: scores went over "
        f"the wire, {case.facts['tokens']} numbers a position. Send what a rank makes of its own: "
        f"a maximum, a sum and a target's score for each of the {positions} positions."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The gradients where one is wrong, else the losses."""
    gave = [returned(value) for value in seen.values]
    if not all(right_gradients(case, seen)):
        return [gradient for _, gradient in gave]
    return [number(loss) for loss, _ in gave]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    found = [number(returned(value)[0]) for value in seen.values]
    gradient = returned(seen.values[0])[1]
    finite = np.isfinite(gradient).all(axis=-1) if is_array(gradient) else np.array([])
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
        f"Passed on {worlds(cases)}: the dense loss and gradient, for scores around ±1000 too; "
        f"on {case.ranks} ranks {sum(most.bytes)} B were sent in all, where gathering the scores "
        f"takes {scores} B."
    )


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


ONE_PLACE = (
    "the gradients are right, but the maximum was subtracted from the scores in the sum and not "
    "from the target's score, or the other way round: loss = log Σ exp(s − top) − (target − top)."
)

EXERCISE = Exercise(
    number="14.3",
    title="A loss over a cut vocabulary",
    stars=3,
    minutes=20,
    points=4,
    function="vocabulary_loss",
    asks=(
        "the mean cross-entropy over all positions, on every rank, and its gradient with respect "
        "to this rank's scores, (softmax − one-hot) / positions; the scores stay where they are."
    ),
    cases=cases,
    drive=on_scores,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("looks outside its tokens", wrong.outside, unfinished=True),
        Mistake("returns no pair", wrong.no_pair),
        Mistake("a loss for each position", wrong.loss_shape),
        Mistake("overflows", wrong.overflow),
        Mistake("gathers the scores", gathers),
        Mistake("changes what it is given", wrong.changed),
        Mistake("messages not waited for", not_waited),
        Mistake("a target cut off", wrong.cut_off),
        Mistake("the one-hot without the mask", wrong.one_hot_elsewhere),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "one maximum for all positions",
            wrong.one_maximum,
            "rank 0's gradient is finite at {finite}: one maximum for all of them leaves "
            "exp(−2000), which is 0, where the scores are low. Take the largest score at each "
            "position, `scores.amax(1)`, and the largest of these over the ranks.",
        ),
        WrongAnswer(
            "the logarithm of a probability",
            wrong.log_of_probability,
            "rank 0's loss is not finite, though the gradients are right: a target 2000 under the "
            "maximum has a probability of exp(−2000), which is 0 in floating point, and log 0 is "
            "−∞. Take no logarithm of a probability: loss = log Σ exp(s − top) − (target − top).",
        ),
        WrongAnswer(
            "not the largest of the maxima",
            wrong.not_the_largest,
            "rank 0's loss or gradient is not finite, where one rank's scores lie around 1000 and "
            "another's around −1000: what was subtracted is not the largest of them all, such as a "
            "sum or a mean of the ranks' maxima. `all_reduce_max` gives the largest.",
        ),
        WrongAnswer(
            "each rank's own maximum",
            wrong.own_maximum,
            "every rank subtracted its own maximum, so the sums that were added belong to "
            "different maxima: agree on the largest of all ranks first, with `all_reduce_max`.",
        ),
        WrongAnswer(
            "a softmax over its own tokens",
            wrong.own_tokens,
            "the gradient is that of a softmax over each rank's own tokens: sum the exponentials "
            "over the ranks before you divide.",
        ),
        WrongAnswer(
            "a target on every rank",
            wrong.clamps,
            wrong.on_every_rank,
        ),
        WrongAnswer(
            "one token too many",
            wrong.one_too_many,
            "a target that is the next rank's first token is taken by two ranks: this one's tokens "
            "end before `first + tokens`, so compare with `<`, not `<=`.",
        ),
        WrongAnswer(
            "not the first token",
            wrong.not_the_first,
            "a target that is a rank's first token is taken by no rank: a rank's tokens begin at "
            "`first`, so compare with `>=`, not `>`.",
        ),
        WrongAnswer(
            "no one-hot",
            wrong.no_one_hot,
            "the gradient is the softmax alone: subtract 1 at the target, on the rank that has it.",
        ),
        WrongAnswer(
            "not the mean",
            wrong.no_mean,
            "the gradient is {positions} times too large: the loss is the mean over {positions} "
            "positions, so its gradient is divided by {positions} as well.",
        ),
        WrongAnswer("minus", wrong.minus, "the gradient has the opposite sign: softmax − one-hot."),
        WrongAnswer(
            "divides by the ranks",
            wrong.by_ranks,
            "the gradient was divided by {n} ranks as well: every rank has the same positions "
            "here, so the mean over the positions is all there is to divide by.",
        ),
        WrongAnswer(
            "the target's score is not summed",
            wrong.own_targets,
            "the gradients are right, but the ranks' losses are {losses}, and the dense one is "
            "{dense}: the target's score is on one rank, so it has to be summed over the ranks as "
            "well.",
        ),
        WrongAnswer(
            "N losses",
            wrong.sums_losses,
            "the loss is {n} times too large: each rank has it whole.",
        ),
        WrongAnswer(
            "the sum of the losses",
            wrong.sum_of_losses,
            "the gradients are right, but the loss is {positions} times too large: it is the mean "
            "over the {positions} positions, `.mean()`, and not their sum.",
        ),
        WrongAnswer("the maximum in one place only", wrong.two_scales, ONE_PLACE),
        WrongAnswer("the maximum twice in the loss", wrong.twice_off, ONE_PLACE),
        WrongAnswer("no mask", wrong.no_mask, hint="a token of its own"),
        WrongAnswer("no maximum", wrong.no_maximum, hint="exp(1000) is infinite"),
        WrongAnswer("whole ids", wrong.whole_ids, hint="a target that it does not have"),
        WrongAnswer("gathers", wrong.gathers, hint="went over the wire"),
        WrongAnswer("in place", wrong.in_place, hint="worked in place"),
        WrongAnswer("loss alone", wrong.loss_alone, hint="return the pair"),
        WrongAnswer("clamped scores", wrong.clamps_scores, hint="was cut off"),
        WrongAnswer("losses", wrong.each_position, hint="take its `.mean()`"),
        WrongAnswer("a row of one", wrong.row_of_one, hint="leave the dimension out"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
