"""Exercise 05.5, Downpour's client: fetch now and then, push now and then, step in between.

Source: Dean et al. (2012), section 4.1 and algorithm 7.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close, count, describe
from helpers.checks.drives.calling import Function, driver
from helpers.checks.drives.values import plain
from helpers.checks.nine_digits import instead
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.parameter_servers.algorithms.clients import DownpourClient as reference


@driver(3)
def client_turns(
    fn: Function, rate: float, n_fetch: int, n_push: int, gradients: Tensor, fetches: Tensor
) -> list[Any]:
    """Drive `fn(rate, n_fetch, n_push)`, a client: its steps.

    gradients: (steps, weights). fetches: (steps + 1, weights), what the servers hold. A step is
    `{"push", "weights", "wants", "version", "changed"}` after `computed`: the last is which tensor
    that it was given or had pushed was changed in place, "weights", "gradient", "push" or "". Where
    it wants weights it gets the next of the fetches, but the second time: as if no server had
    answered.
    """
    turns: list[Any] = []
    client, fetched, wishes, given, held = fn(rate, n_fetch, n_push), 0, 0, fetches[0], fetches[0]
    lent, pushed = [gradient.clone() for gradient in gradients], list[Any]()
    for step in range(len(gradients)):
        wishes += bool(client.wants_weights)
        if client.wants_weights and wishes != 2:
            given, held = fetches[fetched].clone(), fetches[fetched]
            client.pulled(given, fetched)
            fetched += 1
        push = client.computed(lent[step])
        written = "gradient" * (not torch.equal(torch.stack(lent), gradients))
        if not written and any(not torch.equal(one, was) for one, was in pushed):
            written = "push"
        if isinstance(push, Tensor):
            pushed.append((push, push.clone()))
        turns.append(
            {
                "push": plain(push),
                "weights": plain(client.weights),
                "wants": bool(client.wants_weights),
                "version": plain(getattr(client, "version", None)),
                "changed": written if torch.equal(given, held) else "weights",
            }
        )
    return turns


def cases(seed: int) -> list[Case]:
    """Seed 0: fetch every 3 and push every 2, then 1 and 1, 2 and 5, 5 and 1; else others.

    A gradient is 0 where n_push is 1. Last, in float32.
    """
    random, made = rng(seed, "05.5"), list[Case]()
    plans = [(3, 2), (1, 1), (2, 5), (5, 1)]
    if seed:
        chosen = [tuple(int(n) for n in random.permutation(range(2, 7))[:2]) for _ in range(3)]
        plans = [(fetch, push) for fetch, push in chosen] + [(1, 1)]
    for n_fetch, n_push in [*plans, (2, 3)]:
        rate = float(random.uniform(0.05, 0.5))
        gradients, fetches = random.standard_normal((14, 3)), random.standard_normal((15, 3))
        name = f"With n_fetch={n_fetch} and n_push={n_push}"
        if n_push == 1:
            gradients[4] = 0.0
        if len(made) == len(plans):
            gradients, fetches = gradients.astype(np.float32), fetches.astype(np.float32)
            name += " in float32"
        case = Case(name, ((rate, n_fetch, n_push, gradients, fetches),))
        made.append(replace(case, facts={"want": client_turns(reference, case).values[0]}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The push, the own weights and the wish for new ones, after each step."""
    for step, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=True)):
        when = f"after step {step + 1}"
        if (got["push"] is None) != (want["push"] is None):
            what = "nothing is due yet" if want["push"] is None else "a push is due"
            yield f"{when}, `computed` returned {describe(got['push'])}, but {what}."
        if want["push"] is not None and not _alike(got["push"], want["push"]):
            yield (
                f"{when}, the push is not the sum of the gradients since the last push: "
                f"{instead(got['push'], want['push'])}."
            )
        if not _alike(got["weights"], want["weights"]):
            yield (
                f"{when}, the client's own weights are not where this step leads: "
                f"{instead(got['weights'], want['weights'])}."
            )
        if got["wants"] != want["wants"]:
            yield f"{when}, `wants_weights` is {got['wants']}; it should be {want['wants']}."
        if got["version"] not in (None, want["version"]):
            told = f"{describe(got['version'])}; the weights were pulled as {want['version']}"
            yield f"{when}, `self.version` is {told}, and a step alone does not change that."
        for what in ("push", "weights"):
            types = [None if each[what] is None else each[what].dtype for each in (got, want)]
            if types[0] != types[1]:
                yield f"{when}, the type of the {what} is {types[0]}; the gradient's is {types[1]}."
    yield from _in_place(case, seen)


