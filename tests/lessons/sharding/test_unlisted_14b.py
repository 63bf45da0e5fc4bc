"""Lesson 14, exercises 5 to 8: answers that no table lists, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from helpers.checks import find
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)
from helpers.lessons.sharding.algorithms.all_to_all import all_to_all
from tests.checks.table import is_told, verdict


def step(comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> Any:
    """What every answer to 14.5 begins with: the new momentum, and this rank's slice."""
    mine = reduce_scatter_ring(comm, gradient)
    momentum.mul_(beta).add_(mine, alpha=1 / comm.size)
    return slice(*chunk_bounds(len(parameters), comm.size)[comm.rank])


def gathers_the_change(comm: Any, parameters: Any, *rest: Any) -> None:
    own = step(comm, parameters, *rest)
    change = torch.zeros_like(parameters)
    change[own] = rest[2] * rest[1]
    parameters -= all_gather_ring(comm, change)


def keeps_its_own_momentum(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, *rest: float
) -> None:
    store = vars(keeps_its_own_momentum).setdefault("store", {})
    kept = store.get((comm.rank, len(parameters), comm.size))
    if kept is not None:
        momentum.copy_(kept)
    find("14.5").reference(comm, parameters, gradient, momentum, *rest)
    store[comm.rank, len(parameters), comm.size] = momentum.clone()


def clips(comm: Any, parameters: Any, *rest: Any) -> None:
    own = step(comm, parameters, *rest)
    rest[1].clamp_(-5, 5)
    parameters[own] -= rest[2] * rest[1]
    all_gather_ring(comm, parameters)


def wide_gradient(comm: Any, parameters: Any, gradient: Any, *rest: Any) -> None:
    find("14.5").reference(comm, parameters, gradient.double(), *rest)


def gathers_twice(comm: Any, parameters: Any, *rest: Any) -> None:
    find("14.5").reference(comm, parameters, *rest)
    all_gather_ring(comm, parameters)


def layer(
    comm: Any,
    x: Any,
    own: Any,
    shape: Any,
    forward: Callable[..., None] = lambda *args: None,
    backward: Callable[..., Any] = lambda *args: None,
) -> Any:
    """A right answer to 14.6, but for what two functions do more: of ctx, the weight and the
    result; of the gradient and the weight, whose result is what backward returns."""

    def gather(part: Any) -> Any:
        row = part.new_empty(shape[0] * shape[1])
        row[slice(*chunk_bounds(len(row), comm.size)[comm.rank])] = part
        return all_gather_ring(comm, row).view(shape)

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, own: Any) -> Any:
            ctx.save_for_backward(x, own)
            weight = gather(own)
            out = x @ weight.T
            forward(ctx, weight, out)
            return out

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            x, own = ctx.saved_tensors
            weight = gather(own)
            instead = backward(gradients[0], weight, gather, own)
            if instead is not None:
                return instead
            of_own = reduce_scatter_ring(comm, (gradients[0].T @ x).flatten()).clone()
            return gradients[0] @ weight, of_own

    return Linear.apply(x, own)


