"""The reference of exercise 05.5, and clients with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(rate: float, n_fetch: int, n_push: int) -> Any:
    """The course's own."""
    from helpers.algorithms.servers.clients import DownpourClient

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


class InPlace(Keeps):
    """Right, but in the tensor that it was given."""

    def step(self, gradient: Any) -> None:
        self.weights -= self.rate * gradient


class StepsWithTheSum(Keeps):
    """Steps along what is accrued and not along this gradient."""

    def step(self, gradient: Any) -> None:
        self.weights = self.weights - self.rate * self.accrued


class NoRate(Keeps):
    """Forgets the rate in its own step."""

    def step(self, gradient: Any) -> None:
        self.weights = self.weights - gradient


class Exchanged(Keeps):
    """Takes n_fetch for n_push."""

    def __init__(self, rate: float, n_fetch: int, n_push: int) -> None:
        super().__init__(rate, n_push, n_fetch)


class NeverCounts(Keeps):
    """The number of steps stays 0."""

    def computed(self, gradient: Any) -> Any:
        self.steps = -1
        return super().computed(gradient)


KNOWN = {
    "steps with the sum": StepsWithTheSum,
    "no rate": NoRate,
    "paces exchanged": Exchanged,
    "step not counted": NeverCounts,
    "never empties": NeverEmpties,
    "only the last": OnlyTheLast,
    "no local step": NoLocalStep,
    "uphill": Uphill,
    "pushes the mean": PushesTheMean,
    "pushes scaled": PushesScaled,
    "fetches with the push": FetchesWithThePush,
    "counts too late": CountsTooLate,
}
