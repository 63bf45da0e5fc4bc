"""Exercise 10.2, the loss scale of the next step, and how many good steps there were since.

The claim: after an overflow (scale / 2, 0); after `interval` good steps in a row (2 · scale, 0);
else (scale, good + 1); and nothing is kept between calls.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from helpers.checks.compare import agree, count, describe, is_array, listing, number
from helpers.checks.drives.arguments import call_also
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.fewer_bits.algorithms.loss_scale import next_scale as reference


def cases(seed: int) -> list[Case]:
    """Steps one after the other, and some by themselves. Seed 0: every 3 steps; else others."""
    random = rng(seed, "10.2")
    interval, start, large = 3, 1024.0, 2500
    if seed:
        interval, large = (int(random.integers(*ends)) for ends in ((3, 6), (1000, 3000)))
        start = float(2.0 ** random.integers(7, 15))
    row, made, state = [True] * interval, [], (start, 0)
    for finite in [*row, *row[1:], False, False, *row[1:], False, *row]:
        made.append(_case(*state, finite, interval, in_a_row=True))
        state = reference(*state, finite, interval)
    alone = [(1.0, 1, False, interval), (2.0**-20, 0, False, interval), (0.5, 0, True, interval)]
    alone += [(2.0**-80, 1, False, interval)]
    alone += [(scale, interval - 1, True, interval) for scale in (65536.0, 2.0**40, 2.0**80)]
    alone += [(start, large - more, True, large) for more in (1, 2)]
    alone += [(start, 0, True, 1), (start, 0, False, 1)]
    return made + [_case(*each) for each in alone]


def _case(scale: float, good: int, finite: bool, interval: int, in_a_row: bool = False) -> Case:
    """One step. `also` tells one wrong answer from another, and asks for the same step again."""
    kind = "another good one" if finite and good else "a good one" if finite else "an overflow"
    name = f"At a scale of {scale:g}, after {good} of {count(interval, 'good step')}, with {kind}"
    args = (scale, good, finite, interval)
    also = [(scale, at, True, interval) for at in (0, interval - 1, interval)]
    also += [(scale, at, False, interval) for at in (0, interval - 1)]
    facts = {"want": _pair(reference(*args)), "in a row": in_a_row}
    return Case(name, (args,), options={"also": [*also, (scale, 0, True, 9), args]}, facts=facts)


def _pair(got: Any) -> tuple[float, float] | None:
    """A scale and a number of steps, whatever holds them."""
    got = got.tolist() if is_array(got, (2,)) else got
    if type(got) not in (tuple, list) or len(got) != 2:
        return None
    scale, good = (number(int(each) if type(each) is bool else each) for each in got)
    return None if scale is None or good is None else (scale, good)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """This step's pair, twice: what was asked in between changes nothing."""
    got, want = seen.values[0][0], case.facts["want"]
    if _pair(got) is None:
        gave = f"the text {got!r}" if type(got) is str else describe(got)
        asked = "Two numbers were asked for: the next scale, and the count."
        yield f"your function gave {gave}. {asked}"
    if not agree(_pair(got), want):
        yield f"you say {describe(got)}; it should be {describe(want)}."
    yield from _remembers(case, seen)


def _remembers(case: Case, seen: Observation) -> Iterator[str]:
    got, *_, again = seen.values[0]
    if _pair(got) not in (None, _pair(again)):
        yield (
            f"you say {describe(got)} first, and {describe(again)} when asked once more: something "
            "is kept between the calls. What counts is in the arguments, and what the next step "
            "needs is in what you return."
        )


def compared(case: Case, seen: Observation) -> Any:
    """The pairs, whatever holds them; what is no pair as it is."""
    told = [_pair(each) or each for each in seen.values[0]]
    if type(told[2]) is tuple and told[2][0] != case.args[0][0]:
        told[3] = None  # whoever has doubled by then does not come there
    # Beside this step's scale: a small one is as good as 0.
    return [
        (each[0] / case.args[0][0], each[1]) if each is not None and each == _pair(each) else each
        for each in told
    ]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The step, and what comes of it."""
    scale, good, _, interval = case.args[0]
    scales = {"scale": f"{scale:g}", "half": f"{scale / 2:g}", "twice": f"{scale * 2:g}"}
    return {**scales, "good": good, "step": good + 1, "interval": interval}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    row = [case for case in cases if case.facts["in a row"]]
    scales = [row[0].args[0][0], *(case.facts["want"][0] for case in row)]
    ways = [f"{new:g}" for old, new in pairwise(scales) if new != old]
    overflows = sum(not case.args[0][2] for case in row)
    return (
        f"Passed: in {len(row)} steps with {overflows} overflows the scale goes from {scales[0]:g} "
        f"to {listing(ways)}. It may go below 1, and beyond all that float16 holds."
    )


def own_count(scale: Any, good: Any, finite: Any, interval: Any, kept: Any = [0]) -> Any:  # noqa: B006
    scale, kept[0] = reference(scale, kept[0], finite, interval)
    return scale, kept[0]


WRONG = """
one step late
    | good + 1 == interval => good >= interval
    you double a step too late: this is good step {step} in a row, so the scale goes to {twice} now.
    `good` are those before this one.
