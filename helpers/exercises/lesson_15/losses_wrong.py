"""Wrong answers to exercise 15.2: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _logs(logits: Any) -> Any:
    return torch.log_softmax(logits, dim=-1)


def _done(logs: Any, actions: Any) -> Any:
    return logs.gather(-1, actions[..., None])[..., 0]


def _entropies(logits: Any) -> Any:
    return _entropies_of(_logs(logits))


def _entropies_of(logs: Any) -> Any:
    return -(logs.exp() * logs.masked_fill(torch.isinf(logs), 0.0)).sum(-1)


def _losses(
    policy: Callable[[Any, Any, Any], Any] = lambda x, a, adv: -adv * _done(_logs(x), a),
    value: Callable[[Any, Any], Any] = lambda v, target: (target - v) ** 2,
    entropy: Callable[[Any, Any], Any] = lambda x, a: _entropies(x),
    free: tuple[str, ...] = (),
    over: Callable[[Any], Any] = lambda steps: steps.mean(),
) -> Callable[..., Any]:
    """Each loss of every step; which of targets and advantages stay linked; what makes one of all.

    The policy's is of logits, actions and advantages.
    """

    def actor_critic_losses(
        logits: Any, values: Any, actions: Any, targets: Any, advantages: Any
    ) -> Any:
        targets = targets if "targets" in free else targets.detach()
        advantages = advantages if "advantages" in free else advantages.detach()
        steps = policy(logits, actions, advantages), value(values, targets)
        return (*map(over, steps), over(entropy(logits, actions)))

    return actor_critic_losses


nan = _losses(entropy=lambda x, a: -(_logs(x).exp() * _logs(x)).sum(-1))
NAN = (
    "{fault}: a barred action has the probability 0 and the logarithm −∞, and 0 · (−∞) is NaN. "
    "There the product counts as 0: `logs.masked_fill(torch.isinf(logs), 0.0)` before you multiply."
)
by_a_number = _losses(
    policy=lambda x, a, adv: -adv * _done(_logs(x.clamp(min=-20.0)), a),
    entropy=lambda x, a: _entropies(x.clamp(min=-20.0)),
)
BY_A_NUMBER = (
    "{fault}. You put a number in the place of −∞, and here the open actions lie lower than that: "
    "only differences of logits count, so no number is surely low. Leave −∞ in the logits, and "
    "put 0 in the place of the *logarithms* that are −∞, where you multiply."
)
nan_back = _losses(entropy=lambda x, a: -(_logs(x).exp() * _logs(x)).nansum(-1))
NAN_BACK = (
    "{fault}. A NaN that is left out of the sum afterwards, by `nansum` or `where`, still comes "
    "back: its gradient is 0 · (−∞). Put a 0 for the logarithm before you multiply: "
    "`logs.masked_fill(torch.isinf(logs), 0.0)`."
)
by_advantage = _losses(free=("advantages",))
BY_ADVANTAGE = (
    "{fault}. The advantage holds the value, so the value would be trained to make what was done "
    "look better. It is a plain number here: `advantages.detach()`."
)
by_target = _losses(free=("targets",))
BY_TARGET = (
    "{fault}. The value is to move to the target, and not the target to the value: "
    "`targets.detach()`."
)
by_both = _losses(free=("targets", "advantages"))
BY_BOTH = (
    "{fault}, and the value loss's reaches the targets. Both are plain numbers here, whatever they "
    "were made of: `advantages.detach()` and `targets.detach()`."
)
value_detached = _losses(value=lambda v, target: (target - v.detach()) ** 2)
VALUE_DETACHED = (
    "{fault}: nothing would train them. Detach the target, and leave the values as they are."
)
policy_sign = _losses(policy=lambda x, a, adv: adv * _done(_logs(x), a))
POLICY_SIGN = (
    "{fault}: the sign. Losses are made small, and log π(a) is to become large where the advantage "
    "is positive, so there is a minus in front."
)
entropy_sign = _losses(entropy=lambda x, a: -_entropies(x))
ENTROPY_SIGN = (
    "{fault}: the sign. An entropy is never below 0: −Σ π·log π, since logarithms of probabilities "
    "are negative. That it is to stay large is said where the losses are added up."
)
sums = _losses(over=lambda steps: steps.sum())
SUMS = (
    "{fault}: that is the sum over all steps. Take the mean, or the size of a step would hang on "
    "how long a rollout is and how many games run."
)
entropy_mean = _losses(entropy=lambda x, a: _entropies(x) / x.shape[-1])
ENTROPY_MEAN = (
    "{fault}: it was divided by the number of actions. An entropy is a sum over the actions, "
    "`.sum(-1)`; the mean is over the steps."
)
entropy_of_done = _losses(entropy=lambda x, a: -_done(_logs(x), a))
ENTROPY_OF_DONE = (
    "{fault}: that is the mean of −log π(a) of what was done. The entropy is of the whole policy: "
    "sum −π·log π over all actions of a step."
)
probability = _losses(policy=lambda x, a, adv: -adv * _done(torch.softmax(x, -1), a))
PROBABILITY = "{fault}: you took the probability π(a). Its logarithm is wanted, log π(a)."
raw_logit = _losses(policy=lambda x, a, adv: -adv * _done(x, a))
RAW_LOGIT = (
    "{fault}: you took the logit itself. A logit is no logarithm of a probability before the "
    "others are compared with it: `torch.log_softmax(logits, dim=-1)`."
)
half_square = _losses(value=lambda v, target: 0.5 * (target - v) ** 2)
HALF_SQUARE = (
    "{fault}, twice as much. The half comes in where the losses are added up, as their weight."
)
distance = _losses(value=lambda v, target: (target - v).abs())
DISTANCE = "{fault}: that is the distance |target − V|. Its square is wanted."
squared_advantage = _losses(policy=lambda x, a, adv: -(adv**2) * _done(_logs(x), a))
SQUARED_ADVANTAGE = (
    "{fault}: the advantage was squared. With its sign gone, what turned out worse would be done "
    "more often, too. The square belongs to the value's loss."
)


def own_advantage(logits: Any, values: Any, actions: Any, targets: Any, advantages: Any) -> Any:
    return _losses()(logits, values, actions, targets, targets - values)


OWN_ADVANTAGE = (
    "{fault}: log π(a) was multiplied by targets − values. Take the `advantages` that are handed "
    "in: where data is old, whoever calls has made them otherwise (exercise 15.6)."
)
along_first = _losses(
    policy=lambda x, a, adv: -adv * _done(torch.log_softmax(x, 0), a),
    entropy=lambda x, a: _entropies_of(torch.log_softmax(x, 0)),
)
along_second = _losses(
    policy=lambda x, a, adv: -adv * _done(torch.log_softmax(x, 1), a),
    entropy=lambda x, a: _entropies_of(torch.log_softmax(x, 1)),
)
ALONG = (
    "{fault}. The softmax ran along the wrong axis, {axis}. The actions are the last one: "
    "`torch.log_softmax(logits, dim=-1)`."
)
ALONG_FIRST = ALONG.replace("{axis}", "over the steps")
ALONG_SECOND = ALONG.replace("{axis}", "`dim=1`")
log_of_softmax = _losses(
    policy=lambda x, a, adv: -adv * _done(torch.softmax(x, -1).log(), a),
    entropy=lambda x, a: _entropies_of(torch.softmax(x, -1).log()),
)
LOG_OF_SOFTMAX = (
    "{fault}: the logarithm of a probability that is exactly 0 has an infinite slope, and on the "
    "way back 0 · ∞ is NaN. `torch.log_softmax(logits, dim=-1)` takes both in one, and has none."
)
over_open = _losses(entropy=lambda x, a: _entropies(x) / torch.isfinite(x).sum(-1))
OVER_OPEN = (
    "{fault}: it was divided by the number of open actions. An entropy is a sum over the actions, "
    "`.sum(-1)`; the mean is over the steps."
)
likeliest = _losses(policy=lambda x, a, adv: -adv * _logs(x).max(-1).values)
LIKELIEST = (
    "{fault}: you took the likeliest action. What is judged is the action that was done: "
    "`logs.gather(-1, actions[..., None])[..., 0]`."
)


def target_weighs(logits: Any, values: Any, actions: Any, targets: Any, advantages: Any) -> Any:
    return _losses()(logits, values, actions, targets, targets)[0], *_losses()(
        logits, values, actions, targets, advantages
    )[1:]


TARGET_WEIGHS = (
    "{fault}: log π(a) was multiplied by the target. What counts is how much better it came out "
    "than expected, the advantage."
)
by_step = _losses(over=lambda steps: steps)
BY_STEP = "{fault}: you gave one for each step. Take the mean over all of them, `.mean()`."


def items(*args: Any) -> Any:
    return tuple(loss.item() for loss in _losses()(*args))


ITEMS = (
    "{fault}. Return a tensor of one number, so that a gradient can flow back from it: without "
    "`.item()` or `float()`."
)


def another_order(*args: Any) -> Any:
    policy, value, entropy = _losses()(*args)
    return value, policy, entropy


def entropy_second(*args: Any) -> Any:
    policy, value, entropy = _losses()(*args)
    return policy, entropy, value


def in_one(logits: Any, values: Any, actions: Any, targets: Any, advantages: Any) -> Any:
    policy, value, entropy = _losses()(logits, values, actions, targets, advantages)
    return policy + 0.5 * value - 0.01 * entropy


IN_ONE = (
    "{fault}: it looks like their sum. Whoever calls adds them up, by weights of their own: return "
    "the three, `policy, value, entropy`."
)


def into_logits(logits: Any, values: Any, actions: Any, targets: Any, advantages: Any) -> Any:
    logits -= logits.max(-1, keepdim=True).values
    return _losses()(logits, values, actions, targets, advantages)
