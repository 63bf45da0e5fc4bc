"""Exercise 06.7, stale synchronous parallel: nobody runs far ahead of the slowest.

`class BoundedStaleness(Rule)` with `may_go`, `arrive` and `leave`. The claim, turn by turn: every
gradient makes an update; its worker waits as long as it has given more than `bound` gradients more
than the slowest; whoever need not wait any longer is released; one that has left is not waited for.
Source: Ho et al. (2013), section 2. A long file, for its orders of arrival, in which who waits
comes when it may, are played through as they are drawn, and there are 27 wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from helpers.checks.compare import count
from helpers.checks.drives.calling import Function
from helpers.checks.drives.rules import PlainSgd, drive
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.parameter_servers.algorithms.update_rules import BoundedStaleness as reference


def rules_in_a_row(fn: Function, case: Case) -> Observation:
    """As `drive` with two rules, one made after the other and driven alike.

    The turns are those of the first; the last one is `{"again"}`, the turns of the second. There is
    none if the first failed or stuck. `release` is in the order of numbers. A turn has "workers",
    too, how many take part.
    """

    def part(rule: Any, _: Any) -> dict[str, Any]:
        return {"workers": len(rule.workers)}

    first, second = drive(fn, case, more=part), drive(fn, case, more=part)
    if first.trouble:
        return first
    turns, again = first.values[0], [] if second.trouble else second.values[0]
    for turn in [*turns, *again]:
        turn.get("release", []).sort()
    if turns and "made" in turns[-1]:
        turns.append({"again": again})
    return Observation(values=[turns])


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 workers two ahead, then 1, 2, 5, 3 and 4 with other bounds, 3 with none; else other
    orders, and more workers. In each some leave; in the second all do."""
    random, made = rng(seed, "06.7"), []
    shapes = [(3, 2), (1, 0), (2, 0), (5, 1), (3, 1), (4, 0), (3, np.inf)]
    shapes += [(int(random.integers(6, 9)), 1)] if seed else []
    for number, (workers, bound) in enumerate(shapes):
        order = arrivals(random, workers, bound, everybody=workers == 1)
        heavier = "heavier" if number == 4 else ""
        words = ", inside a cure that keeps what it hands on, and " if heavier else " and "
        words += f"a bound of {bound}" if np.isfinite(bound) else "no bound, s = ∞"
        given = (rules_in_a_row, random, order, workers, (bound,), reference, heavier)
        made.append(turns.case(words, *given))
    return made


def arrivals(random: np.random.Generator, workers: int, bound: float, everybody: bool) -> list[int]:
    """Who comes when: worker 1 in bursts. Of four or more workers, the last leaves while 1 waits
    for others, too; of several, 0 leaves while 1 waits for it; and of three or more, 1 leaves while
    it waits. everybody: in the end all leave. A worker that has to wait comes when it may.
    """
    rule = reference(0.0, PlainSgd(0.0), workers, bound)
    clocks, burst = rule.clocks, [1] * (int(min(bound, 4)) + 3)
    going = dict.fromkeys(rule.start(), 0)
    order, waits = list[int](), list[int]()  # the second are places of those who have not come yet

    def add(*more: int) -> None:
        for one in more:
            order.append(one)
            if one < 0:
                going.pop(-1 - one, None)
                going.update(dict.fromkeys(rule.leave(-1 - one).release, rule.version))
            else:
                waits.append(len(order) - 1)
            while (at := next((n for n in waits if order[n] in going), None)) is not None:
                waits.remove(at)
                decision = rule.arrive(order[at], 0.0, going.pop(order[at]))
                going.update(dict.fromkeys(decision.release, rule.version))

    def come(times: int) -> None:
        for _ in range(times):
            worker = int(random.choice(sorted(clocks)))
            add(*[worker] * (int(random.integers(1, len(burst))) if worker == 1 else 1))

    def level() -> None:
        while len(set(clocks.values())) > 1:  # the slowest never waits
            add(min(clocks, key=lambda worker: clocks[worker]))

    come(3 * workers)
    if workers > 3:
        level()
        add(*burst, -workers)
    if workers > 1:
        level()
        add(*sorted(set(clocks) - {0, 1}))  # one ahead of 0, and going where they may
        add(*burst, -1)
        come(2 * workers)
    if workers > 2:
        add(*burst, -2)
    add(*sorted(clocks) * 2)
    add(*(-1 - worker for worker in sorted(clocks) if everybody))
    return [worker for at, worker in enumerate(order) if at not in waits]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every turn as wanted, and with a second rule of the class again."""
    number, got, want = turns.first_difference(case, seen)
    yield from _kept(case, seen)
    if got is None or want is None or not want.get("gone"):
        yield turns.fault(case, seen)
        return
    where = f"worker {want['worker']} leaves at turn {number}"
    if "release" not in got:
        yield f"{where}; `leave` has to return a Decision that names who may go on now."
    if got["release"] != want["release"]:
        released, right = turns.people(got["release"]), turns.people(want["release"])
        yield f"{where}; you release {released}, not {right}."
    if got["workers"] != want["workers"]:
        yield f"{where}; {got['workers']} are in `self.workers`, not {want['workers']}."
    yield f"{where}; the weights, and what is applied and dropped, stay as they are."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that is not as wanted, and who is how far ahead then."""
    number, got, want = turns.first_difference(case, seen)
    if want is None or "worker" not in want:
        return {}
    clocks = dict.fromkeys(range(len(case.args[0][0])), 0)  # of those who are still there
    for turn in case.facts["want"][:number]:
        if turn.get("gone"):
            clocks.pop(turn["worker"], None)
        elif turn["worker"] in clocks:
            clocks[turn["worker"]] += 1
    slowest = min(clocks.values(), default=0)
    found = {**turns.numbers(case, seen), "bound": case.args[0][2][0]}
    found["ahead"] = clocks.get(want["worker"], slowest) - slowest
    found["came"] = f"worker {want['worker']} {'leaves' if want.get('gone') else 'comes'}"
    if got is not None and "release" in got:
        released, right = set(got["release"]), set(want["release"])
        extra, missing = sorted(released - right), sorted(right - released)
        found |= {"extra": turns.people(extra), "missing": turns.people(missing)}
        for name, who in (("lead", extra), ("short", missing)):
            ahead = dict.fromkeys(clocks.get(each, slowest) - slowest for each in who)
            found[name] = " and ".join(map(str, ahead))
    return found


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = [turn for turn in seen[0].values[0] if "made" in turn]
    waited = sum(turn["worker"] not in turn["release"] for turn in found if not turn.get("gone"))
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {waited} of "
        f"{count(found[-1]['made'], 'gradient')} made their workers wait, nobody went on who was "
        "further ahead, and nobody was waited for once it had left."
    )


