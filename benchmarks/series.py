"""A published series beside ours: its points, and how far each may be off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """One published value and ours. within: how far they may be apart; None: not held to it.

    relative: whether that is a share of the published value or in its own unit.
    """

    label: str
    ours: float
    published: float
    within: float | None = None
    relative: bool = True

    @property
    def error(self) -> float:
        """Ours less the published, as a share of it where `relative`."""
        difference = self.ours - self.published
        return difference / self.published if self.relative else difference

    @property
    def holds(self) -> bool:
        """Whether the error is within what is allowed."""
        return self.within is None or bool(abs(self.error) <= self.within)


@dataclass(frozen=True)
class Series:
    """A published series that we recompute. entry: its name in published.json. unit: of a point.

    given: what goes in. points: computes them from a seed.
    """

    entry: str
    unit: str
    given: str
    points: Callable[[int], Iterator[Point]]
