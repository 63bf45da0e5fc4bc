"""Exercise 04.5, going on from a checkpoint.

The claim: rank 0 loads it once, no other rank tries to, and afterwards every rank holds its weights
and buffer, its optimizer's momenta and learning rate, and knows the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from helpers.algorithms.devices.framework_steps import resume as reference
from helpers.exercises.common import WORLDS, random_weights, rng
from helpers.exercises.compare import all_close, close, count, describe, number, worlds
from helpers.exercises.drives_frameworks_runs import on_resume
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LAYERS = (4, 6, 2)
_NEAR = 1e-9  # of what is known by two steps of the optimizer


def cases(seed: int) -> list[Case]:
    """Seed 0: step 120 on 3, 1, 2 and 5 ranks; else other steps, rates and weights."""
    random, made = rng(seed, "04.5"), []
    for n in WORLDS:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        saved = {
            "weights": random_weights(random, _LAYERS),
            "buffer": random.standard_normal(5),
            "momenta": random_weights(random, _LAYERS),
            "rate": round(float(random.uniform(0.01, 0.09)), 4),
            "step": int(random.integers(100, 5000)) if seed else 120,
        }
        rates = [0.2 + 0.1 * r for r in range(n)]
        buffers = random.standard_normal((n, 5))
        args = tuple((starts[r], buffers[r], rates[r], None if r else saved) for r in range(n))
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=saved))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """All of the checkpoint on every rank, read once."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        if not all_close(value["weights"], facts["weights"], 0.0):
            return f"{case.name}, rank {rank} does not hold the checkpoint's weights."
        if not close(value["buffer"], facts["buffer"], 0.0):
            return f"{case.name}, rank {rank}'s model does not hold the checkpoint's buffer."
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


def _has_state(value: Any, facts: Any) -> bool:
    return all_close(value["momenta"], facts["momenta"], _NEAR) and _has_rate(value, facts)


def compared(case: Case, seen: Observation) -> Any:
    """The first of these that is wrong: how often it was loaded, weights, state, step."""
    facts, values = case.facts, seen.values
    loads = [value["loads"] for value in values]
    if loads != [1] + [0] * (case.ranks - 1):
        return "loads too often" if loads[0] else "never loads"
    if not all(all_close(value["weights"], facts["weights"], 0.0) for value in values):
        return [value["weights"] for value in values]
    if not all(close(value["buffer"], facts["buffer"], 0.0) for value in values):
        return "a buffer"
    state = [_has_state(value, facts) for value in values]
    steps = [number(value["step"]) for value in values]
    if not all(state) or steps[0] is None:
        return state if not all(state) else "no step"
    if steps[0] == facts["step"]:
        return "step on rank 0 alone" if set(steps) != {facts["step"]} else "right"
    return [None if step is None else int(step) for step in steps]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name; where it failed, the rank."""
    facts, values, last = case.facts, seen.values, case.ranks - 1
    told: dict[str, Any] = {"failed": seen.rank, "n": case.ranks, "last": last}
    if seen.trouble:
        return told
    ranks = range(case.ranks)
    weights = [r for r in ranks if not all_close(values[r]["weights"], facts["weights"], 0.0)]
    state = [r for r in ranks if not _has_state(values[r], facts)]
    lacks = values[state[0]] if state else values[0]
    has_momenta = all_close(lacks["momenta"], facts["momenta"], _NEAR)
    step = number(values[0]["step"])
    return told | {
        "loads": count(sum(value["loads"] for value in values), "time"),
        "rank": [*weights, *state, None][0],
        "what": "learning rate" if has_momenta else "momenta",
        "saved": facts["step"],
        "step": describe(values[0]["step"]) if step is None else f"{step:.0f}",
        "step_1": describe(values[min(1, last)]["step"]),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: one rank read the file, and all hold its weights, momenta, "
        f"learning rate and step {cases[0].facts['step']}."
    )


def _changed(
    loads: Callable[[Any], bool] = lambda hvd: hvd.rank() == 0,
    times: int = 1,
    model_from: Callable[[Any], Any] = lambda saved: saved["model"],
    state_from: Callable[[Any], Any] = lambda saved: saved["optimizer"],
    late: bool = False,
    sends: Callable[[Any], bool] = lambda hvd: True,
    model_to: Callable[[Any], Any] = lambda model: model.state_dict(),
    state_to: Callable[[Any], Any] = lambda optimizer: optimizer,
    root: Callable[[Any], int] = lambda hvd: 0,
    step_of: Callable[[Any, int], Any] = lambda hvd, step: hvd.broadcast_object(step, root_rank=0),
) -> Callable[..., Any]:
    """The reference with one thing changed; what is sent into copies is not taken. loads, sends:
    whether a rank does so. times: how often. model_from, state_from: what is taken of the
    checkpoint, None for nothing. late: it loads when all is sent."""

    def resume(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
        def send() -> None:
            hvd.broadcast_parameters(model_to(model), root_rank=root(hvd))
            hvd.broadcast_optimizer_state(state_to(optimizer), root_rank=root(hvd))

        step = 0
        if late:
            send()
        if loads(hvd):
            saved = [load() for _ in range(times)][-1]
            model.load_state_dict(model_from(saved) or model.state_dict())
            optimizer.load_state_dict(state_from(saved) or optimizer.state_dict())
            step = saved["step"]
        if sends(hvd) and not late:
            send()
        return step_of(hvd, step)

    return resume


def _average(hvd: Any, step: int) -> int:
    """What the mean with the other ranks' 0 comes to, with no message more than the right one."""
    return int(hvd.broadcast_object(step, root_rank=0)) // int(hvd.size())


