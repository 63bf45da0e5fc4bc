"""Exercise 06.1, the asynchronous rule: every gradient is applied when it comes.

`class Asynchronous(Rule)` with `arrive(self, worker, gradient, version) -> Decision`. The
claim: at every arrival one update, of this gradient; its worker alone is released; the decision
notes how many updates late it was. Source: Dean et al. (2012), section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.servers.rule import Decision, Push, Rule, mean
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.drives_rules import rule_turns
from helpers.exercises.lesson_06.handed import NO_PUSH
from helpers.exercises.lesson_06.turns import (
    NO_TUPLE,
    STUCK,
    arrivals,
    case,
    fault,
    late,
    like,
    named,
)
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers that arrive in a mixed order; else other numbers and orders."""
    random, made = rng(seed, "06.1"), []
    sizes = [*WORLDS, int(random.integers(6, 12))] if seed else list(WORLDS)
    for workers in sizes:
        length = 3 * workers + 5 + (int(random.integers(8, 13)) if seed else 0)
        order = arrivals(random, workers, length, {0, 1} if workers > 1 else {0})
        if workers == 3 and not seed:
            order = [0, 2, 2, 1, 0, 1, 2, 0, 0, 1, 2, 1]
        made.append(case(named(workers), rule_turns, random, order, workers, (), reference, KNOWN))
    return made


def reference(weights: Any, optimizer: Any, workers: int) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.update_rules import Asynchronous

    return Asynchronous(weights, optimizer, workers)


class CountsItself(Rule):
    """Names the gradient after its own update: one update too late."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Apply first."""
        self.apply(gradient)
        return Decision(release=(worker,), applied=(self.push(worker, version),))


class NeverApplies(Rule):
    """Decides, and makes no update."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Only words."""
        return Decision(release=(worker,), applied=(self.push(worker, version),))


class NoVersion(Rule):
    """Takes the step by hand and forgets the version."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Step without counting."""
        push = self.push(worker, version)
        assert self.optimizer is not None
        self.weights = self.optimizer.step(self.weights, gradient, self.version)
        return Decision(release=(worker,), applied=(push,))


class ReleasesNobody(Rule):
    """Applies, and lets nobody go on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No release."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(applied=(push,))


class ReleasesAll(Rule):
    """Lets everybody pull, those too that still compute."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Release all."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=self.start(), applied=(push,))


class WaitsForAll(Rule):
    """The synchronous rule."""

    def __init__(self, weights: Any, optimizer: Any, workers: Any) -> None:
        super().__init__(weights, optimizer, workers)
        self.held: list[tuple[Any, Push]] = []

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Keep until all are there."""
        self.held.append((gradient, self.push(worker, version)))
        if len(self.held) < len(self.workers):
            return Decision()
        pushes = tuple(push for _, push in self.held)
        self.apply(mean([held for held, _ in self.held]))
        self.held = []
        return Decision(self.start(), pushes)


class OnlyFresh(Rule):
    """Drops whatever is late at all."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Fresh ones alone."""
        if version < self.version:
            return self.discard(worker, version)
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push,))


class NoStaleness(Rule):
    """Notes the version of the server, so that nothing ever looks late."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Push with the present version."""
        push = self.push(worker, self.version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push,))


class NoTuple(Rule):
    """Numbers where tuples belong."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No comma."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=(worker), applied=(push))  # type: ignore[arg-type]


class NumberForPush(Rule):
    """Notes how late the gradient was, and not the push."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """A number."""
        late = self.version - version
        self.apply(gradient)
        return Decision(release=(worker,), applied=(late,))  # type: ignore[arg-type]


class TupleForPush(Rule):
    """Notes a push's numbers in a tuple of its own."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No Push."""
        late = self.version - version
        self.apply(gradient)
        return Decision((worker,), ((worker, version, late),))  # type: ignore[arg-type]


class OnePush(Rule):
    """A push where a tuple of them belongs."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """No comma."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push))  # type: ignore[arg-type]


KNOWN = {
    "counts its own update": CountsItself,
    "never applied": NeverApplies,
    "version not counted": NoVersion,
    "nobody released": ReleasesNobody,
    "everybody released": ReleasesAll,
    "waits for all": WaitsForAll,
    "drops what is late": OnlyFresh,
    "the server's version": NoStaleness,
}


def claim(case: Case, seen: Observation) -> str | None:
    """One update an arrival, of this gradient, and its worker released."""
    return fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = [late(turn) for turn in seen[0].values[0]]
    return (
        "Passed with 1, 2, 3 and 5 workers: one update an arrival, nobody waits. With 3 workers "
        f"the gradients were {', '.join(map(str, found))} updates late."
    )


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
    drive=rule_turns,
    claim=claim,
    mistakes=(
        NO_PUSH,
        like(
            "counts its own update",
            "worker {worker}’s gradient was {late} late at turn {turn}, and you noted one more: "
            "`self.apply` counts the version up, so take `self.push(...)` before it.",
        ),
        like(
            "never applied",
            "the weights are still those of the start after turn {turn}: a decision only says what "
            "happened. Make the update itself, `self.apply(gradient)`.",
        ),
        like(
            "version not counted",
            "the weights move at turn {turn}, but the version stays at 0, so that nobody can "
            "tell how late a gradient is: `self.apply(gradient)` takes the step and counts.",
        ),
        like(
            "nobody released",
            "you release nobody at turn {turn}: each worker gives one gradient and then waits for "
            "ever. Its worker may go on at once: `release=(worker,)`.",
        ),
        like(
            "everybody released",
            "you release {released} at turn {turn}, though only worker {worker} has given a "
            "gradient: the others still compute. Release those who wait, `release=(worker,)`.",
        ),
        like(
            "waits for all",
            "there is no update at turn {turn}: you wait until every worker has come. That is the "
            "synchronous rule; here each gradient is applied when it comes.",
        ),
        like(
            "drops what is late",
            "worker {worker}’s gradient at turn {turn} is {late} late and you drop it. The plain "
            "rule applies every gradient, however old; dropping is the cure of 06.3.",
        ),
        like(
            "the server's version",
            "you note that worker {worker}’s gradient at turn {turn} is not late, and it is {late} "
            "late: give `self.push` the `version` that the worker computed on.",
        ),
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("staleness off by one", CountsItself, hint="one more"),
        WrongAnswer("never applies", NeverApplies, hint="still those of the start"),
        WrongAnswer("no version", NoVersion, hint="the version stays at 0"),
        WrongAnswer("releases nobody", ReleasesNobody, hint="you release nobody"),
        WrongAnswer("releases all", ReleasesAll, hint="the others still compute"),
        WrongAnswer("waits for all", WaitsForAll, hint="the synchronous rule"),
        WrongAnswer("drops late ones", OnlyFresh, hint="dropping is the cure"),
        WrongAnswer("no comma", NoTuple, hint="are tuples"),
        WrongAnswer("number for a push", NumberForPush, hint="where a Push belongs"),
        WrongAnswer("tuple for a push", TupleForPush, hint="by its name"),
        WrongAnswer("one push", OnePush, hint="a comma makes it one"),
        WrongAnswer("present version", NoStaleness, hint="computed on"),
    ),
    ranked=False,
)
