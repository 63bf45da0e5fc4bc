"""Right answers of lesson 03 by people who think otherwise than its author."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_naive,
    broadcast_naive,
)


def shard_every_nth(rows: int, rank: int, size: int, epoch: int) -> Any:
    """Takes every N-th row of numpy's permutation, as a list."""
    order = np.random.default_rng(epoch).permutation(rows)
    return [int(i) for i in order[rank::size]]


def average_in_one_tensor(comm: Any, model: Any, rows: int, total: int) -> None:
    """One sum for all parameters, through rank 0; new tensors in `.grad`."""
    parameters = list(model.parameters())
    flat = torch.cat([p.grad.reshape(-1) for p in parameters]) * rows / total
    if comm.rank:
        comm.send(flat, 0)
        flat = comm.recv(0)
    else:
        for other in range(1, comm.size):
            flat += comm.recv(other)
        for other in range(1, comm.size):
            comm.send(flat, other)
    for parameter, part in zip(
        parameters, flat.split([p.numel() for p in parameters]), strict=True
    ):
        parameter.grad = part.view_as(parameter)


def train_by_averaging_steps(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Averages the steps that the ranks would take, and never writes a `.grad`."""
    for parameter in model.parameters():
        broadcast_naive(comm, parameter.data)
    for _ in range(steps):
        gradients = torch.autograd.grad(
            torch.nn.functional.mse_loss(model(inputs), targets), list(model.parameters())
        )
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            step = gradient * (rate * len(inputs) / total)
            all_reduce_naive(comm, step)
            parameter.data -= step


def buckets_by_hand(sizes: list[int], limit: int) -> list[tuple[int, ...]]:
    """Tuples for buckets."""
    found: list[list[int]] = []
    for number in range(len(sizes) - 1, -1, -1):
        if found and sum(sizes[i] for i in found[-1]) < limit:
            found[-1].append(number)
        else:
            found.append([number])
    return [tuple(bucket) for bucket in found]


def overlap_in_views(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
    """Copies gradients into flat buffers made once, divides first, and sets views."""
    flats = [torch.zeros(sum(p.numel() for p in b), dtype=b[0].dtype) for b in buckets]
    missing = [len(bucket) for bucket in buckets]
    requests: list[Any] = []

    def add(number: int, view: Any) -> Callable[[Any], None]:
        def hook(parameter: Any) -> None:
            view.copy_(parameter.grad / comm.size)
            parameter.grad = view
            missing[number] -= 1
            if missing[number] == 0:
                missing[number] = len(buckets[number])
                requests.append(comm.background(reduce, flats[number]))

        return hook

    for number, bucket in enumerate(buckets):
        parts = flats[number].split([p.numel() for p in bucket])
        for parameter, part in zip(bucket, parts, strict=True):
            parameter.register_post_accumulate_grad_hook(add(number, part.view_as(parameter)))

    def finish() -> None:
        while requests:
            requests.pop(0).wait()

    return finish


def rate_in_one_line(step: int, base: float, times: int, warmup: int) -> Any:
    """A tensor, computed in another order."""
    part = 1.0 if step >= warmup else step / warmup
    return torch.tensor(base * (1 - part) + base * times * part, dtype=torch.float64)


def rate_in_float32(step: int, base: float, times: int, warmup: int) -> Any:
    """Looked up in a table of float32."""
    if not warmup:
        return base * times
    return torch.linspace(base, base * times, warmup + 1)[min(step, warmup)].item()


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("03.1", shard_every_nth),
    ("03.2", average_in_one_tensor),
    ("03.3", train_by_averaging_steps),
    ("03.4", buckets_by_hand),
    ("03.5", overlap_in_views),
    ("03.6", rate_in_one_line),
    ("03.6", rate_in_float32),
]
