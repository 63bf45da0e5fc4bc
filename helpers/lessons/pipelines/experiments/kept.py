"""How many bytes autograd keeps for backward, and the most that it kept at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Kept:
    """Counts, inside a `with`, the bytes of what is saved for backward, as long as it is held.

        with Kept(model.parameters()) as kept:
            model(x).sum().backward()
        print(kept.peak)

    parameters: what is there anyway and does not count. A tensor that is saved several times, or
    of which several views are saved, counts once. now, peak: bytes held at this moment, and the
    most. It looks only at operations of the thread that it is opened in.
    """

    def __init__(self, parameters: Iterable[Tensor] = ()) -> None:
        self.now = self.peak = 0
        self._ignored = {p.untyped_storage().data_ptr() for p in parameters}
        self._times: Counter[int] = Counter()
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda held: held.tensor)

    def __enter__(self) -> Kept:
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, tensor: Tensor) -> _Held:
        return _Held(self, tensor)

    def count(self, place: int, nbytes: int, more: int) -> None:
        """A tensor at this place in memory is saved once more, or once less (−1)."""
        before = bool(self._times[place])
        self._times[place] += more
        if place not in self._ignored and bool(self._times[place]) != before:
            self.now += more * nbytes
            self.peak = max(self.peak, self.now)


class _Held:
    """A saved tensor: counted until autograd lets go of it."""

    def __init__(self, kept: Kept, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        self.tensor, self._kept = tensor, kept
        self._what = storage.data_ptr(), storage.nbytes()
        kept.count(*self._what, 1)

    def __del__(self) -> None:
        self._kept.count(*self._what, -1)
