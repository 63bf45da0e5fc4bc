"""Exercise 07.3, the rule of N of N + b.

`class SpareReplicas(Rule)` with its `arrive(worker, gradient, version)` to write. The claim, turn
by turn: the first N gradients of a step make the update with their mean and their workers go on; a
gradient of a step that is over is dropped, and its worker goes on at once. A long file, for there
are 30 wrong answers, five families beside them, and orders of arrival that have to be possible.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe, listing, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.drives.rules import PlainSgd, drive
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision, Push, Rule, mean
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import SpareReplicas as reference
from helpers.lessons.spare_replicas.exercises.accumulator import same

_PARTS = {"applied": "in the update", "dropped": "dropped", "release": "released"}
Turn = dict[str, Any]


class Handed(Cure):
    """A rule whose workers find in their next gradient what it has changed in their last one. A
    decision with a part that is several things and no tuple stands as what this part is."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.last: dict[int, tuple[Tensor, Tensor]] = {}  # of each worker, as it is and as it was

    def arrive(self, worker: int, gradient: Tensor, version: int) -> Any:
        """As the rule's own."""
        now, before = self.last.get(worker, (gradient, gradient))
        gradient = gradient + (now - before)
        self.last[worker] = gradient, gradient.clone()
        decision = self.rule.arrive(worker, gradient, version)
        for part in _PARTS if isinstance(decision, Decision) else ():
            held = getattr(decision, part)
            if isinstance(held, Iterable) and not isinstance(held, tuple):
                return f"`{part}` is a {type(held).__name__}"
        return decision


def rule_turns_handed(fn: Function, case: Case) -> Observation:
    """As `drive`, with workers whose gradients are still theirs when they have handed them in: what
    a rule writes into one stands in the next one of that worker. What a decision names is in order.
    momentum: whether the optimizer has one.
    """

    def make(weights: Any, optimizer: Any, *args: Any) -> Any:
        if case.options.get("momentum"):
            optimizer = Sgd(optimizer.rate, 0.9)
        return Handed(fn(weights, optimizer, *args))

    make.__wrapped__ = fn  # type: ignore[attr-defined]  # its signature and its file
    seen = drive(make, case)
    for turn in seen.values[0] if seen.values else ():
        for part in {"applied", "dropped", "release"} & turn.keys():
            if {type(one) for one in turn[part]} in ({list}, {int}):  # pushes, or workers
                turn[part].sort()
    return seen


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 of 5 workers, then 2 of 3, 1 of 1, 1 of 2, 3 of 3 and 5 of 8; else other orders.

    In the last one the optimizer has a momentum, and workers 0 and 1 have the same gradients. Of
    the two of whom one counts, one's are infinite.
    """
    random, made = rng(seed, "07.3"), []
    shapes = [(5, 3), (3, 2), (1, 1), (2, 1), (3, 3), (8, 5)]
    if seed:
        shapes = [(6, 4), (4, 3), (1, 1), (2, 1), (3, 3), (7, 2), (9, 5)]
    for number, (workers, aggregate) in enumerate(shapes):
        goals = np.round(random.uniform(-4, 4, (workers, 3)), 2)
        goals[:, 0] += 1 + np.arange(workers)  # no two means agree by chance
        order = arrivals(random, workers, aggregate, 6 * workers, telling=not number)
        name, options = f"With N={aggregate} of {count(workers, 'worker')}", {}
        if (workers, aggregate) == (2, 1):
            goals[1, 0] = np.inf
        if number == len(shapes) - 1:
            goals[1], name, options = goals[0], f"{name} and momentum", {"momentum": True}
        case = Case(name, ((goals, 0.25, (aggregate,), order),), options=options)
        made.append(replace(case, facts={"want": rule_turns_handed(reference, case).values[0]}))
    return made


def arrivals(
    random: np.random.Generator, workers: int, aggregate: int, turns: int, telling: bool
) -> list[int]:
    """Workers in an order in which they can arrive. telling: the late one comes soon."""
    rule, order = Spare(0.0, PlainSgd(0.0), workers, aggregate), list[int]()
    computing = dict.fromkeys(range(workers), 0)
    while len(order) < turns:
        late = [w for w, started in computing.items() if started < rule.version]
        worker = int(random.choice(sorted(computing)))
        if telling and late and random.random() < 0.5:
            worker = late[0]
        order.append(worker)
        released = rule.arrive(worker, 0.0, computing.pop(worker)).release
        computing |= dict.fromkeys(released, rule.version)
    return order


def _first(case: Case, seen: Observation) -> tuple[int, str, Turn, Turn] | None:
    """The first turn that is not as it should be: its number, in words, what it was, should be."""
    for turn, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False)):
        if _fault(got, want):
            start = f"arrival {turn + 1} (worker {want['worker']}, version {want['version']})"
            return turn, start, got, want
    return None


def _fault(got: Turn, want: Turn) -> str:
    """What of a turn is wrong, "" where nothing is."""
    if set(got) != set(want):
        return "stuck" if "stuck" in got else "decision"
    for part in (*_PARTS, "made"):
        if got[part] != want[part]:
            return part
    return "" if same(got["weights"], want["weights"]) else "weights"


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every turn as it should be."""
    found = _first(case, seen)
    if found is None:
        done, turns = len(seen.values[0]), len(case.facts["want"])
        yield None if done == turns else f"only {done} of {turns} gradients came."
        return
    turn, start, got, want = found
    fault = _fault(got, want)
    if fault == "stuck":
        yield f"everybody waits after {turn} arrivals: release somebody."
    if fault == "made":
        yield f"{start}: {count(got['made'], 'update')} by then; it should be {want['made']}."
    if fault == "weights":
        why = rounded([got["weights"]], [want["weights"]])
        yield f"{start}: the weights are {describe(got['weights'])}, not what they should be{why}."
    said = _PARTS[fault]
    workers, right = (_workers(each[fault]) for each in (got, want))
    if workers != right:
        yield f"{start}: {said} are {workers}; they should be {right}."
    pairs = zip(got[fault], want[fault], strict=True)
    (_, *named), (_, *meant) = next((one, other) for one, other in pairs if one != other)
    yield f"{start}: a gradient is named as (version, updates late) {named}; it is {meant}."


