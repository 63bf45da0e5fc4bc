"""Exercise 06.7, stale synchronous parallel: nobody runs far ahead of the slowest.

`class BoundedStaleness(Rule)` with `may_go`, `arrive` and `leave`. The claim, turn by turn: every
gradient makes an update; its worker waits as long as it has given more than `bound` gradients more
than the slowest; whoever need not wait any longer is released; one that has left is not waited for.
Source: Ho et al. (2013), section 2. A long file, for its orders of arrival, in which who waits
comes when it may, are played through as they are drawn, and there are 25 wrong answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from helpers.algorithms.servers.rule import Decision
from helpers.algorithms.servers.update_rules import BoundedStaleness as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.drives.rules import rules_in_a_row
from helpers.exercises.drives.rules_inside import PlainSgd
from helpers.exercises.lesson_06 import turns
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers

_SHAPES = ((3, 2), (1, 0), (2, 0), (5, 1), (3, 1), (4, 0), (3, np.inf))


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 workers two ahead, then 1, 2, 5, 3 and 4 with other bounds, 3 with none; else other
    orders, and more workers. In each some leave; in the second all do."""
    random, made = rng(seed, "06.7"), []
    shapes = [*_SHAPES, (int(random.integers(6, 9)), 1)] if seed else _SHAPES
    for number, (workers, bound) in enumerate(shapes):
        order = arrivals(random, workers, bound, everybody=workers == 1)
        heavier = {"heavier": True} if number == 4 else {}
        words = ", inside a cure that keeps what it hands on," if heavier else ""
        limit = f"a bound of {bound}" if np.isfinite(bound) else "no bound, s = ∞"
        name = turns.named(workers, f"{words} and {limit}")
        given = (name, rules_in_a_row, random, order, workers, (bound,), reference, heavier)
        made.append(turns.case(*given))
    return made


class _Order:
    """An order of arrivals as it is drawn. A worker that has to wait comes when it may."""

    def __init__(self, workers: int, bound: float) -> None:
        self.rule = reference(0.0, PlainSgd(0.0), workers, bound)
        self.going = dict.fromkeys(self.rule.start(), 0)
        self.order: list[int] = []
        self.open: list[int] = []  # places in the order of those who have not come yet

    def come(self, worker: int) -> None:
        """It is the next one in the order."""
        self.order.append(worker)
        self.open.append(len(self.order) - 1)
        self._follow()

    def leave(self, worker: int) -> None:
        """It goes for good."""
        self.order.append(-1 - worker)
        self.going.pop(worker, None)
        self._release(self.rule.leave(worker))
        self._follow()

    def _follow(self) -> None:
        while (at := next((n for n in self.open if self.order[n] in self.going), None)) is not None:
            self.open.remove(at)
            worker = self.order[at]
            self._release(self.rule.arrive(worker, 0.0, self.going.pop(worker)))

    def _release(self, decision: Decision) -> None:
        self.going |= {worker: self.rule.version for worker in decision.release}

    def ends(self) -> list[int]:
        """The order, without those who never came."""
        return [worker for at, worker in enumerate(self.order) if at not in self.open]