def without_a_chunk(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    return layer(comm, x, own, shape) if len(own) else x.new_zeros(len(x), shape[0])


def without_a_gradient(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def backward(gradient: Any, weight: Any, gather: Any, own: Any) -> Any:
        return None if gradient.any() else (gradient @ weight, torch.zeros_like(own))

    return layer(comm, x, own, shape, backward=backward)


def plain_for_a_plain_x(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    if x.requires_grad:
        return layer(comm, x, own, shape)
    row = own.new_zeros(shape[0] * shape[1])
    row[slice(*chunk_bounds(len(row), comm.size)[comm.rank])] = own
    return x @ all_gather_ring(comm, row).view(shape).T


def alone_from_the_last_call(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    store = vars(alone_from_the_last_call).setdefault("store", {})
    kept = store.setdefault(shape, own.detach().clone()) if comm.size == 1 else own
    return layer(comm, x, own + (kept - own).detach(), shape)


def keeps_rows(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def forward(ctx: Any, weight: Any, out: Any) -> None:
        ctx.rows = [row.clone() for row in weight]

    return layer(comm, x, own, shape, forward)


def keeps_an_array(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def forward(ctx: Any, weight: Any, out: Any) -> None:
        ctx.array = weight.numpy().copy()

    return layer(comm, x, own, shape, forward)


def keeps_the_result(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def forward(ctx: Any, weight: Any, out: Any) -> None:
        ctx.out = out

    return layer(comm, x, own, shape, forward)


def gathers_twice_in_forward(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def forward(ctx: Any, weight: Any, out: Any) -> None:
        all_gather_ring(comm, weight.clone())

    return layer(comm, x, own, shape, forward)


def gathers_twice_in_backward(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    def backward(gradient: Any, weight: Any, gather: Any, own: Any) -> None:
        gather(own)

    return layer(comm, x, own, shape, backward=backward)


def attend(
    comm: Any,
    query: Any,
    key: Any,
    value: Any,
    places: Any,
    each: Callable[..., Any] = lambda *args: None,
    skip: Callable[[int], bool] = lambda source: False,
    floor: float = -torch.inf,
    squeeze: bool = False,
) -> Any:
    """A right answer to 14.7, but for what `each(block)` does while it travels, which blocks are
    skipped, a smallest exponent, and dimensions that are dropped."""
    block, mixed = torch.stack([key, value]), torch.zeros_like(query)
    top, total = torch.full_like(query[..., 0], -torch.inf), torch.zeros_like(query[..., 0])
    for step in range(comm.size):
        source, passing = (comm.rank - step) % comm.size, step < comm.size - 1
        if passing:
            sending = comm.isend(block, (comm.rank + 1) % comm.size)
        each(block)
        if not skip(source):
            scores = query @ block[0].mT / query.shape[-1] ** 0.5
            if places is not None:
                later = places[source][None, :] > places[comm.rank][:, None]
                scores = scores.masked_fill(later, -torch.inf)
            most = scores.amax(-1)
            higher = torch.maximum(top, most.squeeze() if squeeze else most)
            weights = (scores - higher[..., None]).clamp(min=floor).exp()
            shrunk = (top - higher).exp()
            total = total * shrunk + weights.sum(-1)
            mixed, top = mixed * shrunk[..., None] + weights @ block[1], higher
        if passing:
            block = comm.recv((comm.rank - 1) % comm.size)
            sending.wait()
    return mixed / total[..., None], top + total.log()


def keeps_all_blocks(comm: Any, *args: Any) -> Any:
    blocks: list[Any] = []
    return attend(comm, *args, each=blocks.append)


def writes_into_what_travels(comm: Any, *args: Any) -> Any:
    return attend(comm, *args, each=lambda block: block[1].add_(0.0).mul_(1 + 1e-15))


def small_weights(comm: Any, *args: Any) -> Any:
    return attend(comm, *args, floor=-30.0)


def drops_dimensions(comm: Any, *args: Any) -> Any:
    return attend(comm, *args, squeeze=True)


def in_float64(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    mixed, sums = attend(comm, query, key, value, places)
    return mixed.double(), sums.double()


def adds_a_little(comm: Any, *args: Any) -> Any:
    mixed, sums = attend(comm, *args)
    return mixed * (1 - 1e-7), sums


def skips_by_rank(comm: Any, *args: Any) -> Any:
    return attend(comm, *args, skip=lambda source: args[3] is not None and source > comm.rank)


def skips_what_is_later(comm: Any, *args: Any) -> Any:
    places = None if args[3] is None else [each.tolist() for each in args[3]]

    def later(source: int) -> bool:
        return places is not None and min(places[source]) > max(places[comm.rank])

    return attend(comm, *args, skip=later)


def experts(comm: Any, x: Any, choice: Any, sizes: list[int], work: Callable[..., Any]) -> Any:
    taken = [(choice == rank).nonzero()[:, 0][:most] for rank, most in enumerate(sizes)]
    arrived = all_to_all(comm, [x[rows] for rows in taken])
    back = all_to_all(comm, work(arrived))
    return torch.zeros_like(x).index_copy(0, torch.cat(taken), torch.cat(back))


def one_less_of_its_own(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    sizes = [max(capacity - (rank == comm.rank), 0) for rank in range(comm.size)]
    return experts(comm, x, choice, sizes, lambda parts: [expert(part) for part in parts])


def drops_there(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    def work(parts: list[Any]) -> list[Any]:
        return [torch.cat([expert(p[:capacity]), torch.zeros_like(p[capacity:])]) for p in parts]

    return experts(comm, x, choice, [len(x)] * comm.size, work)


def wide_results(comm: Any, *args: Any) -> Any:
    return find("14.8").reference(comm, *args).double()


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("14.5", gathers_the_change, "or a multiple of it"),
        ("14.5", keeps_its_own_momentum, "was set back to what it was"),
        ("14.5", clips, "large gradients"),
        ("14.5", wide_gradient, "in float32"),
        ("14.5", gathers_twice, "One of each does"),
        ("14.6", without_a_chunk, "which did not come"),
        ("14.6", without_a_gradient, "which did not come"),
        ("14.6", plain_for_a_plain_x, "this rank's alone"),
        ("14.6", alone_from_the_last_call, "with another `own` before"),
        ("14.6", keeps_rows, "still in memory after it"),
        ("14.6", keeps_an_array, "still in memory after it"),
        ("14.6", keeps_the_result, "the result was still in memory"),
        ("14.6", gathers_twice_in_forward, "B in forward and"),
        ("14.6", gathers_twice_in_backward, "one all-gather and one reduce-scatter"),
        ("14.7", keeps_all_blocks, "still held all 4 blocks"),
        ("14.7", writes_into_what_travels, "what is on its way may change"),
        ("14.7", small_weights, "a later key not quite 0"),
        ("14.7", drops_dimensions, "has the shape"),
        ("14.7", in_float64, "are float64 where"),
        ("14.7", adds_a_little, "a small number added"),
        ("14.7", skips_by_rank, "are not those of attention in one piece"),
        ("14.8", one_less_of_its_own, "has to become what expert"),
        ("14.8", drops_there, "neither dropped tokens"),
        ("14.8", wide_results, "returned float64 for tokens of float32"),
    ],
)
def test_it_is_wrong_in_cases_that_are_seen_and_is_told_so(
    number: str, answer: Any, words: str
) -> None:
    is_told(number, answer, words, (0, 1))


@pytest.mark.parametrize(("number", "answer"), [("14.6", layer), ("14.7", skips_what_is_later)])
def test_it_is_right(number: str, answer: Any) -> None:
    for seed in (0, 1, 2):
        found = verdict(find(number), answer, seed)
        assert found.status == "passed", found
