"""What the specs of cures share: other rules and cures inside and around, and wrong answers.

A cure that does the work of the rule inside is right around the plain asynchronous rule: so each is
tried around rules that keep gradients, around a cure that looks who pulls, and inside one that
keeps what it hands on.
"""

from collections.abc import Callable
from typing import Any

from helpers.checks.drives.calling import Function
from helpers.checks.drives.rules import Given, drive, rule_of
from helpers.checks.spec import Case, Driver, Observation
from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision
from helpers.lessons.asynchronous.exercises.turns import Random, case
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous

OTHERS = {
    "pairs": ", around a rule that waits for two gradients",
    "soft": ", around softsync, which makes an update of every two gradients",
    "asked": ", around a cure that takes gradients only of workers that pulled from it",
    "heavier": ", inside a cure that keeps what it hands on, and adds half of it next time",
}


def handing_turns(fn: Function, case: Case) -> Observation:
    """As `cure_turns`; a turn has "inside" too, what it made of the rule inside (`Given.use`)."""
    return handing(fn, case, lambda cure: {})


def handing(fn: Function, case: Case, more: Callable[[Any], dict[str, Any]]) -> Observation:
    """The same. more: what else a turn has, by the cure."""
    given: list[Given] = []

    def around(*parts: Any) -> Given:
        given.append(rule_of(case)(*parts))
        return given[0]

    return drive(fn, case, around, lambda cure, said: {"inside": given[0].use(said), **more(cure)})


def around_others(
    driver: Driver, random: Random, extra: tuple[Any, ...], right: Function, words: str
) -> list[Case]:
    """A case of each kind, in which worker 2 comes late. words: for `extra`."""
    pairs: list[Any] = [(0, 1), (1, 0), (2, random.integers(0, 2)), random.permutation(3)[:2]]
    order = [int(worker) for pair in pairs for worker in pair]
    return [
        case(f"{other}, {words}", driver, random, order, 3, extra, right, option)
        for option, other in OTHERS.items()
    ]


# --- wrong answers to all of them -----------------------------------------------------------------


def own_decision(cure: Cure, worker: int, *given: Any) -> Decision:
    """Hand on, and decide as the plain rule does."""
    push = cure.push(worker, given[1])
    cure.rule.arrive(worker, *given)
    return Decision((worker,), (push,))


def fresh(cure: Cure, worker: int, gradient: Any, _: int) -> Decision:
    """Hand on as if it were fresh."""
    return cure.rule.arrive(worker, gradient, cure.version)


def one_push(cure: Cure, *given: Any) -> Decision:
    """Hand on, and return one push where a tuple of them belongs."""
    said = cure.rule.arrive(*given)
    return Decision(said.release, said.applied and said.applied[0])  # type: ignore[arg-type]


def no_comma(cure: Cure, *given: Any) -> Decision:
    """Hand on, and return one worker where a tuple of them belongs."""
    said = cure.rule.arrive(*given)
    return Decision(said.release and said.release[0], said.applied)  # type: ignore[arg-type]


PARTS = (Asynchronous, own_decision, fresh, one_push, no_comma)  # what their patches name
HANDED_ON = """
never handed on
    | self.rule.arrive( => Asynchronous.arrive(self,
    the gradient at turn {turn} never reaches the rule inside: you make the update and the decision
    yourself, which is right around the plain rule alone. Around a synchronous rule, or another
    cure, it is not: hand it on with `self.rule.arrive(worker, …, version)` and return what that
    decides.
decides for itself
    | self.rule.arrive( => own_decision(self,
    you hand on the gradient at turn {turn} and then decide for yourself: the rule inside has
    decided already, and it may know better who goes on. Return what `self.rule.arrive(…)` gives.
called fresh
    | self.rule.arrive( => fresh(self,
    the gradient at turn {turn} is {late} late, and you hand it on as if it were fresh: give the
    rule inside the gradient’s own `version`, not the server’s.
another rule inside
    | (rule) => (Asynchronous(rule.weights, rule.optimizer, rule.workers))
    the rule inside is not the one that you were given: at turn {turn} a rule of your own, such as
    that of 06.1, makes the update in its place. The given one may do it otherwise: keep it,
    `super().__init__(rule)`.
"""
COMMON = (
    HANDED_ON
    + """
one push
    | self.rule.arrive( => one_push(self,
    ? a comma makes it one
no comma
    | self.rule.arrive( => no_comma(self,
    ? are tuples
"""
)
