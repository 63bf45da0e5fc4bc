"""Wrong answers to exercise 15.6: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Given(NamedTuple):
    """Ratios π/μ, what was given beside them, and V of the state after each step."""

    ratios: Any
    rewards: Any
    discounts: Any
    values: Any
    bootstrap: Any
    rho: float
    c: float

    @property
    def later(self) -> Any:
        return torch.cat([self.values[1:], self.bootstrap[None]])


def _weights(g: Given) -> tuple[Any, Any]:
    return g.ratios.clamp(max=g.rho), g.ratios.clamp(max=g.c)


def _one_back(surprise: Any, discount: Any, trace: Any, after: Any) -> Any:
    return surprise + discount * trace * after


def _advantages(g: Given, weights: Any, targets: Any) -> Any:
    after = torch.cat([targets[1:], g.bootstrap[None]])
    return weights * (g.rewards + g.discounts * after - g.values)


def _v_trace(
    see: Callable[[Given], Given] = lambda g: g,
    cut: Callable[[Given], tuple[Any, Any]] = _weights,
    weigh: Callable[[Any, Any], Any] = lambda weights, surprises: weights * surprises,
    back: Callable[..., Any] = _one_back,
    target: Callable[[Any, Any], Any] = lambda value, more: value + more,
    advantages: Callable[[Given, Any, Any], Any] = _advantages,
    ratio: Callable[[Any], Any] = torch.exp,
) -> Callable[..., Any]:
    """What is made of what is given; both weights; a surprise, weighed; one step back; a target
    out of a value and what comes on top; the advantages."""

    def v_trace(
        log_ratios: Any,
        rewards: Any,
        discounts: Any,
        values: Any,
        bootstrap: Any,
        rho: float = 1.0,
        c: float = 1.0,
    ) -> Any:
        with torch.no_grad():
            g = see(Given(ratio(log_ratios), rewards, discounts, values, bootstrap, rho, c))
            weights, traces = cut(g)
            surprises = weigh(weights, g.rewards + g.discounts * g.later - g.values)
            targets, after = torch.empty_like(g.values), torch.zeros_like(g.bootstrap)
            for step in reversed(range(len(rewards))):
                after = back(surprises[step], g.discounts[step], traces[step], after)
                targets[step] = target(g.values[step], after)
            return targets, advantages(g, weights, targets)

    return v_trace


uncut = _v_trace(cut=lambda g: (g.ratios, g.ratios))
UNCUT = (
    "{fault}. Neither weight was cut off: ρ = min(rho, π/μ) and c = min(c, π/μ). Products of large "
    "ratios grow without bound, and with them the noise of a gradient."
)
cut_logs = _v_trace(
    cut=lambda g: (g.ratios.log().clamp(max=g.rho).exp(), g.ratios.log().clamp(max=g.c).exp())
)
CUT_LOGS = (
    "{fault}. You cut the logarithm off at rho and c, and then took exp of it, so the weights go "
    "up to exp(rho) and exp(c). The ratio is what is cut off: `log_ratios.exp().clamp(max=rho)`."
)
swapped = _v_trace(cut=lambda g: (g.ratios.clamp(max=g.c), g.ratios.clamp(max=g.rho)))
SWAPPED = (
    "{fault}. The two weights are swapped: ρ, cut off at rho, weighs a step's own surprise; c says "
    "how much of later surprises comes back."
)
at_one = _v_trace(cut=lambda g: (g.ratios.clamp(max=1.0), g.ratios.clamp(max=1.0)))
AT_ONE = (
    "{fault}. Both ratios were cut off at 1, whatever rho and c say: these are arguments, and 1 is "
    "their default alone."
)
rho_twice = _v_trace(cut=lambda g: (g.ratios.clamp(max=g.rho), g.ratios.clamp(max=g.rho)))
RHO_TWICE = (
    "{fault}. Both weights were cut off at rho. What comes back from later steps has the weight "
    "min(c, π/μ)."
)
c_uncut = _v_trace(cut=lambda g: (g.ratios.clamp(max=g.rho), g.ratios))
C_UNCUT = "{fault}. The weight of what comes back was not cut off: it is min(c, π/μ)."
from_below = _v_trace(cut=lambda g: (g.ratios.clamp(min=g.rho), g.ratios.clamp(min=g.c)))
FROM_BELOW = (
    "{fault}. The ratios were cut off from below. The smaller of the two is meant, "
    "`ratios.clamp(max=rho)`."
)
inverted = _v_trace(ratio=lambda logs: torch.exp(-logs))
INVERTED = (
    "{fault}. The ratio is upside down, μ/π. What the learner's policy would do more often than "
    "the actor's did has to count more: exp(log π − log μ)."
)
no_exponential = _v_trace(ratio=lambda logs: logs)
NO_EXPONENTIAL = (
    "{fault}. `log_ratios` holds logarithms, 0 where both policies agree: the ratio is "
    "`log_ratios.exp()`, which is 1 there."
)
itself_twice = _v_trace(back=lambda s, discount, trace, after: trace * (s + discount * after))
ITSELF_TWICE = (
    "{fault}. Each surprise was weighed by its own c besides its ρ. The c of a step goes with what "
    "comes from the steps after it: δ + γ · c · (what came back)."
)


no_discount = _v_trace(back=lambda s, discount, trace, after: s + trace * after)
NO_DISCOUNT = (
    "{fault}. What comes back from later steps was not discounted: "
    "δ_t + γ_t · c_t · (target_{{t+1}} − V_{{t+1}})."
)
no_trace = _v_trace(back=lambda s, discount, trace, after: s + discount * after)
NO_TRACE = (
    "{fault}. What comes back from later steps has the weight γ_t alone. c_t = min(c, π/μ) goes "
    "with it: δ_t + γ_t · c_t · (target_{{t+1}} − V_{{t+1}})."
)


def _without_value(g: Given) -> Given:
    return g._replace(rewards=g.rewards - g.discounts * g.later)


no_later = _v_trace(
    see=_without_value,
    advantages=lambda g, w, targets: _advantages(
        g._replace(rewards=g.rewards + g.discounts * g.later), w, targets
    ),
)
NO_LATER = (
    "{fault}. In the surprise V_{{t+1}} is missing: it is r_t + γ_t · V_{{t+1}} − V_t, and behind "
    "the last step V_{{t+1}} is the bootstrap."
)


def whole_target(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    bootstrap: Any,
    rho: float = 1.0,
    c: float = 1.0,
) -> Any:
    with torch.no_grad():
        g = Given(log_ratios.exp(), rewards, discounts, values, bootstrap, rho, c)
        weights, traces = _weights(g)
        deltas = weights * (rewards + discounts * g.later - values)
        targets, after = torch.empty_like(values), bootstrap
        for step in reversed(range(len(rewards))):
            after = values[step] + deltas[step] + discounts[step] * traces[step] * after
            targets[step] = after
        return targets, _advantages(g, weights, targets)


WHOLE_TARGET = (
    "{fault}. The whole target of the next step came back. V_{{t+1}} is in δ_t already, so only "
    "what that target lies above it comes back: γ_t · c_t · (target_{{t+1}} − V_{{t+1}})."
)
value_less = _v_trace(advantages=lambda g, weights, targets: targets - g.values)
VALUE_LESS = (
    "{fault}. The targets are right. The advantage is ρ_t (r_t + γ_t · target_{{t+1}} − V_t); you "
    "took the step's own target less V_t, in which later surprises are weighed by c and not by ρ."
)


def _next_trace(g: Given) -> tuple[Any, Any]:
    weights, traces = _weights(g)
    return weights, torch.cat([traces[1:], traces[-1:]])


next_trace = _v_trace(cut=_next_trace)
NEXT_TRACE = (
    "{fault}. What comes back was weighed by the next step's c. It comes by way of step t's own "
    "action, so its weight is c_t."
)
unweighted = _v_trace(weigh=lambda weights, surprises: surprises)
UNWEIGHTED = (
    "{fault}. The surprise r + γ V′ − V has no weight in your target: multiply it by "
    "ρ = min(rho, π/μ)."
)
across_ends = _v_trace(
    see=lambda g: g._replace(
        discounts=g.discounts.masked_fill(g.discounts == 0, float(g.discounts.max()))
    )
)
ACROSS_ENDS = (
    "{fault}. Where an episode ends, its discount is 0, and nothing of the next episode counts: "
    "multiply by `discounts[t]` in the surprise, in what comes back, and in the advantage."
)
no_bootstrap = _v_trace(see=lambda g: g._replace(bootstrap=torch.zeros_like(g.bootstrap)))
NO_BOOTSTRAP = (
    "{fault}. Behind the last step there is the value of the state that it led to, `bootstrap`, "
    "and not 0."
)
no_value = _v_trace(target=lambda value, more: more)
NO_VALUE = (
    "{fault}. That is what comes on top of the value. The target is the value and that: add V_t."
)
next_value = _v_trace(
    advantages=lambda g, w, targets: w * (g.rewards + g.discounts * g.later - g.values)
)
NEXT_VALUE = (
    "{fault}. The targets are right. The advantage looks one step ahead to the next *target*, "
    "which knows of all later rewards; you took the next value."
)
own_target = _v_trace(advantages=lambda g, weights, targets: weights * (targets - g.values))
OWN_TARGET = (
    "{fault}. The targets are right. The advantage is ρ (r + γ · next target − V); you took ρ "
    "times the step's own target less V, which weighs its surprise twice."
)
plain_advantage = _v_trace(
    advantages=lambda g, w, targets: _advantages(g, torch.ones_like(w), targets)
)
PLAIN_ADVANTAGE = (
    "{fault}. The targets are right. The advantage is weighed by ρ, too: the actor took this "
    "action more or less often than the learner would."
)
uncorrected = _v_trace(cut=lambda g: (torch.ones_like(g.ratios), torch.ones_like(g.ratios)))
UNCORRECTED = (
    "{fault}. These are the n-step returns: π/μ plays no part. Weigh the surprises by "
    "ρ = min(rho, π/μ), and what comes back by c = min(c, π/μ)."
)


def turned(*args: Any) -> Any:
    return _v_trace()(*args)[::-1]


TURNED = "{fault}. It looks like the advantages: return (targets, advantages)."


def linked(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    bootstrap: Any,
    rho: float = 1.0,
    c: float = 1.0,
) -> Any:
    ratios = log_ratios.exp()
    weights, traces = ratios.clamp(max=rho), ratios.clamp(max=c)
    later, after = torch.cat([values[1:], bootstrap[None]]), torch.zeros_like(bootstrap)
    surprises, found = weights * (rewards + discounts * later - values), []
    for step in reversed(range(len(rewards))):
        after = surprises[step] + discounts[step] * traces[step] * after
        found.append(values[step] + after)
    targets = torch.stack(found[::-1])
    following = torch.cat([targets[1:], bootstrap[None]])
    return targets, weights * (rewards + discounts * following - values)


LINKED = (
    "the numbers are right, but a way leads back from them to what was given. Targets and "
    "advantages are what the learner learns from, not what it changes: compute under "
    "`torch.no_grad()`, or `.detach()` what you return."
)


def into_values(log_ratios: Any, rewards: Any, discounts: Any, values: Any, *rest: Any) -> Any:
    targets, advantages = _v_trace()(log_ratios, rewards, discounts, values, *rest)
    with torch.no_grad():
        values.copy_(targets)
    return targets, advantages