def _workers(of: Sequence[Any]) -> str:
    """Workers as released, or as named by pushes, in words; what is neither is left out."""
    named = [one[0] if type(one) is list else one for one in of if type(one) in (list, int)]
    return f"those of worker {listing(sorted(named))}" if named else "none"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that is not as it should be, and what was done in it."""
    found = _first(case, seen)
    if found is None:
        return {}
    _, start, got, want = found
    release, right, pushes = got["release"], want["release"], got["applied"]
    goals, _, (aggregate,), _ = case.args[0]
    said = {"turn": start, "worker": want["worker"], "version": want["version"]}
    said |= {"workers": len(goals), "aggregate": aggregate, "in_all": len(pushes)}
    said |= {"made": got["made"], "right": want["made"], "released": listing(release)}
    said |= {"extra": listing(sorted({*release} - {*right}))}
    said |= {"missing": listing(sorted({*right} - {*release}))}
    if pushes and type(pushes[0]) is list:
        said |= {"named": pushes[0][1], "late": count(pushes[0][2], "update")}
    return said


def _no_decision(case: Case, seen: Observation) -> Iterator[str]:
    _, start, got, _ = _first(case, seen) or (0, "", {}, {})
    if str(got.get("decision")).startswith("`"):
        yield f"{start}: {got['decision']}. All parts of a `Decision` are tuples."
    if "decision" in got:
        yield (
            f"{start}: `arrive` gave {describe(got['decision'])}. It gives a `Decision` "
            "whatever happens; `Decision()` where the gradient is only kept."
        )


def _no_push(case: Case, seen: Observation) -> Iterator[str]:
    _, start, got, _ = _first(case, seen) or (0, "", {"applied": (), "dropped": ()}, {})
    for part in ("applied", "dropped"):
        odd = [each for each in got[part] if type(each) is not list]
        said = f"{start}: `{part}` holds {describe(odd[0]) if odd else ''}"
        if odd and type(odd[0]) is tuple:
            yield (
                f"{said}, a plain tuple: who reads the decision asks for `push.worker` by its "
                "name. `self.push(worker, version)` makes a Push."
            )
        if odd:
            yield (
                f"{said}, which is no gradient's name. Name each by `self.push(worker, version)`; "
                "numbers of workers belong in `release`."
            )


_not_a_number = fails_with(
    "'Push'",
    "`release` holds pushes. It takes the numbers of the workers that go on: "
    "`push.worker` of each.",
    ours=True,
)
_not_a_tuple = fails_with(
    "object is not iterable",
    "a part of your decision is one thing alone. `release`, `applied` and `dropped` are "
    "tuples, also of one: `release=(worker,)`.",
    ours=True,
)


def _late(case: Case, seen: Observation) -> Iterator[str]:
    """What is not decided at once about a gradient that comes too late."""
    _, start, got, want = _first(case, seen) or (0, "", {}, {})
    if not want.get("dropped") or set(got) != set(want):
        return
    begin = f"{start}: its step is over,"
    if not got["dropped"]:
        yield f"{begin} and its gradient is not dropped now. Nothing is kept of a late one."
    named, right = got["dropped"][0], want["dropped"][0]
    if type(named) is list and named[1] != right[1]:
        yield (
            f"{begin} and its gradient is named as of version {named[1]}: name it by the version "
            "that it came with, `self.discard(worker, version)`."
        )
    if not got["release"]:
        yield (
            f"{begin} and its worker does not go on now. It pulls the newest weights at once, and "
            "takes part in the step that is going on."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late = sum(len(turn["dropped"]) for turn in seen[0].values[0])
    made = seen[0].values[0][-1]["made"]
    return (
        f"Passed with 1 to 8 workers: with 3 of 5, {len(seen[0].values[0])} gradients made "
        f"{made} updates, {count(late, 'late one')} dropped, nobody left waiting."
    )


class Spare(Rule):
    """The course's own, in one piece."""

    def __init__(self, weights: Any, optimizer: Any, workers: Any, aggregate: int) -> None:
        super().__init__(weights, optimizer, workers)
        self.aggregate = aggregate
        self.held: list[tuple[Any, Push]] = []

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        if version < self.version:
            return self.discard(worker, version)
        self.held.append((gradient, push))
        if len(self.held) < self.aggregate:
            return Decision()
        gradients, pushes = zip(*self.held, strict=True)
        self.held = []
        self.apply(mean(gradients))
        return Decision(tuple(each.worker for each in pushes), pushes)


