"""Exercise 12.1, will it pay: the seconds of a split layer, counted before it is run.

`split_seconds(rows, widths, ranks, rate, alpha, beta) -> float`: a dense network's forward pass,
cut by columns on N ranks. Each layer takes 2 · rows · inputs · outputs / N operations on a rank,
and gathers its float32 outputs in N − 1 messages of rows · outputs / N numbers. The claim: the
seconds, to a millionth, and the list of widths left as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives_split import call_left_alone, changed
from helpers.exercises.lesson_12 import pay_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Counted = Callable[[int, list[int], int, float, float, float], float]


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
        facts = {way: wrong.counted(*given, **how(ranks)) for way, how in wrong.WAYS.items()}
        alone = wrong.counted(rows, widths, 1, rate, alpha, beta)
        made.append(Case(name, (given,), facts={**facts, "ranks": ranks, "alone": alone}))
    return made


_ROUNDED = (
    "you count whole units. The formula takes the mean slice, a width divided by N with `/`, also "
    "where N does not divide it."
)


def _value(seen: Observation) -> float | None:
    return number(seen.values[0]) if seen.values else None


def _is(case: Case, seen: Observation, way: str) -> bool:
    got, want = _value(seen), case.facts[way]
    return got is not None and abs(got - want) <= 1e-6 * abs(want)


def _changes_widths(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, `widths` is not what it was: you changed the list, as `pop` does, and "
        "whoever gave it to you has it no more. Go over it with a loop, or over `list(widths)`."
    )


def claim(case: Case, seen: Observation) -> str | None:
    """To a millionth of what is counted."""
    if _is(case, seen, "right"):
        return None
    got, want = _value(seen), case.facts["right"]
    if changed(seen.values[0]) is not None:
        return _changes_widths(case, seen)
    if got is None:
        return f"Return the seconds, one number; yours gave {describe(seen.values[0])}."
    return f"{case.name}, you count {short(got * 1e6)} µs; it is {short(want * 1e6)} µs."


def _looks(way: str, text: str) -> Callable[[Case, Observation], str | None]:
    """A mistake that gives one known number, different from the right one in this case."""

    def look(case: Case, seen: Observation) -> str | None:
        right, made = case.facts["right"], case.facts[way]
        if abs(right - made) <= 1e-6 * right or not _is(case, seen, way):
            return None
        digits = 5 if abs(right - made) > 1e-4 * right else 9
        counted = f"you count {made * 1e6:.{digits}g} µs instead of {right * 1e6:.{digits}g}"
        return f"{case.name}, {counted}: {text}"

    return look


def _to_itself(case: Case, seen: Observation) -> str | None:
    ranks = case.facts["ranks"]
    if not _is(case, seen, "to itself"):
        return None
    others = f"to {ranks - 1} other{'s' if ranks > 2 else ''}" if ranks > 1 else "nothing"
    return (
        f"{case.name}, you count {count(ranks, 'message')} a layer: on {count(ranks, 'rank')} each "
        f"sends {others}, not to itself."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    small, alone = float(_value(seen[0]) or 0), cases[0].facts["alone"]
    return (
        f"Passed: the small network takes {alone * 1e6:.0f} µs on one rank and {small * 1e6:.0f} "
        "µs on two. You knew before anything ran that it does not pay."
    )


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
    drive=call_left_alone,
    claim=claim,
    mistakes=(
        Mistake("changes the list of widths", _changes_widths),
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
        Mistake("slices rounded down", _looks("rounded down", _ROUNDED)),
        Mistake("slices rounded up", _looks("rounded up", _ROUNDED)),
        Mistake(
            "bytes rounded",
            _looks("bytes rounded", "`//` drops a part of the bytes; divide with `/`."),
        ),
        Mistake(
            "the last layer's outputs not sent",
            _looks(
                "last not sent",
                "the last layer's outputs are gathered too: every rank is to have all of them.",
            ),
        ),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("one operation", wrong.one_operation, hint="a multiplication and an addition"),
        WrongAnswer("work not shared", wrong.not_shared, hint="only 1/N of every layer's units"),
        WrongAnswer("numbers for bytes", wrong.in_numbers, hint="has four of them"),
        WrongAnswer(
            "whole layers", wrong.whole_layers, hint="sends its slice of a layer's outputs"
        ),
        WrongAnswer("one latency", wrong.one_latency, hint="every layer pays α"),
        WrongAnswer("no latency", wrong.no_latency, hint="however small it is"),
        WrongAnswer("to itself", wrong.to_all_ranks, hint="not to itself"),
        WrongAnswer("rounded down", wrong.rounded_down, hint="The formula takes the mean slice"),
        WrongAnswer("bytes rounded", wrong.bytes_rounded, hint="drops a part of the bytes"),
        WrongAnswer(
            "last not sent", wrong.last_not_sent, hint="the last layer's outputs are gathered too"
        ),
        WrongAnswer("pops", wrong.pops, hint="you changed the list"),
    ),
    ranked=False,
)
