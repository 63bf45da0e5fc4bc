"""Exercise 12.1, will it pay: the seconds of a split layer, counted before it is run.

`split_seconds(rows, widths, ranks, rate, alpha, beta) -> float`: a dense network's forward pass,
cut by columns on N ranks. Each layer takes 2 · rows · inputs · outputs / N operations on a rank,
and gathers its float32 outputs in N − 1 messages of rows · outputs / N numbers. The claim: the
seconds, to a millionth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Counted = Callable[[int, list[int], int, float, float, float], float]


def cases(seed: int) -> list[Case]:
    """Seed 0: a small network on 2, 1 and 4 ranks and a large one on 4; others at random."""
    random, made = rng(seed, "12.1"), []
    asked: list[tuple[int, list[int], int]] = [
        (32, [64, 256, 256, 16], 2),
        (32, [64, 256, 256, 16], 1),
        (8, [32, 64, 32], 4),
        (256, [2048, 4096, 1024], 4),
    ]
    rates = [(40e9, 50e-6, 1e-9), (100e9, 5e-6, 2e-10)]
    if seed:
        asked = [
            (int(random.integers(1, 99)), [16 * int(w) for w in random.integers(1, 40, 4)], ranks)
            for ranks in (2, 1, 4, 8)
        ]
        rates = [
            (
                10 ** random.uniform(10, 12),
                10 ** random.uniform(-5, -4),
                10 ** random.uniform(-10, -9),
            )
        ] * 2
    for i, (rows, widths, ranks) in enumerate(asked):
        rate, alpha, beta = rates[i % 2]
        name = f"With {count(rows, 'row')}, widths {widths} on {count(ranks, 'rank')}"
        given = (rows, widths, ranks, rate, alpha, beta)
        facts = {way: _counted(*given, **how(ranks)) for way, how in WAYS.items()}
        made.append(Case(name, (given,), facts={**facts, "ranks": ranks}))
    return made


def _counted(
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
) -> float:
    """The seconds, right by default; an option for every way to miscount them."""
    seconds = 0.0
    others = ranks - 1 if to is None else to
    for below, above in pairwise(widths):
        seconds += each * rows * below * above / (ranks if shared else 1) / rate
        part = above if whole else above / ranks
        seconds += others * ((0 if alone else alpha) + rows * part * itemsize * beta)
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
}
"""The ways to count; each case's facts hold what they would give."""


def _value(seen: Observation) -> float | None:
    return number(seen.values[0]) if seen.values else None


def _is(case: Case, seen: Observation, way: str) -> bool:
    got, want = _value(seen), case.facts[way]
    return got is not None and abs(got - want) <= 1e-6 * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """To a millionth of what is counted."""
    if _is(case, seen, "right"):
        return None
    got, want = _value(seen), case.facts["right"]
    if got is None:
        return f"Return the seconds, one number; yours gave {describe(seen.values[0])}."
    return f"{case.name}, you count {short(got * 1e6)} µs; it is {short(want * 1e6)} µs."


def _looks(way: str, text: str) -> Callable[[Case, Observation], str | None]:
    """A mistake that gives one known number, different from the right one in this case."""

    def look(case: Case, seen: Observation) -> str | None:
        right, wrong = case.facts["right"], case.facts[way]
        if abs(right - wrong) <= 1e-6 * right or not _is(case, seen, way):
            return None
        counted = f"you count {short(wrong * 1e6)} µs instead of {short(right * 1e6)}"
        return f"{case.name}, {counted}: {text}"

    return look


def _to_itself(case: Case, seen: Observation) -> str | None:
    ranks = case.facts["ranks"]
    if not _is(case, seen, "to itself"):
        return None
    return (
        f"{case.name}, you count {count(ranks, 'message')} a layer: on {ranks} ranks each sends to "
        f"{count(ranks - 1, 'other')}, not to itself."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    small, alone = (float(_value(each) or 0) for each in seen[:2])
    return (
        f"Passed: the small network takes {alone * 1e6:.0f} µs on one rank and {small * 1e6:.0f} "
        "µs on two. You knew before anything ran that it does not pay."
    )


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
    return _counted(rows, widths, ranks, rate, alpha, beta, each=1.0)


def not_shared(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Every rank does all of the work."""
    return _counted(rows, widths, ranks, rate, alpha, beta, shared=False)


def in_numbers(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Counts numbers, not bytes."""
    return _counted(rows, widths, ranks, rate, alpha, beta, itemsize=1.0)


def whole_layers(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Sends whole layers and not slices."""
    return _counted(rows, widths, ranks, rate, alpha, beta, whole=True)


def one_latency(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """One latency for the whole pass."""
    return _counted(rows, widths, ranks, rate, alpha, beta, once=True)


def no_latency(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Only the bytes."""
    return _counted(rows, widths, ranks, rate, alpha, beta, alone=True)


def to_all_ranks(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """N messages, one of them to itself."""
    return _counted(rows, widths, ranks, rate, alpha, beta, to=ranks)


EXERCISE = Exercise(
    number="12.1",
    title="Will it pay?",
    stars=2,
    minutes=12,
    points=2,
    function="split_seconds",
    asks=(
        "the seconds of a forward pass on N ranks: for every layer 2 · rows · inputs · outputs / N "
        "operations at `rate`, and N − 1 messages of α + β · (rows · outputs / N · 4 bytes)."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake(
            "a multiplication without its addition",
            _looks(
                "one operation",
                "each weight costs a multiplication and an addition, two operations for each row.",
            ),
        ),
        Mistake(
            "the work is not shared",
            _looks("not shared", "each rank has only 1/N of every layer's units to compute."),
        ),
        Mistake(
            "numbers instead of bytes",
            _looks("numbers", "β is seconds a byte, and a number in float32 has four of them."),
        ),
        Mistake(
            "whole layers are sent",
            _looks("whole layers", "a rank sends its slice of a layer's outputs, 1/N of them."),
        ),
        Mistake(
            "one latency for all layers",
            _looks(
                "one latency",
                "the next layer cannot start before this one is gathered, so every layer pays α "
                "anew.",
            ),
        ),
        Mistake(
            "no latency",
            _looks(
                "no latency", "a message costs α however small it is, and here that is most of it."
            ),
        ),
        Mistake("a message to itself", _to_itself),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("one operation", one_operation, "a multiplication and an addition"),
        WrongAnswer("work not shared", not_shared, "only 1/N of every layer's units"),
        WrongAnswer("numbers for bytes", in_numbers, "has four of them"),
        WrongAnswer("whole layers", whole_layers, "sends its slice of a layer's outputs"),
        WrongAnswer("one latency", one_latency, "every layer pays α"),
        WrongAnswer("no latency", no_latency, "however small it is"),
        WrongAnswer("to itself", to_all_ranks, "not to itself"),
    ),
    ranked=False,
)
