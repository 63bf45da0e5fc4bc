"""Exercise 18.2, time to the target: when the clock starts, and what counts as reached.

`timed(train, target) -> (seconds, end)`: train() gives (began, looks), with looks (at, took, error)
in order. The claim: seconds of training to the first look at which the mean of three is at or below
the target, infinity for never, and the mean error of the last three looks; one training.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from helpers.checks.compare import describe, numbers_in, told_apart
from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Handed, Hands
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.algorithms.timing import timed as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: a slow start, long looks and one lucky look; a target that is met exactly; one met at
    the third look; a run that never arrives; one that ends above the target again; one that
    diverges. Other seeds: others of these kinds."""
    random = rng(seed, "18.2")
    t = target = 12.0 if not seed else float(random.integers(8, 20))
    # Means of two, of three and of four looks are there at another look each.
    over = [-0.5, 9.0, 3.0, -3.1, 3.0, 2.0, 1.5, -4.0, -1.0, -2.0, 0.6]
    lucky = [78.0, 41.0, 24.0, *(t + each for each in over)]
    never = [70, t + 9, t + 2, t - 1, t + 0.5, t + 0.8, t + 2]
    third = [t - 1, t, t - 2, t - 3, t - 1, t + 5]
    diverges = [50, t + 3, t - 4, t + 4, math.nan, math.nan]
    kinds = (
        ("With a slow start, long looks and a lucky one", lucky, 2.5, True),
        ("With three looks whose mean is the target", [60, 30, t + 2, t, t - 2, t - 3], 0.0, False),
        ("With the target reached at the third look", third, 1.25, True),
        ("With a run that never arrives", never, 0.5, True),
        ("With a run that gets worse again", [70, t - 2, t - 1, t - 1, t + 6, t + 7], 0.75, False),
        ("With a run that diverges", diverges, 0.25, True),
    )
    made = []
    for name, errors, began, slow in kinds:
        at, looks = began, []
        for error in errors:
            took = round(float(random.uniform(0.2, 1.0)), 2) if slow else 0.0
            looks.append((round(at, 2), took, float(error)))
            at += took + round(float(random.uniform(0.5, 2.0)), 2)
        want = reference(partial(Run, began, [Look(*look) for look in looks]), target)
        made.append(Case(name, (((began, looks), target),), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Both numbers, and one training."""
    (got, _), want = seen.values[0], case.facts["want"]
    pair = numbers_in(got, 2)
    if pair is None:
        yield f"you gave {describe(got)}; (seconds, error at the end) was asked for."
        return
    for what, one, other in zip(("seconds", "% at the end"), pair, want, strict=True):
        never = math.isnan(one) and math.isnan(other)
        if not never and not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
            has, should = told_apart(one, other)
            yield f"you say {has} {what}; it is {should}."
    yield trained_again(case, seen)


def trained_again(case: Case, seen: Observation) -> str | None:
    """More than one training: the second is another run, and takes as long again."""
    calls = seen.values[0][1]
    if calls == 1:
        return None
    return (
        f"you called `train` {calls} times. Each call is a whole training, and another one: call "
        "it once, and keep what it gives."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    (began, _), target = case.args[0]
    pair = numbers_in(seen.values[0][0], 2) or [0.0, 0.0]
    seconds, want = told_apart(pair[0], case.facts["want"][0])
    end, want_end = told_apart(pair[1], case.facts["want"][1])
    named = {"told": f"you say {seconds} s instead of {want}", "end": end, "want_end": want_end}
    return {**named, "began": f"{began:g}", "target": f"{target:g}"}


def compared(case: Case, seen: Observation) -> Any:
    """The two numbers."""
    return numbers_in(seen.values[0][0], 2)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    (_, looks), _ = cases[0].args[0]
    return (
        f"Passed: {cases[0].facts['want'][0]:.4g} s of training, within {looks[-1][0]:.4g} s on "
        "the wall's clock; one lucky look did not count, and a run that never arrives takes "
        "infinitely long."
    )


class Training(Hands):
    """A training, which may be asked for more than once: that would give the same."""

    secret = (0,)

    def __init__(self, run: Any, target: float) -> None:
        (self.began, self.looks), self.calls = run, 0

    def train(self) -> Any:
        """When it began, and its looks."""
        self.calls += 1
        return self.began, list(self.looks)

    def noted(self, value: Any) -> Any:
        """With how often it trained."""
        return [value, self.calls]


def _times_a_run(fn: Function, hands: Any, run: Any, target: float) -> Any:
    """Call `fn(train, target)`; `values[0]` is [what it gives, how often it trained].

    A case's arguments: (began, looks), target.
    """
    return fn(hands.train, target)


times_a_run = Handed(_times_a_run, 2, Training)


WRONG = """
a mean of fewer
    | number >= LOOKS and sum(errors[number - LOOKS : number]) / LOOKS
        => sum(three := errors[:number][-LOOKS:]) / len(three)
    {told}: you took the mean of fewer looks than three. There has to be a look and two before it.
a mean of two at the second look
    | number >= LOOKS and sum(errors[number - LOOKS : number]) / LOOKS
        => number > 1 and sum(three := errors[:number][-LOOKS:]) / len(three)
    ! a mean of fewer
means of two
    | number >= LOOKS and sum(errors[number - LOOKS : number]) / LOOKS
        => number > 1 and sum(errors[number - 2 : number]) / 2
    {told}: that is the first look at which the mean of two is at or below {target} %. Three are
    asked for: this look and the two before it.
from the fourth look on
    | number >= LOOKS => number > LOOKS
    {told}: you compare from the fourth look on. The third has two before it, and counts.
one lucky look
    | number >= LOOKS and sum(errors[number - LOOKS : number]) / LOOKS => errors[number - 1]
    {told}: that is the first look at or below {target} %. One look may be lucky; the mean of three
    has to be there.
from the start of the processes
    | at - began - stood_still => at - stood_still
    {told}: your clock runs from the call on. Ranks were ready {began} s later; who starts processes
    more slowly does not train more slowly.
the looks counted
    | at - began - stood_still => at - began
    {told}: your clock runs on while the model is looked at. Take what the looks before took off:
    they are the measurement, not the training.
this look counted
    | at - began - stood_still => at - began - stood_still + took
    {told}: that is when the look ended. The model was as good when the look began.
this look taken off
    | at - began - stood_still => at - began - stood_still - took
    {told}: you took off what this look takes as well. At its beginning it has taken nothing yet:
    only the looks before it.
from the start, with looks
    | at - began - stood_still => at
    {told}: that is the time on the wall: {began} s until all were ready and the looks are in it.
the middle look
    | at - began - stood_still => looks[number - 2][0] - began - stood_still + looks[number - 2][1]
    {told}: that is the look in the middle of the three. Only at the last of them is their mean
    known.
the first of the three
    | at - began - stood_still
        => looks[number - 3][0] - began - sum(took for _, took, _ in looks[: number - 3])
    {told}: that is the first of the three looks. Only at the last of them is their mean known.
below the target
    | <= target => < target
    {told}: a mean of just {target} % counts: at or below the target.
three in a row
    | sum(errors[number - LOOKS : number]) / LOOKS <= target
        => all(error <= target for error in errors[number - LOOKS : number])
    {told}: you waited for three looks at or below {target} %, each of them. Asked for is that their
    mean is.
only where it ends there
    | return seconds, => end = sum(errors[-LOOKS:]) / LOOKS; return seconds if end <= target else
        math.inf,
    {told}: you count a run as arrived only where it ends below the target. It was there first; how
    it ends is the second number.
the mean of all looks
    | sum(errors[number - LOOKS : number]) / LOOKS => sum(errors[:number]) / number
    {told}: what you compare never comes down to the target. Asked for is the mean of three looks,
    this one and the two before it; a mean of all so far holds the bad beginning as well. Errors and
    target are both in %.
the last time it was reached
    | break => pass
    {told}: that is the last look at which the mean was at or below {target} %. The first counts.
never is the end
    | = math.inf => = looks[-1][0] - began - sum(took for _, took, _ in looks[:-1])
    {told}: you give the time of the last look to a run that never arrived. As a number it would be
    averaged with real ones, and the longer you wait the worse it looks: math.inf.
never is zero
    | math.inf => 0.0
    {told}: you give 0 to a run that never arrived, which makes it the quickest of all: math.inf.
never is not a number
    | math.inf => math.nan
    {told}: you give NaN to a run that never arrived. No comparison with it is true, and `min` and
    `sorted` put it anywhere; math.inf is larger than all.
the last look for the end
    | sum(errors[-LOOKS:]) / LOOKS => errors[-1]
    you say {end} % at the end instead of {want_end}: that is the last look alone. Take the mean of
    the last three.
the best for the end
    | sum(errors[-LOOKS:]) / LOOKS => min(errors)
    you say {end} % at the end instead of {want_end}: that is the best look of the run, chosen by
    the test pictures. Take the mean of the last three.
where it arrived for the end
    | errors[-LOOKS:] => errors[number - LOOKS : number]
    you say {end} % at the end instead of {want_end}: that is when the target was reached. Training
    went on; the end is the mean of the last three looks.
trains twice
    | began, looks = train() => began, looks = train() and train()
    ? you called `train` 2 times
"""

EXERCISE = Exercise(
    number="18.2",
    title="Time to the target",
    size=Size(stars=2, minutes=15, points=3),
    function="timed",
    asks=(
        "(seconds, error at the end): seconds of training until the mean error of a look and the "
        "two before it is at or below the target, when that look begins; from the moment when all "
        "are ready, without the looks; infinity for never. The end is the mean of the last three."
    ),
    cases=cases,
    drive=times_a_run,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(Mistake("trains again", trained_again),),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("18.2", WRONG, reference),
    ranked=False,
)
