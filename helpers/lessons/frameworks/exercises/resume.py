"""Exercise 04.5, going on from a checkpoint.

The claim: rank 0 loads it once, no other rank tries to, and afterwards every rank holds its weights
and buffer, its optimizer's momenta and learning rate, and knows the step.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.common import WORLDS, random_weights
from helpers.checks.compare import all_close, close, count, describe, number, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.checks.random_states import seed_all
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import resume as reference
from helpers.lessons.frameworks.exercises import replicas
from helpers.lessons.frameworks.exercises.horovod import OfTorch

_LAYERS = (4, 6, 2)
_NEAR = 1e-9  # of what is known by two steps of the optimizer


MOMENTUM = 0.9  # of the optimizer that a checkpoint is of


class Load:
    """Reads a checkpoint. read: gives its tensors and numbers in one list."""

    def __init__(self, read: Callable[[], list[Any]]) -> None:
        self.read = read

    def __call__(self) -> dict[str, Any]:
        weights, buffer, momenta, rate, step = self.read()
        other = network(weights)
        replicas.give_buffer(other, buffer)
        optimizer = replicas.sgd(other, rate, MOMENTUM)
        for parameter, momentum in zip(other.parameters(), momenta, strict=True):
            optimizer.state[parameter]["momentum_buffer"] = momentum
        return {"model": other.state_dict(), "optimizer": optimizer.state_dict(), "step": step}


def _on_resume(
    fn: Function, comm: Any, weights: list[Tensor], buffer: Tensor, rate: float, saved: Any
) -> Any:
    """`fn(hvd, model, optimizer, load)` where rank 0 alone has the file.

    A rank's arguments: its weights, buffer and learning rate, and what it can load, a dictionary or
    None. `values[rank]`: step (what was returned), weights, buffer, loads (how often `load` was
    called), and momenta and rates, by what two steps of the optimizer do then.
    """
    seed_all(comm.rank)  # every rank's random state differs, as it does on real ranks
    model, loads = network(weights), 0
    replicas.give_buffer(model, buffer)
    optimizer = replicas.sgd(model, rate, MOMENTUM)

    def read() -> list[Any]:
        nonlocal loads
        loads += 1
        if saved is None:
            raise FileNotFoundError(f"There is no checkpoint.pt on rank {comm.rank}'s disk.")
        return [saved[key] for key in ("weights", "buffer", "momenta", "rate", "step")]

    step = fn(OfTorch(comm), model, optimizer, Load(read))
    seen = {"step": step, "weights": replicas.copies(model), "loads": loads}
    momenta, rates = _by_two_steps(model, optimizer)
    return {**seen, "buffer": buffer.clone(), "momenta": momenta, "rates": rates}


def _by_two_steps(model: Any, optimizer: Any) -> tuple[list[Tensor], list[float]]:
    """The momenta m and the learning rates r of an optimizer, as its steps show them.

    Without a gradient the first one goes r · μm down; with ones everywhere the second goes
    r · (μ²m + 1). r: of the first number of each tensor that has not the r of the one before.
    """
    at = [replicas.copies(model)]
    for gradient in (0.0, 1.0):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        optimizer.step()
        at.append(replicas.copies(model))
    momenta, rates = list[Tensor](), list[float]()
    for before, between, after in zip(*at, strict=True):
        first, second = before - between, between - after
        rate = second - MOMENTUM * first
        momenta.append(first / (MOMENTUM * rate))
        rates.append(float(rate.flatten()[0]))
    same = all(abs(rate - rates[0]) <= 1e-9 * abs(rates[0]) for rate in rates)
    return momenta, rates[:1] if same else rates


on_resume = Ranked(_on_resume, arguments=4)


def cases(seed: int) -> list[Case]:
    """Seed 0: step 120 on 3, 1, 2 and 5 ranks, a large one on 5; else others, rates and weights."""
    random, made = rng(seed, "04.5"), []
    for n in WORLDS:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        saved = {
            "weights": random_weights(random, _LAYERS),
            "buffer": random.standard_normal(5),
            "momenta": random_weights(random, _LAYERS),
            "rate": round(float(random.uniform(0.01, 0.09)), 4),
            "step": int(random.integers(100, 5000)) if seed else 120,
            **({"step": 2**24 + 1} if n == 5 else {}),  # more than float32 holds
        }
        buffers = random.standard_normal((n, 5))
        args = tuple((starts[r], buffers[r], 0.2 + 0.1 * r, None if r else saved) for r in range(n))
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts=saved))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """All of the checkpoint on every rank, read once."""
    for rank, value in enumerate(seen.values):
        for what in _lacks(case, value):
            whose = "'s model" * (what == "buffer")
            yield f"rank {rank}{whose} does not hold the checkpoint's {what}."
        if number(value["step"]) != case.facts["step"]:
            said = f"returned {describe(value['step'])}, and the checkpoint is of step"
            yield f"rank {rank} {said} {case.facts['step']}."
        if _is_float(value["step"]):
            yield f"rank {rank} returned the step as a float; it was saved as a whole number."
        if value["loads"] != (rank == 0):
            yield f"rank {rank} called `load` {count(value['loads'], 'time')}."


def _is_float(step: Any) -> bool:
    return np.asarray(step).dtype.kind == "f"


def _lacks(case: Case, value: Any) -> list[str]:
    """What of the checkpoint a rank does not hold."""
    facts, rates = case.facts, np.array(value["rates"])
    holds = {
        "weights": all_close(value["weights"], facts["weights"], 0.0),
        "buffer": close(value["buffer"], facts["buffer"], 0.0),
        "momenta": all_close(value["momenta"], facts["momenta"], _NEAR),
        "learning rate": close(rates, np.array([facts["rate"]]), _NEAR),
    }
    return [what for what, held in holds.items() if not held]


def compared(case: Case, seen: Observation) -> Any:
    """The first of these that is wrong: how often it was loaded, weights, state, step."""
    values, lacks = seen.values, [_lacks(case, value) for value in seen.values]
    if [value["loads"] for value in values] != [1] + [0] * (case.ranks - 1):
        return "loads too often" if values[0]["loads"] else "never loads"
    if any("weights" in each for each in lacks):
        return [value["weights"] for value in values]
    if any("buffer" in each for each in lacks):
        return "a buffer"
    steps = [number(value["step"]) for value in values]
    if any(lacks) or steps[0] is None:
        return [not each for each in lacks] if any(lacks) else "no step"
    if steps[0] == case.facts["step"]:
        if any(_is_float(value["step"]) for value in values):
            return "a float"
        return "right" if set(steps) == {steps[0]} else "step on rank 0 alone"
    return [None if step is None else int(step) for step in steps]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name; where it failed, the rank."""
    values, last = seen.values, case.ranks - 1
    told: dict[str, Any] = {"failed": seen.rank, "n": case.ranks, "last": last}
    if seen.trouble:
        return told
    lacks = [_lacks(case, value) for value in values]
    first = next((rank for rank, each in enumerate(lacks) if each), None)
    step = number(values[0]["step"])
    return told | {
        "loads": count(sum(value["loads"] for value in values), "time"),
        "rank": first,
        "what": "" if first is None else lacks[first][0],
        "saved": case.facts["step"],
        "step": describe(values[0]["step"]) if step is None else f"{step:.0f}",
        "step_1": describe(values[min(1, last)]["step"]),
    }


