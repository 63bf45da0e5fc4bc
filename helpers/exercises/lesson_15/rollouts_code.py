"""Code under test for exercise 15.5: rollouts that ignore an argument, and that do not.

Each function is handed over as its text. `play()` plays a step and gives what it brought; what
comes back is r₀ + γ·r₁ + γ²·r₂ + … over `steps` steps, γ being `discount`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

HEAD = """\
import numpy as np
from typing import Any

"""


# --- an argument that is ignored ------------------------------------------------------------------


def deaf_to_steps(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = 0.0, 1.0
    for _ in range(20):
        total += factor * play()
        factor *= discount
    return total


def deaf_to_discount(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, gamma = 0.0, 0.99
    for step in range(steps):
        total += gamma**step * play()
    return total


def at_most_twenty(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards = [play() for _ in range(min(steps, 20))]
    total = 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
    return total


def falls_back(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    discount = discount or 0.99
    total, factor = 0.0, 1.0
    for _ in range(steps):
        total += factor * play()
        factor *= discount
    return total


def settings_of_old(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    settings = {"steps": 20, "discount": 0.99}
    settings["discount"] = discount
    total = 0.0
    for step in range(int(settings["steps"])):
        total += settings["discount"] ** step * play()
    return total


def inner_default(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    def add_up(rewards: list[float], discount: float = 0.99) -> float:
        total = 0.0
        for reward in reversed(rewards):
            total = reward + discount * total
        return total

    return add_up([play() for _ in range(steps)])


def at_least_twenty(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards = [play() for _ in range(max(steps, 20))]
    return sum(discount**step * reward for step, reward in enumerate(rewards))


def one_for_none(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = discount if discount > 0 else 1.0
    rewards = [play() for _ in range(steps)]
    return float(np.dot(rewards, gamma ** np.arange(steps))) if steps else 0.0


def falls_back_to_twenty(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = 0.0, 1.0
    for _ in range(steps or 20):
        total += factor * play()
        factor *= discount
    return total


def at_most_default(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = min(discount, 0.99)
    return float(sum(gamma**step * play() for step in range(steps)))


def twice_a_step(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = 0.0, 1.0
    for _ in range(steps):
        total += factor * play()
        factor *= discount
        factor *= discount
    return total


def at_least_a_tenth(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = max(discount, 0.1)
    return float(sum(gamma**step * play() for step in range(steps)))


def one_at_least(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor, left = 0.0, 1.0, steps
    while True:
        total += factor * play()
        factor *= discount
        left -= 1
        if left <= 0:
            return total


def below_one(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = min(discount, 0.999)
    return float(sum(gamma**step * play() for step in range(steps)))


def never_below(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = discount if discount > 0.15 else 0.15
    rewards, total = [play() for _ in range(steps)], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
    return total


def of_the_root(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    gamma = discount**0.5
    return float(sum(gamma**step * play() for step in range(steps)))


# --- sound ----------------------------------------------------------------------------------------


def in_a_loop(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = 0.0, 1.0
    for _ in range(steps):
        total += factor * play()
        factor *= discount
    return total


def from_behind(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards, total = [play() for _ in range(steps)], 0.0
    while rewards:
        total = rewards.pop() + discount * total
    return total


def in_single_precision(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total, factor = np.float32(0), np.float32(1)
    for _ in range(steps):
        total = np.float32(total + factor * np.float32(play()))
        factor = np.float32(factor * np.float32(discount))
    return float(total)


def by_a_product(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    rewards = np.array([play() for _ in range(steps)], dtype=np.float32)
    powers = np.power(float(discount), np.arange(steps)).astype(np.float32)
    return float(rewards @ powers)


def by_itself(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    def value(left: int) -> float:
        if left == 0:
            return 0.0
        reward = play()
        return reward + discount * value(left - 1)

    return value(steps)


def with_powers(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    total = 0.0
    for step in range(steps):
        total += discount**step * play()
    return total


def in_halves(play: Any, steps: int = 20, discount: float = 0.99) -> float:
    first = [play() for _ in range(steps // 2)]
    second = [play() for _ in range(steps - len(first))]
    early = sum(discount**step * reward for step, reward in enumerate(first))
    late = sum(discount**step * reward for step, reward in enumerate(second))
    return float(early + discount ** len(first) * late)
