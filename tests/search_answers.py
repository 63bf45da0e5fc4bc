"""Whether anything in a copy of the course answers an exercise, whatever it is called.

Every function and class of the package that takes as many arguments as an exercise gives is tried
in the exercise itself; where it gives a longer tuple than the right one does, so is its beginning.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

from helpers.checks.judging import is_right
from helpers.checks.observe import observe
from helpers.checks.spec import Exercise

SECONDS = 2.0  # for a case
MEMORY = 2**31  # bytes that the search may take on top of what its process has
# They act on the machine or carry values, and hold nothing that an exercise asks for.
LEFT_ALONE = ("helpers.course", "helpers.checks.encoding")


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


def answering(exercise: Exercise, right: Callable[..., Any]) -> list[str]:
    """What in the package answers an exercise. right: an answer, for what it is called with."""
    methods = {n for n, held in vars(right).items() if inspect.isfunction(held)}
    found, amount = [], items(exercise, right)
    for name, function in candidates(exercise.framework == "tensorflow", exercise.ranked):
        if inspect.isclass(right):
            fits = inspect.isclass(function) and all(hasattr(function, one) for one in methods)
        else:
            fits = takes_the_same(function, right)
        if fits and passes(exercise, beginning(function, amount) if amount else function):
            found.append(f"{exercise.number}: {name}")
    return found


def items(exercise: Exercise, right: Callable[..., Any]) -> int:
    """How many items there are in the tuple that the right answer gives in some case; else 0."""
    if exercise.ranked or inspect.isclass(right):
        return 0
    seen = observe(exercise.drive, right, exercise.cases(0), SECONDS)
    given = [value for each in seen for value in each.values if type(value) is tuple]
    return max(map(len, given), default=0)


def beginning(function: Callable[..., Any], amount: int) -> Callable[..., Any]:
    """A function that gives the first items of a tuple, and what is none as it is."""

    @wraps(function)
    def cut(*args: Any, **options: Any) -> Any:
        gave = function(*args, **options)
        return tuple(gave)[:amount] if isinstance(gave, tuple) else gave

    return cut


def takes_the_same(function: Callable[..., Any], right: Callable[..., Any]) -> bool:
    """Whether a function can be called with the arguments that the right one needs."""
    needed = [
        one for one in inspect.signature(right).parameters.values() if one.default is one.empty
    ]
    try:
        inspect.signature(function).bind(*needed)
    except (TypeError, ValueError):
        return False
    return True


def passes(exercise: Exercise, answer: Callable[..., Any]) -> bool:
    """Whether an answer is right, first in one case and then in all."""
    cases = exercise.cases(0)
    try:
        for some in (cases[:1], cases):
            seen = observe(exercise.drive, answer, some, SECONDS)
            if len(seen) != len(some) or not all(map(partial(is_right, exercise), some, seen)):
                return False
    except BaseException:  # whatever a function does that is no answer
        return False
    return True


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
