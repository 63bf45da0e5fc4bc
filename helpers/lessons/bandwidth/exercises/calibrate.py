"""Exercise 09.3, what short runs say of a machine: compute time, latency, share of the bandwidth.

The claim: with times that are off by a few per cent all three come out as least squares of the
relative errors gives them, and none below zero: where α or 1 / share would be, it is 0, and the
other two are fitted without it. Errors of logarithms, or relative to the fit, give other
numbers where the errors are large. The file is long for its 32 wrong fits, and for the times that
tell them from the best.
"""

from collections.abc import Iterator, Sequence
from math import isinf
from typing import Any

import numpy as np

from helpers.checks.compare import describe, numbers_in, short
from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.bandwidth.algorithms.scaling import _least_squares_above_zero, fit_steps

_UNITS = {"compute": " s", "latency": " s", "share": ""}
_NOISE, _LARGE, _SAME_FIT, _EXACT, _ZERO = 0.02, 0.2, 0.01, 1e-3, 1e-7
_ENDLESS = 1e6  # a share like this is one over what a search leaves of 0
# Not each number as often as another; and 12 and 16 take nearly as long.
_RUNS = [16, 1, 2, 4, 12, 1, 4, 2, 12, 16, 1, 16, 1]


def cases(seed: int) -> list[Case]:
    """Seed 0: exact times of 3 runs and of 4, then times with errors, with and without α.

    In one bytes take no time, so that the best fit would have 1 / share below 0, in the last one
    neither do messages: computing alone is the best fit, in whatever order one comes to it.
    """
    random, made = rng(seed, "09.3"), []
    machines = [(0.06, 4e-3, 0.8)] * 3 + [(0.06, 0.0, 0.8), (0.3, 2e-3, 0.5)]
    runs = [[1, 2, 3], [4, 1, 3, 8], _RUNS, _RUNS, [2, 1, 3, 12, 6]]
    if seed:
        machines = [
            (random.uniform(0.03, 0.1), a * random.uniform(2e-3, 8e-3), random.uniform(0.3, 0.95))
            for a in (1, 1, 1, 0)
        ]
        runs = [[3, 1, 2, 8], [1, 3, 5, 6], _RUNS, _RUNS]
    machines += [(0.06, 4e-3, np.inf), machines[2], (0.06, 0.0, np.inf)]
    runs += [_RUNS] * 3
    for place, (machine, workers) in enumerate(zip(machines, runs, strict=True)):
        nbytes, bandwidth = 1e6 * (1 + place % 2), 25e6
        noise = (_LARGE if place == len(runs) - 2 else _NOISE) if workers is _RUNS else 0.0
        seconds = _measured(random, machine, (workers, nbytes, bandwidth), noise)
        name = f"With {len(workers)} runs on 1 to {max(workers)} workers, "
        name += f"times off by {noise:.0%}" if noise else "exact times"
        name += " and α = 0" if not machine[1] else ""
        name += " and bytes that take no time" if machine[2] == np.inf else ""
        given = (workers, seconds, nbytes, bandwidth)
        facts = {"noise": noise, "best": reference(*given), "machine": machine}
        made.append(Case(name, (given,), facts=facts))
    return made


def _columns(workers: Sequence[int], nbytes: float, bandwidth: float) -> np.ndarray:
    """A row a run: what compute, latency and 1 / share are multiplied by."""
    n = np.asarray(workers, float)
    return np.stack([n**0, 2 * (n - 1), 2 * (n - 1) * nbytes / n / bandwidth], axis=1)


def _free(given: Any, chosen: Sequence[int] = (0, 1, 2)) -> list[float]:
    """The best fit of some of the three, in which they may be below zero; 0 for the others."""
    (workers, seconds, nbytes, bandwidth), found = given, np.zeros(3)
    relative = (_columns(workers, nbytes, bandwidth) / np.array(seconds)[:, None])[:, chosen]
    found[list(chosen)] = np.linalg.lstsq(relative, np.ones(len(seconds)), rcond=None)[0]
    return [float(each) for each in found]


