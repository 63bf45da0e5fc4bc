"""Shares of small classes, and how sure a difference between two of them is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

SURE = 0.95


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """From 0 to 1; 0 of nobody is 0."""
        return self.count / self.of if self.of else 0.0

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval, which holds for few and for none, too."""
        if not self.of:
            return 0.0, 1.0
        from scipy.stats import binomtest  # type: ignore[import-untyped]

        found = binomtest(self.count, self.of).proportion_ci(SURE, method="wilson")
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Change:
    """From one term's share to a later one's."""

    before: Share
    after: Share

    @property
    def value(self) -> float:
        """By how much it is more, from −1 to 1."""
        return self.after.value - self.before.value

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference, made of both Wilson intervals (Newcombe 1998,
        "Interval estimation for the difference between independent proportions", method 10)."""
        (low, high), (low_before, high_before) = self.after.interval, self.before.interval
        after, before = self.after.value, self.before.value
        return (
            self.value - math.hypot(after - low, high_before - before),
            self.value + math.hypot(high - after, before - low_before),
        )

    @property
    def clear(self) -> Literal["more", "less", ""]:
        """Whether it is surely more or less; "" where chance alone may have made the difference."""
        low, high = self.interval
        return "more" if low > 0 else "less" if high < 0 else ""