one step early
    | good + 1 == interval => good + 2 >= interval
    you double a step too early: this is good step {step} in a row, and {interval} make the scale
    double. `good` are those before this one.
never doubles
    | good + 1 == interval => False
    the scale stays at {scale}, and would with one good step more: this is step {step} in a row, and
    after {interval} it doubles.
doubles at every good step
    | good + 1 == interval => True
    you double after this step already: only {step} of {interval} good steps in a row are there.
    Until then the scale stays, and the count goes up by one.
doubles at every good step, and counts
    | good + 1 == interval => True
    | scale * 2, 0 => scale * 2, good + 1
    you double after this step already: only {step} of {interval} good steps in a row are there.
    Until then the scale stays, and the count goes up by one.
doubles at a count of 0
    | good + 1 == interval => good % interval == 0
    you double, though no good step came before this one: 0 can be divided by every interval. Count
    this step first, and compare that count with `interval`.
doubles at a count of 0, and counts
    | good + 1 == interval => good % interval == 0
    | scale * 2, 0 => scale * 2, good + 1
    you double, though no good step came before this one: 0 can be divided by every interval.
    Count this step first, and compare that count with `interval`.
counts on after doubling
    | scale * 2, 0 => scale * 2, good + 1
    the scale doubles, and your count goes on to {step}. It is of the good steps since the scale
    changed last: from 0 again.
counts the step that doubled
    | scale * 2, 0 => scale * 2, 1
    your count begins at 1 after doubling. This step belongs to the {interval} that are over; none
    has been made with {twice} yet, so it is 0.
adds in place of doubling
    | scale * 2 => scale + 2
    you add 2 to the scale. It is multiplied by 2, and goes to {twice}.
a largest scale
    | good + 1 == interval => good + 1 >= interval
    | scale * 2 => min(scale * 2, 65536.0)
    your scale ends at 65 536. It multiplies the loss in float32, so it may go on to {twice}: an
    overflow of the gradients will tell where it ends.
counts an overflow as a good step
    | scale / 2, 0 => scale / 2, good + 1
    the scale halves, and your count goes on to {step}: an overflow is no good step and ends the
    row. Count from 0.
keeps the count at an overflow
    | scale / 2, 0 => scale / 2, good
    the scale halves, and your count stays at {good}: an overflow ends the row, so that it begins at
    0 again.
begins at 1 after an overflow
    | scale / 2, 0 => scale / 2, 1
    your count begins at 1, but the step that overflowed is no good one. A line that counts good
    steps runs after an overflow as well, where no `else` keeps it away.
1 at least
    | scale / 2 => max(scale / 2, 1.0)
    your scale ends at 1, and gradients that overflow at 1 do so for ever: it may go on to {half}.
does not halve
    | scale / 2 => scale
    your count begins at 0, and the scale stays at {scale}: the next step would overflow as well.
    Halve it, to {half}.
a quarter
    | scale / 2 => scale / 4
    you divide the scale by 4; half of it was asked for, {half}.
whole numbers
    | scale / 2 => scale // 2
    `//` and `int` make whole numbers, so that below 2 nothing is left: a scale may be {half}. Use
    `/`.
good and overflow exchanged
    | not finite => finite
    you take a good step for an overflow, and an overflow for a good step: `finite` is true where
    all gradients are finite.
overflow not asked for
    | not finite => False
    an overflow counts as a good step. Where `finite` is false, halve the scale, and count from 0.
the row before the overflow
    | not finite => not finite and good + 1 != interval
    an overflow makes the scale double, because it would be step {step} of the row. Ask for an
    overflow first, and for the row only where there is none.
the pair exchanged
    | scale / 2, 0 => 0, scale / 2
    | scale * 2, 0 => 0, scale * 2
    | scale, good + 1 => good + 1, scale
    you give the count first, and then the scale. It is the other way round.
the scale alone
    | scale / 2, 0 => scale / 2
    | scale * 2, 0 => scale * 2
    | scale, good + 1 => scale
    you give the scale alone. The next step needs the count, too.
keeps its own count
    = own_count
    ? something is kept between the calls
"""

EXERCISE = Exercise(
    number="10.2",
    title="A loss scale that finds itself",
    size=Size(stars=2, minutes=10, points=2),
    function="next_scale",
    asks=(
        "after an overflow half the scale, and a count of 0; after `interval` good steps in a row, "
        "this one included, twice the scale, and a count of 0; otherwise the same scale, and one "
        "good step more."
    ),
    cases=cases,
    drive=call_also,
    claim=claim,
    mistakes=(Mistake("keeps something between calls", _remembers),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("10.2", WRONG, reference, own_count),
    ranked=False,
)
