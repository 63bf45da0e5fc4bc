"""Exercise 05.5, Downpour's client: fetch now and then, push now and then, step in between.

Source: Dean et al. (2012), section 4.1 and algorithm 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.clients import DownpourClient as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_servers import client_turns
from helpers.exercises.nine_digits import instead, near
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
        want = client_turns(reference, case).values[0]
        made.append(Case(name, case.args, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The push, the own weights and the wish for new ones, after each step."""
    for step, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=True)):
        when = f"{case.name}, after step {step + 1}"
        if (got["push"] is None) != (want["push"] is None):
            what = "nothing is due yet" if want["push"] is None else "a push is due"
            return f"{when}, `computed` returned {describe(got['push'])}, but {what}."
        if got["changed"]:
            return f"{when}, the {got['changed']} that the client was given changed."
        if want["push"] is not None and not near(got["push"], want["push"]):
            return (
                f"{when}, the push is not the sum of the gradients since the last push: "
                f"{instead(got['push'], want['push'])}."
            )
        if not near(got["weights"], want["weights"]):
            return (
                f"{when}, the client's own weights are not where this step leads: "
                f"{instead(got['weights'], want['weights'])}."
            )
        if got["wants"] != want["wants"]:
            return f"{when}, `wants_weights` is {got['wants']}; it should be {want['wants']}."
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    _, n_fetch, n_push, _, _ = case.args[0]
    return {"fetch": count(n_fetch, "step"), "push": count(n_push, "step"), "n": n_push}


def _in_place(case: Case, seen: Observation) -> str | None:
    changed = next((each["changed"] for each in seen.values[0] if each["changed"]), "")
    if not changed:
        return None
    return (
        f"{case.name}, the {changed} that the client was given changed in place, and somebody may "
        "still hold it: `-=` and `+=` write into it. Make a new tensor, `a = a - …`."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = seen[0].values[0]
    pushes = sum(step["push"] is not None for step in steps)
    return (
        f"Passed: with n_fetch=3 and n_push=2, {len(steps)} steps asked for "
        f"{1 + sum(step['wants'] for step in steps[:-1])} pulls and made {pushes} pushes, where "
        f"the plain worker takes {len(steps)} of each."
    )


def _client(
    accrue: Callable[..., Any] = lambda held, gradient: held + gradient,
    step: Callable[..., Any] = lambda weights, gradient, held, rate: weights - rate * gradient,
    due: Callable[[int, int, int], tuple[bool, bool]] = lambda steps, n_fetch, n_push: (
        steps % n_fetch == 0,
        steps % n_push == 0,
    ),
    push: Callable[..., Any] = lambda held, rate, n_push: held,
    empties: bool = True,
    wants_on: bool = False,
) -> type[Any]:
    """The reference with a part exchanged. due: whether a fetch is, and whether a push is.
    wants_on: whether it goes on wanting weights that have not come."""

    class DownpourClient:
        def __init__(self, rate: float, n_fetch: int, n_push: int) -> None:
            self.rate, self.n_fetch, self.n_push = rate, n_fetch, n_push
            self.weights: Any = None
            self.wants_weights = True
            self.steps = 0
            self.accrued: Any = 0.0

        def pulled(self, weights: Any, version: int) -> None:
            self.weights, self.wants_weights = weights, False

        def computed(self, gradient: Any) -> Any:
            self.steps += 1
            self.accrued = accrue(self.accrued, gradient)
            self.weights = step(self.weights, gradient, self.accrued, self.rate)
            wants, pushes = due(self.steps, self.n_fetch, self.n_push)
            self.wants_weights = wants or (wants_on and self.wants_weights)
            if not pushes:
                return None
            pushed = push(self.accrued, self.rate, self.n_push)
            if empties:
                self.accrued = 0.0
            return pushed

    return DownpourClient


_steps_with_the_sum = _client(step=lambda weights, gradient, held, rate: weights - rate * held)
_no_rate = _client(step=lambda weights, gradient, held, rate: weights - gradient)
_no_local_step = _client(step=lambda weights, gradient, held, rate: weights)
_uphill = _client(step=lambda weights, gradient, held, rate: weights + rate * gradient)
_written_into = _client(step=lambda weights, gradient, held, rate: weights.sub_(rate * gradient))
_adds_into_it = _client(
    accrue=lambda held, gradient: gradient if type(held) is float else held.add_(gradient)
)
_paces_exchanged = _client(due=lambda steps, f, p: (steps % p == 0, steps % f == 0))
_step_not_counted = _client(due=lambda steps, f, p: (True, True))
_fetches_with_the_push = _client(due=lambda steps, f, p: (steps % p == 0, steps % p == 0))
_counts_too_late = _client(due=lambda steps, f, p: ((steps - 1) % f == 0, (steps - 1) % p == 0))
_wants_on = _client(wants_on=True)
_never_empties = _client(empties=False)
_only_the_last = _client(accrue=lambda held, gradient: gradient)
_pushes_the_mean = _client(push=lambda held, rate, n_push: held / n_push)
_pushes_scaled = _client(push=lambda held, rate, n_push: rate * held)


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
    mistakes=(Mistake("in place", _in_place),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("in place", _written_into, hint="the weights that the client"),
        WrongAnswer("adds into a gradient", _adds_into_it, hint="the gradient that the client"),
        WrongAnswer(
            "steps with the sum",
            _steps_with_the_sum,
            "the client's own step goes along all that is accrued, so that earlier gradients "
            "count again: step with this one, `gradient`. The sum is for the push.",
        ),
        WrongAnswer(
            "no rate", _no_rate, "the client's own step has no rate: it is `self.rate * gradient`."
        ),
        WrongAnswer(
            "paces exchanged",
            _paces_exchanged,
            "the two numbers are exchanged: weights are wanted after every {push} and a push "
            "comes after every {fetch}. n_fetch is for what you want, n_push for what you return.",
        ),
        WrongAnswer(
            "step not counted",
            _step_not_counted,
            "`self.steps` stays 0, and 0 % n is 0, so that a push and a fetch are due after every "
            "step: `self.steps += 1` comes first.",
        ),
        WrongAnswer(
            "never empties what it accrued",
            _never_empties,
            "the second push holds the gradients of the first once more: empty `accrued` when you "
            "push.",
        ),
        WrongAnswer(
            "pushes the last gradient alone",
            _only_the_last,
            "a push holds only the gradient of its last step, and those of the other steps of "
            "{push} are lost: add them up in `accrued`.",
        ),
        WrongAnswer(
            "no local step",
            _no_local_step,
            "the client's weights stay as they were fetched: between two fetches it goes on "
            "alone, w ← w − rate · g.",
        ),
        WrongAnswer("goes uphill", _uphill, "the client's own step goes uphill: w ← w − rate · g."),
        WrongAnswer(
            "the mean", _pushes_the_mean, "the push was divided by {n}: Downpour pushes a sum."
        ),
        WrongAnswer(
            "scaled", _pushes_scaled, "the client's rate is in its push; the server has its own."
        ),
        WrongAnswer(
            "fetches with the push",
            _fetches_with_the_push,
            "weights are wanted after every {push}, when it pushes: they are wanted after every "
            "{fetch}. The two go at paces of their own.",
        ),
        WrongAnswer(
            "wants on",
            _wants_on,
            "the weights that were wanted after {fetch} did not come, and a step later "
            "`wants_weights` is True still: set it after every step, to True or to False.",
        ),
        WrongAnswer(
            "late", _counts_too_late, "it pushes after the first step: count the step before."
        ),
    ),
    ranked=False,
)
