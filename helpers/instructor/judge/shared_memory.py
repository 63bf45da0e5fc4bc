"""The memory behind `comm.shared`, lent by the judge."""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
from typing import Any

import torch

from helpers.engine.tensors import memory_of
from helpers.instructor.judge.channel import Violation
from helpers.instructor.judge.messages import ITEMS, shape_of
from helpers.worker.encoding import MAX_BYTES


class Buffers:
    """Memory that the judge makes and the ranks of one run map."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._made: dict[int, tuple[Any, int]] = {}

    def shared(self, comm: Any, shape: Any, dtype: Any = None) -> list[Any]:
        """As the engine's `comm.shared`: its tensors lie in memory that processes can map."""
        whole_list: list[Any] = type(comm).shared(comm, shape, dtype)  # it holds the meeting
        if id(whole_list[0]) not in self._made:
            self._lend(whole_list)
        return whole_list

    def share(self, comm: Any, shape: Any, dtype: Any) -> int:
        """One rank's call of shared(): the file descriptor for it, the same one for every rank.

        Raises ValueError where the ranks differ or the memory would be too large.
        """
        if type(dtype) is not str or dtype not in ITEMS:
            raise Violation("no type")
        kind, sizes = getattr(torch, dtype), shape_of(shape)
        nbytes = self.size * math.prod(sizes) * ITEMS[dtype]
        if nbytes + sum(os.fstat(fd).st_size for _, fd in self._made.values()) > MAX_BYTES:
            raise ValueError(f"Shared buffers of {nbytes:,} bytes are more than a grader lends.")
        return self._made[id(self.shared(comm, sizes, kind)[0])][1]

    def place(self, tensor: Any) -> tuple[int, int] | None:
        """The descriptor of a shared tensor's memory, and its number there; None for others."""
        for whole_list, fd in self._made.values():
            for number, each in enumerate(whole_list):
                if each is tensor:
                    return fd, number
        return None

    def _lend(self, whole_list: list[Any]) -> None:
        first = whole_list[0]
        nbytes = self.size * first.numel() * first.element_size()
        fd = memory(max(nbytes, 1))
        held = mmap.mmap(fd, max(nbytes, 1))
        for number, each in enumerate(whole_list):
            if each.numel():
                where = {"count": each.numel(), "offset": number * nbytes // self.size}
                flat = torch.frombuffer(held, dtype=each.dtype, **where)
                each.data = flat.reshape(each.shape)
        self._made[id(first)] = whole_list, fd

    def close(self) -> None:
        """Close the judge's end; the ranks keep what they have mapped."""
        for _, fd in self._made.values():
            os.close(fd)
        self._made.clear()


def memory(nbytes: int) -> int:
    """New memory that processes can share, as a descriptor: zeros, of this size for good."""
    fd = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, nbytes)
    with contextlib.suppress(OSError):  # without seals a rank could cut it under the others
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd


class Lent:
    """Memory with a tensor's numbers, for one process to map. told: for it; fd: goes along."""

    def __init__(self, tensor: torch.Tensor) -> None:
        held = tensor.detach().contiguous()
        data = memory_of(held)
        self.fd = memory(len(data))
        os.pwrite(self.fd, data.data, 0)
        self.told = {"lent": [str(held.dtype).removeprefix("torch."), list(held.shape)]}

    def is_held(self) -> bool:
        """Whether a process has it mapped.

        The kernel refuses to seal memory against writing as long as somebody could write into it.
        """
        try:
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        except OSError:
            return True
        return False

    def __del__(self) -> None:
        os.close(self.fd)
