"""The global random states of a process, of torch, numpy and Python, as they lie in its memory.

Each is a Mersenne twister: 624 words, and how many of them are used up. Where they lie does not
change while a process runs, nor in those that are forked from it: who may read its memory needs
nobody's word for them.
"""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.checks.drives.calling import Function
from helpers.checks.drives.values import Remote

if TYPE_CHECKING:  # a grader's slot reads states, and need not load torch for that
    import torch
    from torch import Tensor

_COUNT = 624
_WORDS = _COUNT * 4  # bytes
_SAVED = slice(24, 24 + _COUNT * 8)  # the words in what torch's `get_state` gives, 8 bytes each
_AHEAD = 20  # bytes before torch's words: its seed (8), how many are left (4), a flag, the next (4)
_EMPTY = slice(13, 16)  # of those, what lies between the flag and the next: anything
_FAR = 512  # bytes: a generator has less than that before its words
_HEAD = 16  # bytes of any object of Python's

States = dict[str, bytes]


def places() -> dict[str, tuple[int, int]]:
    """Where each state lies in this process: an address and a length in bytes."""
    import torch

    numpys: Any = np.random.mtrand._rand
    return {
        "torch": (_of_torch(torch.default_generator), _AHEAD + _WORDS),
        "numpy": (_of_numpy(numpys), _WORDS + 4),
        "python": (_of_python(random._inst), _WORDS + 4),
    }


def read(read_at: Callable[[int, int], bytes], where: dict[str, tuple[int, int]]) -> States:
    """The states there, to be compared. read_at: gives bytes from an address and a length."""
    states = {name: read_at(*place) for name, place in where.items()}
    states["torch"] = _plain(states["torch"])
    return states


def here() -> States:
    """The states of this process."""
    return read(ctypes.string_at, places())


def seed_all(seed: int) -> None:
    """Set the states of this process."""
    import torch

    torch.default_generator.manual_seed(seed)  # without a look for devices, ten times quicker
    np.random.seed(seed)
    random.seed(seed)


def seeded(seed: int) -> States:
    """The states of a process that was just seeded so; those of this one are left alone."""
    import torch

    of_torch, of_numpy = torch.Generator().manual_seed(seed), np.random.RandomState(seed)
    of_python = random.Random(seed)
    return {
        "torch": _plain(ctypes.string_at(_of_torch(of_torch), _AHEAD + _WORDS)),
        "numpy": ctypes.string_at(_of_numpy(of_numpy), _WORDS + 4),
        "python": ctypes.string_at(_of_python(of_python), _WORDS + 4),
    }


def draw(state: bytes, shape: Sequence[int]) -> tuple[Tensor, bytes]:
    """What `torch.rand(shape)` gives where torch's state is this, and the state after it.

    Raises ValueError for a state that no generator has: torch would believe it, and read on behind
    its words.
    """
    import torch

    _, left, _, used = struct.unpack_from("<QiBxxxI", state)
    if (left, used) != (1, 0) and not (left + used == _COUNT + 1 and 1 <= left <= _COUNT):
        raise ValueError(f"No generator has {left} words left and {used} used up.")
    generator = torch.Generator()
    place = _of_torch(generator)
    ctypes.memmove(place, state, _AHEAD + _WORDS)
    numbers = torch.rand(*shape, generator=generator)
    return numbers, _plain(ctypes.string_at(place, _AHEAD + _WORDS))


def seed_there(fn: Function, seed: int) -> None:
    """Set the global random states of the process that `fn` is in."""
    (fn.seed if isinstance(fn, Remote) else seed_all)(seed)


def states_there(fn: Function) -> States:
    """The global random states of the process that `fn` is in, to be compared."""
    found: States = fn.random_states() if isinstance(fn, Remote) else here()
    return found


def rand_there(fn: Function, *shape: int) -> Tensor:
    """`torch.rand(*shape)`, of the process that `fn` is in."""
    import torch

    found: Tensor = (fn.rand if isinstance(fn, Remote) else torch.rand)(*shape)
    return found


def _of_torch(generator: torch.Generator) -> int:
    """The address of its state, found by the words in it."""
    saved = generator.get_state().numpy()[_SAVED]
    words = saved.view(np.uint64).astype(np.uint32).tobytes()
    begin: int = generator._cdata  # type: ignore[attr-defined]
    offset = ctypes.string_at(begin, _FAR).find(words[: _FAR // 4])
    if offset < _AHEAD:
        raise RuntimeError("This torch keeps its random state in another way.")
    return begin + offset - _AHEAD


def _of_numpy(state: Any) -> int:
    address: int = state._bit_generator.ctypes.state_address
    return address


def _of_python(generator: random.Random) -> int:
    return id(generator) + _HEAD


def _plain(of_torch: bytes) -> bytes:
    state = bytearray(of_torch)
    state[_EMPTY] = bytes(3)
    return bytes(state)
