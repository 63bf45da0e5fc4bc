"""What claims on weights compare: to nine digits."""

from typing import Any

import numpy as np

from helpers.checks.compare import close, describe, rounded


def near(got: Any, want: np.ndarray) -> bool:
    """Whether numbers are as wanted, to nine digits."""
    return close(np.asarray(got), want, 1e-9)


def instead(got: Any, want: np.ndarray) -> str:
    """What an array is and what it should be; by how much it is off where both look the same."""
    why = rounded([got], [want])
    if describe(got) != describe(want):
        return f"{describe(got)}; it should be {describe(want)}{why}"
    off = float(np.max(np.abs(np.asarray(got) - want)))
    return f"off by {off:.1g} at the most from {describe(want)}{why}"