def _own(hvd: Any, step: int) -> int:
    hvd.broadcast_object(step, root_rank=0)
    return step


_all_load = _changed(lambda hvd: True)
_local_ranks = _changed(lambda hvd: hvd.local_rank() == 0)
_never_loads = _changed(lambda hvd: False)
_loads_often = _changed(times=3)
_model_not_loaded = _changed(model_from=lambda saved: None)
_not_loaded = _changed(state_from=lambda saved: None)
_sends_first = _changed(late=True)
_no_broadcast = _changed(model_to=lambda model: deepcopy(model.state_dict()), state_to=deepcopy)
_parameters_alone = _changed(model_to=lambda model: dict(model.named_parameters()))
_no_state = _changed(state_to=deepcopy)
_last_root = _changed(root=lambda hvd: hvd.size() - 1)
_own_root = _changed(root=lambda hvd: hvd.rank())
_rank_0_alone = _changed(sends=lambda hvd: hvd.rank() == 0)
_no_step = _changed(step_of=_own)
_averaged = _changed(step_of=_average)
_no_value = _changed(step_of=lambda hvd, step: None)


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
        Mistake("root is each rank's own", replicas.own_root, unfinished=True),
        Mistake("not every rank takes part", replicas.not_all_come, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "a 0 on each machine",
            _local_ranks,
            "two to a machine, rank {failed} called `load` too: `hvd.local_rank()` is the number "
            "on its own machine, and each machine has a 0. Ask `hvd.rank()`.",
        ),
        WrongAnswer(
            "every rank loads",
            _all_load,
            "rank {failed} called `load`, and the file is on rank 0's disk alone: load under "
            "`if hvd.rank() == 0:`, then send.",
        ),
        WrongAnswer("never loads", _never_loads, "`load` was not called: rank 0 calls it, once."),
        WrongAnswer(
            "loads often", _loads_often, "`load` was called {loads}: once on rank 0 is enough."
        ),
        WrongAnswer(
            "model not loaded",
            _model_not_loaded,
            "rank 0 still has its random weights: put what `load` gives into the model, "
            "`model.load_state_dict`.",
        ),
        WrongAnswer(
            "no broadcast",
            _no_broadcast,
            "the initial broadcast is missing: rank 0 has the checkpoint's weights and rank {rank} "
            "its random ones.",
        ),
        WrongAnswer(
            "sends before it loads",
            _sends_first,
            "rank {rank} has the weights that rank 0 had before it loaded: first load, then send.",
        ),
        WrongAnswer(
            "last root", _last_root, "rank {rank} has rank {last}'s weights: rank 0 loaded."
        ),
        WrongAnswer("own root", _own_root, hint="every rank sends its own"),
        WrongAnswer("rank 0 alone", _rank_0_alone, hint="also by those that only receive"),
        WrongAnswer(
            "parameters alone",
            _parameters_alone,
            "rank 1's model keeps a buffer, which is no parameter: send `model.state_dict()`.",
        ),
        WrongAnswer(
            "no optimizer state",
            _no_state,
            "the optimizer's state was not sent: rank {rank} has not the checkpoint's {what}. The "
            "weights alone are half a checkpoint: `hvd.broadcast_optimizer_state`.",
        ),
        WrongAnswer(
            "not loaded", _not_loaded, "rank 0's optimizer does not hold what was saved: load it."
        ),
        WrongAnswer(
            "step not sent",
            _no_step,
            "rank 0 goes on at step {step} and rank 1 at {step_1}: their learning rates and their "
            "rows would differ. Return what `hvd.broadcast_object` gives for the step: it changes "
            "nothing in place.",
        ),
        WrongAnswer(
            "step averaged",
            _averaged,
            "the step was averaged: {step} is {saved} / {n}, and the other ranks' 0 are no steps. "
            "Send rank 0's with `hvd.broadcast_object`.",
        ),
        WrongAnswer("no step", _no_value, "`resume` gave {step}: return the step."),
    ),
)