def _kept(case: Case, seen: Observation) -> Iterator[str]:
    _, got, want = turns.first_difference(case, seen)
    if got is not None and want is not None and "again" in want:
        yield (
            "all is as it should be; but a second rule of your class, driven alike, does something "
            "else: what the first one counted is still there. Keep it in `self`, made anew in "
            "`__init__`."
        )


def _nobody_left(case: Case, seen: Observation) -> Iterator[str]:
    said = ["ValueError: empty", "ValueError: zero-size"]
    if len(case.args[0][0]) == 1:  # who leaves is the last one
        said += ["IndexError: reduction dim", "RuntimeError: reduction dim"]
        said.append("IndexError: out of range")
    kinds_and_pieces = (each.split(": ") for each in said)
    if any(kind == seen.kind and piece in seen.text for kind, piece in kinds_and_pieces):
        yield (
            f"you ask for the smallest of no clocks at all (`{seen.text}`): when the last worker "
            "has left, nobody is there to go on. Then `min(self.clocks.values(), default=0)` is 0."
        )


class Shared(reference):
    """Counts on from the rule that was made before it; a new pair counts anew: a case makes two."""

    made: ClassVar[list[dict[int, int]]] = []

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.clocks |= self.made[-1] if len(self.made) % 2 else {}
        self.made.append(self.clocks)


