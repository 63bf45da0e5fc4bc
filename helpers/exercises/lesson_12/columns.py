"""Exercise 12.2, a dense layer cut by columns, forward and backward.

`column_layer(comm, x, weight, bias, gradient) -> (y, dx)`: every rank has all of x (rows, inputs),
and the weights of its own units (units, inputs). y: all units, on every rank. gradient: the loss's
with respect to y, the same on every rank. dx: the loss's with respect to x. The claim: equal to
the whole layer in float64, y is gathered and not summed from zeros, the weights stay where they
are, and what the function is given is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import WORLDS, rng, self_hint
from helpers.exercises.compare import close, count, in_single_precision, times, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import changed, left_alone, returned
from helpers.exercises.lesson_12 import columns_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_UNITS = {1: 4, 2: 12, 3: 13, 5: 17}


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven slices on 3, 1, 2 and 5 ranks; other seeds other sizes.

    The last case has more weights than all activations together, so that who sends them shows.
    """
    random, made = rng(seed, "12.2"), list[Case]()
    for ranks in (*WORLDS, 3):
        units = _UNITS[ranks]
        if seed:
            units = 3 * ranks + 1 + int(random.integers(0, 3 * ranks))
        rows, inputs = int(random.integers(4, 7)), 3
        if len(made) == len(WORLDS):
            rows, inputs, units = 2, 20 + int(random.integers(0, 9)), units + 24
        x = random.standard_normal((rows, inputs))
        weight, bias = random.standard_normal((units, inputs)), random.standard_normal(units)
        gradient = random.standard_normal((rows, units))
        if len(made) == len(WORLDS):  # sums so long are exact, in whatever order, of whole numbers
            x, weight, bias, gradient = (np.round(4 * v) for v in (x, weight, bias, gradient))
        cuts = [slice(r * units // ranks, (r + 1) * units // ranks) for r in range(ranks)]
        args = tuple((x, weight[cut], bias[cut], gradient) for cut in cuts)
        facts = {
            "y": x @ weight.T + bias,
            "dx": gradient @ weight,
            "parts": [gradient[:, cut] @ weight[cut] for cut in cuts],
            "own": [x @ weight[cut].T + bias[cut] for cut in cuts],
            "unbiased": x @ weight.T,
            "weights": [weight[cut].nbytes for cut in cuts],
            "biases": [bias[cut].nbytes for cut in cuts],
        }
        name = f"On {count(ranks, 'rank')} with {units} units"
        made.append(Case(name, args, ranks, {"bandwidth": 1e6}, facts))
    return made


def _pair(value: Any) -> tuple[Any, Any] | None:
    value = returned(value)
    if type(value) not in (tuple, list) or len(value) != 2:
        return None
    return value[0], value[1]


def _written(case: Case, rank: int, value: Any) -> str | None:
    place = changed(value)
    if place is None or place not in range(4):
        return None
    name = ("x", "weight", "bias", "gradient")[place]
    return (
        f"{case.name}, rank {rank}'s `{name}` is not what it was: you wrote into it. The layer "
        "below and the gradient of the weights still need it, so put what you make into a tensor "
        "of your own."
    )


def _overwrites(case: Case, seen: Observation) -> str | None:
    found = (_written(case, rank, value) for rank, value in enumerate(seen.values))
    return next((hint for hint in found if hint), None)


def _enough(case: Case) -> int:
    """Bytes that suffice: the slices to everybody, and dx summed in the plainest way."""
    y, dx, n = case.facts["y"], case.facts["dx"], case.ranks
    return int((n - 1) * y.nbytes + n * (n - 1) * dx.nbytes)


def claim(case: Case, seen: Observation) -> str | None:
    """y and dx on every rank, and no more bytes than a gather and a plain sum need."""
    for rank, value in enumerate(seen.values):
        pair = _pair(value)
        if pair is None:
            return f"{case.name}, rank {rank} returns no pair: give (y, dx)."
        if not close(pair[0], case.facts["y"], _TOLERANCE):
            return f"{case.name}, rank {rank}'s y is not that of the whole layer."
        if not close(pair[1], case.facts["dx"], _TOLERANCE):
            return f"{case.name}, rank {rank}'s dx is not that of the whole layer."
    if not_waited(case, seen) or _overwrites(case, seen):
        return not_waited(case, seen) or _overwrites(case, seen)
    if sum(seen.bytes) > _enough(case):
        return f"{case.name}, {sum(seen.bytes)} B were sent where {_enough(case)} B are enough."
    return None


def _each(case: Case, seen: Observation, place: int, wanted: Sequence[np.ndarray]) -> bool:
    """Whether every rank's y (place 0) or dx (1) is what `wanted` says for it."""
    pairs = [_pair(value) for value in seen.values]
    return all(
        pair is not None and close(pair[place], want, 1e-9)
        for pair, want in zip(pairs, wanted, strict=True)
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        for name, got in zip(("y", "dx"), _pair(value) or (), strict=False):
            if in_single_precision([got], [case.facts[name]]):
                return (
                    f"{case.name}, rank {rank}'s {name} is that of the whole layer to seven digits "
                    "only: a tensor on its way is float32, as `torch.zeros` makes them, and x is "
                    "float64. `x.new_zeros(…)` takes its type."
                )
    return None


def _own_part(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _each(case, seen, 1, case.facts["parts"]):
        return None
    return (
        f"{case.name}, each rank's dx is only what its own units say of x. Every unit of the "
        "layer used x, so the ranks' parts have to be summed: an all-reduce."
    )


def _too_large(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n == 1 or not _each(case, seen, 1, [n * case.facts["dx"]] * n):
        return None
    return (
        f"{case.name}, dx is {n} times too large: every rank has the whole gradient of y already, "
        "so take your slice of it; a sum over the ranks counts it again and again."
    )


def _averaged(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n == 1 or not _each(case, seen, 1, [case.facts["dx"] / n] * n):
        return None
    return (
        f"{case.name}, dx is {n} times too small: the ranks hold different units of one layer, not "
        "copies of it, so their parts are added and not averaged."
    )


def _mine_first(case: Case, seen: Observation) -> str | None:
    own = case.facts["own"]
    turned = [np.concatenate([*own[r:], *own[:r]], axis=1) for r in range(case.ranks)]
    first = [
        np.concatenate([own[r], *(part for o, part in enumerate(own) if o != r)], axis=1)
        for r in range(case.ranks)
    ]
    if case.ranks < 2 or not (_each(case, seen, 0, turned) or _each(case, seen, 0, first)):
        return None
    return (
        f"{case.name}, the slices of y do not lie in the order of the ranks: each rank put its own "
        "first. Unit 0 belongs to rank 0, wherever it is gathered."
    )


def _not_gathered(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _each(case, seen, 0, case.facts["own"]):
        return None
    return (
        f"{case.name}, each rank returned only its own units of y: the next layer needs all of "
        "them on every rank, so gather the slices."
    )


def _no_bias(case: Case, seen: Observation) -> str | None:
    if not _each(case, seen, 0, [case.facts["unbiased"]] * case.ranks):
        return None
    return f"{case.name}, y is x Wᵀ without b: each rank adds the bias of its own units."


def _too_many(case: Case, seen: Observation) -> bool:
    """Whether all values are right, and more bytes were sent than are enough."""
    want, n = case.facts, case.ranks
    right = _each(case, seen, 0, [want["y"]] * n) and _each(case, seen, 1, [want["dx"]] * n)
    return n > 1 and right and sum(seen.bytes) > _enough(case)


def _sends_weights(case: Case, seen: Observation) -> str | None:
    if not _too_many(case, seen):
        return None
    sizes = zip(case.facts["weights"], case.facts["biases"], strict=True)
    for rank, (weights, biases) in enumerate(sizes):
        sent = {e.bytes for e in seen.events if e.rank == rank and e.kind == "sending"}
        if not sent & {weights, weights + biases}:
            return None
    return (
        f"{case.name}, the values are right, but {times(sum(seen.bytes), _enough(case))} the bytes "
        "that are enough were sent: every rank fetched the others' weights and then worked out the "
        "whole layer alone. Weights stay where they are; what travels is y and dx."
    )


def _sent_out_again(case: Case, seen: Observation) -> str | None:
    if not _too_many(case, seen):
        return None
    whole = case.facts["y"].nbytes
    senders = {e.rank for e in seen.events if e.kind == "sending" and e.bytes == whole}
    if len(senders) != 1:
        return None
    rank = senders.pop()
    return (
        f"{case.name}, the values are right, but {times(sum(seen.bytes), _enough(case))} the bytes "
        f"that are enough were sent: rank {rank} put y together and sent all of it to everybody, "
        "who got their own slice back too. Let every rank send its slice to every other."
    )


def _from_zeros(case: Case, seen: Observation) -> str | None:
    if not _too_many(case, seen):
        return None
    return (
        f"{case.name}, the values are right, but {times(sum(seen.bytes), _enough(case))} the bytes "
        "that are enough were sent. A sum of tensors that are mostly zeros moves whole layers: "
        "send each rank's slice of y as it is."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: y and dx are the whole layer's to 10 digits, and y was "
        "gathered in slices."
    )


EXERCISE = Exercise(
    number="12.2",
    title="A layer in columns",
    stars=2,
    minutes=15,
    points=3,
    function="column_layer",
    asks=(
        "y = x Wᵀ + b of all units on every rank, gathered from the ranks' slices, and dx, the sum "
        "over the ranks of (this rank's slice of the gradient) · (this rank's weights)."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("y not gathered", _not_gathered),
        Mistake("rounded to float32", _rounded),
        Mistake("the bias forgotten", _no_bias),
        Mistake("slices in another order", _mine_first),
        Mistake("dx of the own units alone", _own_part),
        Mistake("the whole gradient summed again", _too_large),
        Mistake("averaged and not summed", _averaged),
        Mistake("writes into what it is given", _overwrites),
        Mistake("messages not waited for", not_waited),
        Mistake("the weights are sent", _sends_weights),
        Mistake("y gathered on one rank and sent out again", _sent_out_again),
        Mistake("y summed from zeros", _from_zeros),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("y not gathered", wrong.not_gathered, hint="only its own units of y"),
        WrongAnswer("own slice first", wrong.mine_first, hint="in the order of the ranks"),
        WrongAnswer("own part of dx", wrong.own_part, hint="the ranks' parts have to be summed"),
        WrongAnswer("gradient summed", wrong.gradient_summed, hint="take your slice of it"),
        WrongAnswer("averaged", wrong.averaged, hint="are added and not averaged"),
        WrongAnswer("in place", wrong.in_place, hint="you wrote into it"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("no bias", wrong.no_bias, hint="x Wᵀ without b"),
        WrongAnswer("sends weights", wrong.sends_weights, hint="Weights stay where they are"),
        WrongAnswer("through rank 0", wrong.through_rank_0, hint="sent all of it to everybody"),
        WrongAnswer("sums zeros", wrong.from_zeros, hint="mostly zeros moves whole layers"),
        WrongAnswer("into zeros in float32", wrong.into_float32, hint="to seven digits only"),
    ),
    figure=0,
)
