"""The seconds of exercise 12.1, as they should be counted and with one thing wrong."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any


def counted(
    rows: int,
    widths: list[int],
    ranks: int,
    rate: float,
    alpha: float,
    beta: float,
    *,
    each: float = 2.0,
    shared: bool = True,
    itemsize: float = 4.0,
    whole: bool = False,
    once: bool = False,
    alone: bool = False,
    to: int | None = None,
    slices: Callable[[int, int], int] | None = None,
    sent: Callable[[int, int], int] | None = None,
    layers: int | None = None,
) -> float:
    """The seconds, right by default; an option for every way to miscount them."""
    seconds = 0.0
    others = ranks - 1 if to is None else to
    for layer, (below, above) in enumerate(pairwise(widths)):
        mine = slices(above, ranks) if slices else above / (ranks if shared else 1)
        seconds += each * rows * below * mine / rate
        if layers is not None and layer >= len(widths) - 1 + layers:
            continue
        part = slices(above, ranks) if slices else above if whole else above / ranks
        nbytes = sent(4 * rows * above, ranks) if sent else rows * part * itemsize
        seconds += others * ((0 if alone else alpha) + nbytes * beta)
    if once:
        seconds -= others * (len(widths) - 2) * alpha
    return seconds


WAYS: dict[str, Callable[[int], dict[str, Any]]] = {
    "right": lambda ranks: {},
    "one operation": lambda ranks: {"each": 1.0},
    "not shared": lambda ranks: {"shared": False},
    "numbers": lambda ranks: {"itemsize": 1.0},
    "whole layers": lambda ranks: {"whole": True},
    "one latency": lambda ranks: {"once": True},
    "no latency": lambda ranks: {"alone": True},
    "to itself": lambda ranks: {"to": ranks},
    "rounded down": lambda ranks: {"slices": operator.floordiv},
    "rounded up": lambda ranks: {"slices": lambda above, ranks: -(-above // ranks)},
    "bytes rounded": lambda ranks: {"sent": operator.floordiv},
    "last not sent": lambda ranks: {"layers": -1},
}
"""The ways to count; each case's facts hold what they would give."""


def reference(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Layer by layer."""
    seconds = 0.0
    for below, above in pairwise(widths):
        seconds += 2 * rows * below * above / ranks / rate
        seconds += (ranks - 1) * (alpha + beta * 4 * rows * above / ranks)
    return seconds


def one_operation(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Counts a multiplication and an addition as one."""
    return counted(rows, widths, ranks, rate, alpha, beta, each=1.0)


def not_shared(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Every rank does all of the work."""
    return counted(rows, widths, ranks, rate, alpha, beta, shared=False)


def in_numbers(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Counts numbers, not bytes."""
    return counted(rows, widths, ranks, rate, alpha, beta, itemsize=1.0)


def whole_layers(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Sends whole layers and not slices."""
    return counted(rows, widths, ranks, rate, alpha, beta, whole=True)


def one_latency(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """One latency for the whole pass."""
    return counted(rows, widths, ranks, rate, alpha, beta, once=True)


def no_latency(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Only the bytes."""
    return counted(rows, widths, ranks, rate, alpha, beta, alone=True)


def to_all_ranks(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """N messages, one of them to itself."""
    return counted(rows, widths, ranks, rate, alpha, beta, to=ranks)


def rounded_down(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Slices of `width // ranks` units."""
    return counted(rows, widths, ranks, rate, alpha, beta, slices=operator.floordiv)


def bytes_rounded(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Whole bytes: `4 * rows * width // ranks`."""
    return counted(rows, widths, ranks, rate, alpha, beta, sent=operator.floordiv)


def last_not_sent(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """No message after the last layer."""
    return counted(rows, widths, ranks, rate, alpha, beta, layers=-1)


def pops(rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float) -> float:
    """Takes the widths out of the list."""
    seconds, below = 0.0, widths.pop(0)
    while widths:
        above = widths.pop(0)
        seconds += 2 * rows * below * above / ranks / rate
        seconds += (ranks - 1) * (alpha + beta * 4 * rows * above / ranks)
        below = above
    return seconds
