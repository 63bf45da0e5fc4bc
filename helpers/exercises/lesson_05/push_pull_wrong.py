"""The reference of exercise 05.2, and servers and workers with one thing wrong."""

from __future__ import annotations

from typing import Any


def _work(comm: Any, gradient: Any, steps: int) -> None:
    for _ in range(steps):
        comm.send(gradient(comm.recv(0)), 0)


def reference(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """The course's own: rank 0 answers each push with the newest weights."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for step in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
    return weights


def waits_for_all(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Gives all workers the same weights, and applies all gradients before it answers anybody."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for _ in range(steps):
        for worker in range(1, comm.size):
            comm.send(weights, worker)
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
    return weights


def takes_the_mean(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Waits for all and applies the mean."""
    if comm.rank:
        return _work(comm, gradient, steps)
    others = range(1, comm.size)
    for _ in range(steps):
        for worker in others:
            comm.send(weights, worker)
        given = [comm.recv(worker) for worker in others]
        if given:
            weights = weights - rate * sum(given) / len(given)
    return weights


def divides(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Divides each gradient by the number of workers."""
    return reference(comm, weights, gradient, steps, rate / max(comm.size - 1, 1))


def answers_first(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Answers with the weights from before the update."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for step in range(steps):
        for worker in range(1, comm.size):
            pushed = comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
            weights = weights - rate * pushed
    return weights


def uphill(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Adds the gradient."""
    return reference(comm, weights, gradient, steps, -rate)


def pulls_once(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Workers pull once and then push gradients at the same weights for ever."""
    if comm.rank:
        pulled = comm.recv(0)
        for _ in range(steps):
            comm.send(gradient(pulled), 0)
        return None
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for _ in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
    return weights


def pushes_weights(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Workers take the step themselves and push weights; the last push wins."""
    if comm.rank:
        for _ in range(steps):
            pulled = comm.recv(0)
            comm.send(pulled - rate * gradient(pulled), 0)
        return None
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for step in range(steps):
        for worker in range(1, comm.size):
            weights = comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
    return weights


def worker_by_worker(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Has its two loops the other way round."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for worker in range(1, comm.size):
        for step in range(steps):
            weights = weights - rate * comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
    return weights


def never_waits(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Starts its sends and forgets them."""
    if comm.rank:
        for _ in range(steps):
            comm.isend(gradient(comm.recv(0)), 0)
        return None
    return reference(comm, weights, gradient, steps, rate)


def in_place(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Takes the step in the tensor that it was given."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for step in range(steps):
        for worker in range(1, comm.size):
            weights -= rate * comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
    return weights


def nobody_begins(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """The server waits for gradients before it has given any weights: a deadlock."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for _ in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
            comm.send(weights, worker)
    return weights


def answers_the_last(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Sends weights after the last push too, which nobody receives: a deadlock."""
    if comm.rank:
        return _work(comm, gradient, steps)
    for worker in range(1, comm.size):
        comm.send(weights, worker)
    for _ in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
            comm.send(weights, worker)
    return weights
