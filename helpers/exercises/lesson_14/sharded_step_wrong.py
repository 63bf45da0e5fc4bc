"""Steps of a sharded optimizer with one thing wrong, for exercise 14.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.exercises.lesson_14.shared import chunk, gathered, scattered, summed, told_by_all


def _step(
    momentum_of: Callable[..., Any] = lambda old, mean, rate, beta, n: beta * old + mean,
    moved_by: Callable[..., Any] = lambda old, new, mean, rate, n: rate * new,
    mean_of: Callable[[Any, Any], Any] = lambda comm, g: scattered(comm, g) / comm.size,
    end: Callable[[Any, Any], Any] = gathered,
) -> Callable[..., None]:
    """The right step, with another momentum, another move, another mean gradient, or end."""

    def sharded_step(
        comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
    ) -> None:
        mean, old = mean_of(comm, gradient), momentum.clone()
        momentum.copy_(momentum_of(old, mean, rate, beta, comm.size))
        mine = chunk(comm, parameters)
        mine -= moved_by(old, momentum, mean, rate, comm.size)
        end(comm, parameters)

    return sharded_step


def _own(comm: Any, gradient: Any) -> Any:
    mine = chunk(comm, gradient).clone()
    scattered(comm, gradient)
    return mine


def _in_messages(comm: Any, parameters: Any, to_itself: bool = False) -> None:
    import torch

    parameters.copy_(torch.cat(told_by_all(comm, chunk(comm, parameters), to_itself=to_itself)))


_right = _step()
_not_gathered = _step(end=lambda comm, parameters: None)
sums = _step(lambda old, mean, rate, beta, n: beta * old + n * mean)
plus = _step(moved_by=lambda old, new, mean, rate, n: -rate * new)
no_beta = _step(lambda old, mean, rate, beta, n: old + mean)
moving_average = _step(lambda old, mean, rate, beta, n: beta * old + (1 - beta) * mean)
rate_inside = _step(
    lambda old, mean, rate, beta, n: beta * old + rate * mean, lambda old, new, mean, rate, n: new
)
no_rate = _step(moved_by=lambda old, new, mean, rate, n: new)
too_early = _step(moved_by=lambda old, new, mean, rate, n: rate * old)
by_the_gradient = _step(moved_by=lambda old, new, mean, rate, n: rate * mean)
divides_twice = _step(lambda old, mean, rate, beta, n: beta * old + mean / n)
sum_inside = _step(
    lambda old, mean, rate, beta, n: beta * old + n * mean,
    lambda old, new, mean, rate, n: rate / n * new,
)
own_gradient = _step(mean_of=_own)
own_part = _step(mean_of=lambda comm, gradient: _own(comm, gradient) / comm.size)
by_all_reduce = _step(
    mean_of=lambda comm, gradient: chunk(comm, summed(comm, gradient)) / comm.size
)
no_gather = _step(end=lambda comm, parameters: gathered(comm, parameters.clone()))
no_wait = _step(end=_in_messages)
to_itself = _step(end=lambda comm, parameters: _in_messages(comm, parameters, True))


def gathers_first(comm: Any, p: Any, gradient: Any, momentum: Any, *rule: float) -> None:
    gathered(comm, p)
    _not_gathered(comm, p, gradient, momentum, *rule)


def new_momentum(comm: Any, p: Any, gradient: Any, momentum: Any, *rule: float) -> None:
    _right(comm, p, gradient, momentum.clone(), *rule)


def into_a_copy(comm: Any, p: Any, gradient: Any, momentum: Any, *rule: float) -> None:
    _right(comm, p.clone(), gradient, momentum, *rule)


def floor_slices(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    each = len(p) // comm.size
    start = comm.rank * each
    stop = len(p) if comm.rank == comm.size - 1 else start + each
    momentum.mul_(beta).add_(scattered(comm, gradient), alpha=1 / comm.size)
    p[start:stop] -= rate * momentum
    gathered(comm, p)


def whole_momentum(comm: Any, p: Any, g: Any, momentum: Any, rate: float, beta: float) -> None:
    momentum.mul_(beta).add_(scattered(comm, g), alpha=1 / comm.size)
    state = p.new_empty(len(p))
    chunk(comm, state).copy_(momentum)
    p -= rate * gathered(comm, state)
