"""Whether anything in a copy of the course answers an exercise, whatever it is called and takes.

Every function and class of the package is called with what the exercise gives to an answer, in
every way that its arguments allow (`ways_to_call`). What comes back counts as it is, as its mean,
and as its entry at an argument. What agrees with the right answer in the first case is judged in
all of them.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import inspect
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ways_to_call import Several, is_array, ways

from helpers.checks.drives.values import plain
from helpers.checks.judging import is_right
from helpers.checks.observe import observe
from helpers.checks.spec import Exercise
from helpers.engine.comm import Comm

SECONDS = 0.01  # of computing, for one call
IN_ALL = 0.015  # for all the ways to call one function: what computes long in vain is no answer
TRIED = 2  # ways of one function that are tried in the exercise itself
WAITS = 0.5  # for a call that waits for something
MEMORY = 2**31  # bytes that the search may take on top of what its process has
# They act on the machine or carry values, and hold nothing that an exercise asks for.
LEFT_ALONE = tuple(f"helpers.{n}" for n in ("setup", "commands", "cli", "doctor", "worker"))


# --- what is there --------------------------------------------------------------------------------


@cache
def candidates(tensorflow: bool, ranked: bool) -> list[tuple[str, Callable[..., Any]]]:
    """Every function and class of the package, by its name.

    tensorflow: of modules too that name it. ranked: only of those that name ranks at all.
    """
    return list(_candidates(tensorflow, ranked))


def _candidates(tensorflow: bool, ranked: bool) -> Iterator[tuple[str, Callable[..., Any]]]:
    for path in sorted(Path("helpers").rglob("*.py")):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        needless = ("tensorflow" in text and not tensorflow) or ("comm" not in text and ranked)
        if name.startswith(LEFT_ALONE) or path.stem in ("__main__", "server") or needless:
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:  # a framework that is not there
            continue
        for member in list(vars(module).values()):
            if getattr(member, "__module__", "") != name or not callable(member):
                continue
            if inspect.isclass(member) and issubclass(member, BaseException):
                continue  # no answer is one, and to make `StoppedHard` traces this thread for good
            yield f"{name}.{getattr(member, '__name__', member)}", member
            if inspect.isclass(member):
                yield from _static(f"{name}.{member.__name__}", member)


def _static(name: str, kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What a class has that needs no instance."""
    for inner, held in vars(kind).items():
        if isinstance(held, staticmethod | classmethod):
            yield f"{name}.{inner}", getattr(kind, inner)


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
    for name, function in candidates(exercise.framework == "tensorflow", exercise.ranked):
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
    (first,) = observe(exercise.drive, answer, cases[:1], 2.0)
    if not is_right(exercise, cases[0], first):
        return False
    seen = observe(exercise.drive, answer, cases, 5.0)
    return len(seen) == len(cases) and all(map(partial(is_right, exercise), cases, seen))


def limited(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Call a function for a short time at most; TimeoutError then."""

    running = True

    def ring(*_: Any) -> None:
        if running:  # it may come a little late
            raise TimeoutError

    clocks = ((signal.ITIMER_VIRTUAL, SECONDS), (signal.ITIMER_REAL, WAITS))
    signal.signal(signal.SIGVTALRM, ring)
    signal.signal(signal.SIGALRM, ring)
    for clock, seconds in clocks:
        signal.setitimer(clock, seconds)
    try:
        return function(*args)
    finally:
        running = False
        for clock, _ in clocks:
            signal.setitimer(clock, 0)


def harmless() -> None:
    """From here on nothing in this process starts, ends, removes or writes anything, nor takes
    much more memory than it has: a count of parameters may be taken for a number of bytes."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

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
