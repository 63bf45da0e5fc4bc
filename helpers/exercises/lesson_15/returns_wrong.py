"""Wrong answers to exercise 15.1: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Step = Callable[[Any, Any, Any], Any]


def _returns(
    step: Step = lambda reward, discount, after: reward + discount * after,
    start: Callable[[Any], Any] = lambda bootstrap: bootstrap,
    factors: Callable[[Any], Any] = lambda discounts: discounts,
    order: Callable[[int], Any] = lambda steps: reversed(range(steps)),
) -> Callable[..., Any]:
    """What a step makes of reward, discount and what comes after; what comes after the last one;
    the discounts; in which order steps are taken."""

    def n_step_returns(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
        returns, after, by = torch.empty_like(rewards), start(bootstrap), factors(discounts)
        for at in order(len(rewards)):
            after = step(rewards[at], by[at], after)
            returns[at] = after
        return returns

    return n_step_returns


across_ends = _returns(factors=lambda d: d.masked_fill(d == 0, float(d.max())))
ACROSS_ENDS = (
    "{fault}. Where an episode ended, its discount is 0, so that nothing of the next episode "
    "counts: multiply by `discounts[t]` there, too."
)
one_discount = _returns(factors=lambda d: d[:1].expand_as(d))
ONE_DISCOUNT = (
    "{fault}. The first step's discount was taken for all. Each step has its own, and it is 0 "
    "where an episode ended."
)
no_bootstrap = _returns(start=lambda bootstrap: torch.zeros_like(bootstrap))
NO_BOOTSTRAP = (
    "{fault}. Behind the last step you began with 0, as if every game ended there. Begin with "
    "`bootstrap`: it stands for all that was not played."
)


def whole_bootstrap(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    returns, after = torch.empty_like(rewards), bootstrap
    for at in reversed(range(len(rewards))):
        last = at == len(rewards) - 1
        after = rewards[at] + (after if last else discounts[at] * after)
        returns[at] = after
    return returns


WHOLE_BOOTSTRAP = (
    "{fault}. The bootstrap was added whole. It is what comes one step later, so the last step's "
    "discount goes with it, like any other's."
)
forward = _returns(order=range)
FORWARD = (
    "{fault}. You went from the first step to the last. What a step is worth hangs on what comes "
    "after it: begin at the last one, `for t in reversed(range(len(rewards)))`."
)
next_discount = _returns(factors=lambda d: torch.cat([d[1:], d[-1:]]))
NEXT_DISCOUNT = (
    "{fault}. The discount of the step after it was taken. γ_t belongs to step t: it says what "
    "becomes of all that follows it, and is 0 where step t itself ended the episode."
)


def reversed_rows(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    found = []
    for reward, discount in zip(rewards.flip(0), discounts.flip(0), strict=True):
        bootstrap = reward + discount * bootstrap
        found.append(bootstrap)
    return torch.stack(found)


REVERSED_ROWS = (
    "{fault}. The numbers are right and stand in reverse: the first row is the last step's. Turn "
    "the list round before you stack it, or write each one into its own place."
)


def one_step(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    return rewards + discounts * bootstrap


ONE_STEP = (
    "{fault}. Every step was followed by the bootstrap at once. That comes after the last step "
    "alone; before, what comes next is the next step's return."
)


def only_first(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    for at in reversed(range(len(rewards))):
        bootstrap = rewards[at] + discounts[at] * bootstrap
    return bootstrap


ONLY_FIRST = (
    "{fault}. That is the return of the first step alone. Each step needs its own: keep every one "
    "as you come to it."
)
discounts_all = _returns(lambda reward, discount, after: discount * (reward + after))
DISCOUNTS_ALL = (
    "{fault}. The reward was multiplied by the discount, too. It comes with the step and counts "
    "whole; only what follows is discounted."
)
loses_last = _returns(lambda reward, discount, after: (reward + discount * after) * (discount > 0))
LOSES_LAST = (
    "{fault}. Where an episode ends you leave out the reward as well, which in many games is the "
    "only one. A discount of 0 takes away what follows; the reward stays."
)
undiscounted = _returns(lambda reward, discount, after: reward + after * (discount > 0))
UNDISCOUNTED = "{fault}. What follows was added whole: multiply it by the discount."


def one_tensor(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    found, after = [], bootstrap.clone()
    for at in reversed(range(len(rewards))):
        after.mul_(discounts[at]).add_(rewards[at])
        found.append(after)
    return torch.stack(found[::-1])


ONE_TENSOR = (
    "{fault}. All steps have one and the same return, the first one's: the list holds one tensor "
    "many times, and `*=`, `+=` or `mul_` went on changing it. Make a new one for each step."
)


def _all_rows(rewards: Any, discounts: Any, bootstrap: Any) -> list[Any]:
    """The returns, and the bootstrap as one more."""
    found = [bootstrap]
    for at in reversed(range(len(rewards))):
        found.insert(0, rewards[at] + discounts[at] * found[0])
    return found


def one_row_more(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    return torch.stack(_all_rows(rewards, discounts, bootstrap))


ONE_ROW_MORE = (
    "{fault}. There is a row too many, the bootstrap's: it is what comes after the last step, and "
    "no step's return. Leave it out."
)


def one_row_late(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    return torch.stack(_all_rows(rewards, discounts, bootstrap)[1:])


ONE_ROW_LATE = (
    "{fault}. Each row holds the return of the step after it, and the last one the bootstrap. Of "
    "all returns and the bootstrap leave out the bootstrap, `[:-1]`, and not the first return."
)
largest_discount = _returns(factors=lambda d: d.max().expand_as(d))
LARGEST_DISCOUNT = (
    "{fault}. One discount was taken for all, the largest. Each step has its own, `discounts[t]`, "
    "and it is 0 where an episode ended."
)
first_number = _returns(factors=lambda d: d.flatten()[0].expand_as(d))
FIRST_NUMBER = (
    "{fault}. One discount was taken for all, that of the first step of game 0. Each step of each "
    "game has its own, `discounts[t]`, and it is 0 where an episode ended."
)


def as_a_list(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    return _all_rows(rewards, discounts, bootstrap)[:-1]


def into_rewards(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    after = bootstrap
    for at in reversed(range(len(rewards))):
        rewards[at] += discounts[at] * after
        after = rewards[at]
    return rewards


def into_bootstrap(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    returns = torch.empty_like(rewards)
    for at in reversed(range(len(rewards))):
        bootstrap.mul_(discounts[at]).add_(rewards[at])
        returns[at] = bootstrap
    return returns
