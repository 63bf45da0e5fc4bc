"""What a learner writes can take the library's place: it has the name and the arguments of that."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import Parameter
from typing import Any

from helpers.checks import algorithm, everything
from helpers.checks.spec import Exercise
from helpers.course.build.notebook import code_cells, read
from helpers.course.build.run import ROOT, notebooks
from helpers.rooms import rooms

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
# Those whose library function is another thing, and why.
OTHERWISE = {
    "11.5": "the exercise folds the numbers of one layer; the library's `fold` takes a whole model",
}


def stub(exercise: Exercise) -> Callable[..., Any]:
    """A function without a body that takes what an exercise's cell in the solution takes.

    For a class it takes what `__init__` takes, without self, or that of the class it is made from.
    """
    path = next(p for p in notebooks(ROOT / "solutions") if p.name[:2] == exercise.lesson)
    for cell in code_cells(read(path)):
        if "### BEGIN SOLUTION" not in cell.source:
            continue
        for node in ast.parse(cell.source).body:
            if getattr(node, "name", None) == exercise.function:
                return _bare(node, in_the_library(exercise))
    raise LookupError(f"No cell of {path.name} writes {exercise.function}.")


def _bare(node: ast.stmt, library: Any) -> Callable[..., Any]:
    if isinstance(node, ast.ClassDef):
        made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if not made:
            bases = {ast.unparse(base) for base in node.bases}
            return next(one for one in inspect.getmro(library) if one.__name__ in bases)
        arguments = made[0].args
        arguments.args = arguments.args[1:]
    else:
        assert isinstance(node, ast.FunctionDef)
        arguments = node.args
    for each in [*arguments.args, *arguments.kwonlyargs]:
        each.annotation = None
    function: Callable[..., Any] = eval(f"lambda {ast.unparse(arguments)}: None")
    return function


def in_the_library(exercise: Exercise) -> Any:
    """What the modules that an exercise's lesson builds define by its name; None for nothing."""
    room = import_module(rooms()[exercise.lesson])
    for name in room.BUILDS:
        module = import_module(algorithm(room, name))
        found = vars(module).get(exercise.function)
        if getattr(found, "__module__", None) == module.__name__:
            return found
    return None


def differences(own: Callable[..., Any], library: Callable[..., Any]) -> Iterator[str]:
    """Why a call that fits `own` does not fit the library's, or means another thing there."""
    has = list(inspect.signature(library).parameters.values())
    for at, each in enumerate(inspect.signature(own).parameters.values()):
        if at < len(has) and has[at].kind is Parameter.VAR_POSITIONAL:
            return
        if at >= len(has) or (has[at].name, has[at].kind in POSITIONAL) != (each.name, True):
            yield f"argument {at} is `{each.name}`, but the library's are {[p.name for p in has]}"
        elif each.default is not Parameter.empty and has[at].default != each.default:
            yield f"`{each.name}` is {each.default!r} by itself, not {has[at].default!r}"
    for more in has[len(inspect.signature(own).parameters) :]:
        if more.default is Parameter.empty and more.kind in (*POSITIONAL, Parameter.KEYWORD_ONLY):
            yield f"the library wants `{more.name}` besides"


SHARED = [e for e in everything() if in_the_library(e) is not None]


def test_an_exercise_takes_what_the_librarys_function_takes() -> None:
    for exercise in SHARED:
        found = [*differences(stub(exercise), in_the_library(exercise))]
        if exercise.number in OTHERWISE:
            assert found, f"{exercise.number} is none of the exceptions any more"
        else:
            assert not found, (exercise.number, found)
