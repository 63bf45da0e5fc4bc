"""Exercise 10.1, an average in place, through messages of 16 bits a number.

The claim: the mean on every rank, as exactly as 16 bits add up, by as many bytes as a ring of
2-byte numbers sends; all ranks end with the same bits; no overflow where the mean has none; in the
memory of the gradient that was given; every message is waited for. Any way to do so will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.algorithms.compression.two_way import average_half as reference
from helpers.algorithms.messages.collectives import (
    all_gather_ring,
    all_reduce_naive,
    all_reduce_ring,
    reduce_scatter_ring,
)
from helpers.exercises.common import after, rng
from helpers.exercises.compare import count, is_array, short, times, worlds
from helpers.exercises.drives.calling import Function, made
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests, not_waited
from helpers.exercises.drives.values import Remote
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers

_BF16, _FP16 = "bfloat16", "float16"
_ROUNDED = {_BF16: 2.0**-8, _FP16: 2.0**-11}  # how far a number is rounded, relative to itself
_SMALLEST = 2.0**-24  # of float16, from 0 up
_LARGEST = 65504  # of float16
_ITEM = 2  # bytes

Shape = tuple[int, ...]
Setting = tuple[int, Shape, str, str]
_SHOWN: list[Setting] = [
    (3, (4, 3), _BF16, ""),
    (3, (10,), _FP16, "near 60 000"),
    (2, (9,), _BF16, "near 1 000 000"),
    (1, (7,), _FP16, ""),
    (5, (7, 3), _FP16, ""),
    (5, (3,), _BF16, ""),
    (3, (2, 2, 2), _FP16, "near 100 000 on rank 0"),
]


def cases(seed: int) -> list[Case]:
    """Both types, lengths that N divides or not, sums and numbers beyond float16; else others."""
    random, made = rng(seed, "10.1"), []
    more = [(int(random.integers(4, 8)), (7,), _FP16, "near 60 000")] if seed else []
    for ranks, shape, kind, size in _SHOWN + more:
        shape = tuple(map(int, random.integers(2, 9, len(shape)))) if seed else shape
        held = _drawn(random, ranks, shape, size)
        numbers = " × ".join(map(str, shape)) if len(shape) > 1 else shape[0]
        name = f"On {count(ranks, 'rank')} with {numbers} numbers {size and size + ' '}in {kind}"
        args = tuple((each, kind) for each in held)
        made.append(Case(name, args, ranks, {}, {"held": held, "kind": kind}))
    return made


def _drawn(random: np.random.Generator, ranks: int, shape: Shape, size: str) -> np.ndarray:
    if not size:
        return random.standard_normal((ranks, *shape))
    near = random.uniform(0.92, 1.08, (ranks, *shape)) * random.choice([-1, 1], shape)
    if "60" in size:
        return near * 60_000
    if "rank 0" in size:
        near[1:] *= random.uniform(-0.2, 0.2, near[1:].shape)
        return near * 100_000
    return near * 1_000_000


def _mean(case: Case) -> np.ndarray:
    mean: np.ndarray = case.facts["held"].mean(axis=0)
    return mean


def _least(case: Case) -> int:
    """Bytes that a ring of chunks of ⌈n/N⌉ 2-byte numbers sends from each rank."""
    return 2 * (case.ranks - 1) * -(-_mean(case).size // case.ranks) * _ITEM


def _is_mean(case: Case, got: Any, kind: str) -> bool:
    """Whether a tensor is the mean, to what is lost where 16-bit numbers of this type add up."""
    if not is_array(got, _mean(case).shape):
        return False
    # Each rank's part is rounded once, each sum of two as well, and perhaps a quotient.
    bound = (case.ranks + 1.1) * np.abs(case.facts["held"]).mean(axis=0) * _ROUNDED[kind]
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(got - _mean(case)) <= bound + case.ranks * _SMALLEST))


def _same_bits(seen: Observation) -> bool:
    return all(np.array_equal(each, after(seen)[0]) for each in after(seen))


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The mean, few bytes, the same bits everywhere."""
    for rank, got in enumerate(after(seen)):
        if not _is_mean(case, got, case.facts["kind"]):
            yield f"rank {rank}'s gradient is not the mean{_off(case, got)}."
    for rank, sent in enumerate(seen.bytes):
        if sent > _least(case):
            yield (
                f"the mean is right, but rank {rank} sent {sent} B. A ring of 2-byte numbers sends "
                f"{_least(case)} B at most."
            )
    if not _same_bits(seen):
        yield (
            "the means are right, and differ from rank to rank in their last bits: every rank "
            "takes what came out of the ring, bit for bit."
        )
    yield not_waited(case, seen)


def _off(case: Case, got: Any) -> str:
    if not is_array(got, _mean(case).shape) or not np.all(np.isfinite(got)):
        return ": there are numbers in it that are not finite"
    place = np.unravel_index(np.argmax(np.abs(got - _mean(case))), got.shape)
    where = ", ".join(map(str, place))
    return (
        f": at [{where}] it is {short(float(got[place]))}, not {short(float(_mean(case)[place]))}"
    )


