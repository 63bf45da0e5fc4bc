"""Whether anything in a copy of the course answers an exercise, whatever it is called and takes.

Every function and class of the package is called with what the exercise gives to an answer: in
every order, some arguments left out, the rest of its own filled with small numbers; with arrays as
tensors, as numpy's, as lists, and as what any method of an object gives; in two calls where the
first gives something to call. What comes back counts as it is, as its mean, and as its entry at an
argument. What agrees with the right answer in the first case is judged in all of them.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import inspect
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from helpers.engines.comm import Comm
from helpers.exercises.drives import plain
from helpers.exercises.observe import observe
from helpers.exercises.spec import Exercise

SECONDS = 0.03  # of computing, for one call
IN_ALL = 0.06  # for all the ways to call one function: what computes that long in vain is no answer
TRIED = 6  # ways of one function that are tried in the exercise itself
WAITS = 0.5  # for a call that waits for something
# They act on the machine or carry values, and hold nothing that an exercise asks for.
LEFT_ALONE = tuple(f"helpers.{n}" for n in ("setup", "commands", "cli", "doctor", "worker"))
FEW = 4  # so many arguments come in every order; of more, two at a time change places
FILLERS = (1, 0, 2)


# --- what is there --------------------------------------------------------------------------------


@cache
def candidates(tensorflow: bool) -> list[tuple[str, Callable[..., Any]]]:
    """Every function and class of the package, by its name."""
    return list(_candidates(tensorflow))


def _candidates(tensorflow: bool) -> Iterator[tuple[str, Callable[..., Any]]]:
    for path in sorted(Path("helpers").rglob("*.py")):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        slow = "tensorflow" in path.read_text(encoding="utf-8") and not tensorflow
        if name.startswith(LEFT_ALONE) or path.stem in ("__main__", "server") or slow:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:  # a framework that is not there
            continue
        for member in list(vars(module).values()):
            if getattr(member, "__module__", "") != name or not callable(member):
                continue
            yield f"{name}.{getattr(member, '__name__', member)}", member
            if inspect.isclass(member):
                yield from _static(f"{name}.{member.__name__}", member)


def _static(name: str, kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What a class has that needs no instance."""
    for inner, held in vars(kind).items():
        if isinstance(held, staticmethod | classmethod):
            yield f"{name}.{inner}", getattr(kind, inner)


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


# --- in what ways ---------------------------------------------------------------------------------


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


# --- what comes back ------------------------------------------------------------------------------


