"""Promoting with one thing wrong (16.2)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Losses = Mapping[int, float]


def _ranking(
    place: Callable[[Losses, int], Any] = lambda losses, trial: (
        math.isnan(losses[trial]),
        0.0 if math.isnan(losses[trial]) else losses[trial],
        trial,
    ),
    of: Callable[[Losses], Iterable[int]] = list,
    many: Callable[[Losses, int], int] = lambda losses, factor: len(losses) // factor,
    gives: Callable[[Losses, list[int]], Any] = lambda losses, trials: trials,
) -> Callable[[Losses, int], Any]:
    """Promoting with a part exchanged: a trial's place, which trials, how many, what is given."""

    def promoted(losses: Losses, factor: int) -> Any:
        ranked = sorted(of(losses), key=lambda trial: place(losses, trial))
        return gives(losses, ranked[: many(losses, factor)])

    return promoted


def _numbers_alone(losses: Losses) -> list[int]:
    return [trial for trial in losses if not math.isnan(losses[trial])]


def _finite(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


def writes(losses: dict[int, float], factor: int) -> list[int]:
    right: list[int] = _ranking()(losses, factor)
    for trial in losses:
        losses[trial] = _finite(losses[trial], math.inf)
    return right


plain = _ranking(lambda losses, trial: losses[trial])
largest = _ranking(
    lambda losses, t: (math.isnan(losses[t]), -_finite(losses[t], 0.0), t),
)
nan_first = _ranking(lambda losses, t: (_finite(losses[t], -math.inf), t))
nan_infinite = _ranking(lambda losses, t: (_finite(losses[t], math.inf), t))
valid_count = _ranking(
    of=_numbers_alone, many=lambda losses, factor: len(_numbers_alone(losses)) // factor
)
valid_only = _ranking(of=_numbers_alone)
up = _ranking(many=lambda losses, factor: -(-len(losses) // factor))
one_at_least = _ranking(many=lambda losses, factor: max(1, len(losses) // factor))
the_factor = _ranking(many=lambda losses, factor: factor)
all_but = _ranking(many=lambda losses, factor: len(losses) - len(losses) // factor)


def _single(value: float) -> float:
    """Rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


nan_inside = _ranking(lambda losses, t: (math.isnan(losses[t]), losses[t], t))
as_text = _ranking(lambda losses, t: (str(losses[t]), t))
three_digits = _ranking(
    lambda losses, t: (math.isnan(losses[t]), round(_finite(losses[t], 0.0), 3), t)
)
single = _ranking(lambda losses, t: (math.isnan(losses[t]), _single(_finite(losses[t], 0.0)), t))
unstable = _ranking(  # as a sort that keeps equals in order in short lists alone
    lambda losses, t: (
        math.isnan(losses[t]),
        _finite(losses[t], 0.0),
        t * 7 % 11 if len(losses) > 16 else t,
        t,
    )
)
by_telling = _ranking(lambda losses, t: (math.isnan(losses[t]), _finite(losses[t], 0.0)))
later = _ranking(lambda losses, t: (math.isnan(losses[t]), _finite(losses[t], 0.0), -t))
by_number = _ranking(gives=lambda losses, trials: sorted(trials))
worst_first = _ranking(gives=lambda losses, trials: trials[::-1])
their_losses = _ranking(gives=lambda losses, trials: [losses[trial] for trial in trials])
positions = _ranking(gives=lambda losses, trials: [list(losses).index(t) for t in trials])
