"""Exercise 06.7, stale synchronous parallel: nobody runs far ahead of the slowest.

`class BoundedStaleness(Rule)` with `may_go`, `arrive` and `leave`. The claim, turn by turn: every
gradient makes an update; its worker waits as long as it has given more than `bound` gradients more
than the slowest; whoever need not wait any longer is released; one that has left is not waited for.
Source: Ho et al. (2013), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.rule import Decision
from helpers.algorithms.servers.update_rules import BoundedStaleness as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import rules_in_a_row
from helpers.exercises.drives_rules_inside import PlainSgd
from helpers.exercises.lesson_06 import bounded_wrong as wrong
from helpers.exercises.lesson_06 import turns
from helpers.exercises.lesson_06.bounded_says import SAYS
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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


def claim(case: Case, seen: Observation) -> str | None:
    """Every turn as wanted, and with a second rule of the class again."""
    number, got, want = turns.first_difference(case, seen) if _is_list(seen) else (0, None, None)
    if got is not None and want is not None and "again" in want:
        return f"{case.name}, a second rule of your class, driven alike, does something else."
    if got is None or want is None or not want.get("gone"):
        return turns.fault(case, seen)
    where = f"{case.name}, worker {want['worker']} leaves at turn {number}"
    if "release" not in got:
        return f"{where}; `leave` has to return a Decision that names who may go on now."
    if got["release"] != want["release"]:
        released, right = turns.people(got["release"]), turns.people(want["release"])
        return f"{where}; you release {released}, not {right}."
    return f"{where}; the weights, and what is applied and dropped, stay as they are."


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
        extra, missing = (sorted(set(a) - set(b)) for a, b in _both(got, want))
        found |= {"extra": turns.people(extra), "missing": turns.people(missing)}
        for name, who in (("lead", extra), ("short", missing)):
            found[name] = listed(given.get(each, slowest) - slowest for each in who)
    return found


def _both(got: turns.Turn, want: turns.Turn) -> tuple[Any, Any]:
    return (got["release"], want["release"]), (want["release"], got["release"])


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
        f"{case.name}, all is as it should be; but a second rule of your class, driven alike, does "
        "something else: what the first one counted is still there. Keep it in `self`, made anew "
        "in `__init__`."
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
        f"{case.name}, you ask for the smallest of no clocks at all (`{seen.text}`): when the last "
        "worker has left, nobody is there to go on. Then `min(self.clocks.values(), default=0)` "
        "is 0."
    )


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
    wrong=(
        WrongAnswer("one too strict", wrong.too_strict, SAYS["one too strict"]),
        WrongAnswer("one too lenient", wrong.too_lenient, SAYS["one too lenient"]),
        WrongAnswer("before it counts", wrong.BeforeItCounts, SAYS["before it counts"]),
        WrongAnswer("nobody waits", wrong.nobody_waits, SAYS["nobody waits"]),
        WrongAnswer("the quickest", wrong.quickest, SAYS["the quickest"]),
        WrongAnswer("the mean", wrong.mean, SAYS["the mean"]),
        WrongAnswer("staleness", wrong.ByStaleness, SAYS["staleness"]),
        WrongAnswer("all updates", wrong.AllUpdates, SAYS["all updates"]),
        WrongAnswer("always a barrier", wrong.barrier, SAYS["always a barrier"]),
        WrongAnswer("only itself", wrong.OnlyItself, SAYS["only itself"]),
        WrongAnswer("one of them", wrong.OneOfThem, SAYS["one of them"]),
        WrongAnswer("woken twice", wrong.WokenTwice, SAYS["woken twice"]),
        WrongAnswer("clock of one that left", wrong.KeepsClock, SAYS["clock of one that left"]),
        WrongAnswer("nobody woken", wrong.NobodyWoken, SAYS["nobody woken"]),
        WrongAnswer("not a word of it", wrong.NoWord, SAYS["not a word of it"]),
        WrongAnswer("left and released", wrong.LeftAndReleased, SAYS["left and released"]),
        WrongAnswer("drops", wrong.Drops, SAYS["drops"]),
        WrongAnswer("held back", wrong.HeldBack, SAYS["held back"]),
        WrongAnswer("never applied", wrong.NeverApplies, SAYS["never applied"]),
        WrongAnswer("counts itself", wrong.CountsItself, SAYS["counts itself"]),
        WrongAnswer(
            "kept between rules", wrong.Shared, hint="what the first one counted is still there"
        ),
        WrongAnswer("nobody is left", wrong.SmallestOfNone, hint="the smallest of no clocks"),
        WrongAnswer("changes the weights in place", wrong.InPlace, hint="were written into"),
        WrongAnswer("no comma", wrong.NoComma, hint="are tuples"),
        WrongAnswer("one push", wrong.OnePush, hint="a comma makes it one"),
    ),
    ranked=False,
)
