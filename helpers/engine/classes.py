"""Classes that were written in a cell, on their way to the ranks and back.

Such a class cannot be imported where it arrives, so cloudpickle sends what it is made of. Where it
is known already, that is put into the class anew: methods whose globals are copies, attributes as
they were when it was sent. The notebook's own classes must not change by a run, nor those of
another rank in the same process.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from cloudpickle import cloudpickle

_sent: weakref.WeakSet[type] = weakref.WeakSet()
_originals: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def is_sent_by_value(reduced: Any) -> bool:
    """Whether a reduction, cloudpickle's or one made here, is of a class that nobody can import."""
    fills = (cloudpickle._class_setstate, set_state)
    return isinstance(reduced, tuple) and len(reduced) == 6 and reduced[5] in fills


def for_ranks(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that leaves it alone where it comes back to this process."""
    _sent.add(cls)
    return (*reduced[:5], set_state)


def set_state(cls: type, state: Any) -> type:
    """Fill a class that has arrived, unless this process has sent it."""
    return cls if cls in _sent else cloudpickle._class_setstate(cls, state)


def for_copy(original: Any, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that makes a copy each time. original: stands for the class."""
    make, how, *rest = anew(reduced)
    return (copy_class, (original, make, how), *rest)


def anew(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that makes a new one, and does not look for it in this process."""
    make, (*how, _, extra), *rest = reduced
    return (make, (*how, None, extra), *rest)


def copy_class(original: type, make: Callable[..., type], how: tuple[Any, ...]) -> type:
    """A new class, still empty, of which `original_of` knows what it is a copy of."""
    copy = make(*how)
    _originals[copy] = original
    return copy


def original_of(obj: Any) -> type | None:
    """The class of which this is a copy."""
    return _originals.get(obj) if isinstance(obj, type) else None