def _measured(random: Any, machine: Any, setting: Any, noise: float) -> list[float]:
    """A machine's times with errors of one size; such that it matters how they are fitted."""
    exact = _columns(*setting) @ [machine[0], machine[1], 1 / machine[2]]
    known = {answer.name: answer.function for answer in EXERCISE.wrong}
    nothing = not machine[1] and machine[2] == np.inf  # but computing
    names = ["absolute errors", "relative to the root of the time"]
    if noise == _LARGE:
        names = ["relative to the fit", "averages of each number", "sorted apart"]
    elif not machine[1] or machine[2] == np.inf:
        names = ["set to zero afterwards"]
    apart = (4 if noise == _LARGE else 1.5) * _SAME_FIT
    for _ in range(5000 if noise else 0):
        seconds = [float(t) for t in exact * (1 + noise * random.choice([-1.0, 1.0], len(exact)))]
        runs = list(zip(setting[0], seconds, strict=True))
        given = (setting[0], seconds, *setting[1:])
        if dict(runs) == dict(sorted(runs, reverse=True)):  # the last of each, and the quickest
            continue
        best = reference(*given)
        # Of times from a machine without α those where the fit would make it negative.
        alike = bool(best[1]) == bool(machine[1]) and (best[2] == np.inf) == (machine[2] == np.inf)
        # Whichever column is left out first, the other goes as well.
        if nothing and any(_free(given, two)[two[1]] >= 0 for two in ([0, 1], [0, 2])):
            continue
        if alike and all(differ(known[name](*given), best, apart) for name in names):
            return seconds
    return [float(t) for t in exact]


def differ(got: Sequence[float], best: Sequence[float], by: float) -> list[list[Any]]:
    """The numbers that are wrong: their names and what they are."""
    return [
        [name, mine]
        for name, mine, want in zip(_UNITS, got, best, strict=True)
        if not (mine > _ENDLESS if want == np.inf else abs(mine - want) <= (by * want or _ZERO))
    ]


def compared(case: Case, seen: Observation) -> list[list[Any]]:
    """The numbers that are wrong."""
    by = _SAME_FIT if case.facts["noise"] else _EXACT
    return differ(numbers_in(seen.values[0], 3) or (), case.facts["best"], by)


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """All three as the best fit has them, or within 0.1% where the times are exact."""
    if numbers_in(seen.values[0], 3) is None:
        gave = describe(seen.values[0])
        yield f"Return three numbers, (compute, latency, share); yours gave {gave}."
    best = dict(zip(_UNITS, case.facts["best"], strict=True))
    for name, got in compared(case, seen):
        unit = _UNITS[name]
        yield f"your {name} is {short(got)}{unit} instead of {short(best[name])}{unit}."


def below_zero(case: Case, seen: Observation) -> Iterator[str]:
    """The best fit of all three, or of two, with one of them below zero."""
    triple, noise = numbers_in(seen.values[0], 3) or (), case.facts["noise"]
    fits = [_free(case.args[0], chosen) for chosen in ([0, 1, 2], [0, 1], [0, 2])]
    fits = [[c, latency, 1 / slow if slow else np.inf] for c, latency, slow in fits]
    if not (noise and triple and any(np.allclose(triple, fit, 1e-6) for fit in fits)):
        return
    for name, value in zip(_UNITS, triple, strict=False):
        if value < 0 and name == "share":
            yield (
                f"your share is {short(value)}, one over a 1 / share below zero: that is noise. "
                "Any of the three may come out so: fit the others again without its column; where "
                "that is 1 / share, the share is `float('inf')`."
            )
        elif value < 0:
            yield (
                f"your {name} is {short(value)}{_UNITS[name]}, and nothing takes less than no "
                "time: that is noise. Where a coefficient comes out below zero, let it be 0 and "
                "fit the others again without its column; `scipy.optimize.nnls` does both."
            )


