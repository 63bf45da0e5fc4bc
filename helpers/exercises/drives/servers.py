"""Drivers for lesson 05: a supervisor, a server on rank 0, Downpour's clients, an optimizer.

Nothing here knows what is right.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.algorithms.servers.rule import Decision
from helpers.exercises.drives.calling import Function, failed, inside, wrong_signature
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests
from helpers.exercises.drives.values import plain, tensors
from helpers.exercises.spec import Case, Observation


@inside
def supervisor_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(weights, workers)`, a rule that takes weights; `values[0]` is the list of turns.

    The case's arguments: goals (workers, weights), rate, order. Worker w goes from the weights p
    that it pulled to p − rate·(p − goal) and pushes that. order: workers' numbers; at each turn the
    next one in it that has pulled and not yet pushed comes. A turn is `{"worker", "pushed",
    "weights", "made", "release"}`; where all workers wait, the list ends with `{"stuck"}`.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    goals, rate, order = (tensors(a) for a in case.args[0])
    try:
        return _supervise(fn(torch.zeros_like(goals[0]), len(goals)), goals, rate, list(order))
    except Exception as error:
        return failed(error, fn)


def _supervise(rule: Any, goals: Tensor, rate: float, order: list[int]) -> Observation:
    pulled = {w: rule.pull(w) for w in rule.start()}
    turns: list[Any] = []
    while order:
        place = next((i for i, worker in enumerate(order) if worker in pulled), None)
        if place is None:
            turns.append({"stuck": True})
            break
        worker = order.pop(place)
        weights, version = pulled.pop(worker)
        pushed = weights - rate * (weights - goals[worker])
        decision = rule.arrive(worker, pushed.clone(), version)
        if not isinstance(decision, Decision):
            turns.append({"worker": worker, "decision": plain(decision)})
            break
        released = [int(w) for w in decision.release]
        turns.append(
            {
                "worker": worker,
                "pushed": plain(pushed),
                "weights": plain(rule.weights),
                "made": int(rule.version),
                "release": released,
            }
        )
        pulled |= {other: rule.pull(other) for other in released}
    return Observation(values=[turns])


def client_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(rate, n_fetch, n_push)`, a client; `values[0]` is the list of its steps.

    The case's arguments: rate, n_fetch, n_push, gradients (steps, weights), fetches (steps + 1,
    weights): what the servers hold. A step is `{"push", "weights", "wants", "changed"}` after
    `computed`: the last is which tensor that it was given was changed in place, "weights",
    "gradient" or "". Where it wants weights it gets the next of the fetches, but the second time:
    as if no server had answered.
    """
    rate, n_fetch, n_push, gradients, fetches = (tensors(a) for a in case.args[0])
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    turns: list[Any] = []
    try:
        client, fetched, given, wishes = fn(rate, n_fetch, n_push), 0, fetches[0], 0
        lent = [gradient.clone() for gradient in gradients]
        for step in range(len(gradients)):
            wishes += bool(client.wants_weights)
            if client.wants_weights and wishes != 2:
                given = fetches[fetched].clone()
                client.pulled(given, fetched)
                fetched += 1
            push = client.computed(lent[step])
            moved = fetched > 0 and not _equal(given, fetches[fetched - 1])
            written = not _equal(torch.stack(lent), gradients)
            turns.append(
                {
                    "push": plain(push),
                    "weights": plain(client.weights),
                    "wants": bool(client.wants_weights),
                    "changed": "weights" if moved else "gradient" * written,
                }
            )
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[turns])


def optimizer_steps(fn: Function, case: Case) -> Observation:
    """Drive `fn(rate, start)`, a server's optimizer; `values[0]` is the list of its updates.

    The case's arguments: rate, start, weights, gradients (updates, weights). An update is
    `{"weights", "changed"}`: what `step` gave, and which tensor that it was given it changed in
    place, "weights", "gradient" or "".
    """
    rate, start, weights, gradients = (tensors(a) for a in case.args[0])
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    updates: list[Any] = []
    try:
        optimizer = fn(rate, start)
        for version, gradient in enumerate(gradients):
            before, own = weights.clone(), gradient.clone()
            made = optimizer.step(weights, own, version)
            changed = "weights" if not _equal(before, weights) else ""
            changed = changed or "gradient" * (not _equal(own, gradient))
            updates.append({"weights": plain(made), "changed": changed})
            if not isinstance(made, Tensor) or made.shape != before.shape:
                break
            weights = made
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[updates])


def _equal(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors of one shape hold the same, a NaN being like a NaN."""
    return bool(torch.isclose(one, other, rtol=0, atol=0, equal_nan=True).all())


def _on_push_and_pull(
    fn: Function, comm: Any, weights: Tensor, goal: Tensor, steps: int, rate: float, seconds: float
) -> Any:
    """`fn(comm, weights, gradient, steps, rate)`, with the gradient p − goal.

    `values[rank]`: `{"returned", "at", "pushed", "changed", "open"}`: what it gave, the weights
    that a gradient was asked for at and what it sent, one after the other, whether it changed the
    weights that it was given, and how many messages it did not wait for. A gradient takes `seconds`
    of its clock.
    """
    at: list[Any] = []
    requests, before = Requests(comm, note=plain), weights.clone()

    def gradient(place: Tensor) -> Tensor:
        at.append(plain(place))
        comm.compute(seconds)
        return place - goal

    returned = fn(comm, weights, gradient, steps, rate)
    changed = not _equal(before, weights)
    seen = {"returned": plain(returned), "at": at, "pushed": requests.told}
    return {**seen, "changed": changed, OPEN: requests.end()}


push_and_pull = Ranked(_on_push_and_pull, arguments=5)
