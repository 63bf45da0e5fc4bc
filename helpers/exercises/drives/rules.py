"""Drivers for rules and cures: a server without time, and workers that arrive in a given order.

A case's arguments are `(goals, rate, extra, order)`. goals: (workers, weights), float64; worker w
minimises half the squared distance to its goal, so its gradient at weights p is p − goal.
rate: of plain SGD. extra: further arguments of the learner's class. order: numbers of workers;
at each turn the next one in it that has pulled and not yet pushed arrives. −1 − w stands for
worker w that leaves for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.exercises.drives.calling import (
    Function,
    failed,
    inside,
    inside_where,
    made,
    there,
    wrong_signature,
)
from helpers.exercises.drives.memory import Kept
from helpers.exercises.drives.rules_inside import Heavier, PlainSgd, rule_of
from helpers.exercises.drives.values import Remote, plain
from helpers.exercises.spec import Case, Observation

_FEW = 1000  # weights
More = Callable[[Any, Decision], dict[str, Any]]  # of a turn: by the rule and what it decided


@inside
def rule_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(weights, optimizer, workers, *extra)`; `values[0]` is the list of turns.

    A turn is `{"worker", "version", "weights", "made", "release", "applied", "dropped"}`: who came
    with a gradient of which version, the weights and the number of updates afterwards, and the
    decision. A decision that is none stands as `{"worker", "decision"}` and ends the list, and so
    does `{"stuck": workers}` where everybody waits for ever. The turn of one that leaves has "gone"
    as well.
    """
    return _drive(fn, case, _parts_of_a_rule, 3)


@inside
def rules_in_a_row(fn: Function, case: Case) -> Observation:
    """The same with two rules, one made after the other and driven alike.

    The turns are those of the first; the last one is `{"again"}`, the turns of the second. There is
    none if the first failed or stuck. `release` is in the order of numbers.
    """
    first, second = rule_turns(fn, case), rule_turns(fn, case)
    if first.trouble or type(first.values[0]) is not list:
        return first
    turns, again = first.values[0], [] if second.trouble else second.values[0]
    for turn in [*turns, *again]:
        if "release" in turn:
            turn["release"].sort()
    if turns and "made" in turns[-1]:
        turns.append({"again": again})
    return Observation(values=[turns])


@inside
def own_rule_turns(fn: Function, case: Case) -> Observation:
    """The same, and in a turn "arrive": the class of the course's whose method that is, or ""."""
    return _drive(fn, case, _parts_of_a_rule, 3, lambda rule, _: {"arrive": _whose(type(rule))})


def _parts_of_a_rule(weights: Tensor, optimizer: Any, workers: int) -> list[Any]:
    return [weights, optimizer, workers]


def _whose(made: type) -> str:
    method: Any = made.arrive  # type: ignore[attr-defined]
    of_ours = str(method.__module__).startswith("helpers.algorithms.")
    return str(method.__qualname__).partition(".")[0] if of_ours else ""


@inside
def cure_turns(fn: Function, case: Case) -> Observation:
    """The same for a cure, `fn(rule, *extra)`, around a rule by the case's options."""
    return _drive(fn, case, lambda *parts: [made(fn, rule_of(case), *parts)], 1)


@inside_where(lambda case: not _is_large(case))
def handing_turns(fn: Function, case: Case) -> Observation:
    """The same for a cure that hands gradients on.

    A turn has `{"inside", "held"}` too: what it made of the rule inside (see `Given.use`), and how
    many tensors of weights it keeps. Both are None where it is in another process, where nobody
    sees the first, and the second only if weights are large: in the last turn it is how many more
    that process holds than after a third of the turns, by the memory that so many would take.
    """
    given: list[Any] = []
    goals, _, _, order = case.args[0]
    turn, size = 0, np.asarray(goals)[0].nbytes
    process: Kept | None = None

    def inside(*parts: Any) -> list[Any]:
        given[:] = [made(fn, rule_of(case), *parts)]
        return list(given)

    if isinstance(fn, Remote) and _is_large(case):
        fn.gives((2 + len(goals)) * len(goals[0]))  # the weights, and what each worker pulls

    def more(cure: Any, decision: Decision) -> dict[str, Any]:
        nonlocal turn, process
        turn += 1
        if isinstance(fn, Remote):
            if turn == len(order) // 3:
                process = Kept(fn, (len(order) - turn) * size)
            found = process.more() if process is not None and turn == len(order) else None
            return {"inside": None, "held": None if found is None else round(found / size)}
        return {"inside": given[0].use(decision), "held": _held(cure)}

    return _drive(fn, case, inside, 1, more)


def _is_large(case: Case) -> bool:
    """Whether it asks what is held: the grader looks at that from outside."""
    return len(case.args[0][0][0]) > _FEW


