"""Exercise 10.1, an average in place, through messages of 16 bits a number.

The claim: the mean on every rank, as exactly as 16 bits add up, by as many bytes as a ring of
2-byte numbers sends; all ranks end with the same bits; no overflow where the mean has none; in the
memory of the gradient that was given; every message is waited for. Any way to do so will do.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.common import after
from helpers.checks.compare import count, is_array, short, times, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests, not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.fewer_bits.algorithms.two_way import average_half as reference
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    all_reduce_naive,
    all_reduce_ring,
    reduce_scatter_ring,
)

_BF16, _FP16 = "bfloat16", "float16"
_ROUNDED = {_BF16: 2.0**-8, _FP16: 2.0**-11}  # how far a number is rounded, relative to itself


def cases(seed: int) -> list[Case]:
    """Both types, lengths that N divides or not, sums and numbers beyond float16; else others."""
    random, made = rng(seed, "10.1"), []
    settings: list[tuple[int, tuple[int, ...], str, int]]
    settings = [(3, (4, 3), _BF16, 0), (3, (10,), _FP16, 60_000), (2, (9,), _BF16, 1_000_000)]
    settings += [(1, (7,), _FP16, 0), (5, (7, 3), _FP16, 0), (5, (3,), _BF16, 0)]
    settings += [(3, (2, 2, 2), _FP16, 100_000)]
    if seed:
        settings.append((int(random.integers(4, 8)), (7,), _FP16, 60_000))
    for ranks, shape, kind, near in settings:
        shape = tuple(map(int, random.integers(2, 9, len(shape)))) if seed else shape
        numbers = " × ".join(map(str, shape)) if len(shape) > 1 else shape[0]
        name = f"On {count(ranks, 'rank')} with {numbers} numbers "
        if near:
            held = random.uniform(0.92, 1.08, (ranks, *shape)) * random.choice([-1, 1], shape)
            name += f"near {near:,} ".replace(",", " ")
        else:
            held = random.standard_normal((ranks, *shape))
        if near == 100_000:
            held[1:] *= random.uniform(-0.2, 0.2, held[1:].shape)
            name += "on rank 0 "
        held *= near or 1
        args = tuple((each, kind) for each in held)
        facts = {"held": held, "mean": held.mean(axis=0), "kind": kind}
        made.append(Case(f"{name}in {kind}", args, ranks, {}, facts))
    return made


def _least(case: Case) -> int:
    """Bytes that a ring of chunks of ⌈n/N⌉ 2-byte numbers sends from each rank."""
    return 2 * (case.ranks - 1) * -(-case.facts["mean"].size // case.ranks) * 2


def _is_mean(case: Case, got: Any, kind: str) -> bool:
    """Whether a tensor is the mean, to what is lost where 16-bit numbers of this type add up."""
    if not is_array(got, case.facts["mean"].shape):
        return False
    # Each rank's part is rounded once, each sum of two as well, and perhaps a quotient.
    bound = (case.ranks + 1.1) * np.abs(case.facts["held"]).mean(axis=0) * _ROUNDED[kind]
    smallest = case.ranks * 2.0**-24  # of float16, from 0 up
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(got - case.facts["mean"]) <= bound + smallest))


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The mean, few bytes, the same bits everywhere."""
    mean = case.facts["mean"]
    for rank, got in enumerate(after(seen)):
        if not _is_mean(case, got, case.facts["kind"]):
            said = f"rank {rank}'s gradient is not the mean"
            if not is_array(got, mean.shape) or not np.all(np.isfinite(got)):
                yield f"{said}: there are numbers in it that are not finite."
            at = np.unravel_index(np.argmax(np.abs(got - mean)), mean.shape)
            has, should = short(float(got[at])), short(float(mean[at]))
            yield f"{said}: at [{', '.join(map(str, at))}] it is {has}, not {should}."
    for rank, sent in enumerate(seen.bytes):
        if sent > _least(case):
            yield (
                f"the mean is right, but rank {rank} sent {sent} B. A ring of 2-byte numbers sends "
                f"{_least(case)} B at most."
            )
    if not all(np.array_equal(got, after(seen)[0]) for got in after(seen)):
        yield (
            "the means are right, and differ from rank to rank in their last bits: every rank "
            "takes what came out of the ring, bit for bit."
        )
    yield not_waited(case, seen)


