"""Exercise 07.3, the rule of N of N + b.

`class SpareReplicas(Rule)` with its `arrive(worker, gradient, version)` to write. The claim, turn
by turn: the first N gradients of a step make the update with their mean and their workers go on; a
gradient of a step that is over is dropped, and its worker goes on at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.update_rules import SpareReplicas as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing, rounded
from helpers.exercises.drives_sync import rule_turns_handed
from helpers.exercises.lesson_07 import spare_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_RATE = 0.25


def cases(seed: int) -> list[Case]:
    """Seed 0: 2 of 3 workers, then 3 of 5, 1 of 1, 1 of 2 and 3 of 3; else other orders."""
    random = rng(seed, "07.3")
    shapes = [(3, 2), (5, 3), (1, 1), (2, 1), (3, 3)]
    if seed:
        shapes = [(4, 3), (6, 4), (1, 1), (2, 1), (3, 3), (7, 2)]
    made = []
    for number, (workers, aggregate) in enumerate(shapes):
        goals = np.round(random.uniform(-4, 4, (workers, 3)), 2)
        goals[:, 0] += 1 + np.arange(workers)  # no two means agree by chance
        order = arrivals(random, workers, aggregate, 6 * workers, telling=not number)
        name = f"With N={aggregate} of {count(workers, 'worker')}"
        args = ((goals, _RATE, (aggregate,), order),)
        want = wrong.in_order(rule_turns_handed(reference, Case(name, args)))
        facts = {"want": want, "workers": workers, "aggregate": aggregate}
        made.append(Case(name, args, facts=facts))
    return made


def arrivals(
    random: np.random.Generator, workers: int, aggregate: int, turns: int, telling: bool
) -> list[int]:
    """Workers in an order in which they can arrive. telling: the late one comes soon."""
    computing, held, order = dict.fromkeys(range(workers), 0), list[int](), list[int]()
    version = 0
    while len(order) < turns:
        late = [w for w, started in computing.items() if started < version]
        worker = int(random.choice(sorted(computing)))
        if telling and late and random.random() < 0.5:
            worker = late[0]
        started = computing.pop(worker)
        order.append(worker)
        if started < version:
            computing[worker] = version
            continue
        held.append(worker)
        if len(held) == aggregate:
            version += 1
            computing |= dict.fromkeys(held, version)
            held = []
    return order


def claim(case: Case, seen: Observation) -> str | None:
    """Every turn as it should be."""
    found = wrong.first(case, seen)
    if found is None:
        done, turns = len(seen.values[0]), len(case.facts["want"])
        return None if done == turns else f"{case.name}, only {done} of {turns} gradients came."
    turn, got, want = found
    fault, start = wrong.fault(got, want), wrong.start(case, turn, want)
    if fault == "stuck":
        return f"{case.name}, everybody waits after {turn} arrivals: release somebody."
    if fault == "made":
        return f"{start}: {count(got['made'], 'update')} by then; it should be {want['made']}."
    if fault == "weights":
        why = rounded([got["weights"]], [want["weights"]])
        return f"{start}: the weights are {describe(got['weights'])}, not what they should be{why}."
    said = {"applied": "in the update", "dropped": "dropped", "release": "released"}[fault]
    workers, right = (_workers(each[fault]) for each in (got, want))
    if workers != right:
        return f"{start}: {said} are {workers}; they should be {right}."
    pairs = zip(got[fault], want[fault], strict=True)
    (_, *named), (_, *meant) = next((one, other) for one, other in pairs if one != other)
    return f"{start}: a gradient is named as (version, updates late) {named}; it is {meant}."


def _workers(of: Sequence[Any]) -> str:
    """Workers as released, or as named by pushes, in words; what is neither is left out."""
    named = [one[0] if type(one) is list else one for one in of if type(one) in (list, int)]
    return f"those of worker {listing(sorted(named))}" if named else "none"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that is not as it should be, and what was done in it."""
    found = wrong.first(case, seen)
    if found is None:
        return {}
    turn, got, want = found
    release, right, pushes = got["release"], want["release"], got["applied"]
    said = {"turn": wrong.start(case, turn, want), **case.facts, "in_all": len(pushes)}
    said |= {"worker": want["worker"], "version": want["version"]}
    said |= {"made": got["made"], "right": want["made"], "released": listing(release)}
    said["extra"] = listing(sorted(set(release) - set(right)))
    said["missing"] = listing(sorted(set(right) - set(release)))
    if pushes and type(pushes[0]) is list:
        said |= {"named": pushes[0][1], "late": count(pushes[0][2], "update")}
    return said


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late = sum(len(turn["dropped"]) for turn in seen[0].values[0])
    made = seen[0].values[0][-1]["made"]
    return (
        f"Passed with 1, 2, 3 and 5 workers: with 2 of 3, {len(seen[0].values[0])} gradients made "
        f"{made} updates, {count(late, 'late one')} dropped, nobody left waiting."
    )


_CHANGED = (
    "{turn}: a gradient in this update is of a worker whose last one was written into, though it "
    "is the worker's: `+=` and `/=` change the tensor itself. `mean` makes a new one."
)

