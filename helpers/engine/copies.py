"""What each rank has of its own where the ranks share one process: copies, and a random state.

A rank that changes a tensor in place must not change another rank's. So the arguments are copied
for each rank, and with a function that was written in a cell or a script, what it refers to: just
what would travel to a process. A function from a module keeps what that module holds.

Every rank starts with the caller's random state, as a forked process would. To look whether a rank
has drawn a number costs about 2 µs, so that switching between ranks that draw none stays cheap.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import random
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.engine import wire
from helpers.engine.comm import Comm
from helpers.engine.wire import Pickler

MERSENNE_BYTES = 625 * 4  # 624 words and a position


class _Original(NamedTuple):
    """Stands for a class itself where the class would be taken apart."""

    cls: type


class _Keeper(Pickler):
    """Leaves some objects out of the stream, in `kept`; their numbers stand for them."""

    def __init__(self, stream: io.BytesIO, **options: Any) -> None:
        super().__init__(stream, **options)
        self.kept: list[Any] = []

    def keep(self, obj: Any) -> int:
        """Leave an object out; returns its number."""
        self.kept.append(obj)
        return len(self.kept) - 1


class _Copier(_Keeper):
    """Leaves out what the ranks may share: comms, and functions of modules."""

    of_cells = False  # whether there are classes of cells among what it has copied

    def persistent_id(self, obj: Any) -> int | None:
        if isinstance(obj, _Original):
            return self.keep(obj.cls)
        if isinstance(obj, Comm) or (
            isinstance(obj, FunctionType) and obj.__module__ != "__main__"
        ):
            return self.keep(obj)
        return None

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if not wire.is_sent_by_value(reduced):
            return reduced
        self.of_cells = True
        return wire.for_copy(_Original(obj), reduced)


class _Returner(_Keeper):
    """Puts the notebook's own classes in the place of a rank's copies of them."""

    def persistent_id(self, obj: Any) -> int | None:
        original = wire.original_of(obj)
        return None if original is None else self.keep(original)

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if wire.is_sent_by_value(reduced) and any(map(wire.original_of, obj.__mro__)):
            return wire.anew(reduced)  # a class that the rank has made of a copy
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


# --- random states --------------------------------------------------------------------------------


class Torch:
    """torch's default generator on the CPU. What `look` gives differs whenever the state does."""

    def look(self) -> bytes:
        return bytes(torch.default_generator.get_state().numpy().data)

    def get(self) -> torch.Tensor:
        return torch.default_generator.get_state()

    def set(self, state: torch.Tensor) -> None:
        torch.default_generator.set_state(state)


class Numpy:
    """numpy's global generator, `np.random.seed` and what goes with it."""

    def __init__(self) -> None:
        generator: Any = np.random.mtrand.get_bit_generator()
        plain = generator.state["bit_generator"] == "MT19937"
        self._address = generator.ctypes.state_address if plain else None
        self._spare = True

    def look(self) -> Any:
        # A second normal number may lie ready outside the words that are looked at.
        if self._address is None or self._spare:
            return object()
        return ctypes.string_at(self._address, MERSENNE_BYTES)

    def get(self) -> Any:
        state: Any = np.random.get_state(legacy=False)
        self._spare = bool(state.get("has_gauss", True))
        return state

    def set(self, state: Any) -> None:
        np.random.set_state(state)
        self._spare = bool(state.get("has_gauss", True))


class Python:
    """The generator of Python's `random`."""

    def __init__(self) -> None:
        self._instance: Any = random._inst
        # CPython keeps the words behind the object's head.
        self._address = id(self._instance) + object.__basicsize__

    def look(self) -> Any:
        return ctypes.string_at(self._address, MERSENNE_BYTES), self._instance.gauss_next

    def get(self) -> Any:
        return random.getstate()

    def set(self, state: Any) -> None:
        random.setstate(state)


Source = Torch | Numpy | Python


class RandomStates:
    """The random states of the ranks, one of which is loaded at a time."""

    def __init__(self, ranks: int) -> None:
        self._sources: tuple[Source, ...] = (Torch(), Numpy(), Python())
        self._start = [(source, *_read(source)) for source in self._sources]
        # For each source: what is loaded, and each rank's, as pairs of look and state.
        self._loaded = [(look, state) for _, look, state in self._start]
        self._ranks = [[pair] * ranks for pair in self._loaded]

    def switch(self, leave: int | None, enter: int) -> None:
        """Keep the state of one rank and load that of another."""
        for number, source in enumerate(self._sources):
            ranks = self._ranks[number]
            if leave is not None:
                look = source.look()
                if look != self._loaded[number][0]:
                    ranks[leave] = self._loaded[number] = _read(source)
            if ranks[enter] is not self._loaded[number]:
                source.set(ranks[enter][1])
                self._loaded[number] = ranks[enter]

    def restore(self) -> None:
        """Load the caller's state."""
        for source, _, state in self._start:
            source.set(state)


def _read(source: Source) -> tuple[Any, Any]:
    state = source.get()
    return source.look(), state