def compared(case: Case, seen: Observation) -> Any:
    """Whether each rank still has its own numbers; roughly what it gave then, or what it has, for
    16 bits round otherwise in another order; which types a mean is as exact as; bits and bytes."""
    told, scale = [], np.max(np.abs(case.facts["mean"]))
    for own, value in zip(case.facts["held"], seen.values, strict=True):
        got, gave = value["after"], value["returned"]
        unchanged = any(np.allclose(got, part, 1e-2, 0) for part in (own, own / case.ranks))
        shown, exact = gave if unchanged else got, [k for k in _ROUNDED if _is_mean(case, got, k)]
        with np.errstate(all="ignore"):
            rough = None if shown is None else (shown / scale).astype(np.float16)
        told.append((unchanged, rough, exact))
    same = all(np.array_equal(got, after(seen)[0]) for got in after(seen))
    return told, same, max(seen.bytes) <= _least(case)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent, and what there was before and afterwards."""
    held, sent = case.facts["held"], max(seen.bytes, default=0)
    first = {"part": held[0] / case.ranks, "mean": case.facts["mean"], "sum": held.sum(axis=0)}
    largest = {"most": held, "total": held.sum(axis=0)}
    return {
        **{"n": case.ranks, "sent": sent, "times": times(sent, _least(case)) if sent else ""},
        "sender": seen.bytes.index(sent) if sent else 0,
        **{name: short(float(each.flat[0])) for name, each in first.items()},
        **{k: f"{np.max(np.abs(v)):,.0f}".replace(",", " ") for k, v in largest.items()},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    off = dict.fromkeys(_ROUNDED, 0.0)
    for case, each in zip(cases, seen, strict=True):
        mean, kind = case.facts["mean"], case.facts["kind"]
        error = np.max(np.abs(after(each)[0] - mean)) / np.max(np.abs(mean))
        off[kind] = max(off[kind], float(error))
    return (
        f"Passed on {worlds(cases)}. {cases[0].name}, rank 0 sent {seen[0].bytes[0]} B; in float32 "
        f"it would be twice as much. Beside the largest number the mean was off by up to "
        f"{off[_BF16]:.1%} in bfloat16, and by {off[_FP16]:.2%} in float16."
    )


def _in_its_memory(fn: Function, comm: Any, tensor: Tensor, kind: str) -> Any:
    """Call `fn(comm, tensor, torch's type of that name)`.

    What the memory holds afterwards in which the tensor lay, what was returned in its place, and
    how many messages were left open. Who gives the tensor other memory, as `tensor.data = …` does,
    has not written into this.
    """
    memory, requests = tensor.detach(), Requests(comm)
    returned = fn(comm, tensor, getattr(torch, kind))
    given = None if returned is tensor else returned
    return {"after": memory, "returned": given, OPEN: requests.end()}


in_its_memory = Ranked(_in_its_memory)


def average_half(comm: Any, gradient: Any, dtype: Any) -> Any:
    half = gradient.div_(comm.size).to(dtype)
    all_reduce_ring(comm, half)
    return gradient.copy_(half)


BASE = average_half, all_reduce_ring, reduce_scatter_ring, all_gather_ring, all_reduce_naive
WRONG = """
nothing is sent
    | all_reduce_ring(comm, half) =>
    nothing was sent, so no rank knows the others' gradients: `all_reduce_ring(comm, half)` sums
    `half` over the ranks.
cast before it is divided
    | gradient.div_(comm.size).to(dtype) => gradient.to(dtype).div_(comm.size)
    numbers became infinite before they went round: a gradient holds {most}, and float16 ends at
    65 504. Divide by N first, in the gradient's own type, and then cast.
