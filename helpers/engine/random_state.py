"""A random state for each rank, where the ranks share one process.

Every rank starts with the caller's state, as a forked process would. To look whether a rank has
drawn a number costs about 2 µs, so that switching between ranks that draw none stays cheap.
"""

from __future__ import annotations

import ctypes
import random
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch

MERSENNE_BYTES = 625 * 4  # 624 words and a position


class Source(ABC):
    """One generator that the whole process shares."""

    @abstractmethod
    def look(self) -> Any:
        """Something that differs whenever the state differs; quick."""

    @abstractmethod
    def get(self) -> Any:
        """The state, to give to `set`."""

    @abstractmethod
    def set(self, state: Any) -> None:
        """Go back to a state."""


class Torch(Source):
    """torch's default generator on the CPU."""

    def look(self) -> bytes:
        return bytes(torch.default_generator.get_state().numpy().data)

    def get(self) -> torch.Tensor:
        return torch.default_generator.get_state()

    def set(self, state: torch.Tensor) -> None:
        torch.default_generator.set_state(state)


class Numpy(Source):
    """numpy's global generator, `np.random.seed` and what goes with it."""

    def __init__(self) -> None:
        self._generator: Any = np.random.mtrand.get_bit_generator()
        plain = self._generator.state["bit_generator"] == "MT19937"
        self._address = self._generator.ctypes.state_address if plain else None
        self._spare = True

    def look(self) -> Any:
        # A second normal number may lie ready outside the words that are looked at.
        if self._address is None or self._spare:
            return object()
        return ctypes.string_at(self._address, MERSENNE_BYTES)

    def get(self) -> Any:
        state = np.random.get_state(legacy=False)
        self._spare = bool(state.get("has_gauss")) if isinstance(state, dict) else True
        return state

    def set(self, state: Any) -> None:
        np.random.set_state(state)
        self._spare = bool(state.get("has_gauss"))


class Python(Source):
    """The generator of Python's `random`."""

    def __init__(self) -> None:
        self._instance: Any = getattr(random, "_inst", None)
        # CPython keeps the words behind the object's head; where that is not so, ask politely.
        self._address = id(self._instance) + object.__basicsize__
        self._direct = self._same_words()

    def _same_words(self) -> bool:
        if type(self._instance) is not random.Random:
            return False
        words = np.frombuffer(ctypes.string_at(self._address, MERSENNE_BYTES), np.uint32)
        state = random.getstate()[1]
        return [*words[1:].tolist(), int(words[0])] == list(state)

    def look(self) -> Any:
        if not self._direct:
            return random.getstate()
        return ctypes.string_at(self._address, MERSENNE_BYTES), self._instance.gauss_next

    def get(self) -> Any:
        return random.getstate()

    def set(self, state: Any) -> None:
        random.setstate(state)


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
