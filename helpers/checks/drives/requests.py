"""What became of an answer's messages and arguments: all waited for, and none written into."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from helpers.checks.compare import count
from helpers.checks.spec import Case, Observation


class Requests:
    """A rank's messages from now on: how many of them nobody has waited for.

    A message that nobody waits for may be under way when its tensor is written into: right values
    today, wrong ones on another machine. told: what `note` makes of what they hold.
    """

    def __init__(self, comm: Any, note: Callable[[Any], Any] | None = None) -> None:
        self.comm, self.isend, self.open = comm, comm.isend, set[int]()
        self.all: list[Any] = []
        self.note, self.told = note, list[Any]()
        comm.isend = self.start

    def start(self, tensor: Any, to: int) -> Any:
        """As `comm.isend`."""
        # Without its history, which the engine might hold until the message is gone.
        tensor = tensor.detach() if isinstance(tensor, Tensor) else tensor
        if self.note is not None:
            told = tensor.unpacked() if hasattr(tensor, "unpacked") else tensor
            self.told.append(self.note(told))
        request = self.isend(tensor, to)
        number, wait, done = len(self.all), request.wait, request.done
        self.all.append(request)
        self.open.add(number)

        def waited() -> Any:
            value = wait()
            self.open.discard(number)
            return value

        def is_done() -> bool:
            found = bool(done())
            if found:
                self.open.discard(number)
            return found

        request.wait, request.done = waited, is_done
        return request

    def end(self) -> int:
        """Look no further; returns how many are open."""
        self.comm.isend = self.isend
        return len(self.open)


OPEN = "open"
"""The key that tells of an answer that returned with messages of its own under way."""


def all_waited(requests: Requests, value: Any) -> Any:
    """What an answer returned; {"open": count, "returned": value} where messages are open."""
    still = requests.end()
    return {OPEN: still, "returned": value} if still else value


def still_open(value: Any) -> int:
    """How many messages an answer left open, by what `all_waited` made of its value."""
    found = value.get(OPEN) if type(value) is dict else 0
    return found if type(found) is int else 0


def not_waited(case: Case, seen: Observation) -> str | None:
    """The hint for messages that are still under way, for all that their rank knows."""
    for rank, value in enumerate(seen.values):
        if still_open(value):
            return (
                f"{case.name}, rank {rank} returned without waiting for "
                f"{count(still_open(value), 'message')} of its own: whoever writes into its tensor "
                "next may change what arrives. Keep what `comm.isend` returns, and call `wait()` "
                "on each before you return."
            )
    return None


CHANGED = "changed"
"""The key that tells of an answer that wrote into its arguments: the place of the first one."""


def changed(value: Any) -> int | None:
    """The place of the argument that an answer wrote into, None where it left all alone."""
    place = value.get(CHANGED) if type(value) is dict else None
    return place if type(place) is int else None


def returned(value: Any) -> Any:
    """What an answer returned, also where it wrote into its arguments."""
    return value["returned"] if type(value) is dict and "returned" in value else value
