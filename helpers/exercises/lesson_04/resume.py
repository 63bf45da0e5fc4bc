"""Exercise 04.5, going on from a checkpoint.

`resume(hvd, model, optimizer, load) -> int` to write. Rank 0 alone has the file. The claim: rank 0
loads it once, no other rank tries to, and afterwards every rank holds its weights, its optimizer's
momenta and learning rate, and knows the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import all_close, close, count, describe, number, worlds
from helpers.exercises.drives_frameworks_runs import on_resume
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.lesson_04 import resume_wrong as wrong
from helpers.exercises.lesson_04.prepare import not_all_come, own_root
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LAYERS = (4, 6, 2)
_NEAR = 1e-9  # of what is known by two steps of the optimizer


def cases(seed: int) -> list[Case]:
    """Seed 0: step 120 on 3, 1, 2 and 5 ranks; else other steps, rates and weights."""
    random, made = rng(seed, "04.5"), []
    for n in WORLDS:
        starts = [replicas.random_weights(random, _LAYERS) for _ in range(n)]
        saved = {
            "weights": replicas.random_weights(random, _LAYERS),
            "momenta": replicas.random_weights(random, _LAYERS),
            "rate": round(float(random.uniform(0.01, 0.09)), 4),
            "step": int(random.integers(100, 5000)) if seed else 120,
        }
        rates = [0.2 + 0.1 * r for r in range(n)]
        args = tuple((starts[r], rates[r], saved if r == 0 else None) for r in range(n))
        facts = {**saved, "starts": starts, "rates": rates}
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """All of the checkpoint on every rank, read once."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        if not all_close(value["weights"], facts["weights"], 0.0):
            return f"{case.name}, rank {rank} does not hold the checkpoint's weights."
        if not all_close(value["momenta"], facts["momenta"], _NEAR):
            return f"{case.name}, rank {rank} does not hold the checkpoint's momenta."
        if not _has_rate(value, facts):
            return f"{case.name}, rank {rank} does not hold the checkpoint's learning rate."
        if number(value["step"]) != facts["step"]:
            said = f"returned {describe(value['step'])}, and the checkpoint is of step"
            return f"{case.name}, rank {rank} {said} {facts['step']}."
        if value["loads"] != (rank == 0):
            return f"{case.name}, rank {rank} called `load` {count(value['loads'], 'time')}."
    return None


def _has_rate(value: Any, facts: Any) -> bool:
    return close(np.array(value["rates"]), np.array([facts["rate"]]), _NEAR)


