"""Wrong answers to exercise 01.1, each with one thing wrong."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


def _parts(widths: Any, batch: int, slots: int) -> list[int]:
    """The four items, to be changed."""
    each = 4 * sum((a + 1) * b for a, b in pairwise(widths))
    return [each, each, slots * each, 4 * batch * sum(widths[:-1])]


def not_bytes(widths: Any, batch: int, slots: int) -> Any:
    """How many numbers."""
    return [size // 4 for size in _parts(widths, batch, slots)]


def gradient_a_row(widths: Any, batch: int, slots: int) -> Any:
    """A gradient for each row."""
    each, _, state, kept = _parts(widths, batch, slots)
    return each, batch * each, state, kept


def no_slots(widths: Any, batch: int, slots: int) -> Any:
    """As much state as parameters, whatever the optimizer."""
    each, _, _, kept = _parts(widths, batch, slots)
    return each, each, each, kept


def with_parameters(widths: Any, batch: int, slots: int) -> Any:
    """The parameters once more in the optimizer's state."""
    each, _, state, kept = _parts(widths, batch, slots)
    return each, each, state + each, kept


def one_row(widths: Any, batch: int, slots: int) -> Any:
    """Activations of a single row."""
    return *_parts(widths, batch, slots)[:3], 4 * sum(widths[:-1])


def outputs(widths: Any, batch: int, slots: int) -> Any:
    """The outputs of the layers."""
    return *_parts(widths, batch, slots)[:3], 4 * batch * sum(widths[1:])


def output_too(widths: Any, batch: int, slots: int) -> Any:
    """All widths."""
    return *_parts(widths, batch, slots)[:3], 4 * batch * sum(widths)


def hidden_twice(widths: Any, batch: int, slots: int) -> Any:
    """What tanh keeps and what the next layer keeps, as if they were two."""
    hidden = sum(widths[1:-1])
    return *_parts(widths, batch, slots)[:3], 4 * batch * (sum(widths[:-1]) + hidden)


def slots_alone(widths: Any, batch: int, slots: int) -> Any:
    """The slots of a single parameter."""
    each, _, _, kept = _parts(widths, batch, slots)
    return each, each, 4 * slots, kept


def takes_the_last(widths: Any, batch: int, slots: int) -> Any:
    """Right numbers, and a list that is a width shorter."""
    each, _, state, kept = _parts(widths, batch, slots)
    widths.pop()
    return each, each, state, kept


def without_bias(widths: Any, batch: int, slots: int) -> Any:
    """Weights alone."""
    each = 4 * sum(a * b for a, b in pairwise(widths))
    return each, each, slots * each, 4 * batch * sum(widths[:-1])


def in_total(widths: Any, batch: int, slots: int) -> Any:
    """One number, the sum."""
    return sum(_parts(widths, batch, slots))
