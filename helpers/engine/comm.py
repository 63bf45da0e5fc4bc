"""The interface that rank code sees: everything a function `fn(comm, ...)` may ask of its rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

NO_COMMON_MEMORY = (
    "Ranks on different hosts have no memory in common: comm.shared is for the ranks of one host."
)


class Request(Protocol):
    """A communication under way, as `isend`, `irecv` and `background` return it."""

    def wait(self) -> Any:
        """Block until it is done; an `irecv` gives the tensor, `background` what it returned."""

    def done(self) -> bool:
        """Whether `wait` would return at once."""


class Comm(ABC):
    """One rank's view of the run.

    A tensor is a `torch.Tensor`, a `numpy.ndarray` or a `tf.Tensor`; the receiver gets the kind
    that was sent. Messages from one rank to another arrive in the order in which they were sent.

    rank: this rank, 0 … size − 1. size: the number of ranks (the world size).
    device: where this rank's tensors belong, such as `torch.device("cuda:1")`.
    hosts: the host of each rank, by rank: a number, or a node's name on a cluster; all 0 where
    there is one machine.
    """

    rank: int
    size: int
    device: Any
    _hosts: tuple[Any, ...] | None = None

    @property
    def hosts(self) -> tuple[Any, ...]:
        return self._hosts or (0,) * self.size

    @property
    def host(self) -> Any:
        """The host that this rank is on."""
        return self.hosts[self.rank]

    @property
    def host_ranks(self) -> list[int]:
        """The ranks on this rank's host, itself among them, in rank order."""
        return [rank for rank, host in enumerate(self.hosts) if host == self.host]

    def send(self, tensor: Any, to: int) -> None:
        """Send a tensor and wait until rank `to` has received it.

        Raises ValueError where `to` is this rank: it would wait for itself for ever.
        """
        if to == self.rank:
            raise ValueError(
                f"Rank {self.rank} sends to rank {self.rank}, which is itself, and would wait for "
                "ever: nobody is there to receive. Keep your own part without sending it."
            )
        self.isend(tensor, to).wait()

    def recv(self, source: int, into: Any = None) -> Any:
        """Wait for the next tensor from rank `source` and return it.

        into: a tensor of the same shape and type to receive into, which saves an allocation.
        Raises ValueError where `into` does not fit what was sent.
        """
        return self.irecv(source, into).wait()

    @abstractmethod
    def isend(self, tensor: Any, to: int) -> Request:
        """Start to send; do not change the tensor before `wait()` has returned."""

    @abstractmethod
    def irecv(self, source: int, into: Any = None) -> Request:
        """Start to receive from rank `source`; `wait()` returns the tensor."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait until every rank has come here."""

    @abstractmethod
    def time(self) -> float:
        """Seconds on this rank's clock: real ones, or virtual ones on the virtual clock."""

    @abstractmethod
    def compute(self, seconds: float) -> None:
        """Stand in for work that takes so long: sleeps, or moves the virtual clock on."""

    @abstractmethod
    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        """Zeroed torch buffers in memory that every rank sees, one for each rank, in rank order.

        shape: of each rank's buffer. dtype: a torch type, float32 where none is given.
        Collective: every rank calls it with the same arguments. Writing to a buffer is seen by
        every rank; a `barrier()` says when it is safe to read.
        """

    @abstractmethod
    def background(self, fn: Callable[..., Any], *args: Any) -> Request:
        """Run `fn(comm, *args)` beside this rank's own computing, on its communication thread.

        The functions of one rank run there one after the other, in order; their messages do not
        mix with those that the rank itself sends. `wait()` returns what `fn` returned.
        """

    def peer(self, other: int, verb: str) -> int:
        """Check the number of another rank. Raises ValueError where there is no such rank."""
        if isinstance(other, bool) or not hasattr(other, "__index__"):
            raise TypeError(f"Rank {self.rank} {verb} {other!r}, which is no number of a rank.")
        number = other.__index__()
        if not 0 <= number < self.size:
            raise ValueError(
                f"Rank {self.rank} {verb} rank {number}, but the ranks are 0 to {self.size - 1}. "
                "A neighbour in a ring is (rank ± 1) % size."
            )
        return number
