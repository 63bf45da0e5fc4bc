"""Exercise 17.1, how often to save: the interval between checkpoints of a job of many GPUs.

`checkpoint_interval(save, restart, gpu_hours, gpus) -> float`: Daly's estimate for the mean time
between failures of the job, in seconds of work. The claim: the seconds, to nine digits; whoever
finds the best interval itself, of which Daly's is an estimate, is right as well.
"""

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import count, number, told_apart
from helpers.checks.drives.calling import plain_call
from helpers.checks.nine_digits import compared, wrong_number
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.interval import best_interval, daly_interval, job_mtbf
from helpers.lessons.cluster.algorithms.interval import checkpoint_interval as reference

# A save of 2 mtbf, in numbers that nobody rounds; Llama 3's own; one that costs nothing; and all
# in less than a second, or an hour.
_ENDS = [
    (720.0, 120.0, 20_000.0, 200_000), (0.59, 762.0, 50_677.0, 16_384),
    (0.0, 600.0, 50_000.0, 16_384), (0.2, 0.5, 0.5, 4000),
]  # fmt: skip


def cases(seed: int) -> list[Case]:
    """Seed 0: a large job, one GPU, a job that hardly gets on, saves of 1.4 and 2.5 mtbf, of just
    2 mtbf, of less than a second and of no time, and all of these short; else others of these."""
    random = rng(seed, "17.1")
    settings: list[tuple[float, float, float, int]] = [
        (60.0, 600.0, 50_000.0, 16_384), (30.0, 0.0, 50.0, 1), (300.0, 600.0, 25_000.0, 100_000),
        (500.0, 120.0, 20_000.0, 200_000), (900.0, 240.0, 20_000.0, 200_000), *_ENDS,
    ]  # fmt: skip
    if seed:
        settings = []
        for share in (0.005, 0.03, 0.3, 1.4, 2.5):  # of mtbf that a save takes, about
            gpus, hours = int(random.integers(5_000, 90_000)), float(random.uniform(1e4, 8e4))
            save = share * float(random.uniform(0.8, 1.2)) * 3600 * hours / gpus
            restart = float(random.uniform(100, 1000))
            settings.append((round(save, 3), round(restart, 1), round(hours, 1), gpus))
        settings += _ENDS
    made = []
    for save, restart, hours, gpus in settings:
        mtbf = 3600 * hours / gpus
        name = (
            f"With saves of {save:g} s, restarts of {restart:g} s and {count(gpus, 'GPU')} that "
            f"{'fails' if gpus == 1 else 'fail'} every {hours:g} hours"
        )
        want = reference(save, restart, hours, gpus)
        best = best_interval(save, mtbf) if save else 0.0
        facts = {"want": want, "best": best, "mtbf": mtbf}
        made.append(Case(name, ((save, restart, hours, gpus),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Daly's estimate to nine digits, or the best interval to six."""
    got, best = number(seen.values[0]), case.facts["best"]
    # Without a save both are 0, to which whoever looks for the best one only comes near.
    if got is not None and abs(got - best) <= 1e-6 * (best if case.args[0][0] else 1.0):
        return None
    return wrong_number(case, seen, " s", " s")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    save, restart, _, gpus = case.args[0]
    got, want = told_apart(number(seen.values[0]) or 0.0, case.facts["want"])
    mtbf = case.facts["mtbf"]
    named = {"told": f"you say {got} s instead of {want}", "gpus": gpus, "save": f"{save:g}"}
    named |= {"restart": f"{restart:g}", "percent": f"{100 * save / mtbf:.3g}"}
    return {**named, "mtbf": f"{mtbf:.5g}", "twice": f"{2 * mtbf:.5g}"}


def whole_seconds(case: Case, seen: Observation) -> str | None:
    """The right interval, rounded or cut off."""
    got, want = number(seen.values[0]), case.facts["want"]
    if got is None or got != int(got) or abs(got - want) >= 1:
        return None
    return (
        f"you say {got:g} s, which is {want:.5g} s "
        f"{'rounded' if got == round(want) else 'cut off'} to whole seconds. Return the number as "
        "the formula gives it."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    minutes = float(number(seen[0].values[0]) or 0.0) / 60
    _, restart, _, gpus = cases[0].args[0]
    return (
        f"Passed: {gpus} GPUs fail every {cases[0].facts['mtbf'] / 3600:.1f} hours together, and "
        f"save after {minutes:.1f} minutes of work. The {restart:g} s of a restart change nothing "
        "in that."
    )


WRONG = """
Young's approximation
    | daly_interval(save, => math.sqrt(2 * save *
    {told}: that is Young’s first approximation, √(2 · save · M). A save takes {percent} % of the
    time between two failures here, so that the next terms count.
Young's approximation less a save
    | daly_interval(save, => -save + math.sqrt(2 * save *
    {told}: that is √(2 · save · M) − save, without the bracket 1 + √x/3 + x/9 that corrects it.
from the start of one save to the next
    | x / 9) - save => x / 9)
    {told}: that is a save too long: it goes from the start of one save to the start of the next.
    Asked for is the work between them; take the {save} s off.
hours for seconds
    | 3600 * gpu_hours => gpu_hours
    {told}: `gpu_hours` are hours and `save` is in seconds. Turn the hours into seconds before you
    multiply the two.
minutes for seconds
    | 3600 * gpu_hours => 60 * gpu_hours
    {told}: you turned hours into minutes. An hour has 3600 s, and `save` is in seconds.
one GPU's failures
    | 3600 * gpu_hours / gpus => 3600 * gpu_hours
    {told}: that is for a job that stops when one certain GPU fails. It stops when any of {gpus}
    does: it fails {gpus} times as often, every {mtbf} s.
the more GPUs, the rarer
    | gpu_hours / gpus => gpu_hours * gpus
    {told}: you multiply the time between failures by the number of GPUs. What adds up is the number
    of failures, so the time between them is divided.
by the root of the GPUs
    | gpu_hours / gpus => gpu_hours / math.sqrt(gpus)
    {told}: you divide the time between failures by √GPUs. The failures of {gpus} GPUs add up, so it
    is divided by {gpus}; the root comes with the interval.
the limit too early
    | save >= 2 * mtbf => save >= mtbf
    {told}: you answer M from save = M on. The series holds up to 2 M, which is {twice} s; a save
    takes {save} s.
the restart added to the time between failures
    | daly_interval(save, => -save + math.sqrt(2 * save * restart + 2 * save *
    {told}: you add the restart to the time between failures. A restart of {restart} s is lost at
    each failure, however often one saves, so it moves the best interval nowhere.
the restart in M
    | job_mtbf(gpu_hours, gpus)) => job_mtbf(gpu_hours, gpus) + restart)
    ! the restart added to the time between failures
the restart under the root
    | daly_interval(save, job_mtbf => restart + daly_interval(save + restart, job_mtbf
    {told}: you add the restart to the save. You pay for a save at every interval, for a restart at
    every failure: no interval makes that less.
a restart is no save
    | daly_interval(save, job_mtbf => daly_interval(save + restart, job_mtbf
    ! the restart under the root
the restart taken off
    | return daly_interval => return -restart + daly_interval
    {told}: you take the restart off the interval. It is lost at each failure, however often one
    saves: it does not belong in there.
without the 2
    | 2 * save * mtbf => save * mtbf
    {told}: under your root stands save · M. On average a failure costs half an interval, which
    makes it 2 · save · M.
x without the 2
    | save / (2 * mtbf) => save / mtbf
    {told}: your x is save/M; it is half that, save/(2 M).
x for its root
    | math.sqrt(x) / 3 => x / 3
    {told}: the first term in the bracket is √x/3; yours is x/3.
without the last term
    | + x / 9 =>
    {told}: in your bracket the last term, x/9, is not there, or is far smaller.
no limit
    | save >= 2 * mtbf => False
    {told}: a save takes {save} s, and 2 M is {twice} s. From there on the series says nothing any
    more, and the interval is M.
2 M at the limit
    | return mtbf => return 2 * mtbf
    {told}: where a save takes 2 M or longer, the interval is M, which is {mtbf} s, and not 2 M.
whole seconds between failures
    | gpu_hours / gpus => gpu_hours // gpus
    {told}: `//` cuts the mean time between failures to whole seconds. Divide by `/`.
x by the rules of Python
    | save / (2 * mtbf) => save / 2 * mtbf
    {told}: your x is save/2 times M: Python goes from left to right in `save / 2 * mtbf`. Write
    `save / (2 * mtbf)`.
the third under the root
    | math.sqrt(x) / 3 => math.sqrt(x / 3)
    {told}: your first term in the bracket is √(x/3). Take the root of x, and a third of that.
the bracket forgotten
    | (1 + math.sqrt(x) / 3 + x / 9) => 1 + math.sqrt(x) / 3 + x / 9
    {told}: you multiply √(2 · save · M) by 1 and add √x/3 and x/9, which are numbers without a
    unit. Put 1 + √x/3 + x/9 into brackets.
the bracket under the root
    | * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) => * mtbf * (1 + math.sqrt(x) / 3 + x / 9))
    {told}: your bracket stands under the root as well. The root is of 2 · save · M alone.
an answer in minutes
    | return daly_interval => return 1 / 60 * daly_interval
    {told}: that is in minutes. The interval is wanted in seconds, as the save is given.
rounded
    | daly_interval(save, job_mtbf(gpu_hours, gpus))
        => round(daly_interval(save, job_mtbf(gpu_hours, gpus)))
    ? s rounded to whole seconds
cut off
    | job_mtbf(gpu_hours, gpus)) => job_mtbf(gpu_hours, gpus)) // 1
    ? s cut off to whole seconds
"""

EXERCISE = Exercise(
    number="17.1",
    title="How often to save",
    size=Size(stars=2, minutes=10, points=2),
    function="checkpoint_interval",
    asks=(
        "the seconds of work between two saves, by Daly’s estimate √(2 · save · M) · (1 + √x/3 + "
        "x/9) − save with x = save/(2 M), and M where a save takes 2 M or longer; M is the mean "
        "time between failures of the whole job in seconds, of GPUs that fail every `gpu_hours` "
        "hours each."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(Mistake("whole seconds", whole_seconds),),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("17.1", WRONG, (reference, daly_interval, job_mtbf)),
    ranked=False,
)
