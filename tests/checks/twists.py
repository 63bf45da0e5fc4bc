"""Right answers with a twist: which kinds of mistake does each exercise ask for?

    python -m tests.checks.twists [NN.k …]     prints the rows of `kinds.md`

A twist does the same to the course's own answer of any exercise, and knows nothing of it.
"asked": no answer with it passes; "passes": the exercise does not mind, and `MAY` says why; "–": it
changes nothing in any case; "?": the answer cannot be wrapped so.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from helpers.checks import everything, find
from helpers.checks.spec import Exercise
from tests.checks.table import Table

KINDS = Path(__file__).with_name("kinds.md")
SEEDS = (0, 1)
OF_MANY_PROCESSES = ("03.1", "16.1")  # whose claim says that each process comes to the same
HUGE, TINY = 1000.0, 1e-3
Change = Callable[[Any], Any]


class Met:
    """Whether a twist changed anything, or at least gave another object."""

    def __init__(self) -> None:
        self.changed = self.touched = False


def is_array(value: Any) -> bool:
    """A tensor of torch or TensorFlow, or an array of numpy."""
    return hasattr(value, "dtype") and hasattr(value, "shape") and not np.isscalar(value)


def leaves(value: Any, change: Change) -> Any:
    """A result with each number, text and array of it changed."""
    if isinstance(value, Mapping) and type(value) is dict:
        return {key: leaves(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        inner = [leaves(one, change) for one in value]
        make = getattr(type(value), "_make", type(value))
        return make(inner)
    if inspect.isgenerator(value):
        return (leaves(one, change) for one in value)
    return change(value)


def numbers(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A number or an array with its numbers changed, of the same type."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or is_array(value)):
        return value
    if isinstance(value, int | float):
        return type(value)(change(np.asarray(float(value))))
    module = type(value).__module__.partition(".")[0]
    if module == "torch":
        import torch

        if not value.dtype.is_floating_point:
            return value
        plain = value.detach().double().cpu().numpy()
        new = torch.from_numpy(np.ascontiguousarray(change(plain))).to(value.dtype)
        # The very tensor where nothing is other; else one that the gradient still comes through.
        return value if torch.equal(new, value) else value + (new - value.detach())
    if module == "numpy" and value.dtype.kind == "f":
        return change(value.astype(float)).astype(value.dtype)
    return value


def float32(value: Any) -> Any:
    """With seven digits, where it has more."""
    return numbers(value, lambda x: x.astype(np.float32).astype(float))


def half(value: Any) -> Any:
    """With three digits."""
    return numbers(value, lambda x: np.float16(np.clip(x, -6e4, 6e4)).astype(float))


def saturated(value: Any) -> Any:
    """With no number above a limit."""
    return numbers(value, lambda x: np.clip(x, -HUGE, HUGE))


def flushed(value: Any) -> Any:
    """With small numbers as 0."""
    return numbers(value, lambda x: np.where(np.abs(x) < TINY, 0.0, x))


def as_text(value: Any) -> Any:
    """Numbers as text."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def flat(value: Any) -> Any:
    """An array without its shape, or, where it has one dimension, with one more."""
    if not is_array(value) or not len(value.shape):
        return value
    if hasattr(value, "reshape"):
        return value.reshape(-1) if len(value.shape) > 1 else value.reshape(1, -1)
    import tensorflow as tf

    return tf.reshape(value, [-1] if len(value.shape) > 1 else [1, -1])


def longer(value: Any) -> Any:
    """A text with a sentence more."""
    return value + " 3 others followed." if isinstance(value, str) and " " in value else value


def other_numbers(value: Any) -> Any:
    """A text whose first two numbers have changed places, or whose only number is another."""
    import re

    if not isinstance(value, str) or " " not in value:
        return value
    found = list(re.finditer(r"\d+(\.\d+)?", value))
    if not found:
        return value
    if len(found) == 1 or found[0][0] == found[1][0]:
        return value[: found[0].start()] + "77" + value[found[0].end() :]
    (a, b), (c, d) = found[0].span(), found[1].span()
    return value[:a] + found[1][0] + value[b:c] + found[0][0] + value[d:]


