"""Exercise 05.1, a supervisor that averages weights once all workers have pushed.

Source: Ramsundar and Zadeh, "TensorFlow for Deep Learning" (2018), chapter 9.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close, count, describe, listing
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.nine_digits import instead
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.rule import Decision, Rule, mean
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging as reference


@driver(2)
def supervisor_turns(
    fn: Function, goals: Tensor, rate: float, order: list[int], leaves: int | None
) -> list[Any]:
    """Drive `fn(weights, workers)`, a rule that takes weights: its turns.

    goals: (workers, weights). Worker w goes from the weights p that it pulled to p − rate·(p −
    goal) and pushes that. order: workers' numbers; at each turn the next one in it that has pulled
    and not yet pushed comes. leaves: after so many turns worker 0 is gone. A turn is `{"worker",
    "pushed", "weights", "made", "release"}`; where all workers wait, the list ends with
    `{"stuck"}`, otherwise with `{"changed", "beside"}`: whether weights that had been handed out
    were written into, and the turns of one more rule, beside a third one that holds a push.
    """
    turns, changed = _turns(fn(torch.zeros_like(goals[0]), len(goals)), goals, rate, order, leaves)
    if len(turns) < len(order) or "made" not in turns[-1]:
        return turns
    other = fn(torch.zeros_like(goals[0]), len(goals))
    other.arrive(order[len(goals) - 1], goals[0].clone(), 0)  # so that the two hold other workers'
    rule = fn(torch.zeros_like(goals[0]), len(goals))
    return [*turns, {"changed": changed, "beside": _turns(rule, goals, rate, order, leaves)[0]}]


def _turns(
    rule: Any, goals: Tensor, rate: float, order: list[int], leaves: int | None
) -> tuple[list[Any], bool]:
    order, turns, pulled = list(order), list[Any](), dict[int, Any]()
    lent: list[tuple[Tensor, Tensor]] = []

    def pull(workers: Iterable[int]) -> None:
        for worker in workers:
            pulled[worker] = rule.pull(worker)
            lent.append((pulled[worker][0], pulled[worker][0].clone()))

    pull(rule.start())
    while order:
        if len(turns) == leaves:
            rule.leave(0)
            pulled.pop(0, None)
        place = next((i for i, worker in enumerate(order) if worker in pulled), None)
        if place is None:
            return [*turns, {"stuck": True}], False
        worker = order.pop(place)
        weights, version = pulled.pop(worker)
        pushed = weights - rate * (weights - goals[worker])
        decision = rule.arrive(worker, pushed.clone(), version)
        if not isinstance(decision, Decision):
            return [*turns, {"worker": worker, "decision": plain(decision)}], False
        if not isinstance(decision.release, Iterable):
            return [*turns, {"worker": worker, "gave": plain(decision.release)}], False
        released = [int(w) for w in decision.release]
        turn = {"worker": worker, "pushed": plain(pushed), "weights": plain(rule.weights)}
        turns.append({**turn, "made": int(rule.version), "release": released})
        pull(released)
    return turns, any(not torch.equal(held, was) for held, was in lent)


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers, which come in another order each round.

    Last, in float32, two rounds more, before which worker 0 leaves.
    """
    random, made = rng(seed, "05.1"), []
    for workers, leaves in ((3, None), (1, None), (2, None), (5, None), (3, 9)):
        goals = random.standard_normal((workers, 3)) + 1.0
        rate = float(random.uniform(0.2, 0.6))
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        name = f"With {count(workers, 'worker')}"
        if leaves:
            name += ", of whom worker 0 leaves after 3 rounds"
            goals = goals.astype(np.float32)
            order += [int(w) for _ in range(2) for w in 1 + random.permutation(workers - 1)]
        case = Case(name, ((goals, rate, order, leaves),))
        made.append(replace(case, facts={"want": supervisor_turns(reference, case).values[0]}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The supervisor's weights, its version and who is released, after each push."""
    *turns, last = case.facts["want"]
    for turn, (got, want) in enumerate(zip(seen.values[0], turns, strict=False)):
        when = f"at push {turn + 1} (worker {want['worker']}'s)"
        if "stuck" in got:
            yield f"after {count(turn, 'push', 'pushes')} all workers wait for ever."
        if "decision" in got:
            yield f"{when}, `arrive` returned {describe(got['decision'])}; it returns a `Decision`."
        if "gave" in got:
            told = "it holds the numbers of those who go on, `release=(0, 2)`"
            yield f"{when}, the decision's `release` is {describe(got['gave'])}; {told}."
        if not _alike(got["weights"], want["weights"]):
            told = instead(got["weights"], want["weights"])
            yield f"{when}, the supervisor's weights are not the mean: {told}."
        types = [np.asarray(each["weights"]).dtype for each in (got, want)]
        if types[0] != types[1]:
            yield f"{when}, the supervisor's weights are {types[0]}; those pushed are {types[1]}."
        if got["made"] != want["made"]:
            yield f"{when}, the version is {got['made']}; one a mean makes it {want['made']}."
        if sorted(got["release"]) != sorted(want["release"]):
            yield f"{when}, workers {got['release']} were released; it should be {want['release']}."
    yield from _in_place(case, seen)
    if not all(map(_same_turn, seen.values[0][-1]["beside"], last["beside"])):
        yield (
            "the supervisor is right alone, and not beside another one of its class: what it holds "
            "must be its own, `self.held = {}` in `__init__`, not the class's or the module's."
        )


def _alike(got: Any, want: np.ndarray) -> bool:
    return close(np.asarray(got), want, 1e-9 if want.dtype == np.float64 else 1e-5)


def _same_turn(got: Any, want: Any) -> bool:
    ends = [[each.get("made"), sorted(each.get("release", ()))] for each in (got, want)]
    return ends[0] == ends[1] and _alike(got["weights"], want["weights"])


def _in_place(case: Case, seen: Observation) -> Iterator[str]:
    if seen.values[0][-1].get("changed"):
        yield (
            "weights that had been handed out were written into; whoever pulled them, or gave them "
            "to begin with, may still hold them. Make a new tensor of the mean."
        )


def compared(case: Case, seen: Observation) -> Any:
    """The turns; in which order workers were released is no matter."""
    turns = [t for t in seen.values[0] if "beside" not in t]
    return [{**t, "release": sorted(t["release"])} if "release" in t else t for t in turns]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how many workers there are, and who went on once all had pushed."""
    workers = len(case.args[0][0])
    last = seen.values[0][:workers][-1]
    return {"workers": workers, "more": workers + 1, "released": listing(last.get("release", ()))}


def _number_and_set(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "TypeError" and "'int'" in seen.text and "'set'" in seen.text:
        yield "a number and a set do not go together: compare with `len(self.workers)`."


def _too_early(case: Case, seen: Observation) -> Iterator[str]:
    came = 0  # in this round
    for turn, (got, want) in enumerate(zip(seen.values[0], case.facts["want"][:-1], strict=False)):
        right, came = _alike(got["weights"], want["weights"]), came + 1
        if not want["release"] and not right:
            left = next(i for i, t in enumerate(case.facts["want"][turn:]) if t["release"])
            yield (
                f"at push {turn + 1} the supervisor's weights are no longer "
                f"{describe(want['weights'])}, after {came} of this round's "
                f"{came + left} pushes: keep what comes, and change the weights once, at the last "
                "push."
            )
        came *= not want["release"]
        parts = [[each["made"], sorted(each["release"])] for each in (got, want)]
        if parts[0] != parts[1] or not right:
            return


class Averaging(Rule):
    pushes = "weights"

    def __init__(self, weights: Any, workers: int) -> None:
        super().__init__(weights, None, workers)
        self.held: dict[int, Any] = {}

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient
        if len(self.held) != len(self.workers):
            return Decision()
        self.weights = mean(list(self.held.values()))
        self.version += 1
        self.held = {}
        return Decision(tuple(sorted(self.workers)))


WRONG = """
no return
    | return Decision() => return None
    `arrive` gave None; while nobody may go on: `Decision()`.
a running mean
    | return Decision() => self.weights = mean(list(self.held.values())); return Decision()
    ? once, at the last push
a number below a set
    | != len(self.workers) => < self.workers
    ? do not go together
releases only the last worker
    | tuple(sorted(self.workers)) => (worker,)
    only worker {released} went on once all had pushed, and the others wait for ever: release all
    workers, not only the last one.
releases nobody
    | tuple(sorted(self.workers)) =>
    the mean was taken after all had pushed, and nobody went on: the decision names those who may,
    `Decision(release=tuple(self.workers))`.
only takes the mean
    | self.version += 1 =>
    | tuple(sorted(self.workers)) =>
    the mean was taken after all had pushed, but the version is still 0 and nobody goes on: count
    the update, `self.version += 1`, and release all workers.
takes the set of workers for their number
    | != len(self.workers) => != self.workers
    all have pushed, and there was no mean and nobody went on: what you ask is not true then, or
    is not asked at that push. `len(self.workers)` says how many there are; `self.workers` itself is
    a set of numbers.
sums
    | total / len(arrays) => total
    the weights are {workers} times too large: a sum, no mean.
the last push wins
    | mean(list(self.held.values())) => gradient
    the weights are those of the worker that came last: what the other workers learned is lost. Keep
    what each pushes until all have come.
all but the last
    | mean(list(self.held.values())) => mean(list(self.held.values())[:-1] or [gradient])
    the last push is not in the mean.
counts the supervisor too
    | mean(list(self.held.values())) => mean([self.weights, *self.held.values()])
    the mean is over {more} and not {workers}: the supervisor's old weights are in it. Only what the
    workers pushed counts.
halves again and again
    | total + array => (total + array) / 2
    | total / len(arrays) => total
    the weights are no mean of {workers}: `(mean + w) / 2` for one after the other counts the last
    one half and those before less and less. Divide the sum of all by {workers}.
never clears what it holds
    | self.held = {} =>
    from the second round on the first push already makes an update: what was pushed in the round
    before is still held. Empty it after each mean.
never counts the version
    | self.version += 1 =>
    the version stays 0: it counts the updates, so it goes up by one with each mean.
writes into its weights
    | self.weights = mean(list(self.held.values()))
        => self.weights.copy_(mean(list(self.held.values())))
    ? had been handed out
does not wait
    | len(self.held) != len(self.workers) => False
    | self.held = {} =>
    | tuple(sorted(self.workers)) => (worker,)
    an update is made at every push: wait until all {workers} workers have pushed, and return
    `Decision()` until then.
"""

EXERCISE = Exercise(
    number="05.1",
    title="The supervisor",
    size=Size(stars=1, minutes=10, points=2),
    function="Averaging",
    asks=(
        "once all workers have pushed, the weights become the mean of what they pushed, the "
        "version goes up by one, and all are released; before that, nobody is."
    ),
    cases=cases,
    drive=supervisor_turns,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("in place", _in_place),
        Mistake("a number and a set", _number_and_set, unfinished=True),
        Mistake("changes before the last push", _too_early),
    ),
    numbers=numbers,
    praise=(
        "Passed with 1, 2, 3 and 5 workers over three rounds: nobody goes on before all have "
        "pushed, and then everybody goes on from the mean."
    ),
    reference=reference,
    wrong=wrong_answers("05.1", WRONG, (Averaging, mean)),
    ranked=False,
)
