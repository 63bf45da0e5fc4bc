"""The cases of exercise 09.3: times of short runs, exact or with errors, and the best fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.lesson_09 import calibrate_wrong as wrong
from helpers.exercises.spec import Case

NAMES = ("compute", "latency", "share")
_NOISE, SAME_FIT, EXACT, _ZERO = 0.02, 0.01, 1e-3, 1e-7
_ENDLESS = 1e6  # a share like this is one over what a search leaves of 0
_RUNS = [16, 1, 2, 4, 8, 1, 2, 4, 8, 16]


def cases(seed: int) -> list[Case]:
    """Seed 0: exact times of 3 runs and of 4, then times with errors, with and without α.

    In the last one bytes take no time, and the best fit would have 1 / share below 0.
    """
    random, made = rng(seed, "09.3"), []
    machines = [(0.06, 4e-3, 0.8)] * 3 + [(0.06, 0.0, 0.8), (0.3, 2e-3, 0.5)]
    runs = [[1, 2, 3], [1, 2, 4, 8], _RUNS, _RUNS, [2, 1, 3, 12, 6]]
    if seed:
        machines = [
            (random.uniform(0.03, 0.1), a * random.uniform(2e-3, 8e-3), random.uniform(0.3, 0.95))
            for a in (1, 1, 1, 0)
        ]
        runs = [[3, 1, 2, 8], [1, 2, 5, 6], _RUNS, _RUNS]
    machines.append((0.06, 4e-3, np.inf))
    runs.append(_RUNS)
    for place, (machine, workers) in enumerate(zip(machines, runs, strict=True)):
        nbytes, bandwidth = 1e6 * (1 + place % 2), 25e6
        noise = _NOISE if workers is _RUNS else 0.0
        setting = (workers, nbytes, bandwidth)
        seconds = _measured(random, machine, setting, noise)
        name = f"With {len(workers)} runs on 1 to {max(workers)} workers, "
        name += f"times off by {noise:.0%}" if noise else "exact times"
        name += " and α = 0" if not machine[1] else ""
        name += " and bytes that take no time" if machine[2] == np.inf else ""
        best = wrong.fitted(workers, seconds, nbytes, bandwidth)
        facts = {"noise": noise, "best": best, "machine": machine}
        made.append(Case(name, ((workers, seconds, nbytes, bandwidth),), facts=facts))
    return made


def _measured(random: Any, machine: Any, setting: Any, noise: float) -> list[float]:
    """A machine's times with errors of one size; such that it matters how they are fitted."""
    exact = wrong.model(*setting) @ [machine[0], machine[1], 1 / machine[2]]
    for _ in range(5000 if noise else 0):
        seconds = [float(t) for t in exact * (1 + noise * random.choice([-1.0, 1.0], len(exact)))]
        given = (setting[0], seconds, *setting[1:])
        best = wrong.fitted(*given)
        bare = not best[1] or best[2] == np.inf
        others = (wrong.clipped,) if bare else (wrong.absolute, wrong.by_the_root)
        # Of times from a machine without α those where the fit would make it negative.
        alike = bool(best[1]) == bool(machine[1]) and (best[2] == np.inf) == (machine[2] == np.inf)
        if alike and all(differ(other(*given), best, 2 * SAME_FIT) for other in others):
            return seconds
    return [float(t) for t in exact]


def differ(got: Sequence[float], best: Sequence[float], by: float) -> list[list[Any]]:
    """The numbers that are wrong: their names and what they are."""
    return [
        [name, mine]
        for name, mine, want in zip(NAMES, got, best, strict=True)
        if not (mine > _ENDLESS if want == np.inf else abs(mine - want) <= (by * want or _ZERO))
    ]
