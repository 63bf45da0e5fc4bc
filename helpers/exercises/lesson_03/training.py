"""Exercise 03.3, training replicas that start different.

`train(comm, model, inputs, targets, total, steps, rate) -> None`: inputs and targets are this
rank's rows of `total`. Each rank's model was initialised with a seed of its own. The claim: after
`steps` steps of gradient descent all ranks hold what rank 0's model would hold after training on
all rows alone, in float64 to 1e-10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, worlds
from helpers.exercises.drives_training import on_training
from helpers.exercises.lesson_03 import training_wrong as wrong
from helpers.exercises.lesson_03.replicas import Arrays, random_weights, train
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_LAYERS = (4, 6, 2)
_STEPS, _RATE = 4, 0.1


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven shards on 3, 1, 2 and 5 ranks; else other sizes and steps."""
    random, made = rng(seed, "03.3"), []
    shapes = [(7, 3), (4, 1), (5, 2), (13, 5)]
    steps, rate = _STEPS, _RATE
    if seed:
        shapes = [(n * int(random.integers(1, 6)) + max(n - 1, 1), n) for n in (1, 2, 3, 5)]
        steps, rate = int(random.integers(3, 6)), float(random.uniform(0.05, 0.2))
    for rows, n in shapes:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        inputs = random.standard_normal((rows, _LAYERS[0]))
        targets = random.standard_normal((rows, _LAYERS[-1]))
        cuts = [slice(r * rows // n, (r + 1) * rows // n) for r in range(n)]
        args = tuple(
            (starts[r], inputs[c], targets[c], rows, steps, rate) for r, c in enumerate(cuts)
        )
        facts = {
            "starts": starts,
            "steps": steps,
            "rate": rate,
            "shares": [(c.stop - c.start) / rows for c in cuts],
            "batches": [[(inputs[c], targets[c]) for c in cuts]] * steps,
            "whole": [[(inputs, targets)]] * steps,
        }
        made.append(Case(f"On {count(n, 'rank')} with {rows} rows", args, n, facts=facts))
    return made


def _right(case: Case) -> Arrays:
    facts = case.facts
    return train(facts["starts"][:1], facts["whole"], facts["rate"], [1.0])[0]


def _is(case: Case, seen: Observation, **how: Any) -> bool:
    """Whether the ranks ended where replicas with this mistake would end."""
    facts = case.facts
    if seen.trouble:
        return False
    shares = how.pop("shares", facts["shares"])
    ends = train(facts["starts"], facts["batches"], facts["rate"], shares, **how)
    pairs = zip(seen.values, ends, strict=True)
    return all(all_close(got, want, _TOLERANCE) for got, want in pairs)


def claim(case: Case, seen: Observation) -> str | None:
    """All ranks equal one big batch, from rank 0's weights."""
    want = _right(case)
    for rank, got in enumerate(seen.values):
        if not all_close(got, want, _TOLERANCE):
            return (
                f"{case.name}, rank {rank}'s weights are not what training on all rows, from rank "
                "0's weights, would give."
            )
    return None


def _no_broadcast(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _is(case, seen, broadcast=False):
        return None
    return (
        f"{case.name}, the replicas started from different weights and stayed apart, though each "
        "took the same steps. Give every rank rank 0's parameters once, before the first step."
    )


def _not_cleared(case: Case, seen: Observation) -> str | None:
    if not _is(case, seen, clear=False):
        return None
    return (
        f"{case.name}, gradients of earlier steps were still there: `backward()` adds to `.grad`. "
        "Clear them before each step: `model.zero_grad()`."
    )


def _alone(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1:
        return None
    for start in (True, False):
        if _is(case, seen, shares=None, broadcast=start):
            return (
                f"{case.name}, every rank trained on its own rows alone, and the replicas drifted "
                "apart. Average the gradients in every step, after backward and before the update."
            )
    return None


def _at_the_end(case: Case, seen: Observation) -> str | None:
    facts = case.facts
    if case.ranks == 1 or seen.trouble:
        return None
    ends = train(facts["starts"], facts["batches"], facts["rate"], None)
    for shares in (facts["shares"], [1 / case.ranks] * case.ranks):
        mean = [
            sum(s * w for s, w in zip(shares, same, strict=True))
            for same in zip(*ends, strict=True)
        ]
        if all(all_close(got, mean, 1e-9) for got in seen.values):
            return (
                f"{case.name}, the weights were averaged once, at the end. That is another "
                "algorithm (local SGD); here the gradients are averaged in every step."
            )
    return None


def _equal_shares(case: Case, seen: Observation) -> str | None:
    if len(set(case.facts["shares"])) == 1:
        return None
    if not _is(case, seen, shares=[1 / case.ranks] * case.ranks):
        return None
    return (
        f"{case.name}, the shards are uneven and every rank counted the same: weigh this rank's "
        "gradients with its rows, len(inputs) / total."
    )


def _sums(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _is(case, seen, shares=[1.0] * case.ranks):
        return None
    return (
        f"{case.name}, every step was about {case.ranks} times too long: the gradients were summed "
        "over the ranks and not averaged."
    )


def _no_steps(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not all(all_close(v, case.facts["starts"][0], 0.0) for v in seen.values):
        return None
    return (
        f"{case.name}, no weight has moved from rank 0's start: update each parameter in place, "
        "`parameter -= rate * parameter.grad`, under `torch.no_grad()`."
    )


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or not any("send" in words for words in seen.waiting.values()):
        return None
    first = min(r for r, words in seen.waiting.items() if "send" in words)
    return (
        f"{case.name}, rank {first} {seen.waiting[first]}, which is not there to receive: "
        "a broadcast or an all-reduce is called by every rank, in the same order."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: after {cases[0].facts['steps']} steps all replicas are equal, "
        "and equal to one model trained on all rows."
    )


EXERCISE = Exercise(
    number="03.3",
    title="Train",
    stars=2,
    minutes=12,
    points=3,
    function="train",
    asks=(
        "all ranks start from rank 0's parameters; in each of `steps` steps every rank does "
        "backward on its rows, the gradients are averaged, and every parameter goes down by "
        "rate · gradient."
    ),
    cases=cases,
    drive=on_training,
    builds_on=("03.2",),
    claim=claim,
    mistakes=(
        Mistake("not every rank takes part", _some_do_not_come, unfinished=True),
        Mistake("no update", _no_steps),
        Mistake("no initial broadcast", _no_broadcast),
        Mistake("gradients not cleared", _not_cleared),
        Mistake("every rank trains alone", _alone),
        Mistake("weights averaged once at the end", _at_the_end),
        Mistake("every rank counts the same", _equal_shares),
        Mistake("summed and not averaged", _sums),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no broadcast", wrong.no_broadcast, hint="started from different weights"),
        WrongAnswer("not cleared", wrong.not_cleared, hint="still there"),
        WrongAnswer("alone", wrong.alone, hint="on its own rows alone"),
        WrongAnswer("averages at the end", wrong.at_the_end, hint="averaged once, at the end"),
        WrongAnswer("equal shares", wrong.equal_shares, hint="every rank counted the same"),
        WrongAnswer("sums", wrong.sums, hint="times too long"),
        WrongAnswer("no update", wrong.no_update, hint="no weight has moved"),
        WrongAnswer(
            "broadcast on rank 0 alone", wrong.rank_0_broadcasts, hint="not there to receive"
        ),
    ),
)
