"""What a hyperparameter may be: it counts by differences, by factors, or holds options."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Range(Protocol):
    """What a hyperparameter may be."""

    def at(self, place: float) -> Any:
        """The value at a place from 0 up to 1, so that equal parts are as likely."""


@dataclass(frozen=True)
class Uniform:
    """From low up to high, each part as likely."""

    low: float
    high: float

    def at(self, place: float) -> float:
        """Linear between the ends."""
        return self.low + place * (self.high - self.low)


@dataclass(frozen=True)
class LogUniform:
    """From low up to high, each factor as likely: 0.001 to 0.01 as much as 0.01 to 0.1."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high:
            raise ValueError(f"Factors lie between 0 < low ≤ high, not {self.low} and {self.high}.")

    def at(self, place: float) -> float:
        """Linear between the ends' logarithms."""
        return math.exp(Uniform(math.log(self.low), math.log(self.high)).at(place))


@dataclass(frozen=True)
class Choice:
    """One of these, each as likely."""

    options: Sequence[Any]

    def at(self, place: float) -> Any:
        """The option in whose part the place lies."""
        return self.options[min(int(place * len(self.options)), len(self.options) - 1)]
