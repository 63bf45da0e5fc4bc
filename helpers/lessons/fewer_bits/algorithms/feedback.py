"""Error feedback: what an encoding left out is not lost, it is added to the next gradient.

Without it a number that is always too small to travel never does; with it, it grows until it does,
so that the sum of all that was sent stays near the sum of all gradients. Sources: Seide et al.
(2014), section 3.2; Stich et al., "Sparsified SGD with Memory" (2018), theorem 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from torch import Tensor


def send_largest(gradient: Tensor, error: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The largest `count` of a gradient and what is owed; and what is owed from now on.

    gradient, error: (n,), neither is changed. count: from 1 to n. Largest by absolute value.
    Returns: their places (count,), int64, in ascending order; their values (count,); the new error,
    (n,), which has zeros there.
    """
    wanted = gradient + error
    places = wanted.abs().topk(count).indices.sort().values
    return places, wanted[places], wanted.index_fill(0, places, 0.0)


class Nothing:
    """What is left out is lost."""

    def add(self, key: Hashable, gradient: Tensor) -> Tensor:
        """What is to be encoded."""
        return gradient

    def sent(self, key: Hashable, wanted: Tensor, told: Tensor) -> None:
        """wanted: what was to be encoded. told: what the others decode of it."""


class ErrorFeedback(Nothing):
    """e ← e + g is encoded; what the others decode of it is taken off: e ← e − decoded.

    A tensor is known by a key; those of one key have one length. All is done in place: to ask for
    new memory of a gradient's length takes longer than the sum.
    """

    def __init__(self) -> None:
        self.errors: dict[Hashable, Tensor] = {}

    def add(self, key: Hashable, gradient: Tensor) -> Tensor:
        """The gradient and all that is still owed; `sent` changes the tensor."""
        if key in self.errors:
            return self.errors[key].add_(gradient)
        self.errors[key] = gradient.clone()
        return self.errors[key]

    def sent(self, key: Hashable, wanted: Tensor, told: Tensor) -> None:
        """Keep the difference."""
        self.errors[key] = _or_nothing(wanted.sub_(told))


class MomentumCorrection(ErrorFeedback):
    """Momentum before the choice: u ← m·u + g, e ← e + u; what was sent is taken out of both.

    A gradient that travels late would otherwise have missed the momentum of the steps until then.
    The optimizer behind it has no momentum of its own. A number whose place travelled starts anew
    with u = 0, "momentum factor masking", so that a stale one is not carried on. For encodings
    that leave whole numbers out, such as `TopK`.
    Source: Lin et al. (2018), sections 3.1 and 3.2.
    """

    def __init__(self, momentum: float = 0.9) -> None:
        super().__init__()
        if not 0 <= momentum < 1:
            raise ValueError(f"A momentum lies from 0 up to 1, not at {momentum}.")
        self.momentum = momentum
        self.speeds: dict[Hashable, Tensor] = {}

    def add(self, key: Hashable, gradient: Tensor) -> Tensor:
        """All that is owed, with this step's momentum."""
        if key in self.speeds:
            self.speeds[key].mul_(self.momentum).add_(gradient)
        else:
            self.speeds[key] = gradient.clone()
        wanted = super().add(key, self.speeds[key])
        _or_nothing(self.speeds[key])
        return wanted

    def sent(self, key: Hashable, wanted: Tensor, told: Tensor) -> None:
        """Take what was sent out of the debt and out of the momentum."""
        super().sent(key, wanted, told)
        self.speeds[key].masked_fill_(told != 0, 0.0)


def _or_nothing(debt: Tensor) -> Tensor:
    """Zeros, in place, where it has overflowed: that travels, its step is skipped: no debt."""
    if len(debt) and not all(math.isfinite(end) for end in debt.aminmax()):
        debt.zero_()
    return debt