def compared(case: Case, seen: Observation) -> Any:
    """Whether each rank still has its own numbers; roughly what it gave then, or what it has, for
    16 bits round otherwise in another order; which types a mean is as exact as; bits and bytes."""
    told, scale = [], np.max(np.abs(_mean(case)))
    for own, value in zip(case.facts["held"], seen.values, strict=True):
        got, gave = value["after"], value["returned"]
        unchanged = any(np.allclose(got, part, 1e-2, 0) for part in (own, own / case.ranks))
        shown, exact = gave if unchanged else got, [k for k in _ROUNDED if _is_mean(case, got, k)]
        with np.errstate(all="ignore"):
            rough = None if shown is None else (shown / scale).astype(np.float16)
        told.append((unchanged, rough, exact))
    return told, _same_bits(seen), max(seen.bytes) <= _least(case)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was sent, and what there was before and afterwards."""
    held, sent = case.facts["held"], max(seen.bytes, default=0)
    largest = {"most": held, "total": held.sum(axis=0), "limit": np.array(_LARGEST)}
    return {
        "n": case.ranks,
        "sent": sent,
        "times": times(sent, _least(case)) if sent else "",
        "sender": seen.bytes.index(sent) if sent else 0,
        "part": short(float(held[0].flat[0] / case.ranks)),
        "mean": short(float(_mean(case).flat[0])),
        "sum": short(float(held.sum(axis=0).flat[0])),
        **{k: f"{np.max(np.abs(v)):,.0f}".replace(",", " ") for k, v in largest.items()},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    off = dict.fromkeys(_ROUNDED, 0.0)
    for case, each in zip(cases, seen, strict=True):
        error = np.max(np.abs(after(each)[0] - _mean(case))) / np.max(np.abs(_mean(case)))
        off[case.facts["kind"]] = max(off[case.facts["kind"]], float(error))
    return (
        f"Passed on {worlds(cases)}. {cases[0].name}, rank 0 sent {seen[0].bytes[0]} B; in float32 "
        f"it would be twice as much. Beside the largest number the mean was off by up to "
        f"{off[_BF16]:.1%} in bfloat16, and by {off[_FP16]:.2%} in float16."
    )


def type_of(name: str) -> torch.dtype:
    """torch's type of that name, such as "bfloat16"."""
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def _in_its_memory(fn: Function, comm: Any, tensor: Tensor, kind: str) -> Any:
    """Call `fn(comm, tensor, torch's type of that name)`.

    What the memory holds afterwards in which the tensor lay, what was returned in its place, and
    how many messages were left open. Who gives the tensor other memory, as `tensor.data = …` does,
    has not written into this.
    """
    # Only in the learner's own process can a tensor be given other memory; and the grader moves it.
    memory = tensor if isinstance(fn, Remote) else tensor.detach()
    requests = Requests(comm)
    returned = fn(comm, tensor, made(fn, type_of, kind))
    given = None if returned is tensor else returned
    return {"after": memory, "returned": given, OPEN: requests.end()}


in_its_memory = Ranked(_in_its_memory)


def average_half(comm: Any, gradient: Any, dtype: Any) -> Any:
    half = gradient.div_(comm.size).to(dtype)
    all_reduce_ring(comm, half)
    return gradient.copy_(half)


_TOO_WIDE = (
    "the mean is right, but rank {sender} sent {sent} B, {times} as much as a ring of 2-byte "
    "numbers: what goes round is a tensor of wider ones, or goes round more than once. Give the "
    "ring the tensor of type `dtype` itself, once, and copy that back afterwards."
)
WRONG = """
nothing is sent
    | all_reduce_ring(comm, half) =>
    nothing was sent, so no rank knows the others' gradients: `all_reduce_ring(comm, half)` sums
    `half` over the ranks.
cast before it is divided
    | gradient.div_(comm.size).to(dtype) => gradient.to(dtype).div_(comm.size)
    numbers became infinite before they went round: a gradient holds {most}, and float16 ends at
    {limit}. Divide by N first, in the gradient's own type, and then cast.
divided behind the ring
    | .div_(comm.size) =>
    | .copy_(half) => .copy_(half).div_(comm.size)
    numbers became infinite on their way: the gradients add up to {total}, and float16 ends at
    {limit}. Divide by N before you cast, so that the ring's sum is the mean.
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
    ! too_wide
sends float32
    | .to(dtype) => .to(dtype).float()
    ! too_wide
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
    {limit}. Cast to `dtype`.
through rank 0
    | all_reduce_ring(comm, half) => all_reduce_naive(comm, half)
    the mean is right, but all send to rank 0 and get it from there: it sent {sent} B, {times} as
    much as a ring of 2-byte numbers.
# It adds what the others gave to its own part, which it has not rounded.
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
    stars=1,
    minutes=8,
    points=2,
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
    wrong=wrong_answers(
        "10.1",
        WRONG,
        (average_half, all_reduce_ring, reduce_scatter_ring, all_gather_ring, all_reduce_naive),
        too_wide=_TOO_WIDE,
    ),
    figure=0,
)
