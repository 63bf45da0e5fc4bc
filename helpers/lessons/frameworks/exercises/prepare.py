"""Exercise 04.1, Horovod with torch.

Every rank starts with weights, a buffer, a learning rate and a momentum of its own. The claim: all
hold rank 0's afterwards, each step moves them as one process on all rows would, in float64 to
1e-10, and every gradient is averaged once, which the bytes show.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.common import random_weights
from helpers.checks.compare import all_close, close, count, describe, rounded, short
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.checks.random_states import seed_all
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import prepare as reference
from helpers.lessons.frameworks.exercises import replicas
from helpers.lessons.frameworks.exercises.horovod import OfTorch

_TOLERANCE = 1e-10
_LAYERS = (6, 16, 3)


def _on_prepare(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    buffer: Tensor,
    rate: float,
    momentum: float,
    *rows: Tensor,
) -> Any:
    """`fn(hvd, model, optimizer)`, then a step for each of this rank's batches.

    A rank's arguments: its weights, its model's buffer, learning rate and momentum, inputs (steps,
    rows, width) and targets. `values[rank]`: start and buffer, weights after each step; and what is
    only read for a hint, returned, rates and momentum after the call. The gradients are computed by
    who drives; the weights are its own, too.
    """
    seed_all(comm.rank)  # every rank's random state differs, as it does on real ranks
    model = network(weights)
    replicas.give_buffer(model, buffer)
    optimizer = replicas.sgd(model, rate, momentum)
    used = fn(OfTorch(comm), model, optimizer)
    steps = all(callable(getattr(used, name, None)) for name in ("step", "zero_grad"))
    groups = used.param_groups if steps else []
    seen: dict[str, Any] = {
        "returned": "an optimizer" if steps else type(used).__name__,
        "start": replicas.copies(model),
        "buffer": buffer.clone(),
        "rates": [float(group["lr"]) for group in groups],
        "momentum": [group.get("momentum") for group in groups],
        "weights": [],
    }
    for batch, wanted in zip(*rows, strict=True) if steps else ():
        used.zero_grad()
        replicas.element_losses(model(batch), wanted).mean().backward()
        comm.compute(replicas.BACKWARD)
        used.step()
        seen["weights"].append(replicas.copies(model))
    return seen


on_prepare = Ranked(_on_prepare, arguments=3)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with 4 rows each; else other rows, rates and steps."""
    random, made = rng(seed, "04.1"), []
    for n in (3, 1, 2, 5):
        rows = int(random.integers(2, 7)) if seed else 4
        steps = int(random.integers(4, 7)) if seed else 4
        rate = float(random.uniform(0.05, 0.2)) if seed else 0.1
        momentum = 0.5 if seed % 2 else 0.9
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        buffers = random.standard_normal((n, 5))
        inputs = random.standard_normal((n, steps, rows, _LAYERS[0]))
        targets = random.standard_normal((n, steps, rows, _LAYERS[-1]))
        options = [(rate * (1 + 0.37 * r), momentum * 0.9**r) for r in range(n)]
        args = tuple((starts[r], buffers[r], *options[r], inputs[r], targets[r]) for r in range(n))
        batches = [[(inputs[r, s], targets[r, s]) for r in range(n)] for s in range(steps)]
        ends = [end for end, _ in replicas.alone(starts[0], batches, rate, momentum)]
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts={"ends": ends}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Rank 0's start everywhere, one process's steps, each gradient averaged once."""
    yield from _faults(case, seen)
    yield _too_many_bytes(case, seen)


def _faults(case: Case, seen: Observation) -> Iterator[str]:
    start, buffer, rate, momentum, *_ = case.args[0]
    for rank, value in enumerate(seen.values):
        if value["returned"] != "an optimizer":
            yield f"rank {rank}'s `prepare` gave {value['returned']}, no optimizer."
        if not all_close(value["start"], start, 0.0):
            yield f"rank {rank} did not start from the weights that rank 0 was given."
        if not close(value["buffer"], buffer, 0.0):
            yield f"rank {rank}'s model has not the buffer that rank 0 was given."
        if value["rates"] != [rate]:
            yield f"rank {rank}'s learning rate is not the {short(rate)} that rank 0 was given."
        if value["momentum"] != [momentum]:
            yield f"rank {rank}'s momentum is not the {short(momentum)} that rank 0 was given."
        pairs = zip(value["weights"], case.facts["ends"], strict=True)
        for step, (got, want) in enumerate(pairs, 1):
            if not all_close(got, want, _TOLERANCE):
                yield (
                    f"rank {rank}'s weights after step {step} are not those of one process on all "
                    f"rows{rounded(got, want)}."
                )


def _too_many_bytes(case: Case, seen: Observation) -> str | None:
    """Of an answer whose weights are right."""
    if any(_faults(case, seen)):
        return None
    start, steps = case.args[0][0], len(case.facts["ends"])
    return replicas.averaged_twice(seen, steps, start, "The wrapped optimizer")


def _kept(case: Case, seen: Observation) -> int | None:
    """The first rank but 0 that keeps its own weights."""
    for rank, value in enumerate(seen.values[1:], 1):
        if all_close(value["start"], case.args[rank][0], 0.0):
            return rank
    return None


def _root(case: Case, seen: Observation) -> int | None:
    """The rank whose weights all ranks start from."""
    for rank, (start, *_) in enumerate(case.args):
        if all(all_close(value["start"], start, 0.0) for value in seen.values):
            return rank
    return None


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first: what was returned, start, buffer, rates, momentum, one step."""
    _, buffer, rate, momentum, *_ = case.args[0]
    of = {key: [value[key] for value in seen.values] for key in seen.values[0]}
    if set(of["returned"]) != {"an optimizer"}:
        return "no optimizer"
    if (root := _root(case, seen)) != 0:
        if root is None and _kept(case, seen) is None:
            return of["start"]
        return "another root" if root else "keeps its own"
    if not all(close(got, buffer, 0.0) for got in of["buffer"]):
        return "keeps the buffer"
    if of["rates"] != [[rate]] * case.ranks:
        return of["rates"]
    if of["momentum"] != [[momentum]] * case.ranks:
        return "momentum kept" if of["momentum"][0] == [momentum] else "momentum lost"
    return [weights[0] for weights in of["weights"]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    kinds = [v["returned"] for v in seen.values if v["returned"] != "an optimizer"]
    rates = [value["rates"][0] if value["rates"] else 0.0 for value in seen.values]
    momenta = [describe(value["momentum"][0]) if value["momentum"] else "" for value in seen.values]
    last = min(1, case.ranks - 1)  # rank 1, or 0 alone
    return {
        "n": case.ranks,
        "gave": "nothing" if "NoneType" in kinds[:1] else f"a {kinds[0]}" if kinds else "",
        "root": _root(case, seen),
        "kept": sum(map(np.array_equal, seen.values[last]["start"], case.args[last][0])),
        "tensors": len(case.args[0][0]),
        "rank": _kept(case, seen),
        "rate": f"{rates[0]:.3g}",
        "rate_1": f"{rates[min(1, case.ranks - 1)]:.3g}",
        "momentum": momenta[0],
        "momentum_1": momenta[-1],
        "given": case.args[0][3],
    }


WRONG = """
no broadcast
    | model.state_dict() => apart(model.state_dict())
    the initial broadcast is missing: rank {rank} starts from weights of its own. Equal gradients do
    not make unequal replicas equal. Give all ranks rank 0's parameters, `hvd.broadcast_parameters`.
half a broadcast
    | model.state_dict() => dict(list(model.state_dict().items())[:2])
    the initial broadcast is not whole: rank 1 keeps {kept} of its {tensors} tensors.
    `model.state_dict()` holds them all.
parameters alone
    | model.state_dict() => dict(model.named_parameters())
    rank 1's model keeps a buffer of its own: a buffer, such as a batch norm's running means, is no
    parameter, for it is not trained. `model.state_dict()` holds both.
no optimizer state
    | state(optimizer => state(apart(optimizer)
    the optimizer's state was not sent: rank 1 goes on with a learning rate of {rate_1} and rank 0
    with {rate}. Call `hvd.broadcast_optimizer_state`.
the rate alone
    | hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        => for group in optimizer.param_groups:
        group["lr"] = hvd.broadcast_object(group["lr"], root_rank=0)
    the learning rate was sent and not the rest of the optimizer's state: the last rank goes on with
    a momentum of {momentum_1} and rank 0 with {momentum}. Call `hvd.broadcast_optimizer_state`.
averaged twice
    | return hvd
        => [p.register_hook(lambda g: g / hvd.size()) for p in model.parameters()]; return hvd
    averaged twice: the gradients are {n} times too small. The wrapped optimizer divides their sum
    by {n} already; do not divide again.
averages by hand
    | return hvd => [p.register_hook(hvd.allreduce) for p in model.parameters()]; return hvd
    ? the mean of a mean is the mean
divides the rate
    | return hvd => [g.update(lr=g["lr"] / hvd.size()) for g in optimizer.param_groups]; return hvd
    averaged twice: the optimizer divides the sum of the gradients by {n} already, and the learning
    rate was divided by {n} as well, so each step is {n} times too short.
multiplies the rate
    | return hvd => [g.update(lr=g["lr"] * hvd.size()) for g in optimizer.param_groups]; return hvd
    the learning rate was multiplied by {n}. That belongs to a batch that grows with the ranks; here
    the batch of all ranks stays as it is.
summed
    | named_parameters()) => named_parameters(), op=hvd.Sum)
    the gradients are {n} times those of one process on all rows: they were summed and not averaged.
    hvd.Average is the default.
returns no optimizer
    | return hvd => hvd
    `prepare` gave {gave}, and the loop needs an optimizer to step with: return what
    `hvd.DistributedOptimizer` gives.
nothing is averaged
    | named_parameters()) => named_parameters()) and optimizer
    every rank steps with the gradient of its own rows: nothing is averaged. The wrapped optimizer
    averages; the one that was given does not.
another root
    | root_rank=0 *=> root_rank=hvd.size() - 1
    all ranks start from rank {root}'s weights: root_rank is 0, since rank 0 is the one that read
    the checkpoint.
own root
    | root_rank=0 *=> root_rank=hvd.rank()
    ? every rank sends its own
mean of the starts
    | hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        => for parameter in model.parameters(): hvd.allreduce_(parameter.data)
    you averaged the starting weights: the mean of {n} random models is one more random model, and
    no checkpoint. Send rank 0's, `hvd.broadcast_parameters`.
momentum lost
    | Optimizer(optimizer
        => Optimizer(type(optimizer)(model.parameters(), optimizer.param_groups[0]["lr"])
    momentum was lost: yours has {momentum} and the optimizer that you were given {given}. Do not
    make a new one; wrap the optimizer that you were given.
in 16 bits
    | named_parameters()) => named_parameters(), compression=hvd.Compression.fp16)
    the weights are those of one process to three digits only: gradients that travel in 16 bits are
    rounded. Leave compression out, or take hvd.Compression.none.
rank 0 alone
    | hvd.broadcast *=> hvd.rank() or hvd.broadcast
    ? also by those that only receive
"""

EXERCISE = Exercise(
    number="04.1",
    title="Horovod with torch",
    size=Size(stars=2, minutes=10, points=3),
    function="prepare",
    asks=(
        "every rank gets rank 0's parameters and its optimizer's state, and what is returned is "
        "the optimizer that averages gradients in each step."
    ),
    cases=cases,
    drive=on_prepare,
    framework="tensorflow",  # its ranks have loaded what optimizers need
    claim=claim,
    mistakes=(*replicas.UNEQUAL_CALLS, Mistake("averaged twice, bytes", _too_many_bytes)),
    numbers=numbers,
    compared=compared,
    praise=(
        "Passed on {worlds}: all ranks started as rank 0 and stayed equal to one process "
        "on all rows; every gradient was averaged once."
    ),
    figure=2,
    reference=reference,
    wrong=wrong_answers("04.1", WRONG, (reference, replicas.apart)),
)
