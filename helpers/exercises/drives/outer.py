"""A driver for a supervisor that takes its workers' mean weights to an outer optimizer.

Nothing here knows what is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.algorithms.servers import server_optimizers
from helpers.algorithms.servers.rule import Decision
from helpers.exercises.drives.calling import Function, failed, inside, wrong_signature
from helpers.exercises.drives.values import plain, tensors
from helpers.exercises.spec import Case, Observation


@inside
def outer_turns(fn: Function, case: Case) -> Observation:
    """Make `fn(weights, workers, outer)` twice, of the same three, and drive one, then the other.

    The case's arguments: weights, goals (workers, weights), rate, outer, order. outer: the name of
    one of `server_optimizers`, and its arguments; with "updates" its rate falls over so many.
    Worker w goes from the weights p that it pulled to p − rate·(p − goal) and pushes that. order:
    workers' numbers; at each turn the next one that has pulled and not yet pushed comes.
    `values[0]` holds both lists of turns. A turn is `{"worker", "pushed", "weights", "made",
    "release"}`; where all workers wait, the list ends with `{"stuck"}`. It fails where weights that
    a worker had pulled are written into.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    weights, goals, rate, outer, order = (tensors(a) for a in case.args[0])
    given = [(weights, weights.clone())]
    try:
        made = _optimizer(outer)
        rules = [fn(weights, len(goals), made) for _ in range(2)]
        turns = [_turns(rule, goals, rate, order, given) for rule in rules]
        return Observation(values=[plain(turns)])  # here, so that they are what they are by now
    except Exception as error:
        return failed(error, fn)


def _optimizer(outer: tuple[str, Mapping[str, Any]]) -> Any:
    name, given = outer[0], dict(outer[1])
    updates = given.pop("updates", 0)
    if updates:
        given["rate"] = server_optimizers.cosine(given["rate"], updates)
    return getattr(server_optimizers, name)(**given)


def _turns(
    rule: Any, goals: Tensor, rate: float, order: Sequence[int], given: list[tuple[Any, Any]]
) -> list[Any]:
    """given: the weights that anybody has pulled, each with what it was then."""
    pulled = {w: rule.pull(w) for w in rule.start()}
    turns: list[Any] = []
    left = list(order)
    while left:
        place = next((i for i, worker in enumerate(left) if worker in pulled), None)
        if place is None:
            return [*turns, {"stuck": True}]
        worker = left.pop(place)
        weights, version = pulled.pop(worker)
        pushed = weights - rate * (weights - goals[worker])
        given.append((weights, weights.clone()))
        decision = rule.arrive(worker, pushed.clone(), version)
        if not isinstance(decision, Decision):
            return [*turns, {"worker": worker, "decision": decision}]
        if not all(torch.equal(held, before) for held, before in given):
            raise ValueError("weights that a worker had pulled were written into")
        released = [int(w) for w in decision.release]
        turns.append(
            {
                "worker": worker,
                "pushed": pushed,
                "weights": rule.weights,
                "made": int(rule.version),
                "release": released,
            }
        )
        pulled |= {other: rule.pull(other) for other in released}
    return turns
