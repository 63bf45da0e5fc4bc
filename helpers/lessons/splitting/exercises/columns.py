"""Exercise 12.2, a dense layer cut by columns, forward and backward.

`column_layer(comm, x, weight, bias, gradient) -> (y, dx)`: every rank has all of x (rows, inputs),
and the weights of its own units (units, inputs). y: all units, on every rank. gradient: the loss's
with respect to y, the same on every rank. dx: the loss's with respect to x. The claim: equal to
the whole layer in float64, y is gathered in slices and not summed from zeros, the weights stay
where they are, what the function is given is left alone, and what it gives is its own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from helpers.checks.common import self_hint
from helpers.checks.compare import close, count, describe, is_array, rounded, times
from helpers.checks.drives.requests import changed, not_waited, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms import collectives
from helpers.lessons.splitting.exercises.owned import overwritten, owned

_TOLERANCE = 1e-10
_NAMES = ("y", "dx")


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven slices on 3, 1, 2 and 5 ranks; other seeds other sizes.

    The last case has more weights than all activations together, so that who sends them shows. On 2
    ranks no sum of dx takes fewer bytes than another: there a slice that is sent too wide shows.
    """
    random, made = rng(seed, "12.2"), list[Case]()
    for ranks, units in ((3, 13), (1, 4), (2, 13), (5, 17), (3, 13)):
        if seed:
            units = 3 * ranks + 1 + int(random.integers(0, 3 * ranks))
            units |= ranks == 2
        # Rows that make no slice of y as large as a rank's weights.
        rows, inputs, last = int(random.integers(5, 8)), 3, len(made) == 4
        if last:
            rows, inputs, units = 2, 20 + int(random.integers(0, 9)), units + 24
        x = random.standard_normal((rows, inputs))
        weight, bias = random.standard_normal((units, inputs)), random.standard_normal(units)
        gradient = random.standard_normal((rows, units))
        if last:  # in float32 as in the lesson; sums of whole numbers are exact in whatever order
            given: Any = (np.round(4 * v).astype(np.float32) for v in (x, weight, bias, gradient))
            x, weight, bias, gradient = given
        cuts = [slice(r * units // ranks, (r + 1) * units // ranks) for r in range(ranks)]
        args = tuple((x, weight[cut], bias[cut], gradient) for cut in cuts)
        facts = {
            "y": x @ weight.T + bias,
            "dx": gradient @ weight,
        }
        name = f"On {count(ranks, 'rank')} with {units} units" + " in float32" * last
        made.append(Case(name, args, ranks, {"bandwidth": 1e6}, facts))
    return made


def _pair(value: Any) -> tuple[Any, Any] | None:
    value = returned(value)
    if type(value) not in (tuple, list) or len(value) != 2:
        return None
    return value[0], value[1]


def _overwrites(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        place = changed(value)
        if place is not None:
            name = ("x", "weight", "bias", "gradient")[place]
            return (
                f"rank {rank}'s `{name}` is not what it was: you wrote into it. The layer below "
                "and the gradient of the weights still need it, so put what you make into a tensor "
                "of your own."
            )
    return None


def _enough(case: Case) -> int:
    """Bytes that suffice: the slices to everybody, and dx summed in the plainest way."""
    y, dx, n = case.facts["y"], case.facts["dx"], case.ranks
    return int((n - 1) * y.nbytes + n * (n - 1) * dx.nbytes)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """y and dx on every rank, and no more bytes than a gather and a plain sum need."""
    yield overwritten(case, seen)
    for rank, value in enumerate(seen.values):
        pair = _pair(value)
        if pair is None:
            yield f"rank {rank} returns no pair: give (y, dx)."
            continue
        for name, got in zip(_NAMES, pair, strict=True):
            if not is_array(got):
                yield f"rank {rank}'s {name} is {describe(got)}: give tensors."
            if not close(got, case.facts[name], _TOLERANCE):
                why = rounded([got], [case.facts[name]])
                yield f"rank {rank}'s {name} is not that of the whole layer{why}."
    yield not_waited(case, seen)
    yield _overwrites(case, seen)
    if sum(seen.bytes) > _enough(case):
        yield f"{sum(seen.bytes)} B were sent where {_enough(case)} B are enough."
    sent, ring = sum(seen.messages), 3 * case.ranks * (case.ranks - 1)
    if 3 * sent > 4 * ring:
        yield (
            f"{sent} messages were sent, where slices of y to everybody and a ring for dx take "
            f"{ring}: send a slice whole, for each message costs its latency."
        )


def _too_many(case: Case, seen: Observation, why: str) -> str | None:
    """Right values for too many bytes; how many those are depends on how dx was summed."""
    sent, enough = sum(seen.bytes), _enough(case)
    if case.ranks == 1 or sent <= enough or any(_off(case, seen, name) for name in _NAMES):
        return None
    much = f"{times(sent, enough)} the bytes that are enough were sent"
    return f"the values are right, but {much}: {why}"


def _sent(seen: Observation, rank: int) -> set[int | None]:
    """The sizes of the messages that a rank sent."""
    return {e.bytes for e in seen.events if e.rank == rank and e.kind == "sending"}


def _sends_weights(case: Case, seen: Observation) -> str | None:
    for rank, (x, weight, bias, _) in enumerate(case.args):
        sent = _sent(seen, rank)
        if not sent & {weight.nbytes, weight.nbytes + bias.nbytes} or len(x) * bias.nbytes in sent:
            return None
    return _too_many(
        case,
        seen,
        "every rank fetched the others' weights and then worked out the whole layer alone. Weights "
        "stay where they are; what travels is y and dx.",
    )


def _sends_all_out(case: Case, seen: Observation) -> str | None:
    whole = case.facts["y"].nbytes
    senders = [rank for rank in range(case.ranks) if whole in _sent(seen, rank)]
    if len(senders) != 1:
        return None
    return _too_many(
        case,
        seen,
        f"rank {senders[0]} put y together and sent all of it to everybody, who got their own "
        "slice back too. Let every rank send its slice to every other.",
    )


def _off(case: Case, seen: Observation, name: str) -> list[Any]:
    """Every rank's y or dx, where one of them is wrong."""
    place, want = _NAMES.index(name), case.facts[name]
    got = [pair[place] if (pair := _pair(value)) else None for value in seen.values]
    return [] if all(close(each, want, _TOLERANCE) for each in got) else got


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the ranks, and how many times too many bytes."""
    return {"ranks": case.ranks, "times": times(sum(seen.bytes), _enough(case) or 1)}


def compared(case: Case, seen: Observation) -> Any:
    """What every rank gave for y, where that is wrong; else for dx."""
    return next(([name, off] for name in _NAMES if (off := _off(case, seen, name))), [])


def gathered(comm: Any, part: Any, dim: int) -> Any:
    """Every rank's part, one beside the other."""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    sending = [comm.isend(part, rank) for rank in others]
    parts = {comm.rank: part, **{rank: comm.recv(rank) for rank in others}}
    for request in sending:
        request.wait()
    return torch.cat([parts[rank] for rank in range(comm.size)], dim)


def reference(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Slices to everybody; the ranks' parts of dx summed."""
    y = gathered(comm, x @ weight.T + bias, 1)
    units = gradient.shape[1]
    mine = slice(comm.rank * units // comm.size, (comm.rank + 1) * units // comm.size)
    dx = gradient[:, mine] @ weight
    return y, collectives.all_reduce_ring(comm, dx)


def through_rank_0(comm: Any, part: Any, dim: int) -> Any:
    if comm.rank:
        comm.send(part, 0)
        return comm.recv(0)
    whole = torch.cat([part, *(comm.recv(rank) for rank in range(1, comm.size))], dim)
    for rank in range(1, comm.size):
        comm.send(whole, rank)
    return whole


WRONG = """
y not gathered
    | return y => return x @ weight.T + bias
    each rank returned only its own units of y: the next layer needs all of them on every rank, so
    gather the slices.
no bias
    | weight.T + bias => weight.T
    y is x Wᵀ without b: add your own units' bias.
slices in another order
    | [parts[rank] for rank in range(comm.size)] => [part, *(parts[rank] for rank in others)]
    the slices of y do not lie in the order of the ranks: each rank put its own first. Unit 0
    belongs to rank 0, wherever it is gathered.
slices turned round
    | parts[rank] => parts[(comm.rank + rank) % comm.size]
    ! slices in another order
the other order
    | return y, collectives.all_reduce_ring(comm, dx)
        => return collectives.all_reduce_ring(comm, dx), y
    the order is another: (y, dx) was asked for.
dx of the own units alone
    | return y, collectives.all_reduce_ring(comm, dx)
        => return (y, dx, collectives.all_reduce_ring(comm, dx.clone()))[:2]
    each rank's dx is only what its own units say of x. Every unit of the layer used x, so the
    ranks' parts have to be summed: an all-reduce.
each part of dx counted too often
    | dx) => dx) * comm.size
    dx is {ranks} times too large: each rank's part belongs in the sum once, and one sum over the
    ranks is enough.
averaged and not summed
    | dx) => dx) / comm.size
    dx is {ranks} times too small: the ranks hold different units of one layer, not copies of it, so
    their parts are added and not averaged.
y summed from zeros
    | y = gathered(comm, x @ weight.T + bias, 1) => y = torch.zeros_like(gradient)
    | return y => y[:, mine] = x @ weight.T + bias; return collectives.all_reduce_naive(comm, y)
    the values are right, but {times} the bytes that are enough were sent. A sum of tensors that are
    mostly zeros moves whole layers: send each rank's slice of y as it is.
sends to itself
    | if rank != comm.rank =>
    ? waits for a message from rank 0
in place
    | collectives.all_reduce_ring(comm, dx) => x.copy_(collectives.all_reduce_ring(comm, dx))
    ? you wrote into it
one tensor for all calls
    | def reference(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
        => def reference(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any, kept={}) -> Any:
    | return y, => y = kept.setdefault(y.shape, y).copy_(y); return y,
    ? the next call wrote into
never waits
    | request.wait() => pass
    ? returned without waiting for
sends weights
    | y = gathered(comm, x @ weight.T + bias, 1)
        => weight, bias = gathered(comm, weight, 0), gathered(comm, bias, 0)
    | return y, collectives.all_reduce_ring(comm, dx) => return x @ weight.T + bias, dx
    | gradient[:, mine] => gradient
    ? Weights stay where they are
through rank 0
    | y = gathered( => y = through_rank_0(
    ? sent all of it to everybody
"""

EXERCISE = Exercise(
    number="12.2",
    title="A layer in columns",
    size=Size(stars=2, minutes=15, points=3),
    function="column_layer",
    asks=(
        "y = x Wᵀ + b of all units on every rank, gathered from the ranks' slices, and dx, the sum "
        "over the ranks of (this rank's slice of the gradient) · (this rank's weights)."
    ),
    cases=cases,
    drive=owned,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("writes into what it is given", _overwrites),
        Mistake("a result that the next call writes into", overwritten),
        Mistake("messages not waited for", not_waited),
        Mistake("the weights are sent", _sends_weights),
        Mistake("y gathered on one rank and sent out again", _sends_all_out),
    ),
    numbers=numbers,
    compared=compared,
    praise=(
        "Passed on {worlds}: y and dx are the whole layer's to 10 digits, and y was "
        "gathered in slices."
    ),
    reference=reference,
    wrong=wrong_answers("12.2", WRONG, (reference, gathered)),
    figure=0,
)
