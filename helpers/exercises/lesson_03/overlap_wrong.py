"""The reference of exercise 03.5, and overlaps with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reference(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
    """The course's own, in its shortest form."""
    return _overlap(comm, buckets, reduce)


def _overlap(
    comm: Any,
    buckets: Any,
    reduce: Any,
    *,
    divide: bool = True,
    wait: bool = True,
    write: bool = True,
    again: bool = True,
    full: bool = True,
    background: bool = True,
    take_part: bool = True,
    patient: bool = True,
    call: bool = False,
    single: bool = False,
) -> Callable[[], None]:
    import torch

    arrived = [0] * len(buckets)
    started: list[Any] = []

    def hook(number: int) -> Callable[[Any], None]:
        def arrive(parameter: Any) -> None:
            arrived[number] += 1
            if arrived[number] == (len(buckets[number]) if full else 1) and take_part:
                flat = torch.cat([p.grad.reshape(-1) for p in buckets[number]])
                flat = flat.float() if single else flat
                work = reduce(comm, flat) if call or not background else reduce
                request = comm.background(work, flat) if background else work
                if not patient:
                    request.wait()
                started.append((buckets[number], flat, request))

        return arrive

    for number, bucket in enumerate(buckets):
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(hook(number))

    def finish() -> None:
        for bucket, flat, request in started:
            if wait:
                request.wait()
            parts = flat.split([p.numel() for p in bucket])
            for parameter, part in zip(bucket, parts, strict=True):
                if write:
                    mean = part / comm.size if divide else part
                    parameter.grad = mean.reshape(parameter.shape).to(parameter.dtype)
        started.clear()
        if again:
            arrived[:] = [0] * len(buckets)

    return finish


def after_backward(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Starts all buckets in finish()."""
    import torch

    def finish() -> None:
        flats = [torch.cat([p.grad.reshape(-1) for p in bucket]) for bucket in buckets]
        for request in [comm.background(reduce, flat) for flat in flats]:
            request.wait()
        for bucket, flat in zip(buckets, flats, strict=True):
            parts = flat.split([p.numel() for p in bucket])
            for parameter, part in zip(bucket, parts, strict=True):
                parameter.grad = (part / comm.size).reshape(parameter.shape)

    return finish


def own_thread(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Calls reduce in the hook."""
    return _overlap(comm, buckets, reduce, background=False, wait=False)


def waits_for_a_sum(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Takes what reduce gives for a request."""
    return _overlap(comm, buckets, reduce, background=False)


def calls_it(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Hands on what reduce gives in the place of reduce."""
    return _overlap(comm, buckets, reduce, call=True)


def waits_in_the_hook(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Waits for each sum at once."""
    return _overlap(comm, buckets, reduce, patient=False)


def each_parameter(comm: Any, buckets: Any, reduce: Any) -> Any:
    """One sum a parameter."""
    return _overlap(comm, [[p] for bucket in buckets for p in bucket], reduce)


def sums(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Never divides."""
    return _overlap(comm, buckets, reduce, divide=False)


def not_written_back(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Waits, and forgets the result."""
    return _overlap(comm, buckets, reduce, write=False)


def does_not_wait(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Uses the flat tensors before they are summed."""
    return _overlap(comm, buckets, reduce, wait=False)


def in_float32(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Copies the gradients into a tensor made by torch.zeros."""
    return _overlap(comm, buckets, reduce, single=True)


def first_step_only(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Never counts anew."""
    return _overlap(comm, buckets, reduce, again=False)


def first_gradient(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Starts a bucket at its first gradient."""
    return _overlap(comm, buckets, reduce, full=False)


def no_finish(comm: Any, buckets: Any, reduce: Any) -> None:
    """Returns nothing."""
    _overlap(comm, buckets, reduce)


def rank_0_alone(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Only rank 0 starts its buckets: a deadlock."""
    return _overlap(comm, buckets, reduce, take_part=comm.rank == 0)


def _averages(comm: Any, buckets: Any, started: dict[int, tuple[Any, Any]]) -> None:
    """Wait for every bucket's sum, (flat, request) by its number, and write the averages."""
    for number, (flat, request) in started.items():
        request.wait()
        parts = flat.split([p.numel() for p in buckets[number]])
        for parameter, part in zip(buckets[number], parts, strict=True):
            parameter.grad = (part / comm.size).reshape(parameter.shape)
    started.clear()


def _starter(comm: Any, buckets: Any, reduce: Any, started: Any) -> Callable[[int], None]:
    import torch

    def start(number: int) -> None:
        flat = torch.cat([p.grad.reshape(-1) for p in buckets[number]])
        started[number] = flat, comm.background(reduce, flat)

    return start


def _or_in_finish(
    comm: Any, buckets: Any, reduce: Any, *, hooks: bool = True, again: bool = True
) -> Callable[[], None]:
    """Hooks count and start, where there are hooks; finish() starts what has not been started."""
    started: dict[int, tuple[Any, Any]] = {}
    arrived = [0] * len(buckets)
    start = _starter(comm, buckets, reduce, started)

    def arrive(number: int) -> None:
        arrived[number] += 1
        if hooks and arrived[number] == len(buckets[number]):
            start(number)

    for number, bucket in enumerate(buckets):
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(lambda _, number=number: arrive(number))

    def finish() -> None:
        for number in range(len(buckets)):
            if number not in started:
                start(number)
        _averages(comm, buckets, started)
        if again:
            arrived[:] = [0] * len(buckets)

    return finish


def counts_no_more(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Never counts anew; finish() starts what no hook has started."""
    return _or_in_finish(comm, buckets, reduce, again=False)


def hooks_on_rank_0(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Only rank 0 starts in hooks; the others start in finish()."""
    return _or_in_finish(comm, buckets, reduce, hooks=comm.rank == 0)


def with_the_next(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Starts a bucket when the first gradient of the next one comes, the last in finish()."""
    started: dict[int, tuple[Any, Any]] = {}
    start = _starter(comm, buckets, reduce, started)

    def arrive(number: int) -> None:
        if number and number - 1 not in started:
            start(number - 1)

    for number, bucket in enumerate(buckets):
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(lambda _, number=number: arrive(number))

    def finish() -> None:
        start(len(buckets) - 1)
        _averages(comm, buckets, started)

    return finish


def waits_for_the_last(comm: Any, buckets: Any, reduce: Any) -> Any:
    """Waits in the hook until the bucket before is summed."""
    waiting: list[Any] = []

    class Polite:
        size = comm.size

        def background(self, fn: Any, flat: Any) -> Any:
            if waiting:
                waiting.pop().wait()
            waiting.append(comm.background(fn, flat))
            return waiting[-1]

    return _overlap(Polite(), buckets, reduce)
