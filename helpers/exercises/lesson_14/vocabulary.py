"""Exercise 14.3, cross-entropy over scores whose columns lie on different ranks.

`vocabulary_loss(comm, scores, targets, first) -> (loss, gradient)`: scores (positions, tokens
here) are those of tokens first, first + 1, …; targets (positions) are ids of the whole vocabulary.
The claim: the mean loss on every rank and the gradient of this rank's scores are the dense ones to
1e-10, for scores of any size; what is sent does not grow with the vocabulary: at most four numbers
a position from every rank to every other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_tensor_parallel import on_scores
from helpers.exercises.lesson_14 import vocabulary_mistakes as look
from helpers.exercises.lesson_14 import vocabulary_wrong as wrong
from helpers.exercises.lesson_14.cut_scores import dense_of
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
    loss, parts = dense_of(case)
    for rank, value in enumerate(seen.values):
        if not look.right_loss(case, value):
            said = describe(look.returned(value)[0])
            return f"{case.name}, rank {rank}'s loss is {said}; the dense one is {loss:.6g}."
        if not close(look.returned(value)[1], parts[rank].gradient, look.TOLERANCE):
            return f"{case.name}, rank {rank}'s gradient is not that of the dense loss."
        if value["changed"]:
            return f"{case.name}, rank {rank} changed the scores or targets that it was given."
    return look.gathers(case, seen) or not_waited(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, most = max(zip(cases, seen, strict=True), key=lambda pair: pair[0].ranks)
    sent = sum(most.bytes)
    scores = (case.ranks - 1) * sum(args[0].nbytes for args in case.args)
    return (
        f"Passed on {worlds(cases)}: the dense loss and gradient, for scores around ±1000 too; "
        f"on {case.ranks} ranks {sent} B were sent in all, where gathering the scores takes "
        f"{scores} B."
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
        Mistake("looks outside its tokens", look.outside, unfinished=True),
        Mistake("returns no pair", look.no_pair),
        Mistake("a loss for each position", look.loss_shape),
        Mistake("overflows", look.overflow),
        Mistake("gathers the scores", look.gathers),
        Mistake("each rank's own maximum", look.own_maximum),
        Mistake("a softmax over its own tokens", look.own_tokens),
        Mistake("a target on every rank", look.clamped),
        Mistake("no one-hot", look.no_one_hot),
        Mistake("not the mean", look.not_the_mean),
        Mistake("the opposite sign", look.other_sign),
        Mistake("divides by the ranks", look.by_ranks),
        Mistake("changes what it is given", look.changed),
        Mistake("messages not waited for", not_waited),
        Mistake("the target's score is not summed", look.own_targets),
        Mistake("the loss N times", look.loss_many_times),
        Mistake("the sum of the losses", look.summed_loss),
        Mistake("the maximum in one place only", look.two_scales),
        Mistake("a target cut off", look.cut_off),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no maximum", wrong.no_maximum, hint="exp(1000) is infinite"),
        WrongAnswer("one maximum", wrong.one_maximum, hint="one maximum for all"),
        WrongAnswer("own maximum", wrong.own_maximum, hint="subtracted its own maximum"),
        WrongAnswer("own tokens", wrong.own_tokens, hint="softmax over each rank's own tokens"),
        WrongAnswer("clamps", wrong.clamps, hint="a score for every target"),
        WrongAnswer("own targets", wrong.own_targets, hint="summed over the ranks as well"),
        WrongAnswer("two scales", wrong.two_scales, hint="not from the target's score"),
        WrongAnswer("sums losses", wrong.sums_losses, hint="has the whole loss"),
        WrongAnswer("no mean", wrong.no_mean, hint="so its gradient is divided"),
        WrongAnswer("no one-hot", wrong.no_one_hot, hint="the softmax alone"),
        WrongAnswer("whole ids", wrong.whole_ids, hint="a target that it does not have"),
        WrongAnswer("gathers", wrong.gathers, hint="went over the wire"),
        WrongAnswer("in place", wrong.in_place, hint="worked in place"),
        WrongAnswer("loss alone", wrong.loss_alone, hint="return the pair"),
        WrongAnswer("mean of maxima", wrong.mean_of_maxima, hint="a mean of the ranks' maxima"),
        WrongAnswer("log of p", wrong.log_of_probability, hint="no logarithm of a probability"),
        WrongAnswer("clamped scores", wrong.clamps_scores, hint="was cut off"),
        WrongAnswer("losses", wrong.each_position, hint="take its `.mean()`"),
        WrongAnswer("a row of one", wrong.row_of_one, hint="leave the dimension out"),
        WrongAnswer("sum of losses", wrong.sum_of_losses, hint="and not their sum"),
        WrongAnswer("minus", wrong.minus, hint="the opposite sign"),
        WrongAnswer("N again", wrong.by_ranks, hint="same positions here"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
