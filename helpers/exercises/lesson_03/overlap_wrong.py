"""The reference of exercise 03.5, and overlaps with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _when_full(number: int, arrived: int, size: int) -> int | None:
    return number if arrived == size else None


def _in_background(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    return comm.background(reduce, flat)


def _overlap(
    due: Callable[[int, int, int], int | None] = _when_full,
    begin: Callable[..., Any] = _in_background,
    ranks: Callable[[int], bool] = lambda rank: True,
    rest: bool = False,
    again: bool = True,
    wait: bool = True,
    write: bool = True,
    divide: bool = True,
    single: bool = False,
) -> Callable[..., Callable[[], None]]:
    """The course's own, and the same with a part exchanged.

    due: the bucket that a gradient starts, of its own bucket's number, how many of that have come,
    and how many there are. begin: how a sum starts, with the request before it. ranks: where hooks
    start sums. rest: whether finish() starts what no hook has started. again: whether it counts
    anew in each step.
    """

    def overlap(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
        arrived = [0] * len(buckets)
        started: list[tuple[int, Any, Any]] = []

        def start(number: int) -> None:
            there = [p.grad.reshape(-1) for p in buckets[number]]
            flat = torch.cat(there).float() if single else torch.cat(there)
            before = started[-1][2] if started else None
            started.append((number, flat, begin(comm, reduce, flat, before)))

        def hook(number: int) -> Callable[[Any], None]:
            def arrive(parameter: Any) -> None:
                arrived[number] += 1
                starts = due(number, arrived[number], len(buckets[number]))
                if starts is not None and ranks(comm.rank):
                    start(starts)

            return arrive

        for number, bucket in enumerate(buckets):
            for parameter in bucket:
                parameter.register_post_accumulate_grad_hook(hook(number))

        def finish() -> None:
            for number in set(range(len(buckets))) - {one for one, _, _ in started} if rest else ():
                start(number)
            for number, flat, request in started:
                if wait:
                    request.wait()
                parts = flat.split([p.numel() for p in buckets[number]])
                for parameter, part in zip(buckets[number], parts, strict=True):
                    if write:
                        mean = part / comm.size if divide else part
                        parameter.grad = mean.reshape(parameter.shape).to(parameter.dtype)
            started.clear()
            if again:
                arrived[:] = [0] * len(buckets)

        return finish

    return overlap


def _on_its_own_thread(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    return reduce(comm, flat)


def _called(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    return comm.background(reduce(comm, flat), flat)


def _waited_for(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    request = comm.background(reduce, flat)
    request.wait()
    return request


def _after_the_last(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    if before is not None:
        before.wait()
    return comm.background(reduce, flat)


def _twice(comm: Any, reduce: Any, flat: Any, before: Any) -> Any:
    comm.background(reduce, flat.clone())
    return comm.background(reduce, flat)


reference = _overlap()
own_thread = _overlap(begin=_on_its_own_thread, wait=False)
waits_for_a_sum = _overlap(begin=_on_its_own_thread)
calls_it = _overlap(begin=_called)
waits_in_the_hook = _overlap(begin=_waited_for)
waits_for_the_last = _overlap(begin=_after_the_last)
sums = _overlap(divide=False)
not_written_back = _overlap(write=False)
does_not_wait = _overlap(wait=False)
in_float32 = _overlap(single=True)
first_step_only = _overlap(again=False)
counts_no_more = _overlap(again=False, rest=True)
first_gradient = _overlap(lambda number, arrived, size: number if arrived == 1 else None)
no_hooks = _overlap(lambda number, arrived, size: None)
after_backward = _overlap(lambda number, arrived, size: None, rest=True)
with_the_next = _overlap(
    lambda number, arrived, size: number - 1 if number and arrived == 1 else None, rest=True
)
hooks_on_rank_0 = _overlap(ranks=lambda rank: rank == 0, rest=True)
rank_0_alone = _overlap(ranks=lambda rank: rank == 0)
starts_twice = _overlap(begin=_twice)


def each_parameter(comm: Any, buckets: Any, reduce: Any) -> Any:
    return reference(comm, [[parameter] for bucket in buckets for parameter in bucket], reduce)


def no_finish(comm: Any, buckets: Any, reduce: Any) -> None:
    reference(comm, buckets, reduce)
