"""Exercise 15.6, V-trace: targets and advantages from steps that an older policy played.

`v_trace(log_ratios, rewards, discounts, values, bootstrap, rho, c)`. The claim: the paper's targets
and advantages, with ends of episodes respected; equal to the n-step returns where nothing is stale;
no way back to what was given, and nothing written into. Source: Espeholt et al. (2018), section 4.1
and remark 1.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close, count, describe, is_array
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.algorithms.v_trace import v_trace as reference
from helpers.lessons.actors.exercises.returns import first_off


def corrected_steps(fn: Function, case: Case) -> Observation:
    """Call `fn(log_ratios, rewards, discounts, values, bootstrap, rho, c)`; what a network has a
    part in, which is log_ratios, values and bootstrap, asks for a gradient.

    `values[0]`: "given", what it returned; "linked", for each item of that whether a way leads
    back; "changed", the place of the argument that was written into, or None.
    """
    trouble = wrong_signature(fn, len(case.args[0]))
    if trouble:
        return trouble
    *given, rho, c = tensors(case.args[0])
    args = [one.clone() for one in given]
    for at in (0, 3, 4):
        args[at] = args[at].requires_grad_().clone()
    try:
        out = fn(*args, rho, c)
        same = [torch.equal(arg.detach(), was) for arg, was in zip(args, given, strict=True)]
        items = out if isinstance(out, tuple | list) else [out]
        found = {
            "given": plain(out),
            "linked": [isinstance(one, Tensor) and one.requires_grad for one in items],
            "changed": None if all(same) else same.index(False),
        }
        return Observation(values=[found])
    except Exception as error:
        return failed(error, fn)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 games, one without an axis for games; one with nothing stale.

    In every longer one an episode ends on the way. Some ratios lie below c, some between c and rho,
    some above both. c is never above rho, as in the paper.
    """
    random, made = rng(seed, "15.6"), []
    # Steps, games, rho, c, and whether the policies differ; the last one has no axis for games.
    settings: list[tuple[tuple[int, ...], float, float, bool]] = [
        ((5, 3), 1.0, 1.0, True),
        ((1, 2), 1.0, 1.0, True),
        ((4, 1), 2.0, 0.8, True),
        ((3, 5), 1.0, 1.0, False),
        ((6,), 1.5, 1.0, True),
    ]
    if seed:
        steps, games = (int(n) for n in random.integers(5, 9, 2))
        settings = [
            ((steps, games), 1.0, 1.0, True),
            ((steps, 2), 1.8, 0.9, True),
            ((4, 3), 1.0, 1.0, False),
            ((games,), 2.5, 1.2, True),
            ((1, 1), 1.0, 0.5, True),
        ]
    digits = 3 if seed else 1  # a hidden number is none that is shown
    for shape, rho, c, stale in settings:
        ratios = random.permutation(np.geomspace(0.3, 4.0 * rho, int(np.prod(shape))))
        log_ratios = np.round(np.log(ratios), digits + 1).reshape(shape) * stale
        rewards, values = (np.round(random.uniform(-2, 2, shape), digits) for _ in range(2))
        discounts = np.round(random.uniform(0.6, 0.95, shape), digits + 1)
        if shape[0] > 2:
            discounts.reshape(shape[0], -1)[shape[0] // 2, 0] = 0.0
        bootstrap = np.asarray(np.round(random.uniform(1, 2, shape[1:]), digits))
        args = ((log_ratios, rewards, discounts, values, bootstrap, rho, c),)
        of = "one game, without an axis for games" if len(shape) < 2 else count(shape[1], "game")
        words = "" if stale else ", where both policies are the same"
        name = f"Over {count(shape[0], 'step')} of {of}, cut at rho = {rho:g} and c = {c:g}"
        facts = {"want": corrected_steps(reference, Case(name, args)).values[0]["given"]}
        made.append(Case(name + words, args, facts=facts))
    return made


def fault(case: Case, seen: Observation) -> str:
    """What is wrong first, in words; "" for nothing."""
    given = seen.values[0]["given"]
    if not isinstance(given, tuple | list) or len(given) != 2:
        return f"you returned {describe(given)}; wanted are targets and advantages"
    for name, got, want in zip(("target", "advantage"), given, case.facts["want"], strict=True):
        if not is_array(got, want.shape):
            return f"the {name}s are {describe(got)}; wanted is a tensor of {want.shape}"
        if not close(got, want, 1e-6):
            place, words = first_off(got, want, 1e-6)
            ratio, discount = np.exp(case.args[0][0][place]), case.args[0][2][place]
            told = f"there π/μ is {ratio:.3g} and the discount {discount:g}"
            return f"the {name} {words} ({told})".replace("-", "−")
    for name, got, want in zip(("target", "advantage"), given, case.facts["want"], strict=True):
        if got.dtype != want.dtype:
            return f"the {name}s are right, but {got.dtype} where what was given is {want.dtype}"
    return ""


_LINKED = (
    "the numbers are right, but a way leads back from them to what was given. Targets and "
    "advantages are what the learner learns from, not what it changes: compute under "
    "`torch.no_grad()`, or `.detach()` what you return."
)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Targets and advantages, without a way back, and nothing written into."""
    if found := fault(case, seen):
        yield f"{found}."
    if any(seen.values[0]["linked"]):
        yield _LINKED
    yield wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    place = seen.values[0]["changed"]
    if place is None:
        return None
    name = ("log_ratios", "rewards", "discounts", "values", "bootstrap")[place]
    return (
        f"you wrote into `{name}`, which belongs to the caller: put what you find into a "
        "tensor of your own."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, whatever type holds them; where they are right, what else is wrong."""
    got = seen.values[0]
    if not fault(case, seen):
        return [any(got["linked"]), got["changed"]]
    return [one.astype(float) if is_array(one) else one for one in got["given"]]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    log_ratios, *_, rho, _ = cases[0].args[0]
    cut = int((np.exp(log_ratios) > rho).sum())
    return (
        f"Passed on {len(cases)} sets of steps: {cut} of the first {log_ratios.size} ratios were "
        "cut off, and where both policies were the same, the targets were the n-step returns."
    )


WRONG = """
nothing cut off
    | ratios.clamp(max=rho), ratios.clamp(max=c) => ratios, ratios
    {fault}. Neither weight was cut off: ρ = min(rho, π/μ) and c = min(c, π/μ). Products of large
    ratios grow without bound, and with them the noise of a gradient.
the logarithm cut off
    | ratios.clamp(max=rho), ratios.clamp(max=c)
        => log_ratios.clamp(max=rho).exp(), log_ratios.clamp(max=c).exp()
    {fault}. You cut the logarithm off at rho and c, and then took exp of it, so the weights go up
    to exp(rho) and exp(c). The ratio is what is cut off: `log_ratios.exp().clamp(max=rho)`.
rho and c swapped
    | ratios.clamp(max=rho), ratios.clamp(max=c) => ratios.clamp(max=c), ratios.clamp(max=rho)
    {fault}. The two weights are swapped: ρ, cut off at rho, weighs a step's own surprise; c says
    how much of later surprises comes back.
both cut off at 1
    | ratios.clamp(max=rho), ratios.clamp(max=c) => ratios.clamp(max=1), ratios.clamp(max=1)
    {fault}. Both ratios were cut off at 1, whatever rho and c say: these are arguments, and 1 is
    their default alone.
rho for both
    | clamp(max=c) => clamp(max=rho)
    {fault}. Both weights were cut off at rho. What comes back from later steps has the weight
    min(c, π/μ).
c not cut off
    | ratios.clamp(max=c) => ratios
    {fault}. The weight of what comes back was not cut off: it is min(c, π/μ).
cut off from below
    | clamp(max= *=> clamp(min=
    {fault}. The ratios were cut off from below. The smaller of the two is meant,
    `ratios.clamp(max=rho)`.
the ratio upside down
    | log_ratios.exp() => (-log_ratios).exp()
    {fault}. The ratio is upside down, μ/π. What the learner's policy would do more often than the
    actor's did has to count more: exp(log π − log μ).
the logarithm for the ratio
    | log_ratios.exp() => log_ratios
    {fault}. `log_ratios` holds logarithms, 0 where both policies agree: the ratio is
    `log_ratios.exp()`, which is 1 there.
the step itself twice
    | surprises[step] + discounts[step] * traces[step] * after
        => traces[step] * (surprises[step] + discounts[step] * after)
    {fault}. Each surprise was weighed by its own c besides its ρ. The c of a step goes with what
    comes from the steps after it: δ + γ · c · (what came back).
no discount on the way back
    | discounts[step] * traces[step] => traces[step]
    {fault}. What comes back from later steps was not discounted: δ_t + γ_t · c_t · (target_{{t+1}}
    − V_{{t+1}}).
no c on the way back
    | discounts[step] * traces[step] => discounts[step]
    {fault}. What comes back from later steps has the weight γ_t alone. c_t = min(c, π/μ) goes with
    it: δ_t + γ_t · c_t · (target_{{t+1}} − V_{{t+1}}).
no later value in the surprise
    | rewards + discounts * later => rewards
    {fault}. In the surprise V_{{t+1}} is missing: it is r_t + γ_t · V_{{t+1}} − V_t, and behind the
    last step V_{{t+1}} is the bootstrap.
the whole next target
    | torch.zeros_like(bootstrap) => bootstrap
    | surprises[step] + => values[step] + surprises[step] +
    | values[step] + after => after
    {fault}. The whole target of the next step came back. V_{{t+1}} is in δ_t already, so only what
    that target lies above it comes back: γ_t · c_t · (target_{{t+1}} − V_{{t+1}}).
the target less the value
    | weights * (rewards + discounts * next_targets - values) => targets - values
    {fault}. The targets are right. The advantage is ρ_t (r_t + γ_t · target_{{t+1}} − V_t); you
    took the step's own target less V_t, in which later surprises are weighed by c and not by ρ.
the next step's weight
    | later = torch => traces = torch.cat([traces[1:], traces[-1:]]); later = torch
    {fault}. What comes back was weighed by the next step's c. It comes by way of step t's own
    action, so its weight is c_t.
the surprise unweighted
    | surprises = weights * => surprises =
    {fault}. The surprise r + γ V′ − V has no weight in your target: multiply it by ρ = min(rho,
    π/μ).
across an end
    | checked(rewards, discounts, bootstrap)
        => discounts = discounts.masked_fill(discounts == 0, float(discounts.max()))
    {fault}. Where an episode ends, its discount is 0, and nothing of the next episode counts:
    multiply by `discounts[t]` in the surprise, in what comes back, and in the advantage.
from the first step on
    | reversed(range(len(rewards))) => range(len(rewards))
    {fault}. You went from the first step to the last. A target hangs on what comes after it: begin
    at the last step, `for t in reversed(range(len(rewards)))`.
begins with the bootstrap
    | torch.zeros_like(bootstrap) => bootstrap
    {fault}. The way back began with the bootstrap. What comes back is how far the next target lies
    above the next value, and behind the last step both are the bootstrap: begin with 0.
less its own value
    | after = surprises[step] + discounts[step] * traces[step] * after
        => after = surprises[step] + discounts[step] * traces[step] * (after + later[step]
        - values[step])
    {fault}. What comes back is target_{{t+1}} − V_{{t+1}}, how far the next target lies above the
    next value; you took this step's value off it.
the targets less the values
    | return Corrected(targets, => return Corrected(targets - values,
    {fault}. That is how far the target lies above the value. The target is the value and that: add
    V_t.
no target behind the last step
    | torch.cat([targets[1:], bootstrap[None]]) => torch.cat([targets[1:], 0 * bootstrap[None]])
    {fault}. The targets are right. Behind the last step the next target is the bootstrap; you took
    0 in the advantage.
no bootstrap
    | checked(rewards, discounts, bootstrap) => bootstrap = torch.zeros_like(bootstrap)
    {fault}. Behind the last step there is the value of the state that it led to, `bootstrap`, and
    not 0.
the value not added
    | values[step] + after => after
    {fault}. That is what comes on top of the value. The target is the value and that: add V_t.
the next value
    | * next_targets => * later
    {fault}. The targets are right. The advantage looks one step ahead to the next *target*, which
    knows of all later rewards; you took the next value.
its own target
    | rewards + discounts * next_targets - values => targets - values
    {fault}. The targets are right. The advantage is ρ (r + γ · next target − V); you took ρ times
    the step's own target less V, which weighs its surprise twice.
the advantage unweighted
    | (targets, weights * => (targets,
    {fault}. The targets are right. The advantage is weighed by ρ, too: the actor took this action
    more or less often than the learner would.
not corrected
    | ratios.clamp(max=rho), ratios.clamp(max=c) => torch.ones_like(ratios), torch.ones_like(ratios)
    {fault}. These are the n-step returns: π/μ plays no part. Weigh the surprises by ρ = min(rho,
    π/μ), and what comes back by c = min(c, π/μ).
advantages first
    | next_targets - values)) => next_targets - values))[::-1]
    {fault}. It looks like the advantages: return (targets, advantages).
a way back
    | torch.no_grad() => torch.enable_grad()
    ! linked
into the values
    | return Corrected( => found = (
    | next_targets - values)) => next_targets - values)); values.copy_(targets); return found
    ? wrote into `values`
"""

EXERCISE = Exercise(
    number="15.6",
    title="V-trace",
    size=Size(stars=3, minutes=15, points=4),
    function="v_trace",
    asks=(
        "target_t = V_t + ρ_t (r_t + γ_t V_{t+1} − V_t) + γ_t c_t (target_{t+1} − V_{t+1}) and "
        "advantage_t = ρ_t (r_t + γ_t target_{t+1} − V_t), with ρ_t = min(rho, π/μ), "
        "c_t = min(c, π/μ), the bootstrap behind the last step, and no way back to what was given."
    ),
    cases=cases,
    drive=corrected_steps,
    claim=claim,
    mistakes=(Mistake("writes into what it is given", wrote),),
    praise=praise,
    reference=reference,
    numbers=lambda case, seen: {"fault": fault(case, seen)},
    compared=compared,
    wrong=wrong_answers("15.6", WRONG, reference, linked=_LINKED),
    ranked=False,
)
