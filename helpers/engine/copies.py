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
from typing import Any, NamedTuple

from helpers.engine import classes
from helpers.engine.comm import Comm
from helpers.engine.wire import Pickler


class _Original(NamedTuple):
    """Stands for a class itself where the class would be taken apart."""

    cls: type


class _Copier(Pickler):
    """Leaves out what the ranks may share: comms, and functions of modules."""

    def __init__(self, stream: io.BytesIO, **options: Any) -> None:
        super().__init__(stream, **options)
        self.kept: list[Any] = []
        self.of_cells = False  # whether there are classes of cells among what it has copied

    def persistent_id(self, obj: Any) -> int | None:
        if isinstance(obj, _Original):
            return self.keep(obj.cls)
        if isinstance(obj, Comm) or (
            isinstance(obj, FunctionType) and obj.__module__ != "__main__"
        ):
            return self.keep(obj)
        return None

    def keep(self, obj: Any) -> int:
        """Share an object; returns its number."""
        self.kept.append(obj)
        return len(self.kept) - 1

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if not classes.is_sent_by_value(reduced):
            return reduced
        self.of_cells = True
        return classes.for_copy(_Original(obj), reduced)


class _Returner(Pickler):
    """Puts the notebook's own classes in the place of a rank's copies of them."""

    def __init__(self, stream: io.BytesIO, **options: Any) -> None:
        super().__init__(stream, **options)
        self.kept: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        original = classes.original_of(obj)
        if original is None:
            return None
        self.kept.append(original)
        return len(self.kept) - 1

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if classes.is_sent_by_value(reduced) and any(map(classes.original_of, obj.__mro__)):
            return classes.anew(reduced)  # a class that the rank has made of a copy
        return reduced


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: bytes, kept: list[Any], buffers: list[Any]) -> None:
        super().__init__(io.BytesIO(stream), buffers=buffers)
        self._kept = kept

    def persistent_load(self, number: Any) -> Any:
        return self._kept[number]


class Copies:
    """Copies of `(fn, args)`, as many as are taken.

    Raises TypeError where something cannot be copied, as `helpers.run` does on every engine.
    """

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._of_cells = False
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
        self._kept, self._of_cells = pickler.kept, pickler.of_cells
        self._stream = stream.getvalue()
        self._buffers = [bytes(buffer.raw()) for buffer in buffers]

    def take(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """One more copy."""
        if self._same is not None:
            return self._same
        buffers = [bytearray(buffer) for buffer in self._buffers]
        fn, args = _Unpickler(self._stream, self._kept, buffers).load()
        return fn, args

    def returned(self, value: Any) -> Any:
        """What a rank has returned, made of the notebook's own classes instead of copies.

        Its arrays stay where they are. What cannot be pickled stays as it is.
        """
        if not self._of_cells:
            return value
        stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        pickler = _Returner(stream, protocol=5, buffer_callback=buffers.append)
        try:
            pickler.dump(value)
        except Exception:
            return value
        if not pickler.kept:
            return value
        return _Unpickler(stream.getvalue(), pickler.kept, buffers).load()


def _from_cell(fn: Callable[..., Any]) -> bool:
    return not isinstance(fn, FunctionType) or fn.__module__ == "__main__"
