"""Exercise 15.2, the losses of an actor-critic, and where their gradients go.

`actor_critic_losses(logits, values, actions, targets, advantages)`. The claim: three means,
−A·log π(a), (target − V)², −Σ π·log π, also where an action is barred by a logit of −∞; the first
and the last lead back to the logits alone, the second to the values alone; nothing is written
into. The file is long because of its twenty-seven wrong answers. Source: Mnih et al. (2016),
section 4 and algorithm S3.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import all_close, close, count, describe, is_array, told_apart
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.algorithms.losses import actor_critic_losses as reference

NAMES = ("logits", "values", "actions", "targets", "advantages")
LOSSES = ("policy", "value", "entropy")


def losses_there_and_back(fn: Function, case: Case) -> Observation:
    """Call `fn(logits, values, actions, targets, advantages)` and go back from each loss alone.

    All but the actions ask for a gradient. `values[0]`: "given", what it returned; "changed", which
    argument was written into, or ""; "gradients", for each loss in the order of LOSSES, that of
    each argument in the order of NAMES, or None where no way leads.
    """
    trouble = wrong_signature(fn, len(NAMES))
    if trouble:
        return trouble
    given = tensors(case.args[0])
    found: dict[str, Any] = {"changed": "", "gradients": []}
    try:
        for at in range(len(LOSSES)):  # a call for each: one way back, one gradient
            leaves = [one.clone().requires_grad_(one.is_floating_point()) for one in given]
            args = [leaf.clone() for leaf in leaves]
            out = fn(*args)
            found.setdefault("given", plain(out))
            for name, arg, leaf in zip(NAMES, args, leaves, strict=True):
                if not torch.equal(arg.detach(), leaf):
                    found["changed"] = found["changed"] or name
            one = out[at] if isinstance(out, tuple | list) and len(out) == len(LOSSES) else None
            if isinstance(one, Tensor) and one.numel() == 1 and one.requires_grad:
                one.backward()
            found["gradients"].append([plain(leaf.grad) for leaf in leaves])
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[found])


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 games, and one without an axis for games; actions barred in three."""
    random, made = rng(seed, "15.2"), []
    # Steps, games and actions, and how many actions are barred at each step; the last has no games.
    shapes: list[tuple[tuple[int, ...], int]]
    shapes = [((4, 3, 5), 2), ((1, 1, 2), 0), ((3, 2, 9), 4), ((2, 5, 4), 0), ((6, 3), 1)]
    if seed:
        first = tuple(int(n) for n in random.integers(3, 8, 3))
        shapes = [(first, 1), ((5, 4), 2), ((1, 2, 9), 7), ((2, 1, 3), 0)]
    digits = 4 if seed else 2  # a hidden number is none that is shown
    for number, (shape, barred) in enumerate(shapes):
        logits = np.round(random.uniform(-1.5, 1.5, shape), digits)
        logits -= 300.0 * (number == 2)  # which is the same policy
        actions = np.empty(shape[:-1], dtype=np.int64)
        for at in np.ndindex(*shape[:-1]):
            order = random.permutation(shape[-1])
            actions[at] = order[0]
            logits[at][order[1 : 1 + barred]] = -np.inf
        values, targets = (np.round(random.uniform(-1, 1, shape[:-1]), digits) for _ in range(2))
        advantages = np.round(random.uniform(0.2, 2, shape[:-1]), digits)
        advantages *= random.choice([-1, 1], shape[:-1])
        args = ((logits, values, actions, targets, advantages),)
        name = f"With {count(int(actions.size), 'step')} of {shape[-1]} actions"
        name += f", of which {barred} may not be taken" if barred else ""
        name += ", with logits of about −300" if number == 2 else ""
        if number == 3:
            logits[0, 0, actions[0, 0]] -= 30.0
            name += ", one of them all but impossible"
        facts = losses_there_and_back(reference, Case(name, args)).values[0]
        made.append(Case(name, args, facts=facts))
    return made


def fault(case: Case, seen: Observation) -> tuple[str, str]:
    """What is wrong first, as ("form", "values" or a loss, words); ("", "") where nothing is."""
    got, want = seen.values[0], case.facts
    given, called = got["given"], ("policy loss", "value loss", "entropy")
    if not isinstance(given, tuple | list) or len(given) != len(LOSSES):
        return "form", f"you returned {describe(given)}; wanted are three losses"
    for name, loss, mine, right in zip(called, LOSSES, given, want["given"], strict=True):
        if type(mine) in (int, float):
            words = f"the {name} is a plain number of Python's, {mine:.5g}"
            return "form", words.replace("-", "−")
        if not is_array(mine, ()):
            return "form", f"the {loss} loss is {describe(mine)}; it should be a single number"
        if not close(mine, right):
            one, other = told_apart(float(mine), float(right))
            one = "not a number (NaN)" if np.isnan(mine) else one
            return "values", f"the {name} is {one} and should be {other}".replace("-", "−")
    for at, loss in enumerate(LOSSES):
        words = f"the three numbers are right, but the {called[at]}'s gradient"
        for to in NAMES:
            mine, right = (gradient(case, one, at, to) for one in (got, want))
            if close(mine, right, 1e-6):
                continue
            if not right.any():
                return loss, f"{words} reaches the {to}, where none should go"
            if np.isnan(mine).any():
                return loss, f"{words} with respect to the {to} is not a number (NaN)"
            if not mine.any():
                return loss, f"{words} does not reach the {to}"
            return loss, f"{words} with respect to the {to} is not the right one"
    return "", ""


