"""In what ways a function can be called with the arguments of an exercise.

In every order, some left out, what else it takes filled with small numbers; with arrays as tensors,
as numpy's, as lists, and as what any method of an object gives; and in two calls, where the first
gives something to call.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import torch

FEW = 4  # so many arguments come in every order; of more, two at a time change places
FILLERS = (1, 0, 2)


def arity(function: Callable[..., Any]) -> tuple[int, int] | None:
    """The fewest and the most arguments by place; None where that cannot be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    most = 9 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(places)
    return sum(p.default is p.empty for p in places), most


class Gives:
    """An object whose every method gives the same value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: copy.deepcopy(self.value)


def is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor | np.ndarray)


FORMS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda value: value,
    "numpy": lambda value: value.detach().numpy() if isinstance(value, torch.Tensor) else value,
    "list": lambda value: value.tolist() if is_array(value) else value,
    "tensor": lambda value: (
        torch.tensor(value) if isinstance(value, list) and value and _numbers(value) else value
    ),
    "what a method gives": lambda value: (
        Gives(np.asarray(value.detach() if isinstance(value, torch.Tensor) else value))
        if is_array(value)
        else value
    ),
}


def _numbers(value: list[Any]) -> bool:
    return all(isinstance(one, int | float) for one in value)


def orders(n: int) -> Iterator[tuple[int, ...]]:
    """In which order n arguments are handed over, all of them or all but one."""
    if n <= FEW:
        yield from permutations(range(n))
        yield from permutations(range(n), n - 1) if n > 1 else ()
        return
    yield tuple(range(n))
    for i in range(n):
        for j in range(i + 1, n):
            swapped = list(range(n))
            swapped[i], swapped[j] = j, i
            yield tuple(swapped)


def ways(
    function: Callable[..., Any], args: Sequence[Any]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions of the learner's arguments that hand them to another one, and what each does."""
    held = arity(function)
    if held is None:
        return
    least, most = held
    arrays = any(is_array(one) or isinstance(one, list) for one in args)
    sizes = {size for one in args if is_array(one) for size in one.shape[:2]}
    for form, shaped in FORMS.items() if arrays else [("as it is", FORMS["as it is"])]:
        for order in orders(len(args)):
            if len(order) <= most:
                missing = max(0, least - len(order))
                # Numbers for what is missing, and where an object stands for an array its sizes.
                values = (*FILLERS, *sizes) if form == "what a method gives" else FILLERS
                values = values if len(args) < 3 else FILLERS[:1]
                fills = {(value,) * missing for value in values} if missing < 3 else set()
                if form == "what a method gives" and least <= len(order) < most:
                    fills |= {(a, b) for a in sizes for b in sizes if len(order) + 2 <= most}
                    fills |= {(a,) for a in sizes}
                for more in fills:
                    yield f"{form}, {order} {more}", _once(function, shaped, order, more)
            for cut in range(len(order)):
                if form == "as it is" and least <= cut <= most and len(order) == len(args):
                    yield f"in two calls, {order}", _twice(function, order, cut)


def _once(
    function: Callable[..., Any],
    shaped: Callable[[Any], Any],
    order: Sequence[int],
    more: Sequence[Any],
) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*(shaped(args[at]) for at in order), *more)

    return call


def _twice(function: Callable[..., Any], order: Sequence[int], cut: int) -> Callable[..., Any]:
    """The first arguments make something; it, or a method of it, gets the others."""

    def call(*args: Any) -> Any:
        made = function(*(args[at] for at in order[:cut]))
        rest = [args[at] for at in order[cut:]]
        steps = [made] if inspect.isroutine(made) or inspect.isclass(made) else []
        if type(made).__module__ == function.__module__:
            found = [name for name in vars(type(made)) if not name.startswith("__")]
            steps = [getattr(made, name) for name in [*found, "__call__"] if hasattr(made, name)]
        results = Several()
        for step in filter(callable, steps):
            try:
                results.append(step(*copy.deepcopy(rest)))
            except Exception:  # what does not fit
                continue
        return results

    return call


class Several(list[Any]):
    """What the methods of an object gave."""
