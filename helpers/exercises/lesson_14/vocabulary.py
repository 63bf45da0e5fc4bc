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
from helpers.exercises.compare import close, count, describe, listing, number, worlds
from helpers.exercises.drives_tensor_parallel import on_scores
from helpers.exercises.lesson_14 import vocabulary_wrong as wrong
from helpers.exercises.lesson_14.cut_scores import Array, dense_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with ordinary scores, then scores around ±1000 on 2, 3, 1 and 5 ranks."""
    random, made = rng(seed, "14.3"), []
    for n, offset in ((3, 0), (2, 1000), (3, 1000), (1, 1000), (5, 1000)):
        tokens, positions = {1: 9, 2: 23, 3: 50, 5: 113}[n], 4
        if seed:
            tokens, positions = tokens + int(random.integers(0, 20)), int(random.integers(4, 8))
        cuts = [(r * tokens // n, (r + 1) * tokens // n) for r in range(n)]
        scores = 2 * random.standard_normal((positions, tokens))
        scores += offset * np.resize([1.0, -1.0], positions)[:, None]
        targets = random.integers(0, tokens, positions)
        # A rank's first token, another's last: where a cut is one off, it shows.
        targets[:2] = cuts[-1][0], cuts[0][1] - 1
        args = tuple((np.ascontiguousarray(scores[:, a:b]), targets, a) for a, b in cuts)
        size = f", scores around ±{offset}" if offset else ""
        name = f"On {count(n, 'rank')} with {tokens} tokens{size}"
        made.append(Case(name, args, n, facts={"tokens": tokens}))
    return made


def _returned(value: Any) -> tuple[Any, Any]:
    """The loss and the gradient that a rank gave; None, None where it gave no pair."""
    returned = value["returned"]
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned[0], returned[1]
    return None, None


def _right_loss(case: Case, value: Any) -> bool:
    loss = number(_returned(value)[0])
    want = dense_of(case)[0]
    return loss is not None and abs(loss - want) <= _TOLERANCE * max(1.0, abs(want))


def _gradients(case: Case, seen: Observation, want: Sequence[Array]) -> bool:
    """Whether every rank gave this gradient."""
    return not seen.trouble and all(
        close(_returned(v)[1], w, _TOLERANCE) for v, w in zip(seen.values, want, strict=True)
    )


def _limit(case: Case) -> int:
    """Bytes of four numbers a position from every rank to every other."""
    return 4 * case.ranks * (case.ranks - 1) * len(case.args[0][1]) * 8


def claim(case: Case, seen: Observation) -> str | None:
    """The dense loss and gradient on every rank, few bytes, nothing changed."""
    loss, parts = dense_of(case)
    for rank, value in enumerate(seen.values):
        if not _right_loss(case, value):
            return (
                f"{case.name}, rank {rank}'s loss is {describe(_returned(value)[0])}; the dense "
                f"one is {loss:.6g}."
            )
        if not close(_returned(value)[1], parts[rank].gradient, _TOLERANCE):
            return f"{case.name}, rank {rank}'s gradient is not that of the dense loss."
        if value["changed"]:
            return f"{case.name}, rank {rank} changed the scores or targets that it was given."
    return _gathers(case, seen)


def _gathers(case: Case, seen: Observation) -> str | None:
    if sum(seen.bytes) <= _limit(case):
        return None
    positions, tokens = len(case.args[0][1]), case.facts["tokens"]
    return (
        f"{case.name}, {sum(seen.bytes)} B were sent, and {_limit(case)} B are ample: scores went "
        f"over the wire, {tokens} numbers a position. Send what a rank makes of its own: a "
        f"maximum, a sum and a target's score for each of the {positions} positions."
    )


def _no_pair(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        if _returned(value) == (None, None):
            what = describe(value["returned"])
            return f"{case.name}, rank {rank} returned {what}: return the pair (loss, gradient)."
    return None


def _overflow(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        loss, gradient = _returned(value)
        figure = number(loss)
        if figure is None or (np.isfinite(figure) and np.all(np.isfinite(gradient))):
            continue
        return (
            f"{case.name}, rank {rank}'s loss or gradient is not finite: exp(1000) is infinite and "
            "a sum of exp(−1000) is zero. Subtract the largest score of all ranks from every "
            "score first."
        )
    return None


def _own_maximum(case: Case, seen: Observation) -> str | None:
    _, parts = dense_of(case)
    total = sum(part.own.sum(1, keepdims=True) for part in parts)
    want = [(p.own / total - p.one_hot) / len(total) for p in parts]
    if case.ranks == 1 or not _gradients(case, seen, want):
        return None
    return (
        f"{case.name}, every rank subtracted its own maximum, so the sums that were added belong "
        "to different maxima: agree on the largest of all ranks first, with `all_reduce_max`."
    )


def _own_tokens(case: Case, seen: Observation) -> str | None:
    _, parts = dense_of(case)
    want = [(p.own / p.own.sum(1, keepdims=True) - p.one_hot) / len(p.own) for p in parts]
    if case.ranks == 1 or not _gradients(case, seen, want):
        return None
    return (
        f"{case.name}, the gradient is that of a softmax over each rank's own tokens: sum the "
        "exponentials over the ranks before you divide."
    )


def _clamped(case: Case, seen: Observation) -> str | None:
    _, parts = dense_of(case)
    if case.ranks == 1 or not _gradients(
        case, seen, [(p.softmax - p.clamped) / len(p.own) for p in parts]
    ):
        return None
    return (
        f"{case.name}, every rank counts a score for every target, but a target belongs to one "
        "rank: where it is not between first and first + tokens here, this rank adds zero and "
        "subtracts nothing."
    )


def _no_one_hot(case: Case, seen: Observation) -> str | None:
    if not _gradients(case, seen, [p.softmax / len(p.own) for p in dense_of(case)[1]]):
        return None
    return (
        f"{case.name}, the gradient is the softmax alone: subtract 1 at the target, on the rank "
        "that has it."
    )


def _not_the_mean(case: Case, seen: Observation) -> str | None:
    positions = len(case.args[0][1])
    if not _gradients(case, seen, [p.gradient * positions for p in dense_of(case)[1]]):
        return None
    return (
        f"{case.name}, the gradient is {positions} times too large: the loss is the mean over "
        f"{positions} positions, so its gradient is divided by {positions} as well."
    )


def _losses(case: Case, seen: Observation) -> list[float] | None:
    """The ranks' losses, where the gradients are right and they are not."""
    _, parts = dense_of(case)
    if case.ranks == 1 or not _gradients(case, seen, [p.gradient for p in parts]):
        return None
    losses = [number(_returned(v)[0]) for v in seen.values]
    if all(_right_loss(case, v) for v in seen.values):
        return None
    return [value for value in losses if value is not None]