class Twist(NamedTuple):
    """One kind of mistake. wraps: makes a wrong answer of a right one, given who is told that
    something changed.
    """

    name: str
    wraps: Callable[[Callable[..., Any], Met], Callable[..., Any]]


def on_result(change: Change) -> Callable[[Callable[..., Any], Met], Callable[..., Any]]:
    """A twist that changes what an answer gives."""

    def wraps(answer: Callable[..., Any], met: Met) -> Callable[..., Any]:
        def changed(value: Any) -> Any:
            if inspect.isfunction(value):
                return wrapped(value, lambda given, call: leaves(call(), changed))
            new = change(value)
            met.changed = met.changed or not same(new, value)
            return new

        return wrapped(answer, lambda given, call: leaves(call(), changed))

    return wraps


def wrapped(answer: Any, around: Callable[[tuple[Any, ...], Callable[[], Any]], Any]) -> Any:
    """A function with something around each call, or a class with it around each method's.

    around: gets the arguments and what calls the original.
    """
    if inspect.isclass(answer):
        methods = {
            name: wrapped(method, around)
            for base in reversed(answer.__mro__)
            if base.__module__.startswith("helpers.")
            for name, method in vars(base).items()
            if inspect.isfunction(method) and (name[0] != "_" or name == "__call__")
        }
        return type(answer.__name__, (answer,), methods)

    @functools.wraps(answer)
    def function(*args: Any, **options: Any) -> Any:
        return around((*args, *options.values()), lambda: answer(*args, **options))

    return function


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are the same, in type, shape and every bit."""
    if a is b or type(a) is not type(b):
        return a is b
    if not is_array(a):
        return bool(a == b or (a != a and b != b))
    one, other = (np.asarray(x.detach().cpu() if hasattr(x, "detach") else x) for x in (a, b))
    return one.shape == other.shape and bool((one == other).all())


def writes(answer: Callable[..., Any], met: Met) -> Callable[..., Any]:
    """An answer that writes into its arguments when it is done."""

    def around(given: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        value = call()
        out = {address(one) for one in every(value)}
        if not inspect.isgenerator(value):
            for one in given:
                met.changed = spoil(one, out) or met.changed
        return value

    return wrapped(answer, around)


def every(value: Any) -> Iterator[Any]:
    """All containers and leaves of a result."""
    yield value
    for one in value.values() if isinstance(value, dict) else value if listed(value) else ():
        yield from every(one)


def listed(value: Any) -> bool:
    """A list or a tuple."""
    return isinstance(value, list | tuple)


def address(value: Any) -> int:
    """Where it lies: two views of one tensor lie at one place."""
    memory = getattr(value, "untyped_storage", None)
    return int(memory().data_ptr()) if memory else id(value)


def spoil(value: Any, out: set[int]) -> bool:
    """Write into an argument, or what it holds, unless that is the result. Whether anything was."""
    if address(value) in out:
        return False
    module = type(value).__module__.partition(".")[0]
    if module == "torch" and is_array(value) and value.numel() and not value.requires_grad:
        value.add_(1) if value.dtype.is_floating_point else value.zero_()
        return True
    if module == "numpy" and is_array(value) and value.size and value.flags.writeable:
        value += np.ones((), value.dtype)
        return True
    if listed(value) and value and any(spoil(one, out) for one in value):
        return True
    if isinstance(value, list) and value:
        value.pop()
        return True
    if type(value) is dict and value:
        if not any(spoil(one, out) for one in value.values()):
            value.pop(next(iter(value)))
        return True
    return False


def remembers(answer: Callable[..., Any], met: Met) -> Callable[..., Any]:
    """An answer that gives for inputs of the same shapes what it gave the first time."""
    if inspect.isclass(answer) or inspect.isgeneratorfunction(answer):
        return answer
    first: dict[str, Any] = {}

    def around(given: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        key = repr([outline(one) for one in given])
        value = call()  # messages are sent all the same
        again = first.setdefault(key, value)
        met.changed = met.changed or not alike(again, value)
        met.touched = met.touched or again is not value
        return again

    return wrapped(answer, around)


def alike(a: Any, b: Any) -> bool:
    """Whether two results are the same, leaf by leaf."""
    ones, others = (list(every(value)) for value in (a, b))
    pairs = zip(ones, others, strict=False)
    holders = (list, tuple, dict)
    return len(ones) == len(others) and all(
        type(x) is type(y) if isinstance(x, holders) else same(x, y) for x, y in pairs
    )


def outline(value: Any) -> Any:
    """What two inputs of the same shapes have in common."""
    if is_array(value):
        return tuple(value.shape)
    if listed(value):
        return [outline(one) for one in value]
    if isinstance(value, dict):
        return {key: outline(one) for key, one in value.items()}
    place = getattr(value, "rank", None), getattr(value, "size", None)
    return place if place != (None, None) else type(value).__name__


def elsewhere(answer: Callable[..., Any], met: Met) -> Callable[..., Any]:
    """An answer that gives something else in a process that is not the first."""
    home = os.getpid()
    met.changed = True
    return on_result(lambda value: value if os.getpid() == home else as_text(value))(answer, Met())


TWISTS = (
    Twist("writes", writes),
    Twist("seven digits", on_result(float32)),
    Twist("three digits", on_result(half)),
    Twist("saturated", on_result(saturated)),
    Twist("flushed", on_result(flushed)),
    Twist("text", on_result(as_text)),
    Twist("shape", on_result(flat)),
    Twist("remembers", remembers),
    Twist("elsewhere", elsewhere),
    Twist("longer", on_result(longer)),
    Twist("other numbers", on_result(other_numbers)),
)


def asked(exercise: Exercise) -> dict[str, str]:
    """For each kind: "asked", "passes", or "–" where it changes nothing in any case, and "?" where
    the answer may not be wrapped at all.
    """
    found = {}
    for twist in TWISTS:
        if twist.wraps is elsewhere and exercise.number not in OF_MANY_PROCESSES:
            found[twist.name] = "–"
            continue
        met, table = Met(), Table(exercise)
        answer = twist.wraps(exercise.reference, met)
        passed = all(table.verdict(answer, seed).status == "passed" for seed in SEEDS)
        if not passed and not met.changed and not met.touched:
            found[twist.name] = "?"
            continue
        found[twist.name] = "asked" if not passed else "passes" if met.changed else "–"
    return found


def row(exercise: Exercise) -> str:
    """An exercise's row of the table."""
    return f"| {exercise.number} | " + " | ".join(asked(exercise).values()) + " |"