def readings(result: Any, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """What a result may be taken for."""
    if isinstance(result, Several):
        for number, one in enumerate(result):
            yield from ((f"{number}: {how}", read) for how, read in readings(one, args))
        return
    yield "", result
    if isinstance(result, dict):
        yield "its values", list(result.values())
    if is_array(result) and result.ndim:
        if result.dtype not in (torch.bool, bool) and len(result):
            yield "its mean", float(np.asarray(result, float).mean())
        for at in {int(one) for one in args if isinstance(one, int) and not isinstance(one, bool)}:
            for place in (at, at - 1):
                if 0 <= place < len(result):
                    yield f"its entry {place}", result[place]
    if isinstance(result, tuple) and len(result) > 1:
        yield "turned round", result[::-1]


def alike(one: Any, other: Any) -> bool:
    """Whether two results are the same but for their types."""
    a, b = plain(one), plain(other)
    if isinstance(b, list | tuple):
        if isinstance(a, np.ndarray):
            a = a.tolist() if a.ndim else None
        return isinstance(a, list | tuple) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(alike(a[k], b[k]) for k in b)
    try:
        left, right = np.asarray(a), np.asarray(b)
        if left.dtype == object or right.dtype == object or left.dtype.kind in "US":
            return bool(left.shape == right.shape and (left == right).all())
        return left.size == right.size and bool(
            np.allclose(left.ravel().astype(float), right.ravel().astype(float), 1e-4, 1e-6)
        )
    except (TypeError, ValueError):
        return False


# --- the search -----------------------------------------------------------------------------------


class Call:
    """What an exercise gave to the right answer at its first call, and what came of it."""

    def __init__(self, exercise: Exercise, right: Callable[..., Any]) -> None:
        self.args: tuple[Any, ...] = ()
        self.result: Any = None
        first = threading.Lock()

        def noted(*args: Any, **options: Any) -> Any:
            mine = first.acquire(blocking=False)
            if mine:
                kept = args[1:] if exercise.ranked else args
                self.args = tuple(map(with_gradients, kept))
            result = right(*args, **options)
            if mine:
                self.result = result
            return result

        noted.__name__ = exercise.function
        self.case = exercise.cases(0)[0]
        exercise.drive(noted, self.case)


class Touched(BaseException):
    """A function has used the ranks that it was given."""


class Ranks:
    """Stands for `comm`, and says when it is used."""

    rank, size = 1, 3

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not callable(getattr(Comm, name, None)):
            raise AttributeError(name)
        raise Touched(name)


_slow: set[str] = set()


class Wanted:
    """What the right answer does with what an exercise gives it, to compare others with.

    Only what cannot be compared at once is tried in the exercise itself, which takes longer.
    """

    def __init__(self, exercise: Exercise, right: Callable[..., Any]) -> None:
        self.call = Call(exercise, right)
        self.given = (Ranks(), *self.call.args) if exercise.ranked else self.call.args
        self.methods = [n for n, held in vars(right).items() if inspect.isfunction(held)]
        self.methods = self.methods if inspect.isclass(right) else []
        self.mine = copied(self.given)
        try:
            self.result, self.touches = settled(right(*self.mine)), False
        except Touched:
            self.result, self.touches = None, True
        except Exception as error:  # it needs more of the exercise than its arguments
            self.result, self.touches = type(error), False

    def answers(self, adapted: Callable[..., Any]) -> list[Callable[..., Any]]:
        """What may be an answer of a function that takes the learner's arguments."""
        mine = copied(self.given)
        try:
            result = limited(lambda *args: settled(adapted(*args)), mine)
        except Touched:
            return [adapted] if self.touches else []
        except BaseException as error:  # whatever does not fit
            return [adapted] if type(error) is self.result else []
        if self.touches:
            return []  # it asked no other rank
        if self.methods:
            return [adapted] if all(hasattr(result, name) for name in self.methods) else []
        if self.result is None:
            return [adapted] if alike(mine, self.mine) else []
        if behaves(self.result):
            return [adapted] if behaves(result) == behaves(self.result) else []
        fits = [how for how, one in readings(result, self.given) if alike(one, self.result)]
        return [_read(adapted, how) for how in fits]


def settled(result: Any) -> Any:
    """A result, as a list where it comes piece by piece."""
    return list(islice(result, 1000)) if inspect.isgenerator(result) else result


def behaves(result: Any) -> str:
    """What kind of thing a result is that has behaviour; "" for a value."""
    if isinstance(result, tuple):
        return "".join(map(behaves, result))
    return "c" if callable(result) else ""


def answering(exercise: Exercise, right: Callable[..., Any]) -> list[str]:
    """What in the package answers an exercise, each with how it is called."""
    wanted, found = Wanted(exercise, right), []
    for name, function in candidates(exercise.framework == "tensorflow"):
        if name in _slow or (wanted.methods and not inspect.isclass(function)):
            continue
        end, tried = time.process_time() + IN_ALL, 0
        for way, adapted in ways(function, wanted.given):
            if time.process_time() > end or tried > TRIED:
                _slow.update([name] if not tried else [])
                break
            answers = wanted.answers(adapted)
            tried += len(answers)
            if any(passes(exercise, answer) for answer in answers):
                found.append(f"{exercise.number}: {name}, {way}")
                break
    return found


def copied(args: Sequence[Any]) -> list[Any]:
    """Arguments of one's own."""
    return [
        one.clone() if isinstance(one, torch.Tensor) and not one.requires_grad
        else one if isinstance(one, int | float | str | Ranks)
        else with_gradients(one)
        for one in args
    ]  # fmt: skip


def with_gradients(value: Any) -> Any:
    """A copy that has the gradients of a model's parameters too."""
    made = copy.deepcopy(value)
    if isinstance(value, torch.nn.Module):
        for old, new in zip(value.parameters(), made.parameters(), strict=True):
            new.grad = None if old.grad is None else old.grad.clone()
    return made


def _read(adapted: Callable[..., Any], how: str) -> Callable[..., Any]:
    def answer(*args: Any, **options: Any) -> Any:
        return dict(readings(settled(adapted(*args)), args)).get(how)

    return answer


def passes(exercise: Exercise, answer: Callable[..., Any]) -> bool:
    """Whether an answer is right, first in one case and then in all."""
    cases = exercise.cases(0)
    for some in (cases[:1], cases):
        if exercise.judge_all(some, observe(exercise.drive, answer, some, 2.0)).status != "passed":
            return False
    return True


def limited(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a function for a short time at most; TimeoutError then."""

    def ring(*_: Any) -> None:
        raise TimeoutError

    clocks = ((signal.ITIMER_VIRTUAL, SECONDS), (signal.ITIMER_REAL, WAITS))
    signal.signal(signal.SIGVTALRM, ring)
    signal.signal(signal.SIGALRM, ring)
    for clock, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        return function(*args)
    finally:
        for clock, _ in clocks:
            signal.setitimer(clock, 0)


def harmless() -> None:
    """From here on nothing in this process starts, ends, removes or writes anything."""

    def refused(*args: Any, **options: Any) -> Any:
        raise PermissionError("not in a search")

    for module, names in (
        (os, ("kill", "killpg", "fork", "remove", "unlink", "rmdir", "rename", "replace", "_exit")),
        (os, ("mkdir", "makedirs", "system", "execv", "execve", "chmod", "truncate", "setsid")),
        (shutil, ("rmtree", "move", "copytree", "copyfile")),
        (subprocess, ("Popen", "run", "call", "check_output")),
        (socket, ("socketpair", "create_server", "create_connection")),
    ):
        for name in names:
            setattr(module, name, refused)
    kept = builtins.open

    def reading(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        return kept(file, mode, *args, **options) if set(mode) <= set("rbt") else refused()

    builtins.open = reading  # type: ignore[assignment]
