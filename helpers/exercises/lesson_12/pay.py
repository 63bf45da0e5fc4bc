"""Exercise 12.1, will it pay: the seconds of a split layer, counted before it is run.

`split_seconds(rows, widths, ranks, rate, alpha, beta) -> float`: a dense network's forward pass,
cut by columns on N ranks. Each layer takes 2 · rows · inputs · outputs / N operations on a rank,
and gathers its float32 outputs in N − 1 messages of rows · outputs / N numbers. The claim: the
seconds, to a millionth, and the list of widths left as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, told_apart
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: a small network on 2 and 1 ranks, one that 3 do not divide, a large one; others."""
    random, made = rng(seed, "12.1"), []
    asked: list[tuple[int, list[int], int]] = [
        (32, [64, 256, 256, 16], 2),
        (32, [64, 256, 256, 16], 1),
        (7, [33, 65, 31], 3),
        (256, [2048, 4096, 1024], 4),
    ]
    rates = [(40e9, 50e-6, 1e-9), (100e9, 5e-6, 2e-10)]
    if seed:
        asked = [
            (int(random.integers(1, 99)), [16 * int(w) for w in random.integers(1, 40, 4)], ranks)
            for ranks in (2, 1, 4, 8)
        ]
        # Small messages that cost their bytes, so that a rounded slice shows.
        asked.append((1, [int(w) for w in 7 * random.integers(5, 15, 3) + 1], 7))
        rate = 10 ** random.uniform(10, 12)
        alpha, beta = 10 ** random.uniform(-5, -4), 10 ** random.uniform(-10, -9)
        rates = [(rate, alpha, beta)] * 4 + [(rate, 1e-6, 1e-9)]
    for i, (rows, widths, ranks) in enumerate(asked):
        rate, alpha, beta = rates[i % len(rates)]
        name = f"With {count(rows, 'row')}, widths {widths} on {count(ranks, 'rank')}"
        given = (rows, widths, ranks, rate, alpha, beta)
        alone = reference(rows, widths, 1, rate, alpha, beta)
        facts = {"right": reference(*given), "ranks": ranks, "alone": alone}
        made.append(Case(name, (given,), facts=facts))
    return made


def _value(seen: Observation) -> float | None:
    return number(seen.values[0]) if seen.values else None


def _changes_widths(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `widths` is not what it was: you changed the list, as `pop` does, and "
        "whoever gave it to you has it no more. Go over it with a loop, or over `list(widths)`."
    )


def claim(case: Case, seen: Observation) -> str | None:
    """To a millionth of what is counted."""
    got, want = _value(seen), case.facts["right"]
    if got is not None and abs(got - want) <= 1e-6 * abs(want):
        return None
    if changed(seen.values[0]) is not None:
        return _changes_widths(case, seen)
    if got is None:
        return f"Return the seconds, one number; yours gave {describe(seen.values[0])}."
    counted, right = told_apart(got * 1e6, want * 1e6)
    return f"{case.name}, you count {counted} µs; it is {right} µs."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the seconds, with as many digits as tell them apart."""
    got, right, ranks = _value(seen) or 0.0, case.facts["right"], case.facts["ranks"]
    counted, wanted = told_apart(got * 1e6, right * 1e6)
    others = f"to {ranks - 1} other{'s' if ranks > 2 else ''}" if ranks > 1 else "nothing"
    return {
        "count": f"you count {counted} µs instead of {wanted}",
        "messages": count(ranks, "message"),
        "ranks": count(ranks, "rank"),
        "others": others,
    }


def compared(case: Case, seen: Observation) -> Any:
    """A number of any kind; or what else came."""
    return seen.values if _value(seen) is None else _value(seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    small, alone = float(_value(seen[0]) or 0), cases[0].facts["alone"]
    return (
        f"Passed: the small network takes {alone * 1e6:.0f} µs on one rank and {small * 1e6:.0f} "
        "µs on two. You knew before anything ran that it does not pay."
    )


Term = Callable[[int, int, int, int], float]  # of rows, inputs, outputs and ranks


def _counted(
    rows: int,
    widths: list[int],
    ranks: int,
    rate: float,
    alpha: float,
    beta: float,
    work: Term = lambda b, i, o, n: 2 * b * i * o / n,
    nbytes: Term = lambda b, i, o, n: 4 * b * o / n,
    messages: Callable[[int], float] = lambda n: n - 1,
) -> float:
    """The seconds, layer by layer. work: operations of a layer; nbytes: of each of its messages."""
    seconds = 0.0
    for inputs, outputs in pairwise(widths):
        seconds += work(rows, inputs, outputs, ranks) / rate
        seconds += messages(ranks) * (alpha + beta * nbytes(rows, inputs, outputs, ranks))
    return seconds


def reference(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Layer by layer."""
    return _counted(rows, widths, ranks, rate, alpha, beta)