_OTHERS = "it is its own copy, which nobody reads again"
_SIX = "numbers are compared to six digits, as float32 gives them"
_IN_PLACE = (
    "the result is looked at where it is left, in a tensor or a graph; what is given back is not"
)
_SEES = "the grader asks each rank in a process of its own"
MAY: dict[str, tuple[str, ...]] = {
    _SIX: (
        "02.4 seven digits", "03.6 seven digits", "04.4 seven digits", "06.2 seven digits",
        "07.1 seven digits", "07.2 seven digits", "07.6 seven digits", "09.3 seven digits",
        "11.1 seven digits", "12.1 seven digits", "13.1 seven digits", "13.4 seven digits",
        "15.1 seven digits", "15.6 seven digits", "16.1 seven digits", "16.5 seven digits",
        "18.4 seven digits",
    ),
    _IN_PLACE: (
        "02.2 three digits", "02.2 shape", "02.2 remembers", "02.3 shape", "02.3 remembers",
        "02.5 shape", "02.5 remembers", "09.4 shape", "09.4 remembers", "10.1 three digits",
        "10.1 saturated", "10.1 shape", "10.1 remembers", "08.1 remembers",
    ),
    _OTHERS: ("03.3 writes", "06.1 writes", "08.1 writes", "08.2 writes", "08.3 writes",
              "12.5 writes", "13.4 writes", "18.3 writes"),
    _SEES: ("03.1 elsewhere",),
}  # fmt: skip
"""What may pass, by the reason."""


def main(names: list[str]) -> None:
    """Print the rows."""
    for exercise in [find(name) for name in names] or everything():
        print(row(exercise), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
