"""Exercise 05.1, a supervisor that averages weights once all workers have pushed.

Source: Ramsundar and Zadeh, "TensorFlow for Deep Learning" (2018), chapter 9.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import count, describe, listing
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.nine_digits import instead, near
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.rule import Decision, Rule, mean
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging as reference


@driver(2)
def supervisor_turns(fn: Function, goals: Tensor, rate: float, order: list[int]) -> list[Any]:
    """Drive `fn(weights, workers)`, a rule that takes weights: its turns.

    goals: (workers, weights). Worker w goes from the weights p that it pulled to p − rate·(p −
    goal) and pushes that. order: workers' numbers; at each turn the next one in it that has pulled
    and not yet pushed comes. A turn is `{"worker", "pushed", "weights", "made", "release"}`; where
    all workers wait, the list ends with `{"stuck"}`.
    """
    rule = fn(torch.zeros_like(goals[0]), len(goals))
    pulled = {w: rule.pull(w) for w in rule.start()}
    turns: list[Any] = []
    while order:
        place = next((i for i, worker in enumerate(order) if worker in pulled), None)
        if place is None:
            return [*turns, {"stuck": True}]
        worker = order.pop(place)
        weights, version = pulled.pop(worker)
        pushed = weights - rate * (weights - goals[worker])
        decision = rule.arrive(worker, pushed.clone(), version)
        if not isinstance(decision, Decision):
            return [*turns, {"worker": worker, "decision": plain(decision)}]
        released = [int(w) for w in decision.release]
        turn = {"worker": worker, "pushed": plain(pushed), "weights": plain(rule.weights)}
        turns.append({**turn, "made": int(rule.version), "release": released})
        pulled |= {other: rule.pull(other) for other in released}
    return turns


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers, which come in another order each round."""
    random, made = rng(seed, "05.1"), []
    for workers in (3, 1, 2, 5):
        goals = random.standard_normal((workers, 3)) + 1.0
        rate = float(random.uniform(0.2, 0.6))
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        case = Case(f"With {count(workers, 'worker')}", ((goals, rate, order),))
        made.append(replace(case, facts={"want": supervisor_turns(reference, case).values[0]}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The supervisor's weights, its version and who is released, after each push."""
    for turn, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=True)):
        when = f"at push {turn + 1} (worker {want['worker']}'s)"
        if "stuck" in got:
            yield f"after {count(turn, 'push', 'pushes')} all workers wait for ever."
        if "decision" in got:
            yield f"{when}, `arrive` returned {describe(got['decision'])}; it returns a `Decision`."
        if not near(got["weights"], want["weights"]):
            told = instead(got["weights"], want["weights"])
            yield f"{when}, the supervisor's weights are not the mean: {told}."
        if got["made"] != want["made"]:
            yield f"{when}, the version is {got['made']}; one a mean makes it {want['made']}."
        if sorted(got["release"]) != sorted(want["release"]):
            yield f"{when}, workers {got['release']} were released; it should be {want['release']}."


def compared(case: Case, seen: Observation) -> Any:
    """The turns; in which order workers were released is no matter."""
    turns = seen.values[0]
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
    workers = len(case.args[0][0])
    for turn, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False)):
        right = near(got["weights"], want["weights"])
        if (turn + 1) % workers and not right:
            yield (
                f"at push {turn + 1} the supervisor's weights are no longer "
                f"{describe(want['weights'])}, after {turn % workers + 1} of this round's "
                f"{workers} pushes: keep what comes, and change the weights once, at the last push."
            )
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
    all have pushed, and there was no mean and nobody went on: what you ask is not true then.
    Compare how many have pushed with how many there are, `len(self.workers)`; `self.workers` itself
    is a set of numbers.
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