def gradient(case: Case, found: Mapping[str, Any], loss: int, to: str) -> Any:
    """A gradient of a loss; zeros where no way leads there."""
    at = NAMES.index(to)
    held = found["gradients"][loss][at]
    return np.zeros(case.args[0][at].shape) if held is None else held


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The three means, their gradients, and nothing written into."""
    if said := fault(case, seen)[1]:
        yield f"{said}."
    yield wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    name = seen.values[0]["changed"]
    if not name:
        return None
    return (
        f"you wrote into `{name}`, which belongs to the caller: compute with new tensors, without "
        "`_` at the end of a method's name."
    )


def turned(case: Case, seen: Observation) -> str | None:
    """The right numbers in another order."""
    given, want = seen.values[0]["given"], case.facts["given"]
    for order in permutations(range(len(LOSSES))):
        if order != (0, 1, 2) and all_close(given, [want[at] for at in order], 1e-6):
            names = ", ".join(LOSSES[at] for at in order)
            return (
                f"the three numbers are right, and come in another order: {names}. Return them as "
                f"`{', '.join(LOSSES)}`."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first: the form, the numbers, or the gradients."""
    kind, got = fault(case, seen)[0], seen.values[0]
    if kind == "form":
        return describe(got["given"])
    if kind == "values":
        return [np.asarray(one, dtype=np.float64) for one in got["given"]]
    return [gradient(case, got, at, to) for at in range(len(LOSSES)) for to in NAMES]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    entropy = float(seen[0].values[0]["given"][2])
    open_ones = int(np.isfinite(cases[0].args[0][0][0, 0]).sum())
    return (
        f"Passed on {len(cases)} sets of steps. In the first the policy's entropy is {entropy:.3f} "
        f"nats; {open_ones} open actions allow ln {open_ones} = {np.log(open_ones):.3f} at most."
    )


