"""Functions that a driver hands to the answer, and that a grader computes itself.

In a learner's check they run beside the answer. When it is graded they stay with the grader: the
answer's process has a stand-in, whose calls go there and back by value. So what was asked for, how
often and when, is what the grader saw, whatever the process says.
"""

from collections.abc import Callable
from typing import Any

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Observation


class Hands:
    """What a driver hands over in one case, of one rank: the methods of a subclass.

    Their arguments and values are plain values and tensors. secret: places of the case's arguments
    that only these functions know; an answer's process is told None in their place. at_once:
    whether several threads may call at one time. own: where the answer is elsewhere, makes a
    measure of its process's time.
    """

    secret: tuple[int, ...] = ()
    at_once = False
    own: Callable[[], Any] | None = None

    def close(self) -> None:
        """The case is over: who still waits for something gets it."""

    def noted(self, value: Any) -> Any:
        """What the driver gives, with what was seen of the calls."""
        return value


class Handed:
    """A driver of `call(fn, hands, *the case's arguments)`: what that gives is `values[0]`.

    arguments: how many `fn` is called with. hands: makes them of the case's arguments.
    """

    def __init__(
        self, call: Callable[..., Any], arguments: int, hands: Callable[..., Hands]
    ) -> None:
        self.call, self.arguments, self.hands = call, arguments, hands
        self.__module__ = call.__module__  # where this driver has its name

    def __call__(self, fn: Function, case: Case, hands: Any = None) -> Observation:
        """hands: a stand-in for those that are elsewhere."""
        trouble = wrong_signature(fn, self.arguments)
        if trouble:
            return trouble
        given = tensors(case.args[0])
        mine = self.hands(*given) if hands is None else None
        try:
            value = self.call(fn, mine or hands, *given)
        except Exception as error:
            return failed(error, fn)
        return Observation(values=[plain(value if mine is None else mine.noted(value))])


def told(args: tuple[Any, ...], hands: Any) -> tuple[Any, ...]:
    """A case's arguments as the answer's process is told them. hands: the class, if any."""
    secret = getattr(hands, "secret", ())
    return tuple(None if place in secret else each for place, each in enumerate(args))