def arrivals(random: np.random.Generator, workers: int, bound: float, everybody: bool) -> list[int]:
    """Who comes when: worker 1 in bursts. Of four or more workers, the last leaves while 1 waits
    for others, too; of several, 0 leaves while 1 waits for it; and of three or more, 1 leaves while
    it waits. everybody: in the end all leave."""
    made = _Order(workers, bound)
    clocks, burst = made.rule.clocks, int(min(bound, 4)) + 3

    def come(times: int) -> None:
        for _ in range(times):
            worker = int(random.choice(sorted(clocks)))
            for _ in range(int(random.integers(1, burst)) if worker == 1 else 1):
                made.come(worker)

    def level() -> None:
        while len(set(clocks.values())) > 1:  # the slowest never waits
            made.come(min(clocks, key=lambda worker: clocks[worker]))

    come(3 * workers)
    if workers > 3:
        level()
        for _ in range(burst):
            made.come(1)
        made.leave(workers - 1)
    if workers > 1:
        level()
        for worker in sorted(set(clocks) - {0, 1}):  # one ahead of 0, and going where they may
            made.come(worker)
        for _ in range(burst):
            made.come(1)
        made.leave(0)
        come(2 * workers)
    if workers > 2:
        for _ in range(burst):
            made.come(1)
        made.leave(1)
    for worker in sorted(clocks) * 2:
        made.come(worker)
    for worker in sorted(clocks) if everybody else ():
        made.leave(worker)
    return made.ends()


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every turn as wanted, and with a second rule of the class again."""
    number, got, want = turns.first_difference(case, seen) if _is_list(seen) else (0, None, None)
    if got is not None and want is not None and "again" in want:
        yield "a second rule of your class, driven alike, does something else."
    if got is None or want is None or not want.get("gone"):
        yield turns.fault(case, seen)
        return
    where = f"worker {want['worker']} leaves at turn {number}"
    if "release" not in got:
        yield f"{where}; `leave` has to return a Decision that names who may go on now."
    if got["release"] != want["release"]:
        released, right = turns.people(got["release"]), turns.people(want["release"])
        yield f"{where}; you release {released}, not {right}."
    yield f"{where}; the weights, and what is applied and dropped, stay as they are."


def _is_list(seen: Observation) -> bool:
    return bool(seen.values) and type(seen.values[0]) is list


def clocks(case: Case, number: int) -> dict[int, int]:
    """How many gradients each worker that is still there has given after so many turns."""
    found = dict.fromkeys(range(len(case.args[0][0])), 0)
    for turn in case.facts["want"][:number]:
        if turn.get("gone"):
            found.pop(turn["worker"], None)
        elif turn["worker"] in found:
            found[turn["worker"]] += 1
    return found


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that is not as wanted, and who is how far ahead then."""
    number, got, want = turns.first_difference(case, seen)
    if want is None or "worker" not in want:
        return {}
    found, given = turns.numbers(case, seen), clocks(case, number)
    slowest = min(given.values(), default=0)
    found["bound"] = case.args[0][2][0]
    found["ahead"] = given.get(want["worker"], slowest) - slowest
    found["came"] = f"worker {want['worker']} {'leaves' if want.get('gone') else 'comes'}"
    if got is not None and "release" in got:
        released, right = set(got["release"]), set(want["release"])
        extra, missing = sorted(released - right), sorted(right - released)
        found |= {"extra": turns.people(extra), "missing": turns.people(missing)}
        for name, who in (("lead", extra), ("short", missing)):
            found[name] = listed(given.get(each, slowest) - slowest for each in who)
    return found


def listed(ahead: Any) -> str:
    """ "2", or "0 and 1": by how many gradients some are ahead."""
    return " and ".join(str(each) for each in dict.fromkeys(ahead))


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = [turn for turn in seen[0].values[0] if "made" in turn]
    waited = sum(turn["worker"] not in turn["release"] for turn in found if not turn.get("gone"))
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {waited} of "
        f"{count(found[-1]['made'], 'gradient')} made their workers wait, nobody went on who was "
        "further ahead, and nobody was waited for once it had left."
    )


def _kept(case: Case, seen: Observation) -> str | None:
    number, got, want = turns.first_difference(case, seen)
    if not number or got is None or want is None or "again" not in want:
        return None
    return (
        "all is as it should be; but a second rule of your class, driven alike, does something "
        "else: what the first one counted is still there. Keep it in `self`, made anew in "
        "`__init__`."
    )


def _nobody_left(case: Case, seen: Observation) -> str | None:
    said: dict[str, tuple[str, ...]] = {"ValueError": ("empty", "zero-size")}
    if len(case.args[0][0]) == 1:  # who leaves is the last one
        said |= {
            "IndexError": ("out of range", "reduction dim"),
            "RuntimeError": ("reduction dim",),
        }
    told = any(words in seen.text for words in said.get(seen.kind, ()))
    if seen.trouble != "failed" or not told:
        return None
    return (
        f"you ask for the smallest of no clocks at all (`{seen.text}`): when the last worker has "
        "left, nobody is there to go on. Then `min(self.clocks.values(), default=0)` is 0."
    )


class HeldBack(reference):
    """Applies a gradient when its worker may go on."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held: dict[int, tuple[Any, int]] = {}

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient, version
        return self.go(self._tick(worker))

    def leave(self, worker: int) -> Decision:
        return self.go(super().leave(worker).release)

    def go(self, ready: tuple[int, ...]) -> Decision:
        pushes = []
        for worker in ready:
            gradient, version = self.held.pop(worker)
            pushes.append(self.push(worker, version))
            self.apply(gradient)
        return Decision(ready, tuple(pushes))


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
    = HeldBack
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
"""

EXERCISE = Exercise(
    number="06.7",
    title="Stale synchronous parallel",
    stars=2,
    minutes=15,
    points=3,
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
    wrong=wrong_answers("06.7", WRONG, reference, HeldBack, Shared),
    ranked=False,
)
