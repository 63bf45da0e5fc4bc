"""A sum over ranks of what is encoded: there to the rank that owns a part, and back to all.

Codes cannot be added on their way round a ring: the sum of two signs is no sign. So each rank owns
a part of the tensor, as in the ring; everyone sends it their part, encoded; it decodes, adds, and
encodes the sum for all. That is as many bytes as a ring's all-reduce sends, times what the encoding
keeps of them; the owner's own error is kept for the next step as everyone's is.
Source: Tang et al., "DoubleSqueeze" (2019), algorithm 1; in the parts of 1-bit Adam (2021), 5.2.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from helpers.lessons.fewer_bits.algorithms.encodings import Encoding, Half, Message
from helpers.lessons.fewer_bits.algorithms.feedback import ErrorFeedback, Nothing
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds, flat_view

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def average_half(comm: Comm, gradient: Tensor, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Average a gradient over the ranks, in place, through messages of 16 bits a number.

    gradient: of one shape on all ranks. It is divided before it is rounded, so that no sum on the
    way is larger than the mean size of the ranks' numbers. Returns it; all ranks end with the same
    bits.
    """
    gradient.div_(comm.size)
    return HalfRing(dtype)(comm, gradient)


class HalfRing:
    """A ring whose messages have 16 bits a number, as torch's `bf16_compress_hook` and fp16's.

        replica = DataParallel(model, comm, reduce=HalfRing())

    Sums are rounded at every rank on their way. Gradients come weighted by 1/N, before they are
    rounded, so that no sum on the way is larger than the mean size of the ranks' numbers.
    """

    def __init__(self, dtype: torch.dtype = torch.bfloat16) -> None:
        self.encoding = Half(dtype)

    def __call__(self, comm: Comm, tensor: Tensor) -> Tensor:
        """Sum in place; every rank ends with the same bits. tensor: of one shape on all ranks."""
        flat = flat_view(tensor)
        (half,) = self.encoding.encode(flat)
        flat.copy_(all_reduce_ring(comm, half))
        return tensor


class TwoWay:
    """A sum in which everything that travels is encoded, with what that leaves out remembered.

        replica = DataParallel(model, comm, reduce=TwoWay(TopK(0.01)))

    encoding: what travels. feedback: what keeps a rank's own error, `ErrorFeedback` at first;
    `Nothing()` forgets it, here and at the owner. A buffer is known by where it lies in memory, so
    give the same one in every step, as `DataParallel` does.
    """

    def __init__(self, encoding: Encoding, feedback: Nothing | None = None) -> None:
        self.encoding = encoding
        self.feedback = ErrorFeedback() if feedback is None else feedback
        self.owned = Nothing() if type(self.feedback) is Nothing else ErrorFeedback()
        self.steps: dict[int, int] = {}

    def __call__(self, comm: Comm, tensor: Tensor) -> Tensor:
        """Sum in place; every rank ends with the same bits. tensor: of one shape on all ranks."""
        flat = flat_view(tensor)
        key = flat.data_ptr()
        step = self.steps[key] = self.steps.get(key, -1) + 1
        if comm.size == 1:
            return tensor
        bounds = chunk_bounds(len(flat), comm.size)
        encoded = [
            self._encode(self.feedback, (key, r), flat[start:stop], step)
            for r, (start, stop) in enumerate(bounds)
        ]
        parts = _to_all(comm, [message for message, _ in encoded])
        mine = encoded[comm.rank][1]
        terms = [mine if r == comm.rank else self._read(m, mine) for r, m in enumerate(parts)]
        everyones = _to_all(comm, [self._sum(key, terms, step)] * comm.size)
        for (start, stop), message in zip(bounds, everyones, strict=True):
            flat[start:stop] = self._read(message, flat[start:stop])
        return tensor

    def _sum(self, key: int, terms: list[Tensor], step: int) -> Message:
        """The sum of all ranks' terms of this rank's part, in the order of the ranks, encoded."""
        total = terms[0].clone()
        for term in terms[1:]:
            total += term
        return self._encode(self.owned, (key, -1), total, step)[0]

    def _encode(
        self, feedback: Nothing, key: Hashable, part: Tensor, step: int
    ) -> tuple[Message, Tensor]:
        """What travels of a part and of what is owed to it, and what the others read in that."""
        wanted = feedback.add(key, part)
        message = self.encoding.encode(wanted, step)
        told = self._read(message, wanted)
        feedback.sent(key, wanted, told)
        return message, told

    def _read(self, message: Message, like: Tensor) -> Tensor:
        return self.encoding.decode(message, like)


def _to_all(comm: Comm, messages: list[Message]) -> list[Message]:
    """Rank r's message to rank r. Returns what each rank has sent to this one, by rank."""
    # At distance d everyone sends to the d-th to the right: no rank is sent to by two at once.
    came = list(messages)
    for distance in range(1, comm.size):
        right, left = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        sending = [comm.isend(part, right) for part in messages[right]]
        came[left] = tuple(comm.recv(left) for _ in messages[left])
        for request in sending:
            request.wait()
    return came
