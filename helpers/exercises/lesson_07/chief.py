"""Exercise 07.5, the chief and the queue of tokens.

`class Chief` with `start(num_tokens)` and `turn() -> bool` to write. The claim: `start` puts
num_tokens tokens into the queue, as many as an update takes for −1; a turn in which the
accumulator has a mean makes one update, raises the global step, and puts max(total, aggregate)
tokens of the new step into the queue; any other turn does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, rounded
from helpers.exercises.drives_sync import chief_turns
from helpers.exercises.lesson_07 import chief_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_RATE = 0.5
_CHANGED = (
    "the weights that the chief was given are other ones now: `-=` writes into a tensor that "
    "others still hold. Make a new one: `self.weights = self.weights - …`."
)


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 of 3 with the default, 2 of 3 with none, 1 of 1, 5 of 2, 2 of 5; else others."""
    random = rng(seed, "07.5")
    shapes = [(2, 3, -1), (2, 3, 0), (1, 1, -1), (5, 2, 3), (2, 5, 4)]
    if seed:
        shapes = [(n - 1, n, -1) for n in (4, 6)] + [(1, 1, 0), (1, 2, 0), (3, 3, -1)]
        some = int(random.integers(3, 8))
        shapes += [(some, 2, some - 2), (3, 5, int(random.integers(1, 6)))]
    made = []
    for aggregate, total, num_tokens in shapes:
        turns = int(random.integers(4, 8))
        ready = [turn in (1, 3) or random.random() < 0.3 for turn in range(turns)]
        ready[0] = False
        means = [np.round(random.uniform(1, 9, 2), 2) if each else None for each in ready]
        weights = np.round(random.uniform(-9, 9, 2), 2)
        name = f"With {aggregate} of {count(total, 'worker')} and num_tokens={num_tokens}"
        args = (weights, _RATE, aggregate, total, num_tokens, means)
        made.append(Case(name, (args,), facts=_facts(*args)))
    return made


def _facts(
    weights: np.ndarray,
    rate: float,
    aggregate: int,
    total: int,
    num_tokens: int,
    means: list[np.ndarray | None],
) -> dict[str, Any]:
    """What is wanted of each turn."""
    made, turns = 0, []
    for mean in means:
        if mean is not None:
            weights, made = weights - rate * mean, made + 1
        new = 0 if mean is None else total if total > aggregate else aggregate
        turn = {"gave": mean is not None, "step": made, "weights": weights}
        turns.append(turn | {"tokens": [made] * new})
    start = [0] * (aggregate if num_tokens < 0 else num_tokens)
    return {"start": start, "turns": turns, "aggregate": aggregate, "total": total}


def claim(case: Case, seen: Observation) -> str | None:
    """The tokens at the start, and every turn."""
    start = list(seen.values[0]["start"])
    if start != case.facts["start"]:
        put, wanted = wrong.in_words(start), wrong.in_words(case.facts["start"])
        return f"{case.name}, `start` put {put} in, not {wanted}."
    found = wrong.first(case, seen)
    if found is None and seen.values[0]["changed"]:
        return f"{case.name}, {_CHANGED}"
    if found is None:
        return wrong.no_whole_numbers(case, seen)
    number, got, want = found
    fault, begin = wrong.fault(case, got, want), wrong.begin(case, number, want)
    if fault == "asked":
        asked = [describe(each) for each in got["asked"]] or ["never"]
        said = f"`take_grad` was asked for {', '.join(asked)}"
        return f"{begin}: {said}; ask once a turn, for {case.facts['aggregate']}."
    if fault == "tokens":
        said = f"{wrong.in_words(wrong.new(got))} came into the queue"
        return f"{begin}: {said}, not {wrong.in_words(want['tokens'])}."
    if fault == "left":
        return f"{begin}: the oldest token does not stand first in the queue any more."
    right = f"{describe(want[fault])}{rounded([got[fault]], [want[fault]])}"
    return f"{begin}: `{fault}` is {describe(got[fault])}; it should be {right}."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the tokens at the start, and the first turn that is wrong."""
    if seen.trouble:
        return {}
    found, facts = wrong.first(case, seen), case.facts
    said: dict[str, Any] = {"put": wrong.in_words(seen.values[0]["start"])}
    said |= {"aggregate": facts["aggregate"], "total": facts["total"]}
    if found is None:
        return said
    number, got, want = found
    said |= {"turn": wrong.begin(case, number, want), "asked": len(got["asked"])}
    said |= {"new": count(len(wrong.new(got)), "token"), "wanted": len(want["tokens"])}
    return said | {"old": want["step"] - 1}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: with {facts['aggregate']} of {facts['total']} workers, "
        f"{len(facts['start'])} tokens at the start by default and {facts['total']} an update."
    )


def reference(
    accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
) -> Any:
    """The course's own."""
    return wrong.Chief(accumulator, queue, weights, rate, aggregate, total)


