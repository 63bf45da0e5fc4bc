"""Exercise 12.1, will it pay: the seconds of a split layer, counted before it is run.

`split_seconds(rows, widths, ranks, rate, alpha, beta) -> float`: a dense network's forward pass,
cut by columns on N ranks. Each layer takes 2 · rows · inputs · outputs / N operations on a rank,
and gathers its float32 outputs in N − 1 messages of rows · outputs / N numbers. The claim: the
seconds, to a millionth, and the list of widths left as it was.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from helpers.checks.compare import count, describe, number, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: one that 3 ranks do not divide, a small network on 2 and 1, a large one; others.

    Then layers that are alike and narrower than the ranks are many, and a link without α for a
    network that was asked for before, at a rate at which a part of an operation shows.
    """
    random, made = rng(seed, "12.1"), []
    asked: list[tuple[int, list[int], int]] = [
        (7, [33, 65, 31], 3),
        (32, [64, 256, 256, 16], 2),
        (32, [64, 256, 256, 16], 1),
        (256, [2048, 4096, 1024], 4),
    ]
    rates = [(100e9, 5e-6, 2e-10), (40e9, 50e-6, 1e-9)]
    if seed:
        asked = [
            (int(random.integers(1, 99)), [16 * int(w) for w in random.integers(1, 40, 4)], ranks)
            for ranks in (4, 2, 1, 8)
        ]
        # Small messages that cost their bytes, so that a rounded slice shows.
        asked.append((1, [int(w) for w in 7 * random.integers(5, 15, 3) + 1], 7))
        rate = 10 ** random.uniform(10, 12)
        alpha, beta = 10 ** random.uniform(-5, -4), 10 ** random.uniform(-10, -9)
        rates = [(rate, alpha, beta)] * 4 + [(rate, 1e-6, 1e-9)]
    again = asked[-1 if seed else 0]
    asked += [(5, [2049, 3, 3, 3], 9), again]
    rates = [*(rates * 2)[: len(asked) - 2], (1e9, 5e-6, 2e-10), (1e9, 0.0, 2e-10)]
    for i, (rows, widths, ranks) in enumerate(asked):
        rate, alpha, beta = rates[i]
        name = f"With {count(rows, 'row')}, widths {widths} on {count(ranks, 'rank')}"
        name += "" if alpha else " without α"
        given = (rows, widths, ranks, rate, alpha, beta)
        alone = reference(rows, widths, 1, rate, alpha, beta)
        facts = {"right": reference(*given), "ranks": ranks, "alone": alone}
        made.append(Case(name, (given,), facts=facts))
    return made


CHANGES = (
    "`widths` is not what it was: you changed the list, and others read it too. Go over it with a "
    "loop, or change a copy, `list(widths)`."
)


def claim(case: Case, seen: Observation) -> str | None:
    """To a millionth of what is counted."""
    if changed(seen.values[0]) is not None:
        return CHANGES
    got, want = number(seen.values[0]), case.facts["right"]
    if got is None:
        return f"Return the seconds as a float; yours gave {describe(seen.values[0])}."
    if abs(got - want) <= 1e-6 * abs(want):
        return None
    counted, right = told_apart(got * 1e6, want * 1e6)
    return f"you count {counted} µs; it is {right} µs."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the seconds, with as many digits as tell them apart."""
    got, ranks = number(seen.values[0]) or 0.0, case.facts["ranks"]
    counted, wanted = told_apart(got * 1e6, case.facts["right"] * 1e6)
    others = f"to {ranks - 1} other{'s' if ranks > 2 else ''}" if ranks > 1 else "nothing"
    return {
        "count": f"you count {counted} µs instead of {wanted}",
        "messages": count(ranks, "message"),
        "ranks": count(ranks, "rank"),
        "others": others,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    two, alone = number(seen[1].values[0]) or 0.0, cases[1].facts["alone"]
    pays = "pays" if two < alone else "does not pay"
    return (
        f"Passed: a network takes {alone * 1e6:.0f} µs on one rank and {two * 1e6:.0f} µs on two. "
        f"You knew before anything ran that it {pays}."
    )


def reference(
    rows: int, widths: list[int], ranks: int, rate: float, alpha: float, beta: float
) -> float:
    """Layer by layer."""
    seconds = 0.0
    for inputs, outputs in pairwise(widths):
        computing = 2 * rows * inputs * outputs / ranks / rate
        sending = (ranks - 1) * (alpha + beta * (4 * rows * outputs / ranks))
        seconds += computing + sending
    return seconds


WRONG = """
changes the list of widths
    | return seconds => return widths.clear() or seconds
    ! CHANGES
a multiplication without its addition
    | 2 * rows => rows
    {count}: each weight costs a multiplication and an addition, two operations for each row.
not shared
    | inputs * outputs / ranks => inputs * outputs
    {count}: a rank has 1/N of every layer's units.
no bytes
    | 4 * rows => rows
    {count}: β is for a byte; a number has four.
eight bytes a number
    | 4 * rows => 8 * rows
    {count}: the numbers are float32, of four bytes, and you count eight for each, or β twice.
microseconds
    | return seconds => return seconds * 1e6
    {count}: that is in microseconds, and seconds were asked for.
all sent
    | 4 * rows * outputs / ranks => 4 * rows * outputs
    {count}: a rank sends 1/N of a layer's outputs.
one row sent
    | 4 * rows => 4
    {count}: a message has all rows of its slice.
at once
    | computing + sending => max(computing, sending)
    {count}: messages begin when the slice is computed: add.
inputs sent
    | 4 * rows * outputs => 4 * rows * inputs
    {count}: your messages are as large as the slice of a layer's inputs. Every rank has all inputs
    already; what travels is its slice of the outputs.
one latency
    | return seconds => return seconds - (ranks - 1) * (len(widths) - 2) * alpha
    {count}: every layer is gathered, and pays α anew.
no latency
    | alpha + beta => beta
    {count}: a message costs α however small it is.
itself
    | ranks - 1 => ranks
    you count {messages}; on {ranks} each sends {others}.
slices rounded down
    | outputs / ranks *=> (outputs // ranks)
    {count}: you count whole units. The formula takes the mean slice, a width divided by N with `/`,
    also where N does not divide it.
slices rounded up
    | outputs / ranks *=> -(-outputs // ranks)
    ! slices rounded down
bytes rounded
    | 4 * rows * outputs / ranks => 4 * rows * outputs // ranks
    {count}: a part of a message is dropped, as `//` and `int` do; divide with `/`, round nothing.
numbers rounded
    | 4 * rows * outputs / ranks => 4 * (rows * outputs // ranks)
    ! bytes rounded
the last layer's outputs not sent
    | return seconds => return seconds - sending
    {count}: the last layer's outputs are gathered too: every rank is to have all of them.
"""

EXERCISE = Exercise(
    number="12.1",
    title="Will it pay?",
    size=Size(stars=2, minutes=12, points=2),
    function="split_seconds",
    asks=(
        "the seconds of a forward pass on N ranks: for every layer 2 · rows · inputs · outputs / N "
        "operations at `rate`, and N − 1 messages of α + β · (rows · outputs / N · 4 bytes)."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    numbers=numbers,
    compared=lambda case, seen: number(seen.values[0]) or seen.values,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("12.1", WRONG, reference, CHANGES=CHANGES),
    ranked=False,
)
