"""Exercise 05.5, Downpour's client: fetch now and then, push now and then, step in between.

`class DownpourClient`, made with `(rate, n_fetch, n_push)`, of which `computed(gradient)` is asked
for: accrue the gradient, step on the own copy of the weights, say whether weights are wanted, and
return what to push, or None. Source: Dean et al. (2012), section 4.1 and algorithm 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_servers import client_turns
from helpers.exercises.lesson_05 import downpour_wrong as wrong
from helpers.exercises.lesson_05.recognise import as_known, instead, same, seen_of
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
        known = seen_of(client_turns, {"right": wrong.reference, **wrong.KNOWN}, case)
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
        if got["changed"]:
            return f"{when}, the weights that the client was given are changed."
        if not same(got["push"], want["push"]):
            return (
                f"{when}, the push is not the sum of the gradients since the last push: "
                f"{instead(got['push'], want['push'])}."
            )
        if not same(got["weights"], want["weights"]):
            return (
                f"{when}, the client's own weights are not where this step leads: "
                f"{instead(got['weights'], want['weights'])}."
            )
        if got["wants"] != want["wants"]:
            return f"{when}, `wants_weights` is {got['wants']}; it should be {want['wants']}."
    return None


def _in_place(case: Case, seen: Observation) -> str | None:
    if not any(step["changed"] for step in seen.values[0]):
        return None
    return (
        f"{case.name}, the client's own step changed the weights in place, in the tensor that it "
        "was given: the server may hold the same one. Make a new one, "
        "`self.weights = self.weights - …`."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = seen[0].values[0]
    pushes = sum(step["push"] is not None for step in steps)
    return (
        f"Passed: with n_fetch=3 and n_push=2, {len(steps)} steps took "
        f"{1 + sum(step['wants'] for step in steps[:-1])} pulls and {pushes} pushes, where the "
        f"plain worker takes {len(steps)} of each."
    )


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
        Mistake("in place", _in_place),
        Mistake(
            "steps with the sum",
            as_known(
                "steps with the sum",
                "the client's own step goes along all that is accrued, so that earlier gradients "
                "count again: step with this one, `gradient`. The sum is for the push.",
            ),
        ),
        Mistake(
            "no rate",
            as_known(
                "no rate",
                "the client's own step has no rate: it is `self.rate * gradient`.",
            ),
        ),
        Mistake(
            "paces exchanged",
            as_known(
                "paces exchanged",
                "the two numbers are exchanged: weights are wanted after every {push} and a push "
                "comes after every {fetch}. n_fetch is for what you want, n_push for what you "
                "return.",
            ),
        ),
        Mistake(
            "step not counted",
            as_known(
                "step not counted",
                "`self.steps` stays 0, and 0 % n is 0, so that a push and a fetch are due after "
                "every step: `self.steps += 1` comes first.",
            ),
        ),
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
    reference=wrong.reference,
    wrong=(
        WrongAnswer("never empties", wrong.NeverEmpties, hint="once more"),
        WrongAnswer("only the last", wrong.OnlyTheLast, hint="are lost"),
        WrongAnswer("no local step", wrong.NoLocalStep, hint="stay as they were fetched"),
        WrongAnswer("uphill", wrong.Uphill, hint="goes uphill"),
        WrongAnswer("pushes the mean", wrong.PushesTheMean, hint="pushes the sum"),
        WrongAnswer("pushes scaled", wrong.PushesScaled, hint="a rate of its own"),
        WrongAnswer(
            "fetches with the push", wrong.FetchesWithThePush, hint="at paces of their own"
        ),
        WrongAnswer("counts too late", wrong.CountsTooLate, hint="count the step before"),
        WrongAnswer("in place", wrong.InPlace, hint="the server may hold the same one"),
        WrongAnswer("steps with the sum", wrong.StepsWithTheSum, hint="along all that is accrued"),
        WrongAnswer("no rate", wrong.NoRate, hint="step has no rate"),
        WrongAnswer("paces exchanged", wrong.Exchanged, hint="numbers are exchanged"),
        WrongAnswer("step not counted", wrong.NeverCounts, hint="and 0 % n is 0"),
    ),
    ranked=False,
)
