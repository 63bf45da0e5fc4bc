"""Exercise 06.4, gradients divided by how late they are.

`class ScaleByStaleness(Cure)` with `arrive`: a gradient that is τ updates late is handed on as g/τ,
one that is not late as it is. Source: Zhang et al. (2015), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import turns
from helpers.exercises.lesson_06.turns import applies_itself, decides_itself, no_comma, one_push
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers, first some that come late, then fresh ones; else others."""
    random, made = rng(seed, "06.4"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        wanted = {0, 1, min(2, workers - 1)} if workers > 1 else {0}
        length = 2 * workers + 6 + (int(random.integers(8, 13)) if seed else 0)
        order = turns.arrivals(random, workers, length, wanted)
        made.append(
            turns.case(turns.named(workers), handing_turns, random, order, workers, (), reference)
        )
    return [*made, turns.around_pairs(handing_turns, random, (), reference)]


def claim(case: Case, seen: Observation) -> str | None:
    """g / max(τ, 1) handed on, and the decision of the rule inside returned."""
    return turns.fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = [turns.late(turn) for turn in seen[0].values[0]]
    return (
        "Passed with 1, 2, 3 and 5 workers: with 3 workers the gradients were "
        f"{', '.join(map(str, found))} updates late and were divided by "
        f"{', '.join(str(max(each, 1)) for each in found)}."
    )


def _no_division(case: Case, seen: Observation) -> str | None:
    if seen.kind != "ZeroDivisionError":
        return None
    return (
        f"{case.name}, a gradient that is 0 updates late and you divide by 0: what is not late is "
        "handed on as it is, `max(staleness, 1)`."
    )


def reference(rule: Rule) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import ScaleByStaleness

    return ScaleByStaleness(rule)


def _scaling(scaled: Callable[[Any, Push], Any]) -> type[Cure]:
    """A cure that scales otherwise."""

    class Scaling(Cure):
        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            push = self.push(worker, version)
            return self.rule.arrive(worker, scaled(gradient, push), version)

    return Scaling


_by_zero = _scaling(lambda gradient, push: gradient / push.staleness)
_one_by_zero = _scaling(lambda gradient, push: gradient * (1 / push.staleness))
_by_one_more = _scaling(lambda gradient, push: gradient / (push.staleness + 1))
_by_root = _scaling(lambda gradient, push: gradient / max(push.staleness, 1) ** 0.5)
_by_version = _scaling(lambda gradient, push: gradient / max(push.version, 1))
_multiplies = _scaling(lambda gradient, push: gradient * max(push.staleness, 1))
_unscaled = _scaling(lambda gradient, push: gradient)


class _CalledFresh(Cure):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        late = max(self.push(worker, version).staleness, 1)
        return self.rule.arrive(worker, gradient / late, self.version)


class _LosesDecision(Cure):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        late = max(self.push(worker, version).staleness, 1)
        self.rule.arrive(worker, gradient / late, version)
        return Decision(release=(worker,))


def _spoiled(spoil: Callable[[Any], Rule]) -> Callable[..., Rule]:
    return lambda rule: spoil(reference(rule))


_one_push = _spoiled(one_push)
_no_comma = _spoiled(no_comma)
_applies_itself = _spoiled(applies_itself)
_decides_itself = _spoiled(decides_itself)


EXERCISE = Exercise(
    number="06.4",
    title="Scale by staleness",
    stars=1,
    minutes=8,
    points=2,
    function="ScaleByStaleness",
    asks="a gradient that is τ updates late is handed on as g / max(τ, 1), with its own version.",
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=(
        *turns.KINDS,
        Mistake("divides by zero, and Python says so", _no_division, unfinished=True),
    ),
    numbers=turns.numbers,
    compared=turns.without_held,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "divides by zero",
            _by_zero,
            "worker {worker}’s gradient at turn {turn} is {late} late and you divide by 0, which "
            "makes every weight infinite. What is not late is handed on as it is: `max(staleness, "
            "1)`.",
        ),
        WrongAnswer(
            "divides by τ + 1",
            _by_one_more,
            "worker {worker}’s gradient at turn {turn} is {late} late, and you divide by one "
            "more. Divide by τ itself; only τ = 0 needs care, since a fresh gradient counts whole.",
        ),
        WrongAnswer(
            "divides by the root",
            _by_root,
            "worker {worker}’s gradient at turn {turn} is {late} late, and you divide by the root "
            "of that: divide by τ.",
        ),
        WrongAnswer(
            "divides by the version",
            _by_version,
            "you divide by the gradient’s version, so that every gradient shrinks as training "
            "goes on: τ is the server’s version minus the gradient’s, `self.push(worker, "
            "version).staleness`.",
        ),
        WrongAnswer(
            "multiplies",
            _multiplies,
            "worker {worker}’s gradient at turn {turn} is {late} late and grows by that: the "
            "later it is, the less it should count. Divide.",
        ),
        WrongAnswer(
            "hands on the gradient unscaled",
            _unscaled,
            "worker {worker}’s gradient at turn {turn} is {late} late and counts whole: hand on "
            "the scaled one. `gradient / τ` is a new tensor; the old one stays as it is.",
        ),
        WrongAnswer(
            "called fresh",
            _CalledFresh,
            "the gradient at turn {turn} is {late} late, and you hand it on as if it were fresh: "
            "give the rule inside the gradient’s own `version`, not the server’s.",
        ),
        WrongAnswer(
            "the decision is lost",
            _LosesDecision,
            "the update at turn {turn} is in nobody’s books: return what `self.rule.arrive(...)` "
            "decides instead of a decision of your own.",
        ),
        WrongAnswer("never handed on", _applies_itself, turns.NOT_HANDED),
        WrongAnswer("decides for itself", _decides_itself, turns.OWN_DECISION),
        WrongAnswer("1 / τ", _one_by_zero, hint="what is not late is"),
        WrongAnswer("one push", _one_push, hint="a comma makes it one"),
        WrongAnswer("no comma", _no_comma, hint="are tuples"),
    ),
    ranked=False,
    unseen={
        "inside": "whether a decision is the very one of the rule inside",
        "held": "how many tensors it keeps",
    },
)
