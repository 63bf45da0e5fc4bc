"""Exercise 10.2, the loss scale of the next step, and how many good steps there were since.

The claim: after an overflow (scale / 2, 0); after `interval` good steps in a row (2 · scale, 0);
else (scale, good + 1); and nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from helpers.algorithms.compression.loss_scale import next_scale as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import agree, count, describe, is_array, listing, number
from helpers.exercises.drives_kept import call_also
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

State = tuple[float, int]


def cases(seed: int) -> list[Case]:
    """Steps one after the other, and some by themselves. Seed 0: every 3 steps; else others."""
    random = rng(seed, "10.2")
    interval, start, large = 3, 1024.0, 2000
    if seed:
        interval, large = (int(random.integers(*ends)) for ends in ((3, 6), (1000, 3000)))
        start = float(2.0 ** random.integers(7, 15))
    row, made, state = [True] * interval, [], (start, 0)
    for finite in [*row, *row[1:], False, False, *row[1:], False, *row]:
        made.append(_case(*state, finite, interval, in_a_row=True))
        state = reference(*state, finite, interval)
    alone = [(1.0, 1, False), (2.0**-20, 0, False), (0.5, 0, True)]
    alone += [(65536.0, interval - 1, True), (2.0**40, interval - 1, True)]
    made += [_case(*each, interval) for each in alone]
    made += [_case(start, large - more, True, large) for more in (1, 2)]
    return made + [_case(start, 0, finite, 1) for finite in (True, False)]


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


def claim(case: Case, seen: Observation) -> str | None:
    """This step's pair, twice: what was asked in between changes nothing."""
    got, want = seen.values[0][0], case.facts["want"]
    if _pair(got) is None:
        gave = f"the text {got!r}" if type(got) is str else describe(got)
        asked = "Two numbers were asked for: the next scale, and the count."
        return f"{case.name}, your function gave {gave}. {asked}"
    if not agree(_pair(got), want):
        return f"{case.name}, you say {describe(got)}; it should be {describe(want)}."
    return _remembers(case, seen)


