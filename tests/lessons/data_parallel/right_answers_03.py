"""Right answers of lesson 03 by people who think otherwise than its author."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, broadcast_naive


def shard_rounded(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Cuts at rounded places, and puts the global state back."""
    before = torch.get_rng_state()
    torch.manual_seed(1000 + epoch)
    order = torch.randperm(rows)
    torch.set_rng_state(before)
    return order[round(rank * rows / size) : round((rank + 1) * rows / size)]


def average_of_what_all_send(comm: Any, model: Any, rows: int, total: int) -> None:
    """Every rank sends its gradients to every other."""
    for parameter in model.parameters():
        own = parameter.grad * rows / total
        others = [other for other in range(comm.size) if other != comm.rank]
        sent = [comm.isend(own, other) for other in others]
        parameter.grad = own + sum(comm.recv(other) for other in others)
        for request in sent:
            request.wait()


def train_with_an_optimizer(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """One flat broadcast, torch's SGD, sums of squares over all rows in place of means."""
    flat = nn.utils.parameters_to_vector(model.parameters()).detach()
    broadcast_naive(comm, flat)
    nn.utils.vector_to_parameters(flat, model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.mse_loss(model(inputs), targets, reduction="sum")
        (loss / (total * targets.shape[1])).backward()
        for parameter in model.parameters():
            all_reduce_ring(comm, parameter.grad)
        optimizer.step()


def train_with_a_sum_for_a_broadcast(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """The others start from zero, so that a sum brings them rank 0's parameters."""
    for parameter in model.parameters():
        parameter.data *= comm.rank == 0
        all_reduce_ring(comm, parameter.data)
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(inputs), targets) * len(inputs) / total
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            all_reduce_ring(comm, gradient)
            parameter.data.sub_(gradient, alpha=rate)


def buckets_from_a_copy(sizes: list[int], limit: int) -> list[list[int]]:
    """Takes from the end of a copy until nothing is left."""
    left, found = list(sizes), []
    while left:
        bucket, held = [], 0
        while left and held < limit:
            held += left.pop()
            bucket.append(len(left))
        found.append(bucket)
    return found


class Summing:
    """Counts on for ever, keeps the last step's sums until the next, and writes into `.grad`."""

    def __init__(self, comm: Any, buckets: Any, reduce: Any) -> None:
        self.comm, self.buckets, self.reduce = comm, buckets, reduce
        self.come = [0] * len(buckets)
        self.begun: dict[int, tuple[Any, Any]] = {}
        for number, bucket in enumerate(buckets):
            for parameter in bucket:
                parameter.register_post_accumulate_grad_hook(lambda _, n=number: self.arrive(n))

    def arrive(self, number: int) -> None:
        """A gradient of this bucket is there."""
        bucket = self.buckets[number]
        self.come[number] += 1
        if self.come[number] % len(bucket) == 0:
            flat = nn.utils.parameters_to_vector([p.grad for p in bucket])
            self.begun[number] = flat, self.comm.background(self.reduce, flat)

    def finish(self) -> None:
        """Wait, last bucket first."""
        for number in reversed(range(len(self.buckets))):
            flat, request = self.begun[number]
            request.wait()
            place = 0
            for parameter in self.buckets[number]:
                part = flat[place : place + parameter.numel()].view_as(parameter)
                parameter.grad.copy_(part).div_(self.comm.size)
                place += parameter.numel()


def overlap_as_a_class(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
    """A bound method for `finish`."""
    return Summing(comm, buckets, reduce).finish


def overlap_with_two_sets(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
    """Two sets of buffers take turns; what came is a set, and the requests a new list a step."""
    turns = [
        [torch.zeros(sum(p.numel() for p in b), dtype=b[0].dtype) for b in buckets]
        for _ in range(2)
    ]
    come: set[Any] = set()
    step, requests = 0, []

    def hook(number: int) -> Callable[[Any], None]:
        def arrive(parameter: Any) -> None:
            come.add(parameter)
            if come.issuperset(buckets[number]):
                come.difference_update(buckets[number])
                flat = turns[step % 2][number]
                torch.cat([p.grad.flatten() for p in buckets[number]], out=flat)
                requests.append(comm.background(reduce, flat))

        return arrive

    for number, bucket in enumerate(buckets):
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(hook(number))

    def finish() -> None:
        nonlocal step, requests
        for request in requests:
            request.wait()
        for bucket, flat in zip(buckets, turns[step % 2], strict=True):
            parts = flat.split([p.numel() for p in bucket])
            for parameter, part in zip(bucket, parts, strict=True):
                parameter.grad = part.view_as(parameter).mul_(1 / comm.size)
        step, requests = step + 1, []

    return finish


def rate_step_by_step(step: int, base: float, times: float, warmup: int) -> float:
    """Adds the same amount so many times."""
    grown = sum((base * times - base) / warmup for _ in range(min(step, warmup)))
    return base + grown if warmup else base * times


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("03.1", shard_rounded),
    ("03.2", average_of_what_all_send),
    ("03.3", train_with_an_optimizer),
    ("03.3", train_with_a_sum_for_a_broadcast),
    ("03.4", buckets_from_a_copy),
    ("03.5", overlap_as_a_class),
    ("03.5", overlap_with_two_sets),
    ("03.6", rate_step_by_step),
]