EXERCISE = Exercise(
    number="07.5",
    title="The chief and its tokens",
    stars=2,
    minutes=15,
    points=3,
    function="Chief",
    asks=(
        "`start` puts num_tokens tokens of step 0 into the queue (−1: as many as an update "
        "takes); `turn` makes an update where there is a mean, raises the step, and puts in "
        "max(total, aggregate) tokens of the new step."
    ),
    cases=cases,
    drive=chief_turns,
    claim=claim,
    mistakes=wrong.FAMILIES,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "a list as a token at the start",
            wrong.AppendsAtStart,
            "`start` put the whole list in as one token. `append` puts in one thing, `extend` "
            "each of a list.",
        ),
        WrongAnswer(
            "nothing at the start by default",
            wrong.none_at_start,
            "`start` put {put} in: the default, −1, stands for as many as an update takes, "
            "{aggregate}.",
        ),
        WrongAnswer(
            "a token for each worker at the start",
            wrong.total_at_start,
            "`start` put {put} in: at the start there are as many as an update takes, "
            "{aggregate}, or num_tokens.",
        ),
        WrongAnswer(
            "num_tokens is not looked at",
            wrong.always_default,
            "`start` put {put} in: num_tokens says how many; only −1 stands for {aggregate}.",
        ),
        WrongAnswer(
            "asks for all workers' gradients",
            wrong.asks_for_all,
            "{turn}: the chief asked for {total} gradients, all workers', so that no worker is "
            "spare. Ask for {aggregate}.",
        ),
        WrongAnswer(
            "asks twice",
            wrong.asks_twice,
            "{turn}: `take_grad` was called {asked} times. Each call empties the accumulator: "
            "call it once a turn and keep what it gives.",
        ),
        WrongAnswer(
            "a mean as a condition",
            wrong.IfNotMean,
            "a mean is a tensor of many numbers, which is neither true nor false. Ask whether "
            "there is one: `if mean is None`.",
        ),
        WrongAnswer(
            "a list as a token",
            wrong.appends,
            "{turn}: the whole list came into the queue as one token. `append` puts in one thing, "
            "`extend` each of a list.",
        ),
        WrongAnswer(
            "tokens of the old step",
            wrong.OldTokens,
            "{turn}: the tokens are of step {old}, which is over: whatever is computed with them "
            "will be dropped. Raise the step before the tokens are made.",
        ),
        WrongAnswer(
            "a queue of its own",
            wrong.own_queue,
            "{turn}: no new token is in the queue, {wanted} should be. Put them into the queue "
            "that you were given, `self.queue.extend(…)`: workers look into no other.",
        ),
        WrongAnswer(
            "a token for each gradient",
            wrong.aggregate_tokens,
            "{turn}: {new} for {total} workers. Each worker takes a token, whether its gradient "
            "counted or not: put in {total}, whatever lies there already.",
        ),
        WrongAnswer(
            "a token for each worker",
            wrong.total_tokens,
            "{turn}: {new} for {aggregate} gradients: {total} workers have to give several each, "
            "and need a token for every one. Take the larger number.",
        ),
        WrongAnswer("tokens for nothing", wrong.ForNothing, "{turn}: tokens without an update."),
        WrongAnswer("the step stays", wrong.StepStays, "{turn}: raise `global_step` by one."),
        WrongAnswer("a step for nothing", wrong.StepForNothing, "{turn}: a step without a mean."),
        WrongAnswer("no rate", wrong.no_rate, "{turn}: the mean was subtracted without the rate."),
        WrongAnswer("uphill", wrong.uphill, "{turn}: the weights went up: subtract rate · mean."),
        WrongAnswer("no step", wrong.no_update, "{turn}: the weights stay: subtract rate · mean."),
        WrongAnswer("divides again", wrong.divides_again, "{turn}: the mean is divided already."),
        WrongAnswer(
            "empties the queue",
            wrong.empties,
            "{turn}: a token that nobody has taken yet is gone. The chief puts tokens in and "
            "takes none out: `extend` what is there.",
        ),
        WrongAnswer(
            "not put in on the right",
            wrong.on_the_left,
            "{turn}: the new tokens stand ahead of one that was there before. They go in on the "
            "right, `extend`, and workers take on the left.",
        ),
        WrongAnswer("writes into the given weights", wrong.InPlace, _CHANGED),
        WrongAnswer("floats for tokens", wrong.floats, wrong.no_whole_numbers),
        WrongAnswer("counts first", wrong.CountsFirst, hint="`take_grad` is enough"),
        WrongAnswer("no word", wrong.NoWord, hint="say whether an update was made"),
    ),
    ranked=False,
)