def _remembers(case: Case, seen: Observation) -> str | None:
    got, *_, again = seen.values[0]
    if _pair(got) == _pair(again) or _pair(got) is None:
        return None
    return (
        f"{case.name}, you say {describe(got)} first, and {describe(again)} when asked once more: "
        "something is kept between the calls. What counts is in the arguments, and what the "
        "next step needs is in what you return."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The pairs, whatever holds them; what is no pair as it is."""
    told = [_pair(each) or each for each in seen.values[0]]
    if type(told[2]) is tuple and told[2][0] != case.args[0][0]:
        told[3] = None  # whoever has doubled by then does not come there
    return told


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


def _scaling(
    overflow: Callable[[float, int], Any] = lambda scale, good: (scale / 2, 0),
    is_time: Callable[[int, int], bool] = lambda good, interval: good + 1 >= interval,
    grown: Callable[[float, int], Any] = lambda scale, good: (scale * 2, 0),
) -> Callable[..., Any]:
    """The reference with a part exchanged."""

    def next_scale(scale: float, good: int, finite: bool, interval: int) -> Any:
        if not finite:
            return overflow(scale, good)
        return grown(scale, good) if is_time(good, interval) else (scale, good + 1)

    return next_scale


def _counts(scale: float, good: int) -> State:
    return 2 * scale, good + 1


def _always(good: int, interval: int) -> bool:
    return True


def _in_turn(good: int, interval: int) -> bool:
    return good % interval == 0


_late = _scaling(is_time=lambda good, interval: good >= interval)
_early = _scaling(is_time=lambda good, interval: good + 2 >= interval)
_never = _scaling(is_time=lambda good, interval: False)
_no_reset = _scaling(grown=_counts)
_from_one = _scaling(grown=lambda scale, good: (2 * scale, 1))
_each, _each_counted = _scaling(is_time=_always), _scaling(is_time=_always, grown=_counts)
_at_0, _at_0_counted = _scaling(is_time=_in_turn), _scaling(is_time=_in_turn, grown=_counts)
_adds = _scaling(grown=lambda scale, good: (scale + 2, 0))
_capped = _scaling(grown=lambda scale, good: (min(2 * scale, 65536.0), 0))
_counts_on = _scaling(lambda scale, good: (scale / 2, good + 1))
_keeps_count = _scaling(lambda scale, good: (scale / 2, good))
_counts_it = _scaling(lambda scale, good: (scale / 2, 1))
_only_count = _scaling(lambda scale, good: (scale, 0))
_quarter = _scaling(lambda scale, good: (scale / 4, 0))
_whole = _scaling(lambda scale, good: (scale // 2, 0))
_one_at_least = _scaling(lambda scale, good: (max(scale / 2, 1.0), 0))


def _around(
    finite: Callable[[bool], bool] = bool, gives: Callable[[State], Any] = tuple
) -> Callable[..., Any]:
    """The reference, told something else or giving something else."""
    return lambda scale, good, told, interval: gives(reference(scale, good, finite(told), interval))


_turned, _unasked = _around(lambda told: not told), _around(lambda told: True)
_swapped, _alone = _around(gives=lambda pair: pair[::-1]), _around(gives=lambda pair: pair[0])


def _row_first(scale: float, good: int, finite: bool, interval: int) -> State:
    return reference(scale, good, finite or good + 1 == interval, interval)


def _own_count(scale: float, good: int, finite: bool, interval: int, kept: Any = [0]) -> State:  # noqa: B006
    scale, kept[0] = reference(scale, kept[0], finite, interval)
    return scale, kept[0]


_EACH = (
    "you double after this step already: only {step} of {interval} good steps in a row are there. "
    "Until then the scale stays, and the count goes up by one."
)
_AT_0 = (
    "you double, though no good step came before this one: 0 can be divided by every interval. "
    "Count this step first, and compare that count with `interval`."
)

EXERCISE = Exercise(
    number="10.2",
    title="A loss scale that finds itself",
    stars=2,
    minutes=10,
    points=2,
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
    wrong=(
        WrongAnswer(
            "one step late",
            _late,
            "you double a step too late: this is good step {step} in a row, so the scale goes to "
            "{twice} now. `good` are those before this one.",
        ),
        WrongAnswer(
            "one step early",
            _early,
            "you double a step too early: this is good step {step} in a row, and {interval} make "
            "the scale double. `good` are those before this one.",
        ),
        WrongAnswer(
            "never doubles",
            _never,
            "the scale stays at {scale}, and would with one good step more: this is step {step} in "
            "a row, and after {interval} it doubles.",
        ),
        WrongAnswer("doubles at every good step", _each, _EACH),
        WrongAnswer("doubles at every good step, and counts", _each_counted, _EACH),
        WrongAnswer("doubles at a count of 0", _at_0, _AT_0),
        WrongAnswer("doubles at a count of 0, and counts", _at_0_counted, _AT_0),
        WrongAnswer(
            "counts on after doubling",
            _no_reset,
            "the scale doubles, and your count goes on to {step}. It is of the good steps since "
            "the scale changed last: from 0 again.",
        ),
        WrongAnswer(
            "counts the step that doubled",
            _from_one,
            "your count begins at 1 after doubling. This step belongs to the {interval} that are "
            "over; none has been made with {twice} yet, so it is 0.",
        ),
        WrongAnswer(
            "adds in place of doubling",
            _adds,
            "you add 2 to the scale. It is multiplied by 2, and goes to {twice}.",
        ),
        WrongAnswer(
            "a largest scale",
            _capped,
            "your scale ends at 65 536. It multiplies the loss in float32, so it may go on to "
            "{twice}: an overflow of the gradients will tell where it ends.",
        ),
        WrongAnswer(
            "counts an overflow as a good step",
            _counts_on,
            "the scale halves, and your count goes on to {step}: an overflow is no good step and "
            "ends the row. Count from 0.",
        ),
        WrongAnswer(
            "keeps the count at an overflow",
            _keeps_count,
            "the scale halves, and your count stays at {good}: an overflow ends the row, so that "
            "it begins at 0 again.",
        ),
        WrongAnswer(
            "begins at 1 after an overflow",
            _counts_it,
            "your count begins at 1, but the step that overflowed is no good one. A line that "
            "counts good steps runs after an overflow as well, where no `else` keeps it away.",
        ),
        WrongAnswer(
            "1 at least",
            _one_at_least,
            "your scale ends at 1, and gradients that overflow at 1 do so for ever: it may go on "
            "to {half}.",
        ),
        WrongAnswer(
            "does not halve",
            _only_count,
            "your count begins at 0, and the scale stays at {scale}: the next step would overflow "
            "as well. Halve it, to {half}.",
        ),
        WrongAnswer(
            "a quarter", _quarter, "you divide the scale by 4; half of it was asked for, {half}."
        ),
        WrongAnswer(
            "whole numbers",
            _whole,
            "`//` and `int` make whole numbers, so that below 2 nothing is left: a scale may be "
            "{half}. Use `/`.",
        ),
        WrongAnswer(
            "good and overflow exchanged",
            _turned,
            "you take a good step for an overflow, and an overflow for a good step: `finite` is "
            "true where all gradients are finite.",
        ),
        WrongAnswer(
            "overflow not asked for",
            _unasked,
            "an overflow counts as a good step. Where `finite` is false, halve the scale, and "
            "count from 0.",
        ),
        WrongAnswer(
            "the row before the overflow",
            _row_first,
            "an overflow makes the scale double, because it would be step {step} of the row. Ask "
            "for an overflow first, and for the row only where there is none.",
        ),
        WrongAnswer(
            "the pair exchanged",
            _swapped,
            "you give the count first, and then the scale. It is the other way round.",
        ),
        WrongAnswer(
            "the scale alone",
            _alone,
            "you give the scale alone. The next step needs the count, too.",
        ),
        WrongAnswer("keeps its own count", _own_count, hint="something is kept between the calls"),
    ),
    ranked=False,
)
