"""Exercise 17.1, how often to save: the interval between checkpoints of a job of many GPUs.

`checkpoint_interval(save, restart, gpu_hours, gpus) -> float`: Daly's estimate for the mean time
between failures of the job, in seconds of work. The claim: the seconds, to nine digits; whoever
finds the best interval itself, of which Daly's is an estimate, is right as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.failures.interval import best_interval
from helpers.algorithms.failures.interval import checkpoint_interval as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, number, told_apart
from helpers.exercises.drives import plain_call
from helpers.exercises.formula import compared, wrong_number
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

Setting = tuple[float, float, float, int]
Term = Callable[[float, float], float]  # of save and mtbf


def cases(seed: int) -> list[Case]:
    """Seed 0: a large job, one GPU, a job that hardly gets on, saves of 1.4 and 2.5 mtbf; else
    others of these kinds."""
    random = rng(seed, "17.1")
    settings: list[Setting] = [
        (60.0, 600.0, 50_000.0, 16_384),
        (30.0, 0.0, 50.0, 1),
        (300.0, 600.0, 25_000.0, 100_000),
        (500.0, 120.0, 20_000.0, 200_000),
        (900.0, 240.0, 20_000.0, 200_000),
    ]
    if seed:
        settings = []
        for share in (0.005, 0.03, 0.3, 1.4, 2.5):  # of mtbf that a save takes, about
            gpus, hours = int(random.integers(5_000, 90_000)), float(random.uniform(1e4, 8e4))
            save = share * float(random.uniform(0.8, 1.2)) * 3600 * hours / gpus
            restart = float(random.uniform(100, 1000))
            settings.append((round(save, 3), round(restart, 1), round(hours, 1), gpus))
    made = []
    for save, restart, hours, gpus in settings:
        mtbf = 3600 * hours / gpus
        name = (
            f"With saves of {save:g} s, restarts of {restart:g} s and {count(gpus, 'GPU')} that "
            f"{'fails' if gpus == 1 else 'fail'} every {hours:g} hours"
        )
        want = reference(save, restart, hours, gpus)
        facts = {"want": want, "best": best_interval(save, mtbf), "mtbf": mtbf}
        made.append(Case(name, ((save, restart, hours, gpus),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Daly's estimate to nine digits, or the best interval to six."""
    got, best = number(seen.values[0]), case.facts["best"]
    if got is not None and abs(got - best) <= 1e-6 * best:
        return None
    return wrong_number(case, seen, " s", " s")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    save, restart, hours, gpus = case.args[0]
    got, want = told_apart(number(seen.values[0]) or 0.0, case.facts["want"])
    mtbf = case.facts["mtbf"]
    return {
        **{"got": got, "want": want, "gpus": gpus, "hours": f"{hours:g}", "save": f"{save:g}"},
        **{"restart": f"{restart:g}", "mtbf": f"{mtbf:.5g}", "percent": f"{100 * save / mtbf:.3g}"},
        "twice": f"{2 * mtbf:.5g}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    minutes = float(number(seen[0].values[0]) or 0.0) / 60
    _, restart, _, gpus = cases[0].args[0]
    return (
        f"Passed: {gpus} GPUs fail every {cases[0].facts['mtbf'] / 3600:.1f} hours together, and "
        f"save after {minutes:.1f} minutes of work. The {restart:g} s of a restart change nothing "
        "in that."
    )


def _daly(
    mtbf: Callable[[float, int], float] = lambda hours, gpus: 3600 * hours / gpus,
    x: Term = lambda save, mtbf: save / (2 * mtbf),
    root: Term = lambda save, mtbf: math.sqrt(2 * save * mtbf),
    factor: Callable[[float], float] = lambda x: 1 + math.sqrt(x) / 3 + x / 9,
    less: Term = lambda save, mtbf: save,
    limit: float = 2.0,
    gives: Callable[[float], float] = lambda seconds: seconds,
) -> Callable[..., float]:
    """The reference with a part exchanged. limit: from how many mtbf a save gives mtbf."""

    def checkpoint_interval(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
        m = mtbf(gpu_hours, gpus)
        if save >= limit * m:
            return gives(m)
        return gives(root(save, m) * factor(x(save, m)) - less(save, m))

    return checkpoint_interval


def _restart_too(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    mtbf = 3600 * gpu_hours / gpus
    return math.sqrt(2 * save * (mtbf + restart)) - save


def _restart_as_save(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save + restart, restart, gpu_hours, gpus)


def _restart_off(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save, restart, gpu_hours, gpus) - restart


_young = _daly(factor=lambda x: 1, less=lambda save, mtbf: 0, limit=math.inf)
_young_less_save = _daly(factor=lambda x: 1, limit=math.inf)
_start_to_start = _daly(less=lambda save, mtbf: 0)
_hours = _daly(mtbf=lambda hours, gpus: hours / gpus)
_in_minutes = _daly(mtbf=lambda hours, gpus: 60 * hours / gpus)
_one_gpu = _daly(mtbf=lambda hours, gpus: 3600 * hours)
_times_gpus = _daly(mtbf=lambda hours, gpus: 3600 * hours * gpus)
_root_gpus = _daly(mtbf=lambda hours, gpus: 3600 * hours / math.sqrt(gpus))
_no_two = _daly(root=lambda save, mtbf: math.sqrt(save * mtbf))
_x_of_mtbf = _daly(x=lambda save, mtbf: save / mtbf)
_no_root_of_x = _daly(factor=lambda x: 1 + x / 3 + x / 9)
_two_terms = _daly(factor=lambda x: 1 + math.sqrt(x) / 3)
_no_limit = _daly(limit=math.inf)
_limit_at_mtbf = _daly(limit=1.0)
_gives_minutes = _daly(gives=lambda seconds: seconds / 60)


def _known(name: str, answer: Callable[..., float], what: str) -> WrongAnswer:
    return WrongAnswer(name, answer, f"you say {{got}} s instead of {{want}}: {what}")


EXERCISE = Exercise(
    number="17.1",
    title="How often to save",
    stars=2,
    minutes=10,
    points=2,
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
    praise=praise,
    reference=reference,
    wrong=(
        _known(
            "Young's approximation",
            _young,
            "that is Young’s first approximation, √(2 · save · M). A save takes {percent} % of the "
            "time between two failures here, so that the next terms count.",
        ),
        _known(
            "Young's approximation less a save",
            _young_less_save,
            "that is √(2 · save · M) − save, without the bracket 1 + √x/3 + x/9 that corrects it.",
        ),
        _known(
            "from the start of one save to the next",
            _start_to_start,
            "that is a save too long: it goes from the start of one save to the start of the next. "
            "Asked for is the work between them; take the {save} s off.",
        ),
        _known(
            "hours for seconds",
            _hours,
            "`gpu_hours` are hours and `save` is in seconds. Turn the hours into seconds before "
            "you multiply the two.",
        ),
        _known(
            "minutes for seconds",
            _in_minutes,
            "you turned hours into minutes. An hour has 3600 s, and `save` is in seconds.",
        ),
        _known(
            "one GPU's failures",
            _one_gpu,
            "that is for a job that stops when one certain GPU fails. It stops when any of {gpus} "
            "does: it fails {gpus} times as often, every {mtbf} s.",
        ),
        _known(
            "the more GPUs, the rarer",
            _times_gpus,
            "you multiply the time between failures by the number of GPUs. What adds up is the "
            "number of failures, so the time between them is divided.",
        ),
        _known(
            "by the root of the GPUs",
            _root_gpus,
            "you divide the time between failures by √GPUs. The failures of {gpus} GPUs add up, so "
            "it is divided by {gpus}; the root comes with the interval.",
        ),
        _known(
            "the limit too early",
            _limit_at_mtbf,
            "you answer M from save = M on. The series holds up to 2 M, which is {twice} s; a save "
            "takes {save} s.",
        ),
        _known(
            "the restart added to the time between failures",
            _restart_too,
            "you add the restart to the time between failures. A restart of {restart} s is lost at "
            "each failure, however often one saves, so it moves the best interval nowhere.",
        ),
        _known(
            "a restart is no save",
            _restart_as_save,
            "you add the restart to the save. You pay for a save at every interval, for a restart "
            "at every failure: no interval makes that less.",
        ),
        _known(
            "the restart taken off",
            _restart_off,
            "you take the restart off the interval. It is lost at each failure, however often one "
            "saves: it does not belong in there.",
        ),
        _known(
            "without the 2",
            _no_two,
            "under your root stands save · M. On average a failure costs half an interval, which "
            "makes it 2 · save · M.",
        ),
        _known(
            "x without the 2",
            _x_of_mtbf,
            "your x is save/M; it is half that, save/(2 M).",
        ),
        _known(
            "x for its root",
            _no_root_of_x,
            "the first term in the bracket is √x/3; yours is x/3.",
        ),
        _known(
            "without the last term",
            _two_terms,
            "your bracket ends with √x/3. There is one term more, x/9.",
        ),
        _known(
            "no limit",
            _no_limit,
            "a save takes {save} s, longer than 2 M, which is {twice} s. There the series says "
            "nothing any more, and the interval is M.",
        ),
        _known(
            "an answer in minutes",
            _gives_minutes,
            "that is in minutes. The interval is wanted in seconds, as the save is given.",
        ),
    ),
    ranked=False,
)