EXERCISE = Exercise(
    number="07.3",
    title="N of N + b",
    stars=2,
    minutes=18,
    points=4,
    function="SpareReplicas",
    asks=(
        "a gradient of an old version is dropped and its worker released; others are kept, and "
        "the N-th of a step applies the mean of the N and releases their workers."
    ),
    cases=cases,
    drive=rule_turns_handed,
    claim=claim,
    mistakes=wrong.FAMILIES,
    numbers=numbers,
    compared=lambda case, seen: wrong.in_order(seen),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "a late gradient counts",
            wrong.counts_late,
            "{turn}: its step is over, but its gradient is kept for the next one. Drop it: a "
            "gradient counts only where its version is the rule's.",
        ),
        WrongAnswer(
            "not a word of a late gradient",
            wrong.says_nothing,
            "{turn}: its step is over, and the decision neither names its gradient in `dropped` "
            "nor lets its worker go on: an empty `Decision()` is for a gradient that is kept.",
        ),
        WrongAnswer(
            "a late worker waits for ever",
            wrong.not_released,
            "{turn}: the gradient is dropped, but worker {worker} is not released, and waits for "
            "ever. It pulls the newest weights and goes on: release it.",
        ),
        WrongAnswer("without a word", wrong.silent, "{turn}: its gradient is not in `dropped`."),
        WrongAnswer(
            "drops gradients of this step",
            wrong.drops_equal,
            "{turn}: its gradient is dropped, but it is of the current version: only a lower one "
            "is late.",
        ),
        WrongAnswer(
            "waits for all workers",
            wrong.waits_for_all,
            "{turn}: {aggregate} gradients of this step are there, and no update is made. Do not "
            "wait for all {workers} workers: the first {aggregate} make it.",
        ),
        WrongAnswer(
            "divides by all workers",
            wrong.divides_by_all,
            "{turn}: the step is {aggregate}/{workers} of what it should be: the sum was divided "
            "by all {workers} workers. Only {aggregate} gradients are in it: divide by "
            "{aggregate}.",
        ),
        WrongAnswer(
            "a sum for the mean",
            wrong.sums,
            "{turn}: the step is {aggregate} times too long: the {aggregate} gradients were "
            "summed and not averaged.",
        ),
        WrongAnswer(
            "the last gradient alone",
            wrong.last_only,
            "{turn}: only the gradient that came last is in the update: apply the mean of all "
            "that are held.",
        ),
        WrongAnswer(
            "gradients kept after the update",
            wrong.never_empties,
            "{turn}: gradients of an earlier step are in this update, {in_all} in all. Empty what "
            "is held once the update is made.",
        ),
        WrongAnswer(
            "everyone released",
            wrong.releases_everyone,
            "{turn}: worker {extra} is released too, though it is still computing. It learns that "
            "its step is over when it comes: release those whose gradients are in the update.",
        ),
        WrongAnswer(
            "released before the update",
            wrong.releases_at_once,
            "{turn}: worker {released} goes on before the step is over, and would give it a "
            "second gradient. While the step waits for more, nobody is released: `Decision()`.",
        ),
        WrongAnswer(
            "not all released",
            wrong.releases_last,
            "{turn}: the update is made, but worker {missing} is not released. All whose "
            "gradients are in the update have waited for it: release all of them.",
        ),
        WrongAnswer(
            "named after the update",
            wrong.names_late,
            "{turn}: the gradients in `applied` are named as of version {named} and {late} late; "
            "they are of version {version} and in time. Name each by `self.push(worker, version)` "
            "when it comes, before `self.apply` raises the version.",
        ),
        WrongAnswer("names none", wrong.names_nothing, "{turn}: `applied` names no gradient."),
        WrongAnswer(
            "raises the version",
            wrong.RaisesVersion,
            "{turn}: the version is {made} by then; it should be {right}. Call `self.apply` once, "
            "with the mean, and leave the version to it.",
        ),
        WrongAnswer(
            "not applied", wrong.NeverApplies, "{turn}: named as applied, and was not: apply."
        ),
        WrongAnswer("adds into a gradient", wrong.adds_in_place, _CHANGED),
        WrongAnswer("divides gradients in place", wrong.divides_in_place, _CHANGED),
        WrongAnswer(
            "a late one counts towards N",
            wrong.counts_dropped,
            "{turn}: an update is made with {in_all} held, where {aggregate} make one: a gradient "
            "that was dropped was counted among them.",
        ),
        WrongAnswer("held back", wrong.holds_back, hint="is not dropped now"),
        WrongAnswer("released later", wrong.released_later, hint="does not go on now"),
        WrongAnswer("another version", wrong.drops_as_new, hint="is named as of version"),
        WrongAnswer("names by tuples", wrong.names_tuples, hint="by its name"),
        WrongAnswer("names by numbers", wrong.names_numbers, hint="no gradient's name"),
        WrongAnswer("returns nothing", wrong.returns_nothing, hint="It gives a `Decision`"),
        WrongAnswer("releases pushes", wrong.releases_pushes, hint="`release` holds pushes"),
        WrongAnswer("releases a number", wrong.releases_number, hint="`release=(worker,)`"),
    ),
    ranked=False,
)
