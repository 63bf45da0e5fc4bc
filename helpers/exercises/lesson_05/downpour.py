"""Exercise 05.5, Downpour's client: fetch now and then, push now and then, step in between.

`class DownpourClient`, made with `(rate, n_fetch, n_push)`, of which `computed(gradient)` is asked
for: accrue the gradient, step on the own copy of the weights, say whether weights are wanted, and
return what to push, or None. Source: Dean et al. (2012), section 4.1 and algorithm 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_servers import client_turns
from helpers.exercises.lesson_05.recognise import as_known, same, seen_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: fetch every 3 and push every 2, then 1 and 1, 2 and 5, 5 and 1; else others."""
    random, made = rng(seed, "05.5"), []
    plans = [(3, 2), (1, 1), (2, 5), (5, 1)]
    if seed:
        chosen = [tuple(int(n) for n in random.permutation(range(2, 7))[:2]) for _ in range(3)]
        plans = [(fetch, push) for fetch, push in chosen] + [(1, 1)]
    for n_fetch, n_push in plans:
        rate = float(random.uniform(0.05, 0.5))
        gradients, fetches = random.standard_normal((14, 3)), random.standard_normal((15, 3))
        name = f"With n_fetch={n_fetch} and n_push={n_push}"
        case = Case(name, ((rate, n_fetch, n_push, gradients, fetches),))
        known = seen_of(client_turns, {"right": reference, **KNOWN}, case)
        numbers = {"fetch": count(n_fetch, "step"), "push": count(n_push, "step"), "n": n_push}
        made.append(Case(name, case.args, facts={"known": known, "numbers": numbers}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The push, the own weights and the wish for new ones, after each step."""
    for step, (got, want) in enumerate(
        zip(seen.values[0], case.facts["known"]["right"][1][0], strict=True)
    ):
        when = f"{case.name}, after step {step + 1}"
        if (got["push"] is None) != (want["push"] is None):
            what = "nothing is due yet" if want["push"] is None else "a push is due"
            return f"{when}, `computed` returned {describe(got['push'])}, but {what}."
        if not same(got["push"], want["push"]):
            return (
                f"{when}, {describe(got['push'])} was pushed; it should be "
                f"{describe(want['push'])}, the sum of the gradients since the last push."
            )
        if not same(got["weights"], want["weights"]):
            return (
                f"{when}, the client's own weights are {describe(got['weights'])}; they should be "
                f"{describe(want['weights'])}."
            )
        if got["wants"] != want["wants"]:
            return f"{when}, `wants_weights` is {got['wants']}; it should be {want['wants']}."
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = seen[0].values[0]
    pushes = sum(step["push"] is not None for step in steps)
    return (
        f"Passed: with n_fetch=3 and n_push=2, {len(steps)} steps took "
        f"{1 + sum(step['wants'] for step in steps[:-1])} pulls and {pushes} pushes, where the "
        f"plain worker takes {len(steps)} of each."
    )


def reference(rate: float, n_fetch: int, n_push: int) -> Any:
    """The course's own."""
    from helpers.algorithms.clients import DownpourClient

    return DownpourClient(rate, n_fetch, n_push)


class Keeps:
    """What the answers below share, as the lesson gives it; `push` is what differs most."""

    def __init__(self, rate: float, n_fetch: int, n_push: int) -> None:
        self.rate, self.n_fetch, self.n_push = rate, n_fetch, n_push
        self.weights: Any = None
        self.version = 0
        self.wants_weights = True
        self.steps = 0
        self.accrued: Any = None

    def pulled(self, weights: Any, version: int) -> None:
        """Take what the server gave."""
        self.weights, self.version, self.wants_weights = weights, version, False

    def accrue(self, gradient: Any) -> None:
        """Add to what the next push takes along."""
        self.accrued = gradient if self.accrued is None else self.accrued + gradient

    def step(self, gradient: Any) -> None:
        """Go on alone."""
        self.weights = self.weights - self.rate * gradient

    def push(self) -> Any:
        """What is accrued, where it is time."""
        if self.steps % self.n_push:
            return None
        push, self.accrued = self.accrued, None
        return push

    def computed(self, gradient: Any) -> Any:
        """The right order of things."""
        self.steps += 1
        self.accrue(gradient)
        self.step(gradient)
        self.wants_weights = self.steps % self.n_fetch == 0
        return self.push()


class NeverEmpties(Keeps):
    """Pushes what it has pushed before, again and again."""

    def push(self) -> Any:
        return None if self.steps % self.n_push else self.accrued


class OnlyTheLast(Keeps):
    """Pushes the gradient of the last step alone."""

    def accrue(self, gradient: Any) -> None:
        self.accrued = gradient


class NoLocalStep(Keeps):
    """Stays where it fetched."""

    def step(self, gradient: Any) -> None:
        return None


class Uphill(Keeps):
    """Adds the gradient to its weights."""

    def step(self, gradient: Any) -> None:
        self.weights = self.weights + self.rate * gradient


class PushesTheMean(Keeps):
    """Divides by n_push."""

    def push(self) -> Any:
        push = super().push()
        return None if push is None else push / self.n_push


class PushesScaled(Keeps):
    """Pushes what it stepped, with its rate in it."""

    def push(self) -> Any:
        push = super().push()
        return None if push is None else self.rate * push


class FetchesWithThePush(Keeps):
    """Wants weights whenever it pushes."""

    def computed(self, gradient: Any) -> Any:
        push = super().computed(gradient)
        self.wants_weights = self.steps % self.n_push == 0
        return push


class CountsTooLate(Keeps):
    """Looks at the steps before it counts this one."""

    def computed(self, gradient: Any) -> Any:
        self.accrue(gradient)
        self.step(gradient)
        self.wants_weights = self.steps % self.n_fetch == 0
        push = self.push()
        self.steps += 1
        return push


KNOWN = {
    "never empties": NeverEmpties,
    "only the last": OnlyTheLast,
    "no local step": NoLocalStep,
    "uphill": Uphill,
    "pushes the mean": PushesTheMean,
    "pushes scaled": PushesScaled,
    "fetches with the push": FetchesWithThePush,
    "counts too late": CountsTooLate,
}

EXERCISE = Exercise(
    number="05.5",
    title="Downpour's client",
    stars=2,
    minutes=15,
    points=3,
    function="DownpourClient",
    asks=(
        "after every step add the gradient to `accrued` and step on the own weights; want new "
        "weights after every n_fetch steps; after every n_push steps return `accrued` and empty it."
    ),
    cases=cases,
    drive=client_turns,
    claim=claim,
    mistakes=(
        Mistake(
            "never empties what it accrued",
            as_known(
                "never empties",
                "the second push holds the gradients of the first once more: empty `accrued` when "
                "you push.",
            ),
        ),
        Mistake(
            "pushes the last gradient alone",
            as_known(
                "only the last",
                "a push holds only the gradient of its last step, and those of the other steps of "
                "{push} are lost: add them up in `accrued`.",
            ),
        ),
        Mistake(
            "no local step",
            as_known(
                "no local step",
                "the client's weights stay as they were fetched: between two fetches it goes on "
                "alone, w ← w − rate · g.",
            ),
        ),
        Mistake(
            "goes uphill",
            as_known("uphill", "the client's own step goes uphill: w ← w − rate · g."),
        ),
        Mistake(
            "pushes the mean",
            as_known(
                "pushes the mean",
                "the push was divided by {n}: Downpour pushes the sum of its gradients.",
            ),
        ),
        Mistake(
            "pushes with the rate",
            as_known(
                "pushes scaled",
                "the client's rate is in what it pushes: push gradients, the server has a rate of "
                "its own.",
            ),
        ),
        Mistake(
            "fetches with the push",
            as_known(
                "fetches with the push",
                "weights are wanted after every {push}, when it pushes: they are wanted after "
                "every {fetch}. The two go at paces of their own.",
            ),
        ),
        Mistake(
            "counts too late",
            as_known(
                "counts too late",
                "it already pushes after its first step: count the step before you ask whether "
                "steps % n_push is 0.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("never empties", NeverEmpties, "once more"),
        WrongAnswer("only the last", OnlyTheLast, "are lost"),
        WrongAnswer("no local step", NoLocalStep, "stay as they were fetched"),
        WrongAnswer("uphill", Uphill, "goes uphill"),
        WrongAnswer("pushes the mean", PushesTheMean, "pushes the sum"),
        WrongAnswer("pushes scaled", PushesScaled, "a rate of its own"),
        WrongAnswer("fetches with the push", FetchesWithThePush, "at paces of their own"),
        WrongAnswer("counts too late", CountsTooLate, "count the step before"),
    ),
    ranked=False,
)