divided behind the ring
    | .div_(comm.size) =>
    | .copy_(half) => .copy_(half).div_(comm.size)
    numbers became infinite on their way: the gradients add up to {total}, and float16 ends at
    65 504. Divide by N before you cast, so that the ring's sum is the mean.
a sum
    | .div_(comm.size) =>
    every rank has the sum, {n} times the mean: the first number is {sum}, not {mean}. Divide by N
    before you cast: `gradient.div(n)` gives a new tensor, and `gradient.div_(n)` changes the one
    that is there.
divided twice
    | .copy_(half) => .copy_(half).div_(comm.size)
    every number is {n} times too small: N divides it twice. Once, before the cast, is enough.
added to what is there
    | .copy_ => .add_
    each rank has the mean and its own part besides, {part} on rank 0: what comes out of the ring
    replaces what the gradient held. `copy_`, not `add_` or `+=`.
returns a new tensor
    | gradient.copy_(half) => half.to(gradient.dtype)
    the mean was returned, but it is not in the gradient that was given. Write into that:
    `gradient.copy_(half)` casts on the way.
never copied back
    | gradient.copy_(half) => None
    in the caller's memory each rank still has its own numbers alone. Write what came out of the
    ring into it, as `gradient.copy_(half)` does; `gradient = …` and `gradient.data = …` only let a
    name stand for other memory.
sums in the gradient's own type
    | .to(dtype) =>
    the mean is right, but rank {sender} sent {sent} B, {times} as much as a ring of 2-byte numbers:
    what goes round is a tensor of wider ones, or goes round more than once. Give the ring the
    tensor of type `dtype` itself, once, and copy that back afterwards.
sends float32
    | .to(dtype) => .to(dtype).float()
    the mean is right, but rank {sender} sent {sent} B, {times} as much as a ring of 2-byte
    numbers: what goes round is a tensor of wider ones, or goes round more than once. Give the
    ring the tensor of type `dtype` itself, once, and copy that back afterwards.
view in place of to
    | .to(dtype) => .view(dtype)
    | gradient.copy_(half) => None
    what was summed is no number that was there: `view(dtype)` reads the same bytes as four times
    as many 16-bit numbers. `to(dtype)` rounds each number to one.
bfloat16 always
    | .to(dtype) => .bfloat16()
    the mean is as coarse as bfloat16. Asked for was float16, which has three more significant
    bits: cast to `dtype`.
float16 always
    | .to(dtype) => .half()
    numbers became infinite. Asked for was bfloat16, which has float32's range; float16 ends at
    65 504. Cast to `dtype`.
through rank 0
    | all_reduce_ring(comm, half) => all_reduce_naive(comm, half)
    the mean is right, but all send to rank 0 and get it from there: it sent {sent} B, {times} as
    much as a ring of 2-byte numbers.
keeps its own part as it was
    | all_reduce_ring(comm, half) => own = half.clone(); all_reduce_ring(comm, half)
    | .copy_(half) => .add_(half.double() - own.double())
    the means are right, and differ from rank to rank in the last bits, as where each counts its
    own part unrounded. Replicas that step by other gradients drift apart: take what came out of
    the ring, for the own part too.
never waits
    | sending.wait() *=>
    ? returned without waiting for
"""

EXERCISE = Exercise(
    number="10.1",
    title="Half the bits",
    size=Size(stars=1, minutes=8, points=2),
    function="average_half",
    asks=(
        "every rank's `gradient` becomes the mean over all ranks, in place and in its own type, "
        "with the same bits everywhere, through a ring of 2-byte numbers of type `dtype`; and it "
        "does not overflow where the mean does not."
    ),
    cases=cases,
    drive=in_its_memory,
    claim=claim,
    mistakes=(Mistake("messages not waited for", not_waited),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("10.1", WRONG, BASE),
    figure=0,
)
