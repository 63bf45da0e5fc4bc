"""Exercise 06.3, dropping gradients that are too late.

`class DropStale(Cure)` with `arrive`: what is more than `limit` updates late is never used, and its
worker goes on; all else is handed on to the rule inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.algorithms.servers.stale_cures import DropStale as reference
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import count
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import cures, turns
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, of which some come late; else other orders and limits."""
    random, made = rng(seed, "06.3"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        limit = min(workers - 1, 2) if workers < 6 else int(random.integers(3, 6))
        wanted = {limit, limit + 1, limit + 2} if workers > 1 else {0}
        length = 4 * workers + (int(random.integers(13, 18)) if seed else 7)
        order = turns.arrivals(random, workers, length, wanted, limit)
        name = turns.named(workers, f" and a limit of {limit}")
        made.append(turns.case(name, handing_turns, random, order, workers, (limit,), reference))
    return made + cures.around_others(handing_turns, random, (1,), reference, "and a limit of 1")


def claim(case: Case, seen: Observation) -> str | None:
    """What is later than the limit is dropped, its worker released; the rest handed on."""
    return turns.fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = seen[0].values[0]
    dropped = sum(len(turn["dropped"]) for turn in found)
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {dropped} of "
        f"{count(len(found), 'gradient')} were dropped, and everybody went on."
    )


def _discards(cure: Cure, push: Push, gradient: Any) -> Any:
    return cure.discard(push.worker, push.version)


def _hands_on(cure: Cure, push: Push, gradient: Any) -> Any:
    return cure.rule.arrive(push.worker, gradient, push.version)


def _dropping(
    late: Callable[..., Any] = _discards,
    fresh: Callable[..., Any] = _hands_on,
    is_late: Callable[[Any, int], bool] = lambda push, limit: push.staleness > limit,
) -> type[Cure]:
    """The cure with another part: what becomes of late and of fresh ones, or which are late."""

    class Dropping(Cure):
        def __init__(self, rule: Rule, limit: int) -> None:
            super().__init__(rule)
            self.limit = limit

        def arrive(self, worker: int, gradient: Any, version: int) -> Any:
            push = self.push(worker, version)
            return (late if is_late(push, self.limit) else fresh)(self, push, gradient)

    return Dropping


def _applies_and_drops(cure: Cure, push: Push, gradient: Any) -> Decision:
    _hands_on(cure, push, gradient)
    return Decision(release=(push.worker,), dropped=(push,))


def _discards_in_vain(cure: Cure, push: Push, gradient: Any) -> Any:
    cure.discard(push.worker, push.version)
    return _hands_on(cure, push, gradient)


def _discards_alone(cure: Cure, push: Push, gradient: Any) -> None:
    cure.discard(push.worker, push.version)


_no_return = _dropping(late=_discards_alone)
_in_vain = _dropping(late=_discards_in_vain)
_keeps_worker = _dropping(late=lambda cure, push, gradient: Decision(dropped=(push,)))
_drops_at_limit = _dropping(is_late=lambda push, limit: push.staleness >= limit)
_not_noted = _dropping(late=lambda cure, push, gradient: Decision(release=(push.worker,)))
_drops_fresh = _dropping(is_late=lambda push, limit: push.staleness <= limit)
_by_version = _dropping(is_late=lambda push, limit: push.version > limit)
_applies_anyway = _dropping(late=_applies_and_drops)
_drops_nothing = _dropping(late=_hands_on)


_hands_on_nothing = _dropping(late=lambda cure, push, gradient: _hands_on(cure, push, 0 * gradient))
_itself, _anyway, _fresh, _bare, _number, _instead = cures.spoiled(reference, __name__)


_SAYS = {
    "no return": "worker {worker}’s gradient at turn {turn} is to be dropped, and `arrive` returns "
    "None: `self.discard(worker, version)` gives a decision, which is what you return.",
    "discards in vain": "worker {worker}’s gradient at turn {turn} is {late} late, you call "
    "`self.discard` and go on to apply it: what `self.discard` gives is what you return.",
    "the worker waits": "you drop worker {worker}’s gradient at turn {turn} and release nobody: it "
    "waits for ever, and sooner or later everybody does. `self.discard(…)` drops and releases.",
    "drops at the limit": "worker {worker}’s gradient at turn {turn} is {late} late and you drop "
    "it: what is exactly at the limit still counts (>, not ≥).",
    "not noted": "worker {worker}’s gradient vanishes at turn {turn}: the decision has to name it "
    "in `dropped`, so that it can be counted. `self.discard(worker, version)` does.",
    "drops the fresh ones": "worker {worker}’s gradient at turn {turn} is only {late} late and you "
    "drop it; the comparison is the wrong way round.",
    "version for staleness": "you drop by the version of the gradient, which grows with the "
    "training: how late it is says `self.push(worker, version).staleness`.",
    "applies what it drops": "the gradient at turn {turn} is {late} late; your decision says that "
    "it is dropped, and the weights have moved all the same. Decide before you hand it on.",
    "drops nothing": "worker {worker}’s gradient at turn {turn} is {late} late and is applied: "
    "nothing is ever dropped.",
    "hands on zeros": "worker {worker}’s gradient at turn {turn} is {late} late and you hand on "
    "zeros: that is an update too, by which all others are later, and nothing is noted as dropped.",
}
EXERCISE = Exercise(
    number="06.3",
    title="Drop what is too late",
    stars=1,
    minutes=8,
    points=2,
    function="DropStale",
    asks=(
        "a gradient that is more than `limit` updates late is dropped and its worker goes on; any "
        "other is handed on to `self.rule`."
    ),
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=turns.KINDS,
    numbers=turns.numbers,
    compared=turns.without_held,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("no return", _no_return, _SAYS["no return"]),
        WrongAnswer("discards in vain", _in_vain, _SAYS["discards in vain"]),
        WrongAnswer("the worker waits", _keeps_worker, _SAYS["the worker waits"]),
        WrongAnswer("drops at the limit", _drops_at_limit, _SAYS["drops at the limit"]),
        WrongAnswer("not noted", _not_noted, _SAYS["not noted"]),
        WrongAnswer("drops the fresh ones", _drops_fresh, _SAYS["drops the fresh ones"]),
        WrongAnswer("version for staleness", _by_version, _SAYS["version for staleness"]),
        WrongAnswer("applies what it drops", _applies_anyway, _SAYS["applies what it drops"]),
        WrongAnswer("drops nothing", _drops_nothing, _SAYS["drops nothing"]),
        WrongAnswer("hands on zeros", _hands_on_nothing, _SAYS["hands on zeros"]),
        WrongAnswer("never handed on", _itself, cures.NOT_HANDED),
        WrongAnswer("decides for itself", _anyway, cures.OWN_DECISION),
        WrongAnswer("called fresh", _fresh, cures.CALLED_FRESH),
        WrongAnswer("another rule inside", _instead, cures.IN_ITS_PLACE),
        WrongAnswer("one push", _bare, hint="a comma makes it one"),
        WrongAnswer("no comma", _number, hint="are tuples"),
    ),
    ranked=False,
    unseen={
        "inside": "whether a decision is the very one of the rule inside",
        "held": "how many tensors it keeps",
    },
)
