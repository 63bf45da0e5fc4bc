"""Some of the ranks as a world of their own, and ranks laid out as rows and columns.

A collective takes a comm and asks only for its rank, its size and messages. A `Group` is such a
comm for a few ranks of a larger one, so every collective works in it unchanged. A `Mesh` has two
groups for each rank: its row and its column. Two kinds of parallelism then live side by side, such
as tensor parallel along a row and data parallel along a column (Shoeybi et al., "Megatron-LM"
(2019), section 3, figure 8; Narayanan et al. (2021), section 3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class Group:
    """The comm of some ranks of a larger comm, which this rank is one of.

    comm: the larger one, or a group itself. ranks: the members, by their numbers in `comm`, the
    same and in the same order on each of them; the first becomes rank 0 of the group.
    Messages of two groups that share two ranks do not mix as long as each rank uses one group at a
    time, as with any two collectives of one comm.
    Raises ValueError where this rank is no member, or a member is named twice.
    """

    def __init__(self, comm: Comm | Group, ranks: Sequence[int]) -> None:
        self.comm: Any = comm
        self.ranks = tuple(comm.peer(other, "makes a group with") for other in ranks)
        if len(set(self.ranks)) < len(self.ranks):
            raise ValueError(f"A group holds each rank once, but these are {list(ranks)}.")
        if comm.rank not in self.ranks:
            raise ValueError(
                f"Rank {comm.rank} is not one of {list(ranks)}: each rank makes the group that it "
                "is a member of."
            )
        self.rank: int = self.ranks.index(comm.rank)
        self.size = len(self.ranks)
        self.device: Any = comm.device

    @property
    def hosts(self) -> tuple[int, ...]:
        """The host of each rank of the group, as the larger comm numbers hosts."""
        return tuple(self.comm.hosts[other] for other in self.ranks)

    @property
    def host(self) -> int:
        """The host that this rank is on."""
        return self.hosts[self.rank]

    @property
    def host_ranks(self) -> list[int]:
        """The group's ranks on this rank's host, itself among them, in rank order."""
        return [other for other, host in enumerate(self.hosts) if host == self.host]

    def send(self, tensor: Any, to: int) -> None:
        """As `Comm.send`, to a rank of the group."""
        self.comm.send(tensor, self.ranks[self.peer(to, "sends to")])

    def recv(self, source: int, into: Any = None) -> Any:
        """As `Comm.recv`, from a rank of the group."""
        return self.comm.recv(self.ranks[self.peer(source, "receives from")], into)

    def isend(self, tensor: Any, to: int) -> Request:
        """As `Comm.isend`, to a rank of the group."""
        request: Request = self.comm.isend(tensor, self.ranks[self.peer(to, "sends to")])
        return request

    def irecv(self, source: int, into: Any = None) -> Request:
        """As `Comm.irecv`, from a rank of the group."""
        request: Request = self.comm.irecv(self.ranks[self.peer(source, "receives from")], into)
        return request

    def barrier(self) -> None:
        """Wait until every rank of the group has come here: empty messages, ⌈log₂ N⌉ rounds."""
        empty, distance = torch.empty(0, device=self.device), 1
        while distance < self.size:
            sending = self.isend(empty, (self.rank + distance) % self.size)
            self.recv((self.rank - distance) % self.size)
            sending.wait()
            distance *= 2

    def time(self) -> float:
        """As `Comm.time`."""
        return float(self.comm.time())

    def compute(self, seconds: float) -> None:
        """As `Comm.compute`."""
        self.comm.compute(seconds)

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        """As `Comm.shared`, the buffers of the group's ranks.

        Memory is shared by the whole world at once: every rank calls this at the same time, with
        the same arguments, each on its own group.
        """
        buffers = self.comm.shared(shape, dtype)
        return [buffers[other] for other in self.ranks]

    def background(self, fn: Callable[..., Any], *args: Any) -> Request:
        """As `Comm.background`; `fn` is given this group on the communication thread."""

        @functools.wraps(fn)
        def on_the_group(comm: Comm, *its_args: Any) -> Any:
            return fn(Group(comm, self.ranks), *its_args)

        request: Request = self.comm.background(on_the_group, *args)
        return request

    def peer(self, other: int, verb: str) -> int:
        """Check the number of a rank of the group. Raises TypeError or ValueError."""
        if isinstance(other, bool) or not hasattr(other, "__index__"):
            raise TypeError(
                f"Rank {self.rank} of a group {verb} {other!r}, which is no number of a rank."
            )
        number = other.__index__()
        if not 0 <= number < self.size:
            raise ValueError(
                f"Rank {self.rank} of a group {verb} rank {number}, but the group's ranks are 0 "
                f"to {self.size - 1}."
            )
        return number


class Mesh:
    """Ranks laid out in rows and columns, row by row.

    rows · columns is the world size: on 2 × 3, the first row is ranks 0, 1, 2 and the first column
    ranks 0 and 3. row: the group of the ranks in this rank's row, `columns` of them. column: the
    group of those in its column, `rows` of them. place: (row, column) of this rank.
    Raises ValueError where the layout does not hold exactly all ranks.
    """

    def __init__(self, comm: Comm, rows: int, columns: int) -> None:
        if rows < 1 or columns < 1 or rows * columns != comm.size:
            raise ValueError(
                f"{rows} × {columns} ranks are not {comm.size}: choose rows and columns whose "
                "product is the number of ranks."
            )
        self.rows, self.columns = rows, columns
        self.place = divmod(comm.rank, columns)
        at_row, at_column = self.place
        self.row = Group(comm, range(at_row * columns, (at_row + 1) * columns))
        self.column = Group(comm, range(at_column, comm.size, columns))
