"""Exercise 06.1, the asynchronous rule: every gradient is applied when it comes.

`class Asynchronous(Rule)` with `arrive(self, worker, gradient, version) -> Decision`. The
claim: at every arrival one update, of this gradient; its worker alone is released; the decision
notes how many updates late it was. Source: Dean et al. (2012), section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.rule import Decision, Push, Rule, mean
from helpers.algorithms.servers.update_rules import Asynchronous as reference
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.drives_rules import own_rule_turns
from helpers.exercises.lesson_06 import turns
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers that arrive in a mixed order; else other numbers and orders."""
    random, made = rng(seed, "06.1"), []
    sizes = [*WORLDS, int(random.integers(6, 12))] if seed else list(WORLDS)
    for workers in sizes:
        length = 3 * workers + 5 + (int(random.integers(8, 13)) if seed else 0)
        order = turns.arrivals(random, workers, length, {0, 1} if workers > 1 else {0})
        if workers == 3 and not seed:
            order = [0, 2, 2, 1, 0, 1, 2, 0, 0, 1, 2, 1]
        name = turns.named(workers)
        made.append(turns.case(name, own_rule_turns, random, order, workers, (), reference))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """One update an arrival, of this gradient, and its worker released; by its own `arrive`."""
    return turns.fault(case, seen) or _borrowed(case, seen)


def _borrowed(case: Case, seen: Observation) -> str | None:
    whose = sorted({turn["arrive"] or "" for turn in seen.values[0]} - {"", EXERCISE.function})
    if not whose:
        return None
    return (
        f"{case.name}, all is as it should be, but it is the `arrive` of `{whose[0]}`, a rule of "
        "the course's that can do more: `arrive` is what is to be written here."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = turns.late(seen[0].values[0])
    return (
        "Passed with 1, 2, 3 and 5 workers: one update an arrival, nobody waits. With 3 workers "
        f"the gradients were {', '.join(map(str, found))} updates late."
    )


class _Parts(Rule):
    """The rule in parts, of which each wrong answer has another one."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(*self.decided(push))

    def decided(self, push: Push) -> tuple[Any, ...]:
        return (push.worker,), (push,)


def _deciding(decided: Callable[[Rule, Push], tuple[Any, ...]]) -> type[Rule]:
    """The rule with another decision. decided: who is released, and what is applied."""

    class Deciding(_Parts):
        def decided(self, push: Push) -> tuple[Any, ...]:
            return decided(self, push)

    return Deciding


_releases_nobody = _deciding(lambda rule, push: ((), (push,)))
_releases_all = _deciding(lambda rule, push: (rule.start(), (push,)))
_no_comma = _deciding(lambda rule, push: (push.worker, push))
_one_push = _deciding(lambda rule, push: ((push.worker,), push))
_number_for_push = _deciding(lambda rule, push: ((push.worker,), (push.staleness,)))
_tuple_for_push = _deciding(lambda rule, push: ((push.worker,), (tuple(push),)))


class _CountsItself(_Parts):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.apply(gradient)
        return Decision(*self.decided(self.push(worker, version)))


class _NeverApplies(_Parts):
    def apply(self, gradient: Any) -> None:
        pass


class _NoVersion(_Parts):
    def apply(self, gradient: Any) -> None:
        super().apply(gradient)
        self.version -= 1


class _ByWorkers(_Parts):
    def apply(self, gradient: Any) -> None:
        super().apply(gradient / len(self.workers))


class _InPlace(_Parts):
    def apply(self, gradient: Any) -> None:
        before = self.weights
        super().apply(gradient)
        self.weights = before.copy_(self.weights)


class _WaitsForAll(_Parts):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.held: list[tuple[Any, Push]] = []

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held.append((gradient, self.push(worker, version)))
        if len(self.held) < len(self.workers):
            return Decision()
        (gradients, pushes), self.held = zip(*self.held, strict=True), []
        self.apply(mean(gradients))
        return Decision(self.start(), pushes)


class _OnlyFresh(_Parts):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if version < self.version:
            return self.discard(worker, version)
        return super().arrive(worker, gradient, version)


class _NoStaleness(_Parts):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        return super().arrive(worker, gradient, self.version)


_SAYS = {
    "counts its own update": "worker {worker}’s gradient was {late} late at turn {turn}, and you "
    "noted one more: `self.apply` counts the version up, so take `self.push(...)` before it.",
    "never applied": "the weights are still those of the start after turn {turn}: a decision only "
    "says what happened. Make the update itself, `self.apply(gradient)`.",
    "version not counted": "the weights move at turn {turn}, but the version stays at 0, so that "
    "nobody can tell how late a gradient is: `self.apply(gradient)` takes the step and counts.",
    "nobody released": "you release nobody at turn {turn}: each worker gives one gradient and then "
    "waits for ever. Its worker may go on at once: `release=(worker,)`.",
    "everybody released": "you release {released} at turn {turn}, though only worker {worker} has "
    "given a gradient: the others still compute. Release those who wait, `release=(worker,)`.",
    "waits for all": "there is no update at turn {turn}: you wait until every worker has come. "
    "That is the synchronous rule; here each gradient is applied when it comes.",
    "drops what is late": "worker {worker}’s gradient at turn {turn} is {late} late and you drop "
    "it. The plain rule applies every gradient, however old; dropping is the cure of 06.3.",
    "the server's version": "you note that worker {worker}’s gradient at turn {turn} is not late, "
    "and it is {late} late: give `self.push` the `version` that the worker computed on.",
    "divided by the workers": "a gradient counts one N-th at turn {turn}, for N workers. The "
    "synchronous rule makes one update of N, by their mean; here each is an update of its own and "
    "counts whole.",
}
EXERCISE = Exercise(
    number="06.1",
    title="Nobody waits",
    stars=1,
    minutes=8,
    points=2,
    function="Asynchronous",
    asks=(
        "each gradient is applied when it comes, its worker alone is released, and the decision "
        "holds its push: worker, version, and the number of updates made since that version."
    ),
    cases=cases,
    drive=own_rule_turns,
    claim=claim,
    mistakes=(*turns.KINDS, turns.WRITTEN_INTO),
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("counts its own update", _CountsItself, _SAYS["counts its own update"]),
        WrongAnswer("never applied", _NeverApplies, _SAYS["never applied"]),
        WrongAnswer("version not counted", _NoVersion, _SAYS["version not counted"]),
        WrongAnswer("nobody released", _releases_nobody, _SAYS["nobody released"]),
        WrongAnswer("everybody released", _releases_all, _SAYS["everybody released"]),
        WrongAnswer("waits for all", _WaitsForAll, _SAYS["waits for all"]),
        WrongAnswer("drops what is late", _OnlyFresh, _SAYS["drops what is late"]),
        WrongAnswer("the server's version", _NoStaleness, _SAYS["the server's version"]),
        WrongAnswer("divided by the workers", _ByWorkers, _SAYS["divided by the workers"]),
        WrongAnswer("changes the weights in place", _InPlace, hint="were written into"),
        WrongAnswer("no comma", _no_comma, hint="are tuples"),
        WrongAnswer("number for a push", _number_for_push, hint="where a Push belongs"),
        WrongAnswer("tuple for a push", _tuple_for_push, hint="by its name"),
        WrongAnswer("one push", _one_push, hint="a comma makes it one"),
    ),
    ranked=False,
    unseen={"arrive": "whether `arrive` is another rule's of the course"},
)