WRONG = """
a 0 on each machine
    | hvd.rank() => hvd.local_rank()
    two to a machine, rank {failed} called `load` too: `hvd.local_rank()` is the number on its own
    machine, and each machine has a 0. Ask `hvd.rank()`.
every rank loads
    | hvd.rank() == 0 => True
    rank {failed} called `load`, and the file is on rank 0's disk alone: load under
    `if hvd.rank() == 0:`, then send.
never loads
    | hvd.rank() == 0 => False
    `load` was not called: rank 0 calls it, once.
loads often
    | load() => load() and load() and load()
    `load` was called {loads}: once on rank 0 is enough.
model not loaded
    | model.load_state_dict(saved["model"]) =>
    rank 0 still has its random weights: put what `load` gives into the model,
    `model.load_state_dict`.
no broadcast
    | model.state_dict() => apart(model.state_dict())
    | state(optimizer => state(apart(optimizer)
    the initial broadcast is missing: rank 0 has the checkpoint's weights and rank {rank} its random
    ones.
sends before it loads
    | hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0) =>
    | step = 0
        => hvd.broadcast_parameters(model.state_dict(), root_rank=0);
        hvd.broadcast_optimizer_state(optimizer, root_rank=0); step = 0
    rank {rank} has the weights that rank 0 had before it loaded: first load, then send.
last root
    | dict(), root_rank=0 => dict(), root_rank=hvd.size() - 1
    | optimizer, root_rank=0 => optimizer, root_rank=hvd.size() - 1
    rank {rank} has rank {last}'s weights: rank 0 loaded.
own root
    | root_rank=0 *=> root_rank=hvd.rank()
    ? every rank sends its own
rank 0 alone
    | hvd.broadcast_parameters => hvd.rank() or hvd.broadcast_parameters
    | hvd.broadcast_optimizer_state => hvd.rank() or hvd.broadcast_optimizer_state
    ? also by those that only receive
parameters alone
    | model.state_dict() => {**dict(model.named_parameters()), **apart(dict(model.named_buffers()))}
    rank 1's model keeps a buffer, which is no parameter: send `model.state_dict()`.
no optimizer state
    | state(optimizer => state(apart(optimizer)
    the optimizer's state was not sent: rank {rank} has not the checkpoint's {what}. The weights
    alone are half a checkpoint: `hvd.broadcast_optimizer_state`.
not loaded
    | optimizer.load_state_dict(saved["optimizer"]) =>
    rank 0's optimizer does not hold what was saved: load it.
step not sent
    | return int(hvd.broadcast_object(step, root_rank=0))
        => hvd.broadcast_object(step, root_rank=0); return step
    rank 0 goes on at step {step} and rank 1 at {step_1}: their learning rates and their rows would
    differ. Return what `hvd.broadcast_object` gives for the step: it changes nothing in place.
step averaged
    | root_rank=0)) => root_rank=0)) // hvd.size()
    the step was averaged: {step} is {saved} / {n}, and the other ranks' 0 are no steps. Send rank
    0's with `hvd.broadcast_object`.
no step
    | return int(hvd.broadcast_object(step, root_rank=0)) => hvd.broadcast_object(step, root_rank=0)
    `resume` gave {step}: return the step.
step as a float
    | return int( => return float(
    the step is a float, and it was saved as a whole number: `range` and a sampler take no float.
    Return what `hvd.broadcast_object` gives for it.
"""

EXERCISE = Exercise(
    number="04.5",
    title="Go on from a checkpoint",
    size=Size(stars=2, minutes=12, points=3),
    function="resume",
    asks=(
        "rank 0 alone calls `load`; then every rank gets the parameters, the optimizer's state and "
        "the step, which is returned."
    ),
    cases=cases,
    drive=on_resume,
    framework="tensorflow",  # its ranks have loaded what optimizers need
    claim=claim,
    mistakes=replicas.UNEQUAL_CALLS,
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: one rank read the file, and all hold its weights, momenta, "
        f"learning rate and step {cases[0].facts['step']}."
    ),
    reference=reference,
    wrong=wrong_answers("04.5", WRONG, (reference, replicas.apart)),
)