def first_run(case: Case, seen: Observation) -> Iterator[str]:
    """The first run's time for compute, which is on several workers."""
    triple, (workers, seconds, *_) = numbers_in(seen.values[0], 3), case.args[0]
    if triple and workers[0] > 1 and abs(triple[0] / seconds[0] - 1) < 1e-9:
        yield (
            f"your compute is {short(seconds[0])} s, the first run's time, and that is on "
            f"{workers[0]} workers: runs come in any order. Fit all three numbers to all runs."
        )


def no_latency(case: Case, seen: Observation) -> str | None:
    """No latency, where there is one."""
    triple, best = numbers_in(seen.values[0], 3), case.facts["best"]
    if not triple or triple[1] or not best[1]:
        return None
    return (
        f"your latency is 0, and the times say {short(best[1])} s: each of the ring's 2(N − 1) "
        "messages takes α beside its bytes. Fit three numbers, α with the column 2(N − 1)."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The three that were given, those that are right, and what the hints name."""
    (workers, seconds, _, bandwidth), best = case.args[0], case.facts["best"]
    got = numbers_in([*seen.values, None][0], 3) or (0.0, 0.0, 0.0)
    alone = [t for n, t in zip(workers, seconds, strict=True) if n == 1]
    last, endless = max(workers), isinf(best[2])
    runs = list(zip(workers, seconds, strict=True))
    alike = dict(runs[::-1]) == dict(sorted(runs, reverse=True))  # the first and the quickest
    longest = max(t for n, t in zip(workers, seconds, strict=True) if n == last)
    return {
        **{name: short(value) for name, value in zip(_UNITS, got, strict=True)},
        **{f"best_{name}": short(value) for name, value in zip(_UNITS, best, strict=True)},
        **{"alone": short(alone[0]), "longest": f"{longest / min(alone):.2g}", "last": last},
        **{"runs": len(workers), "bandwidth": f"{bandwidth / 1e6:.3g}"},
        "first": ", which is also the first one" if alike else "",
        "zero": "1 / share" if endless else "the latency",
        "unsigned": f"share is {short(got[2])}" if endless else f"latency is {short(got[1])} s",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = next(i for i, case in enumerate(cases) if case.facts["noise"])
    compute, latency, share = numbers_in(seen[at].values[0], 3) or (0, 0, 0)
    right = cases[at].facts
    c, alpha, part = right["machine"]
    return (
        f"Passed; from times that are off by {right['noise']:.0%} you found {compute * 1e3:.3g} ms "
        f"({c * 1e3:.3g} is right), α = {latency * 1e3:.2g} ms ({alpha * 1e3:.2g} is right) and "
        f"{share:.0%} of the bandwidth ({part:.0%} is right)."
    )


def reference(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> tuple[float, ...]:
    """The course's own."""
    return tuple(fit_steps(workers, seconds, nbytes, bandwidth))


WRONG = """
one over 0
    | if slowness else np.inf =>
    one over 0 fails: the best fit has a 1 / share of 0, for the bytes take no time that could be
    measured. Then the share is `float('inf')`.
no share
    | else np.inf => else 0.0
    your share is 0. What the best fit has at 0 is 1 / share: the bytes take no time that could be
    measured, and the share is `float('inf')`.
no share and no second fit
    | (found >= 0).all() => (found >= 0)[np.equal(which, 1)].all()
    | if slowness else np.inf => if slowness > 0 else 0.0
    your share is 0, where the fit's 1 / share came out below zero, and the other two are as they
    were fitted beside it. Leave its column out and fit them again; then the share is
    `float('inf')`, whatever bandwidth the links are sold with.
the slowness for the share
    | 1 / slowness if slowness else np.inf => slowness
    your share is {share}, which is one over it: the fit's third coefficient stands for 1 / share,
    since the share is below the line. Return one over the coefficient.
bytes a second for the share
    | 1 / slowness => bandwidth / slowness
    your share is {share}: that is a bandwidth in bytes a second. Divide it by the raw one,
    {bandwidth} MB/s.
seconds a byte for the share
    | 1 / slowness if slowness else np.inf => slowness / bandwidth
    your share is {share}, which is in seconds a byte. One over it is the bandwidth that gets
    through; divide that by the raw one, {bandwidth} MB/s.
latency first
    | StepFit(compute, latency => StepFit(latency, compute
    compute and latency are swapped: return (compute, latency, share).
share second
    | latency, 1 / slowness if slowness else np.inf) => *(1 / slowness, latency))
    latency and share are swapped: return (compute, latency, share).
α of the whole ring
    | np.ones_like(n), steps => np.ones_like(n), 1.0 * (n > 1)
    | (found >= 0).all() and error < least - 1e-15 => True
    your model takes the latency once, however many workers there are. A ring of N sends 2(N − 1)
    messages one after the other, so its column is 2(N − 1).
one half of the ring
    | 2 * (n - 1) => n - 1
    your model has N − 1 steps, half of the ring's 2(N − 1): so each looks twice as long, {latency}
    s of latency in place of {best_latency}.
whole tensors in each step
    | nbytes / n => nbytes
    | (found >= 0).all() and error < least - 1e-15 => True
    in your model each message holds all bytes; in a ring it holds nbytes / N. As it is, the columns
    of latency and bytes are the same but for a factor, and no fit can tell them apart.
the chunk of one message
    | steps * nbytes => (n > 1) * nbytes
    in your model the bytes of one step are sent, nbytes / N. A ring of N has 2(N − 1) steps: the
    column is 2(N − 1)/N · nbytes / bandwidth.
bytes as bits
    | steps * nbytes => 8 * steps * nbytes
    your share is {share}, 8 times {best_share}: bytes and bandwidth are both in bytes here, so
    nothing is multiplied by 8.
the first three runs
    | s, float) *=> s, float)[:3]
    your fit goes through the first three runs exactly, and takes over their errors. Use all {runs}:
    there are more equations than unknowns, and least squares weighs them.
the run of one worker for compute
    | weighted = columns => compute = seconds[list(workers).index(1)]; weighted = columns[:, 1:]
    | np.ones_like(t) => 1 - compute / t
    | compute, latency, slowness = => latency, slowness =
    your compute is {alone} s, the first run of one worker as it is, with its error. Fit all three
    numbers to all {runs} runs.
absolute errors
    | columns / t[:, None] => columns
    | np.ones_like(t) => t
    your errors count in seconds, so the runs on {last} workers, {longest} times as long as one
    alone, outweigh the others. Make the relative errors small: divide each equation by its time.
relative to the root of the time
    | t[:, None] => t[:, None] ** 0.5
    | np.ones_like(t) => t**0.5
    each error counts relative to the square root of its time: divide it by the time itself before
    you square it. A weight of 1/t on the square is not enough.
set to zero afterwards
    | (found >= 0).all() and error < least - 1e-15 => True
    | float(value) => max(float(value), 0.0)
    you fit all three and then set {zero} to 0. The others were fitted beside one below zero: fit
    them again without its column, as `scipy.optimize.nnls` does.
the sign dropped
    | (found >= 0).all() and error < least - 1e-15 => True
    | float(value) => abs(float(value))
    your {unsigned}: the fit gave as much below zero, and the sign is gone. Let it be 0 and fit the
    others again without its column, as `scipy.optimize.nnls` does.
only the left side divided
    | np.ones_like(t) => t
    | (found >= 0).all() and error < least - 1e-15 => True
    you divide the columns by the times and not what they should add up to: where both sides of an
    equation are divided by its time, 1 stands on the right.
the first and the last run
    | s, float) *=> s, float)[[0, -1]]
    | 1 not in n or len(np.unique(n)) < 3 => False
    | (found >= 0).all() and error < least - 1e-15 => True
    you fit three numbers to two runs, the first and the last: many sets of three fit these. Use all
    {runs}.
the quickest run of each
    | n, t = => runs = dict(sorted(zip(workers, seconds), reverse=True)); n, t =
    | workers, float) => list(runs), float)
    | seconds, float) => list(runs.values()), float)
    you keep the quickest run of each number of workers{first}. The errors go both ways here, so
    that makes every time too short: fit all {runs} runs.
the latency of a whole exchange
    | StepFit(compute, latency => StepFit(compute, 2 * (max(workers) - 1) * latency
    your latency is {latency} s, that of all messages of an exchange among {last} workers. One of
    them was asked for: what stands with the column 2(N − 1).
latency in milliseconds
    | StepFit(compute, latency => StepFit(compute, 1000 * latency
    your latency is {latency}, which is in ms: give it in seconds.
share in per cent
    | 1 / slowness => 100 / slowness
    your share is {share}, which is in per cent: give it as a part of 1.
the last run of each
    | n, t = => runs = dict(zip(workers, seconds)); n, t =
    | workers, float) => list(runs), float)
    | seconds, float) => list(runs.values()), float)
    of runs on the same number of workers you use the last alone: a dictionary keeps one time for
    each number. Every run is an equation: fit all {runs}.
averages of each number
    | n, t = => runs = {k: np.mean([s for m, s in zip(workers, seconds) if m == k]) for k in
        workers}; n, t =
    | workers, float) => list(runs), float)
    | seconds, float) => list(runs.values()), float)
    you average the runs on each number of workers first, so that a number that was run once counts
    as much as one that was run often. Every run is an equation: fit all {runs}.
sorted apart
    | workers, float) => sorted(workers), float)
    | seconds, float) => sorted(seconds), float)
    you sort workers and seconds, each by itself: with errors a run on more workers may take less
    time, and then a time belongs to another run. Keep each run's two numbers together.
relative to the fit
    | weighted, np.ones_like(t))
        => weighted, np.ones_like(t)); fit = columns @ [compute, latency, slowness];
        compute, latency, slowness = _least_squares_above_zero(columns / fit[:, None], t / fit)
    your errors are relative to the times that a fit says. Each equation is divided by the time that
    was measured: where errors are as large as here, that makes other numbers.
the first run for compute
    | weighted = columns => compute = seconds[0]; weighted = columns[:, 1:]
    | np.ones_like(t)) => 1 - compute / t)
    | compute, latency, slowness = => latency, slowness =
    ? runs come in any order
below zero
    | (found >= 0).all() and error < least - 1e-15 => True
    ? nothing takes less than no time
only α at 0
    | (found >= 0).all() => (found >= 0)[np.equal(which, 1)].all()
    ? one over a 1 / share below zero
no latency
    | columns / => columns[:, [0, 2]] /
    | compute, latency, slowness = => latency, (compute, slowness) = 0.0,
    | (found >= 0).all() and error < least - 1e-15 => True
    ? α with the column 2(N − 1)
"""

EXERCISE = Exercise(
    number="09.3",
    title="Calibrate",
    size=Size(stars=2, minutes=15, points=3),
    function="fit_steps",
    asks=(
        "(compute, latency, share) for which compute + 2(N − 1) · latency + 2(N − 1)/N · nbytes / "
        "(share · bandwidth) comes nearest to the measured seconds of all runs, by least squares "
        "of errors that are relative to their time; none of these three, compute, latency and "
        "1 / share, is below zero: where one would be, it is 0, "
        "and the others are fitted without it. Where 1 / share is 0, the share is `float('inf')`."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("the first run's time for compute", first_run),
        Mistake("below zero", below_zero),
        Mistake("no latency", no_latency),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("09.3", WRONG, (reference, fit_steps, _least_squares_above_zero)),
    ranked=False,
)