def _alike(got: Any, want: np.ndarray) -> bool:
    return close(np.asarray(got), want, 1e-9 if want.dtype == np.float64 else 1e-5)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    _, n_fetch, n_push, *_ = case.args[0]
    return {"fetch": count(n_fetch, "step"), "push": count(n_push, "step"), "n": n_push}


def _in_place(case: Case, seen: Observation) -> Iterator[str]:
    for each in seen.values[0]:
        if each["changed"]:
            whose = "had made" if each["changed"] == "push" else "was given"
            yield (
                f"the client changed the {each['changed']} that it {whose} in place, and somebody "
                "may still hold it: `-=`, `+=` and `zero_()` write into it. Make a new tensor, "
                "`a = a - …`."
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


WRONG = """
in place
    | self.weights - gradient * self.rate => self.weights.sub_(gradient * self.rate)
    ? the weights that it was given
adds into a gradient
    | self.accrued + gradient => self.accrued.add_(gradient)
    ? the gradient that it was given
pushes what it goes on with
    | self.accrued = gradient if self.accrued is None else self.accrued + gradient
        => self.accrued = gradient * 0 if self.accrued is None else self.accrued;
        (self.steps - 1) % self.n_push or self.accrued.zero_(); self.accrued += gradient
    | push, self.accrued = self.accrued, None => push = self.accrued
    ? the push that it had made
steps with the sum
    | gradient * self.rate => self.accrued * self.rate
    the client's own step goes along all that is accrued, so that earlier gradients count again:
    step with this one, `gradient`. The sum is for the push.
no rate
    | gradient * self.rate => gradient
    the client's own step has no rate: it is `self.rate * gradient`.
paces exchanged
    | self.steps % self.n_fetch => self.steps % self.n_push
    | if self.steps % self.n_push => if self.steps % self.n_fetch
    the two numbers are exchanged: weights are wanted after every {push} and a push comes after
    every {fetch}. n_fetch is for what you want, n_push for what you return.
step not counted
    | self.steps += 1 =>
    `self.steps` stays 0, and 0 % n is 0, so that a push and a fetch are due after every step:
    `self.steps += 1` comes first.
never empties what it accrued
    | push, self.accrued = self.accrued, None => push = self.accrued
    the second push holds the gradients of the first once more: empty `accrued` when you push.
pushes the last gradient alone
    | self.accrued + gradient => gradient
    a push holds only the gradient of its last step, and those of the other steps of {push} are
    lost: add them up in `accrued`.
no local step
    | self.weights - gradient * self.rate => self.weights
    the client's weights stay as they were fetched: between two fetches it goes on alone, w ← w −
    rate · g.
goes uphill
    | self.weights - gradient => self.weights + gradient
    the client's own step goes uphill: w ← w − rate · g.
the mean
    | return push => return push / self.n_push
    the push was divided by {n}: Downpour pushes a sum.
scaled
    | return push => return push * self.rate
    the client's rate is in its push; the server has its own.
fetches with the push
    | self.steps % self.n_fetch => self.steps % self.n_push
    weights are wanted after every {push}, when it pushes: they are wanted after every {fetch}. The
    two go at paces of their own.
wants on
    | self.wants_weights = => self.wants_weights |=
    the weights that were wanted after {fetch} did not come, and a step later `wants_weights` is
    True still: set it after every step, to True or to False.
late
    | self.steps % *=> (self.steps - 1) %
    it pushes after the first step: count the step before.
"""

EXERCISE = Exercise(
    number="05.5",
    title="Downpour's client",
    size=Size(stars=2, minutes=15, points=3),
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
    wrong=wrong_answers("05.5", WRONG, reference),
    ranked=False,
)