def _with(**terms: Any) -> Callable[..., float]:
    """An answer with other terms."""

    def split_seconds(*given: Any) -> float:
        return _counted(*given, **terms)

    return split_seconds


def _without(lost: Callable[[int, list[int], int, float, float], float]) -> Callable[..., float]:
    """An answer that forgets some seconds: of rows, widths, ranks, α and β."""

    def split_seconds(*given: Any) -> float:
        rows, widths, ranks, _, alpha, beta = given
        return reference(*given) - (ranks - 1) * lost(rows, widths, ranks, alpha, beta)

    return split_seconds


_one_operation = _with(work=lambda b, i, o, n: b * i * o / n)
_not_shared = _with(work=lambda b, i, o, n: 2 * b * i * o)
_in_numbers = _with(nbytes=lambda b, i, o, n: b * o / n)
_whole_layers = _with(nbytes=lambda b, i, o, n: 4 * b * o)
_no_rows = _with(nbytes=lambda b, i, o, n: 4 * o / n)
_inputs_sent = _with(nbytes=lambda b, i, o, n: 4 * b * i / n)
_to_itself = _with(messages=lambda n: n)
_rounded_down = _with(
    work=lambda b, i, o, n: 2 * b * i * (o // n), nbytes=lambda b, i, o, n: 4 * b * (o // n)
)
_rounded_up = _with(
    work=lambda b, i, o, n: 2 * b * i * -(-o // n), nbytes=lambda b, i, o, n: 4 * b * -(-o // n)
)
_numbers_rounded = _with(nbytes=lambda b, i, o, n: 4 * (b * o // n))
_bytes_rounded = _with(nbytes=lambda b, i, o, n: 4 * b * o // n)
_one_latency = _without(lambda b, widths, n, alpha, beta: (len(widths) - 2) * alpha)
_no_latency = _without(lambda b, widths, n, alpha, beta: (len(widths) - 1) * alpha)
_last_not_sent = _without(lambda b, widths, n, alpha, beta: alpha + beta * 4 * b * widths[-1] / n)


def _at_once(rows: int, widths: list[int], ranks: int, rate: float, *link: float) -> float:
    layers = [(rows, [*pair], ranks) for pair in pairwise(widths)]
    computed = [reference(*layer, rate, 0.0, 0.0) for layer in layers]
    return sum(map(max, computed, (reference(*layer, math.inf, *link) for layer in layers)))


def _pops(rows: int, widths: list[int], *others: Any) -> float:
    seconds = reference(rows, widths, *others)
    widths.clear()
    return seconds


_ROUNDED = (
    "{count}: you count whole units. The formula takes the mean slice, a width divided by N with "
    "`/`, also where N does not divide it."
)
_WHOLE = "{count}: `//` drops a part of a message; divide with `/`, as the formula has fractions."


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
    drive=call_with_tensors,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("changes the list of widths", _pops, _changes_widths),
        WrongAnswer(
            "a multiplication without its addition",
            _one_operation,
            "{count}: each weight costs a multiplication and an addition, two operations for each "
            "row.",
        ),
        WrongAnswer("not shared", _not_shared, "{count}: a rank has 1/N of every layer's units."),
        WrongAnswer("no bytes", _in_numbers, "{count}: β is for a byte; a number has four."),
        WrongAnswer("all sent", _whole_layers, "{count}: a rank sends 1/N of a layer's outputs."),
        WrongAnswer("one row sent", _no_rows, "{count}: a message has all rows of its slice."),
        WrongAnswer(
            "at once", _at_once, "{count}: messages begin when the slice is computed: add."
        ),
        WrongAnswer(
            "inputs sent",
            _inputs_sent,
            "{count}: your messages are as large as the slice of a layer's inputs. Every rank has "
            "all inputs already; what travels is its slice of the outputs.",
        ),
        WrongAnswer(
            "one latency", _one_latency, "{count}: every layer is gathered, and pays α anew."
        ),
        WrongAnswer(
            "no latency",
            _no_latency,
            "{count}: a message costs α however small it is, and here that is most of it.",
        ),
        WrongAnswer("itself", _to_itself, "you count {messages}; on {ranks} each sends {others}."),
        WrongAnswer("slices rounded down", _rounded_down, _ROUNDED),
        WrongAnswer("slices rounded up", _rounded_up, _ROUNDED),
        WrongAnswer("bytes rounded", _bytes_rounded, _WHOLE),
        WrongAnswer("numbers rounded", _numbers_rounded, _WHOLE),
        WrongAnswer(
            "the last layer's outputs not sent",
            _last_not_sent,
            "{count}: the last layer's outputs are gathered too: every rank is to have all of "
            "them.",
        ),
    ),
    ranked=False,
)