def _own_targets(case: Case, seen: Observation) -> str | None:
    losses = _losses(case, seen)
    if losses is None or max(losses) - min(losses) < 1e-6:
        return None
    return (
        f"{case.name}, the gradients are right, but the ranks' losses are "
        f"{listing(f'{value:.4g}' for value in losses)}, and the dense one is "
        f"{dense_of(case)[0]:.4g}: the target's score is on one rank, so it has to be summed over "
        "the ranks as well."
    )


def _loss_many_times(case: Case, seen: Observation) -> str | None:
    losses, want = _losses(case, seen), dense_of(case)[0]
    if losses is None or not np.allclose(losses, case.ranks * want, 1e-9):
        return None
    return (
        f"{case.name}, the loss is {case.ranks} times too large: every rank has the whole loss "
        "already, so it is not summed over the ranks."
    )


def _two_scales(case: Case, seen: Observation) -> str | None:
    losses, (want, _) = _losses(case, seen), dense_of(case)
    top = np.max([args[0].max(1) for args in case.args], axis=0).mean()
    if losses is None or not (
        np.allclose(losses, want - top, 1e-6) or np.allclose(losses, want + top, 1e-6)
    ):
        return None
    return (
        f"{case.name}, the gradients are right, but the maximum was subtracted from the scores in "
        "the sum and not from the target's score, or the other way round: "
        "loss = log Σ exp(s − top) − (target − top)."
    )


def _changed(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not any(v["changed"] for v in seen.values):
        return None
    return (
        f"{case.name}, the scores or targets that were handed in have changed: an operation worked "
        "in place. Work on a new tensor, such as `scores - top[:, None]`."
    )


def _outside(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "out of" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} looked for a target that it does not have "
        f"({seen.text.splitlines()[0]}): its columns are tokens first to first + tokens here − 1, "
        "so the column is target − first, and only where that lies inside."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, sent = cases[-1], sum(seen[-1].bytes)
    scores = (case.ranks - 1) * sum(args[0].nbytes for args in case.args)
    return (
        f"Passed on {worlds(cases)}: the dense loss and gradient, for scores around ±1000 too; on "
        f"{case.ranks} ranks {sent} B were sent, where gathering the scores takes {scores} B."
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
    mistakes=(
        Mistake("looks outside its tokens", _outside, unfinished=True),
        Mistake("returns no pair", _no_pair),
        Mistake("overflows", _overflow),
        Mistake("gathers the scores", _gathers),
        Mistake("each rank's own maximum", _own_maximum),
        Mistake("a softmax over its own tokens", _own_tokens),
        Mistake("a target on every rank", _clamped),
        Mistake("no one-hot", _no_one_hot),
        Mistake("not the mean", _not_the_mean),
        Mistake("changes what it is given", _changed),
        Mistake("the target's score is not summed", _own_targets),
        Mistake("the loss N times", _loss_many_times),
        Mistake("the maximum in one place only", _two_scales),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no maximum", wrong.no_maximum, "is not finite"),
        WrongAnswer("own maximum", wrong.own_maximum, "subtracted its own maximum"),
        WrongAnswer("own tokens", wrong.own_tokens, "softmax over each rank's own tokens"),
        WrongAnswer("clamps", wrong.clamps, "a score for every target"),
        WrongAnswer("own targets", wrong.own_targets, "summed over the ranks as well"),
        WrongAnswer("two scales", wrong.two_scales, "not from the target's score"),
        WrongAnswer("sums losses", wrong.sums_losses, "has the whole loss"),
        WrongAnswer("no mean", wrong.no_mean, "so its gradient is divided"),
        WrongAnswer("no one-hot", wrong.no_one_hot, "the softmax alone"),
        WrongAnswer("whole ids", wrong.whole_ids, "a target that it does not have"),
        WrongAnswer("gathers", wrong.gathers, "went over the wire"),
        WrongAnswer("in place", wrong.in_place, "worked in place"),
        WrongAnswer("loss alone", wrong.loss_alone, "return the pair"),
    ),
    figure=0,
)