def _all_load(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or seen.kind != "FileNotFoundError":
        return None
    if seen.rank and seen.rank % 2 == 0:  # the first of another machine; with all, rank 1 fails
        return (
            f"{case.name}, two to a machine, rank {seen.rank} called `load` too: "
            "`hvd.local_rank()` is the number on its own machine, and each machine has a 0. Ask "
            "`hvd.rank()`."
        )
    return (
        f"{case.name}, rank {seen.rank} called `load`, and the file is on rank 0's disk alone: "
        "load under `if hvd.rank() == 0:`, then send."
    )


def _loads(case: Case, seen: Observation) -> str | None:
    loads = [v["loads"] for v in seen.values]
    if loads[0] == 0:
        return f"{case.name}, `load` was not called: rank 0 calls it, once."
    if loads[0] > 1 or any(loads[1:]):
        return (
            f"{case.name}, `load` was called {count(sum(loads), 'time')}: once on rank 0 is "
            "enough. Keep what it gives."
        )
    return None


def _weights(case: Case, seen: Observation) -> str | None:
    facts = case.facts
    for rank, value in enumerate(seen.values):
        if all_close(value["weights"], facts["weights"], 0.0):
            continue
        if rank == 0 and all_close(value["weights"], facts["starts"][0], 0.0):
            return (
                f"{case.name}, rank 0 still has its random weights: put what `load` gives into the "
                "model, `model.load_state_dict`."
            )
        if rank and all_close(value["weights"], facts["starts"][rank], 0.0):
            return (
                f"{case.name}, the initial broadcast is missing: rank 0 has the checkpoint's "
                f"weights and rank {rank} its random ones."
            )
        if rank and all_close(value["weights"], facts["starts"][0], 0.0):
            return (
                f"{case.name}, rank {rank} has the weights that rank 0 had before it loaded: first "
                "load, then send."
            )
        if all_close(value["weights"], facts["starts"][-1], 0.0):
            return (
                f"{case.name}, rank {rank} has the weights of rank {case.ranks - 1}: the rank that "
                "loaded is the root, root_rank=0."
            )
    return None


def _state(case: Case, seen: Observation) -> str | None:
    facts = case.facts
    for rank, value in enumerate(seen.values):
        has = all_close(value["momenta"], facts["momenta"], _NEAR)
        if has and _has_rate(value, facts):
            continue
        if rank == 0:
            return (
                f"{case.name}, rank 0's optimizer does not hold what was saved: "
                "`optimizer.load_state_dict`."
            )
        what = "momenta" if not has else "learning rate"
        return (
            f"{case.name}, the optimizer's state was not sent: rank {rank} has not the "
            f"checkpoint's {what}. The weights alone are half a checkpoint: "
            "`hvd.broadcast_optimizer_state`."
        )
    return None


def _step(case: Case, seen: Observation) -> str | None:
    steps = [number(v["step"]) for v in seen.values]
    if steps[0] is None:
        return f"{case.name}, `resume` gave {describe(seen.values[0]['step'])}: return the step."
    mean = case.facts["step"] / case.ranks
    if case.ranks > 1 and all(s is not None and mean - 1 < s <= mean for s in steps):
        return (
            f"{case.name}, the step was averaged: {steps[0]:.0f} is {case.facts['step']} / "
            f"{case.ranks}, and the other ranks' 0 are no steps. Send rank 0's with "
            "`hvd.broadcast_object`."
        )
    if steps[0] == case.facts["step"] and case.ranks > 1 and steps[1] != steps[0]:
        other = describe(seen.values[1]["step"])
        return (
            f"{case.name}, rank 0 goes on at step {steps[0]:.0f} and rank 1 at {other}: their "
            "learning rates and their rows would differ. Return what "
            "`hvd.broadcast_object` gives for the step: it changes nothing in place."
        )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: one rank read the file, and all hold its weights, momenta, "
        f"learning rate and step {cases[0].facts['step']}."
    )


EXERCISE = Exercise(
    number="04.5",
    title="Go on from a checkpoint",
    stars=2,
    minutes=12,
    points=3,
    function="resume",
    asks=(
        "rank 0 alone calls `load`; then every rank gets the parameters, the optimizer's state and "
        "the step, which is returned."
    ),
    cases=cases,
    drive=on_resume,
    framework="tensorflow",  # its ranks have loaded what optimizers need
    claim=claim,
    mistakes=(
        Mistake("every rank loads", _all_load, unfinished=True),
        Mistake("root is each rank's own", own_root, unfinished=True),
        Mistake("not every rank takes part", not_all_come, unfinished=True),
        Mistake("loads", _loads),
        Mistake("weights", _weights),
        Mistake("optimizer's state", _state),
        Mistake("step", _step),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("a 0 on each machine", wrong.local_ranks, hint="each machine has a 0"),
        WrongAnswer("every rank loads", wrong.all_load, hint="on rank 0's disk alone"),
        WrongAnswer("no broadcast", wrong.no_broadcast, hint="initial broadcast is missing"),
        WrongAnswer("sends before it loads", wrong.sends_first, hint="first load, then send"),
        WrongAnswer("no optimizer state", wrong.no_state, hint="half a checkpoint"),
        WrongAnswer("optimizer not loaded", wrong.not_loaded, hint="does not hold what was saved"),
        WrongAnswer("step not sent", wrong.no_step, hint="it changes nothing in place"),
        WrongAnswer("averages the step", wrong.averaged, hint="the step was averaged"),
        WrongAnswer("loads three times", wrong.loads_often, hint="once on rank 0 is enough"),
        WrongAnswer("last rank is the root", wrong.last_root, hint="root_rank=0"),
        WrongAnswer(
            "sends on rank 0 alone", wrong.rank_0_alone, hint="also by those that only receive"
        ),
        WrongAnswer("returns nothing", wrong.no_value, hint="return the step"),
    ),
)