def _held(cure: Any) -> int:
    """How many tensors an object keeps, in lists and dictionaries too, without the rule inside."""
    found: set[int] = set()

    def look(value: Any, depth: int) -> None:
        if isinstance(value, Tensor):
            found.add(id(value))
        elif isinstance(value, dict | list | tuple | set) and depth < 4:
            for each in value.values() if isinstance(value, dict) else value:
                look(each, depth + 1)

    look([each for each in vars(cure).values() if not isinstance(each, Rule)], 0)
    return len(found)


def _drive(
    fn: Function,
    case: Case,
    first: Callable[[Tensor, PlainSgd, int], list[Any]],
    given: int,
    more: More | None = None,
) -> Observation:
    goals, rate, extra, order = case.args[0]
    trouble = wrong_signature(fn, given + len(extra))
    if trouble:
        return trouble
    goals = torch.from_numpy(np.array(goals, dtype=np.float64))
    try:
        optimizer = made(fn, PlainSgd, rate / 4 if given == 1 else rate)  # see Given
        rule = fn(*first(torch.zeros_like(goals[0]), optimizer, len(goals)), *extra)
        rule = Heavier(rule) if case.options.get("heavier") else rule
        return _turns(fn, rule, goals, list(order), more)
    except Exception as error:
        return failed(error, fn)


def start(rule: Any) -> dict[int, Any]:
    """What each worker that starts pulls."""
    return {w: rule.pull(w) for w in rule.start()}


def arrive(rule: Any, worker: int, gradient: Tensor, version: int) -> dict[str, Any]:
    """What a rule makes of an arrival; where it decides, what is there afterwards and is pulled."""
    return _after(rule, rule.arrive(worker, gradient, version))


def leave(rule: Any, worker: int) -> dict[str, Any]:
    """The same of a worker that leaves."""
    return _after(rule, rule.leave(worker))


def _after(rule: Any, decision: Any) -> dict[str, Any]:
    if not isinstance(decision, Decision):
        return {"decision": decision}
    found = {"decision": decision, "weights": rule.weights, "made": rule.version}
    return {**found, "pulled": {int(each): rule.pull(int(each)) for each in decision.release}}


def _turns(
    fn: Function, rule: Any, goals: Tensor, order: Sequence[int], more: More | None = None
) -> Observation:
    pulled: dict[int, tuple[Tensor, int]] = there(fn, start, rule)
    as_pulled = plain(pulled)
    turns: list[Any] = []
    left = list(order)
    while left:
        place = next((i for i, worker in enumerate(left) if worker in pulled or worker < 0), None)
        if place is None:
            turns.append({"stuck": len(goals)})
            break
        worker = left.pop(place)
        gone: dict[str, bool] = {}
        if worker < 0:
            worker, gone = -1 - worker, {"gone": True}
            pulled.pop(worker, None)
            found = there(fn, leave, rule, worker)
            version = found.get("made", 0)
        else:
            weights, version = pulled.pop(worker)
            _unwritten(worker, weights, as_pulled[worker][0])
            gradient = _gradient(weights, goals[worker])
            found = there(fn, arrive, rule, worker, gradient, version)
        decision = found["decision"]
        if not isinstance(decision, Decision):
            turns.append({"worker": worker, "decision": plain(decision)})
            break
        turns.append(
            {
                "worker": worker,
                "version": int(version),
                "weights": plain(found["weights"]),
                "made": int(found["made"]),
                "release": [int(w) for w in decision.release],
                "applied": [_push(push) for push in decision.applied],
                "dropped": [_push(push) for push in decision.dropped],
                **gone,
            }
        )
        if more is not None:
            turns[-1] |= more(rule, decision)
        pulled |= found["pulled"]
        as_pulled |= plain(found["pulled"])
    return Observation(values=[turns])


def _unwritten(worker: int, weights: Any, as_pulled: Any) -> None:
    """Raises ValueError where a worker computes on other weights than it pulled."""
    is_array = isinstance(as_pulled, np.ndarray)
    if is_array and not np.array_equal(plain(weights), as_pulled, equal_nan=True):
        raise ValueError(f"the weights that worker {worker} pulled were written into")


def _gradient(weights: Any, goal: Tensor) -> Any:
    """Of a worker with this goal. Raises ValueError where many weights are not as they should be.

    A grader computes with what a stranger gives: by broadcasting it could become very many.
    """
    if len(goal) > _FEW and (not isinstance(weights, Tensor) or weights.shape != goal.shape):
        raise ValueError(f"pull gives weights that are not of the shape {tuple(goal.shape)}.")
    return weights - goal


def _push(push: Any) -> Any:
    """A push as a list of its numbers; what is no push, such as a tuple of them, as it is."""
    return [int(number) for number in push] if isinstance(push, Push) else plain(push)