WRONG = """
one too strict
    | <= self.bound => < self.bound
    at turn {turn} {came}; you do not release {missing}, {short} ahead of the slowest with a bound
    of {bound}: exactly at the bound a worker goes on (≤, not <).
one too lenient
    | <= self.bound => <= self.bound + 1
    at turn {turn} {came}; you release {extra}, {lead} ahead of the slowest, one more than the bound
    of {bound}.
before it counts
    | self.clocks[worker] += 1 self.waiting.add(worker) return self.may_go()
        => self.waiting.add(worker); ready = self.may_go(); self.clocks[worker] += 1; return ready
    at turn {turn} {came}; you compare before you count its gradient, so that its clock is one
    behind: `self.clocks[worker]` goes up first.
nobody waits
    | self.clocks[w] - slowest <= self.bound => True
    at turn {turn} {came} and is then {ahead} ahead of the slowest, with a bound of {bound}, and
    goes on at once, as everybody does in your class. Its own clock goes up, and no other; it is
    compared with the slowest clock of all, of those too who are computing.
the quickest
    | self.clocks[w] - slowest <= => max(self.clocks.values()) - self.clocks[w] <=
    at turn {turn} {came}; you measure the distance from the quickest, so that those behind wait and
    those ahead go on: in the end the slowest waits, and nobody can help it. The slowest never
    waits.
the mean
    | min(self.clocks.values()) => sum(self.clocks.values()) / len(self.clocks)
    at turn {turn} {came}; you measure the distance from the mean of the clocks. The slowest
    decides: `min(self.clocks.values())`.
staleness
    | self.apply(gradient) => self.late = push.staleness; self.apply(gradient)
    | self.clocks[w] - slowest <= => self.late <=
    at turn {turn} {came}, {late} late, and you judge by that: it counts everybody's updates. A
    worker's clock counts its own gradients, and is compared with the slowest clock.
all updates
    | self.clocks[worker] += 1 => self.clocks[worker] = self.version
    at turn {turn} {came}; its clock is the number of all updates, not of its own gradients:
    `self.clocks[worker] += 1`.
always a barrier
    | <= self.bound => <= 0
    at turn {turn} {came}; you do not release {missing}, {short} ahead with a bound of {bound}: you
    wait as if the bound were 0.
only itself
    | self.waiting.add(worker) return self.may_go()
        => return (worker,) if self.clocks[worker] - min(self.clocks.values()) <= self.bound else ()
    at turn {turn} {came}, and with it {missing} need not wait any longer: you ask only whether the
    one that came may go on, and nobody wakes those who wait.
one of them
    | <= self.bound) => <= self.bound)[:1]
    at turn {turn} {came}, and {missing} may go on as well: you wake one of those who wait and leave
    the others asleep. Ask each of them.
woken twice
    | self.waiting -= set(ready) => pass
    at turn {turn} {came}; you release {extra} once more, long since on the way: take from
    `self.waiting` those who go on.
clock of one that left
    | self.clocks.pop(worker, None) => pass
    at turn {turn} {came}; {missing} may go on now. You still wait for a worker that has left: its
    clock stands still for ever. Take it out of `self.clocks`.
nobody woken
    | Decision(release=self.may_go()) => Decision()
    at turn {turn} {came}, and {missing} waited for it alone; you release nobody. Take its clock out
    of `self.clocks` first, and release in `leave` who may go on then.
not a word of it
    | return Decision(release=self.may_go()) =>
    at turn {turn} {came}, and `leave` returns nothing: it gives a Decision, which names who may go
    on now, `Decision(self.may_go())`.
left and released
    | self.waiting.discard(worker) => pass
    | self.clocks[w] - slowest => self.clocks.get(w, 0) - slowest
    at turn {turn} {came}; you release {extra}, who has left: take it out of `self.waiting`, too.
drops
    | self.apply(gradient) return Decision(release=self._tick(worker), applied=(push,))
        => far = self.clocks[worker] + 1 - min(self.clocks.values()) > self.bound; far or
            self.apply(gradient); return Decision((worker,), (), (push,)) if far else
            Decision(self._tick(worker), (push,))
    at turn {turn} {came} and is too far ahead, and you throw its gradient away. It counts, and is
    applied at once; only its worker waits.
held back
    | self.apply(gradient) return Decision(release=self._tick(worker), applied=(push,))
        => self.held = {**getattr(self, "held", {}), worker: (push, gradient)};
        ready = self._tick(worker); came = [self.held.pop(w) for w in ready];
        [self.apply(g) for _, g in came]; return Decision(ready, tuple(p for p, _ in came))
    at turn {turn} {came} and has to wait, and you keep its gradient until it may go on. A gradient
    is applied when it comes: it is the worker that waits.
never applied
    | self.apply(gradient) => self.version += 1
    after turn {turn} the weights are still those of the start: make the update,
    `self.apply(gradient)`.
counts itself
    | applied=(push,) => applied=(push._replace(staleness=push.staleness + 1),)
    at turn {turn} {came}, {late} late, and you note one more: take `self.push(...)` before
    `self.apply` counts the version up.
kept between rules
    = Shared
    ? what the first one counted is still there
nobody is left
    | if not self.clocks: return () =>
    ? the smallest of no clocks
changes the weights in place
    | self.apply(gradient)
        => held = self.weights; self.apply(gradient); self.weights = held.copy_(self.weights)
    ? were written into
no comma
    | release=self._tick(worker), applied => release=(self._tick(worker) or ((),))[0], applied
    ? are tuples
one push
    | applied=(push,) => applied=push
    ? a comma makes it one
steps by hand
    | self.apply(gradient)
        => self.weights = self.weights - self.optimizer.rate * gradient; self.version += 1
    at turn {turn} {came}; you take the optimizer's `rate` and step yourself: what else the
    optimizer does, such as a momentum or a factor that lowers the rate, is left out.
    `self.apply(gradient)` asks it for the step.
still takes part
    | super().leave(worker) =>
    at turn {turn} {came}, and `self.workers` still holds it, so that it starts with the others when
    a server begins again: `super().leave(worker)` takes it out.
"""

EXERCISE = Exercise(
    number="06.7",
    title="Stale synchronous parallel",
    size=Size(stars=2, minutes=15, points=3),
    function="BoundedStaleness",
    asks=(
        "each gradient is applied when it comes; its worker waits while it has given more than "
        "`bound` gradients more than the slowest; whoever may go on again is released; one that "
        "has left is not waited for."
    ),
    cases=cases,
    drive=rules_in_a_row,
    claim=claim,
    mistakes=(
        *turns.KINDS,
        turns.WRITTEN_INTO,
        Mistake("kept between rules", _kept),
        Mistake("nobody is left", _nobody_left, unfinished=True),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.7", WRONG, reference, Shared),
    ranked=False,
)
