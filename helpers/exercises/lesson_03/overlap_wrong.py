"""The reference of exercise 03.5, and overlaps with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _overlap(
    due: Callable[[int, int, int], int | None] = lambda number, come, size: (
        number if come == size else None
    ),
    begin: Callable[..., Any] = lambda comm, reduce, flat, before: comm.background(reduce, flat),
    ranks: Callable[[int], bool] = lambda rank: True,
    rest: bool = False,
    again: bool = True,
    wait: bool = True,
    write: str = "after",
    divide: bool = True,
    single: bool = False,
    clear: bool = True,
    as_they_come: str = "",
) -> Callable[..., Callable[[], None]]:
    """The course's own, or with a part exchanged. due: the bucket that a gradient starts, of its
    own bucket's number, how many of that have come, and how many there are. begin: how a sum starts
    with the request before it. ranks: where hooks start sums. rest: whether finish() starts it.
    again: whether it counts anew in each step. write: when it writes the average back.
    as_they_come: what goes in the order of arrival, "joined" or "parted", not in the bucket's."""

    def overlap(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
        arrived = [0] * len(buckets)
        come: list[int] = []
        started: list[tuple[int, Any, Any]] = []

        def order(number: int, what: str) -> list[Any]:
            as_come = what == as_they_come
            return sorted(buckets[number], key=lambda p: come.index(id(p)) if as_come else 0)

        def start(number: int) -> None:
            there = [p.grad.reshape(-1) for p in order(number, "joined")]
            flat = torch.cat(there).float() if single else torch.cat(there)
            before = started[-1][2] if started else None
            started.append((number, flat, begin(comm, reduce, flat, before)))
            if write == "at once":
                put(number, flat)

        def put(number: int, flat: Any) -> None:
            parameters = order(number, "parted")
            parts = flat.split([p.numel() for p in parameters])
            for parameter, part in zip(parameters, parts, strict=True):
                mean = part / comm.size if divide else part
                parameter.grad = mean.reshape(parameter.shape).to(parameter.dtype)

        def hook(number: int) -> Callable[[Any], None]:
            def arrive(parameter: Any) -> None:
                arrived[number] += 1
                come.append(id(parameter))
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
                if write == "after":
                    put(number, flat)
            come.clear()
            if clear:
                started.clear()
            if again:
                arrived[:] = [0] * len(buckets)

        return finish

    return overlap


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
own_thread = _overlap(begin=lambda comm, reduce, flat, _: reduce(comm, flat), wait=False)
waits_for_a_sum = _overlap(begin=lambda comm, reduce, flat, _: reduce(comm, flat))
calls_it = _overlap(begin=lambda comm, reduce, flat, _: comm.background(reduce(comm, flat), flat))
waits_in_the_hook = _overlap(begin=_waited_for)
waits_for_the_last = _overlap(begin=_after_the_last)
sums = _overlap(divide=False)
not_written_back = _overlap(write="never")
written_at_once = _overlap(write="at once")
does_not_wait = _overlap(wait=False)
joined_as_they_come = _overlap(as_they_come="joined")
parted_as_they_come = _overlap(as_they_come="parted")
in_float32 = _overlap(single=True)
first_step_only = _overlap(again=False)
counts_no_more = _overlap(again=False, rest=True)
clears_nothing = _overlap(clear=False)
first_gradient = _overlap(lambda number, arrived, size: number if arrived == 1 else None)
no_hooks = _overlap(lambda number, arrived, size: None)
after_backward = _overlap(lambda number, arrived, size: None, rest=True)
with_the_next = _overlap(
    lambda number, arrived, size: number - 1 if number and arrived == 1 else None, rest=True
)
hooks_on_rank_0 = _overlap(ranks=lambda rank: rank == 0, rest=True)
rank_0_alone = _overlap(ranks=lambda rank: rank == 0)
starts_twice = _overlap(begin=_twice)


def one_for_all(comm: Any, buckets: Any, reduce: Any) -> Any:
    return reference(comm, [[parameter for bucket in buckets for parameter in bucket]], reduce)


def list_grows(comm: Any, buckets: Any, reduce: Any) -> Any:
    come: list[Any] = []
    for parameter in buckets[0]:
        parameter.register_post_accumulate_grad_hook(come.append)
    return reference(comm, buckets, reduce)


def each_parameter(comm: Any, buckets: Any, reduce: Any) -> Any:
    return reference(comm, [[parameter] for bucket in buckets for parameter in bucket], reduce)


def no_finish(comm: Any, buckets: Any, reduce: Any) -> None:
    reference(comm, buckets, reduce)
