"""Each rank's own copy of a function and its arguments, where the ranks share one process.

A rank that changes a tensor in place must not change another rank's. So the arguments are copied
for each rank, and with a function that was written in a cell or a script, what it refers to: just
what would travel to a process. A function from a module keeps what that module holds.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

from helpers.engines.comm import Comm
from helpers.engines.wire import Pickler


class _Copier(Pickler):
    """Leaves out what the ranks may share: comms, and functions of modules."""

    def __init__(self, stream: io.BytesIO, **options: Any) -> None:
        super().__init__(stream, **options)
        self.kept: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if isinstance(obj, Comm) or (
            isinstance(obj, FunctionType) and obj.__module__ != "__main__"
        ):
            self.kept.append(obj)
            return len(self.kept) - 1
        return None


class _Uncopier(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, kept: list[Any], buffers: list[bytearray]) -> None:
        super().__init__(stream, buffers=buffers)
        self._kept = kept

    def persistent_load(self, number: Any) -> Any:
        return self._kept[number]


class Copies:
    """Copies of `(fn, args)`, as many as are taken.

    Raises TypeError where something cannot be copied, as `helpers.run` does on every engine.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._same = (fn, args) if not args and not _from_cell(fn) else None
        if self._same is not None:
            return
        stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        try:
            pickler = _Copier(stream, protocol=5, buffer_callback=buffers.append)
            pickler.dump((fn, args))
        except Exception as error:
            raise TypeError(
                f"{getattr(fn, '__name__', fn)!s} or an argument cannot be copied for the ranks: "
                f"{error}. Open files, locks and generators stay in the notebook: make them inside "
                "the function."
            ) from error
        self._kept = pickler.kept
        self._stream = stream.getvalue()
        self._buffers = [bytes(buffer.raw()) for buffer in buffers]

    def take(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """One more copy."""
        if self._same is not None:
            return self._same
        buffers = [bytearray(buffer) for buffer in self._buffers]
        fn, args = _Uncopier(io.BytesIO(self._stream), self._kept, buffers).load()
        return fn, args


def _from_cell(fn: Callable[..., Any]) -> bool:
    return not isinstance(fn, FunctionType) or fn.__module__ == "__main__"