WRONG = """
a late gradient counts
    | version < self.version => False
    {turn}: its step is over, but its gradient is kept for the next one. Drop it: a gradient counts
    only where its version is the rule's.
not a word of a late gradient
    | self.discard(worker, version) => Decision()
    {turn}: its step is over, and the decision neither names its gradient in `dropped` nor lets its
    worker go on: an empty `Decision()` is for a gradient that is kept.
a late worker waits for ever
    | self.discard(worker, version) => Decision(dropped=(push,))
    {turn}: the gradient is dropped, but worker {worker} is not released, and waits for ever. It
    pulls the newest weights and goes on: release it.
without a word
    | self.discard(worker, version) => Decision(release=(worker,))
    {turn}: its gradient is not in `dropped`.
drops gradients of this step
    | version < self.version => version <= self.version
    {turn}: its gradient is dropped, but it is of the current version: only a lower one is late.
waits for all workers
    | < self.aggregate => < len(self.workers)
    {turn}: {aggregate} gradients of this step are there, and no update is made. Do not wait for all
    {workers} workers: the first {aggregate} make it.
divides by all workers
    | mean(gradients) => sum(gradients) / len(self.workers)
    {turn}: the step is {aggregate}/{workers} of what it should be: the sum was divided by all
    {workers} workers. Only {aggregate} gradients are in it: divide by {aggregate}.
a sum for the mean
    | mean(gradients) => sum(gradients)
    {turn}: the step is {aggregate} times too long: the {aggregate} gradients were summed and not
    averaged.
a step for each gradient
    | self.apply(mean(gradients))
        => steps = [setattr(self, "weights", self.optimizer.step(self.weights, each /
            len(gradients), self.version)) for each in gradients]; self.version += bool(steps)
    {turn}: the weights are not those of one step with the mean. Where the optimizer has a momentum
    a step for each gradient is another thing: call `self.apply` once, with the mean.
the last gradient alone
    | mean(gradients) => gradient
    {turn}: only the gradient that came last is in the update: apply the mean of all that are held.
gradients kept after the update
    | self.held = [] => pass
    {turn}: gradients of an earlier step are in this update, {in_all} in all. Empty what is held
    once the update is made.
everyone released
    | tuple(each.worker for each in pushes) => self.start()
    {turn}: worker {extra} is released too, though it is still computing. It learns that its step is
    over when it comes: release those whose gradients are in the update.
released before the update
    | return Decision() => return Decision(release=(worker,))
    {turn}: worker {released} goes on before the step is over, and would give it a second gradient.
    While the step waits for more, nobody is released: `Decision()`.
not all released
    | tuple(each.worker for each in pushes) => (worker,)
    {turn}: the update is made, but worker {missing} is not released. All whose gradients are in the
    update have waited for it: release all of them.
named after the update
    | , pushes) => , tuple(self.push(each.worker, each.version) for each in pushes))
    {turn}: the gradients in `applied` are named as of version {named} and {late} late; they are of
    version {version} and in time. Name each by `self.push(worker, version)` when it comes, before
    `self.apply` raises the version.
names none
    | , pushes) => )
    {turn}: `applied` names no gradient.
raises the version
    | self.apply(mean(gradients)) => self.apply(mean(gradients)); self.version += 1
    {turn}: the version is {made} by then; it should be {right}. Call `self.apply` once, with the
    mean, and leave the version to it.
not applied
    | self.apply(mean(gradients)) => pass
    {turn}: named as applied, and was not: apply.
adds into a gradient
    | self.apply(mean(gradients))
        => [gradients[0].add_(each) for each in gradients[1:]]; self.apply(gradients[0] /
            len(gradients))
    {turn}: a gradient in this update is of a worker whose last one was written into, though it is
    the worker's: `+=` and `/=` change the tensor itself. `mean` makes a new one.
divides gradients in place
    | mean(gradients) => sum(each.div_(self.aggregate) for each in gradients)
    ! adds into a gradient
a late one counts towards N
    | return self.discard => self.held.append(None); return self.discard
    | zip(*self.held => zip(*filter(None, self.held)
    {turn}: an update is made with {in_all} held, where {aggregate} make one: a gradient that was
    dropped was counted among them.
held back
    | return self.discard(worker, version)
        => vars(self).setdefault("late", []).append(worker); return Decision()
    | each in pushes) => each in pushes) + tuple(vars(self).pop("late", ()))
    ? is not dropped now
released later
    | return self.discard(worker, version)
        => vars(self).setdefault("late", []).append(worker); return Decision(dropped=(push,))
    | each in pushes) => each in pushes) + tuple(vars(self).pop("late", ()))
    ? does not go on now
another version
    | self.discard(worker, version) => self.discard(worker, self.version)
    ? is named as of version
names by tuples
    | self.discard(worker, version) => Decision((worker,), dropped=(tuple(push),))
    ? by its name
a list for a tuple
    | tuple(each.worker for each in pushes) => [each.worker for each in pushes]
    ? All parts of a `Decision` are tuples
names by numbers
    | , pushes) => , tuple(each.worker for each in pushes))
    ? no gradient's name
returns nothing
    | return Decision() => return
    ? It gives a `Decision`
releases pushes
    | tuple(each.worker for each in pushes) => pushes
    ? `release` holds pushes
releases a number
    | self.discard(worker, version) => Decision(worker, dropped=(push,))
    ? `release=(worker,)`
"""

EXERCISE = Exercise(
    number="07.3",
    title="N of N + b",
    size=Size(stars=2, minutes=18, points=4),
    function="SpareReplicas",
    asks=(
        "a gradient of an old version is dropped and its worker released; others are kept, and "
        "the N-th of a step applies the mean of the N and releases their workers."
    ),
    cases=cases,
    drive=rule_turns_handed,
    claim=claim,
    mistakes=(
        Mistake("a late gradient", _late),
        Mistake("releases pushes", _not_a_number, unfinished=True),
        Mistake("no tuple", _not_a_tuple, unfinished=True),
        Mistake("no decision", _no_decision),
        Mistake("named by numbers", _no_push),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("07.3", WRONG, Spare),
    ranked=False,
)