WRONG = """
NaN where an action is barred
    | logs.exp() * open_logs => logs.exp() * logs
    {fault}: a barred action has the probability 0 and the logarithm −∞, and 0 · (−∞) is NaN. There
    the product counts as 0: `logs.masked_fill(torch.isinf(logs), 0.0)` before you multiply.
barred by a number
    | log_softmax(logits => log_softmax(logits.clamp(min=-20.0)
    {fault}. You put a number in the place of −∞, and here the open actions lie lower than that:
    only differences of logits count, so no number is surely low. Leave −∞ in the logits, and put 0
    in the place of the *logarithms* that are −∞, where you multiply.
NaN on the way back
    | (logs.exp() * open_logs).sum(-1) => (logs.exp() * logs).nansum(-1)
    {fault}. A NaN that is left out of the sum afterwards, by `nansum` or `where`, still comes back:
    its gradient is 0 · (−∞). Put a 0 for the logarithm before you multiply:
    `logs.masked_fill(torch.isinf(logs), 0.0)`.
through the advantage
    | advantages.detach() => advantages
    {fault}. The advantage holds the value, so the value would be trained to make what was done look
    better. It is a plain number here: `advantages.detach()`.
through the target
    | targets.detach() => targets
    {fault}. The value is to move to the target, and not the target to the value:
    `targets.detach()`.
through both
    | advantages.detach() => advantages
    | targets.detach() => targets
    {fault}, and the value loss's reaches the targets. Both are plain numbers here, whatever they
    were made of: `advantages.detach()` and `targets.detach()`.
no gradient for the value
    | - values) => - values.detach())
    {fault}: nothing would train them. Detach the target, and leave the values as they are.
the policy's sign
    | policy=- => policy=
    {fault}: the sign. Losses are made small, and log π(a) is to become large where the advantage is
    positive, so there is a minus in front.
the entropy's sign
    | entropy=- => entropy=
    {fault}: the sign. An entropy is never below 0: −Σ π·log π, since logarithms of probabilities
    are negative. That it is to stay large is said where the losses are added up.
a small number in the logarithm
    | torch.log_softmax(logits, dim=-1) => (torch.softmax(logits, dim=-1) + 1e-8).log()
    {fault}: a small number was added to the probabilities, and it counts where one is smaller yet.
    `torch.log_softmax(logits, dim=-1)` needs none.
sums
    | .mean() *=> .sum()
    {fault}: that is the sum over all steps. Take the mean, or the size of a step would hang on how
    long a rollout is and how many games run.
entropy over the actions' number
    | .sum(-1) => .mean(-1)
    {fault}: it was divided by the number of actions. An entropy is a sum over the actions,
    `.sum(-1)`; the mean is over the steps.
entropy of what was done
    | (logs.exp() * open_logs).sum(-1) => chosen
    {fault}: that is the mean of −log π(a) of what was done. The entropy is of the whole policy: sum
    −π·log π over all actions of a step.
the probability
    | * chosen => * chosen.exp()
    {fault}: you took the probability π(a). Its logarithm is wanted, log π(a).
the logit
    | logs.gather => logits.gather
    {fault}: you took the logit itself. A logit is no logarithm of a probability before the others
    are compared with it: `torch.log_softmax(logits, dim=-1)`.
half the square
    | .square().mean() => .square().mean() / 2
    {fault}, twice as much. The half comes in where the losses are added up, as their weight.
the distance
    | .square() => .abs()
    {fault}: that is the distance |target − V|. Its square is wanted.
the likeliest action
    | logs.gather(-1, actions[..., None])[..., 0] => logs.max(-1).values
    {fault}: you took the likeliest action. What is judged is the action that was done:
    `logs.gather(-1, actions[..., None])[..., 0]`.
the advantage squared
    | advantages.detach() => advantages.detach().square()
    {fault}: the advantage was squared. With its sign gone, what turned out worse would be done more
    often, too. The square belongs to the value's loss.
an advantage of its own
    | advantages.detach() => (targets - values).detach()
    {fault}: log π(a) was multiplied by targets − values. Take the `advantages` that are handed in:
    where data is old, whoever calls has made them otherwise (exercise 15.6).
along the steps
    | dim=-1 => dim=0
    {fault}. The softmax ran along the wrong axis, over the steps. The actions are the last one:
    `torch.log_softmax(logits, dim=-1)`.
along the second axis
    | dim=-1 => dim=1
    {fault}. The softmax ran along the wrong axis, `dim=1`. The actions are the last one:
    `torch.log_softmax(logits, dim=-1)`.
log of softmax
    | torch.log_softmax(logits, dim=-1) => torch.softmax(logits, dim=-1).log()
    {fault}: the logarithm of a probability that is exactly 0 has an infinite slope, and on the way
    back 0 · ∞ is NaN. `torch.log_softmax(logits, dim=-1)` takes both in one, and has none.
entropy over open actions
    | .sum(-1) => .sum(-1).div(torch.isfinite(logits).sum(-1))
    {fault}: it was divided by the number of open actions. An entropy is a sum over the actions,
    `.sum(-1)`; the mean is over the steps.
the target for the advantage
    | advantages.detach() => targets.detach()
    {fault}: log π(a) was multiplied by the target. What counts is how much better it came out than
    expected, the advantage.
a number a step
    | .mean() *=>
    {fault}: you gave one for each step. Take the mean over all of them, `.mean()`.
plain numbers
    | .mean() *=> .mean().item()
    {fault}. Return a tensor of one number, so that a gradient can flow back from it: without
    `.item()` or `float()`.
one sum of all
    | .sum(-1).mean(), ) => .sum(-1).mean()).total()
    {fault}: it looks like their sum. Whoever calls adds them up, by weights of their own: return
    the three, `policy, value, entropy`.
the value first
    | Losses( => (lambda policy, value, entropy: (value, policy, entropy))(
    ? order: value, policy, entropy
the entropy second
    | Losses( => (lambda policy, value, entropy: (policy, entropy, value))(
    ? policy, entropy, value
into the logits
    | logs = torch => logits -= logits.max(-1, keepdim=True).values; logs = torch
    ? wrote into `logits`
"""

EXERCISE = Exercise(
    number="15.2",
    title="Three losses",
    size=Size(stars=2, minutes=12, points=3),
    function="actor_critic_losses",
    asks=(
        "three means over all steps: −A·log π(a), (target − V)², and the entropy −Σ π·log π, "
        "finite also where a logit is −∞; gradients reach the logits by the first and the last, "
        "the values by the second, targets and advantages never."
    ),
    cases=cases,
    drive=losses_there_and_back,
    claim=claim,
    mistakes=(
        Mistake("writes into what it is given", wrote),
        Mistake("in another order", turned),
    ),
    praise=praise,
    reference=reference,
    numbers=lambda case, seen: {"fault": fault(case, seen)[1]},
    compared=compared,
    wrong=wrong_answers("15.2", WRONG, reference),
    ranked=False,
)
