"""What a training leaves that is timed: when all were ready, and the looks at its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Look(NamedTuple):
    """One look at the model under way.

    at: seconds since the run was started, when the look began. took: seconds of it, for which
    training stood still. error: on the test pictures, in %; NaN where the model gives no numbers.
    """

    at: float
    took: float
    error: float


class Run(NamedTuple):
    """A training that has ended. began: seconds since it was started, when all ranks were ready.

    looks: in the order of time.
    """

    began: float
    looks: Sequence[Look]
