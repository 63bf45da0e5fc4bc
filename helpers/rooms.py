"""The rooms of the lessons, `helpers/lessons/SUBJECT`: where they are, and what they hand out.

A room's `__init__` has its NUMBER; BUILDS, the modules of its `algorithms` that answer exercises,
and GIVES, those that answers stand on and nobody has to write (of another room: "subject.module");
and NAMES, what its notebook imports from it, which is loaded when it is asked for: by the module
that has it, in the room or elsewhere in the course; whole modules stand under "".
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

LESSONS = "helpers.lessons"
HERE = Path(__file__).parent / "lessons"
_BEGIN, _END = "\nEXERCISE = Exercise(\n", "\n)\n"
Names = Mapping[str, tuple[str, ...]]  # by module, of the room or by its whole name; see NAMES


@cache
def rooms() -> dict[str, str]:
    """The rooms' packages, by their lessons' numbers, in order; read without importing them."""
    found = {_number(path): path.parent.name for path in HERE.glob("*/__init__.py")}
    return {number: f"{LESSONS}.{found[number]}" for number in sorted(found) if number}


def _number(path: Path) -> str:
    """The NUMBER in a file; "" where there is none."""
    _, begin, rest = path.read_text(encoding="utf-8").partition('\nNUMBER = "')
    return rest[:2] if begin else ""


def folder(number: str) -> Path:
    """A lesson's room. Raises KeyError for a number that no lesson has."""
    return HERE / rooms()[number].rpartition(".")[2]


def number_of(module: str) -> str:
    """The number of the lesson in whose room a module lies, by its dotted name; "" for others."""
    return next((n for n, room in rooms().items() if f"{module}.".startswith(f"{room}.")), "")


@cache
def names_in(package: str) -> dict[str, tuple[str, str]]:
    """What a room hands out, by name: its module and the name in it, "" for the module itself.

    Read without importing anything; nothing for what is no room.
    """
    if package not in rooms().values():
        return {}
    path = HERE / package.rpartition(".")[2] / "__init__.py"
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        target = getattr(statement, "target", None)
        if isinstance(target, ast.Name) and target.id == "NAMES":
            return _places(package, ast.literal_eval(statement.value))  # type: ignore[attr-defined]
    return {}


def _places(package: str, names: Names) -> dict[str, tuple[str, str]]:
    def whole(home: str) -> str:
        return home if home.startswith("helpers.") else f"{package}.{home}"

    modules = {one.rpartition(".")[2]: (whole(one), "") for one in names.get("", ())}
    return modules | {one: (whole(home), one) for home in names if home for one in names[home]}


def handed_out(package: str, names: Names) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A room's `__getattr__` and `__dir__`: its names are loaded when they are asked for.

    So a first cell imports from the room alone, and whoever needs one module of it loads that one.
    """
    places = _places(package, names)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, inner = places[name]
        try:
            module = import_module(home)
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("helpers."):
                raise
            return Absent(name)
        return getattr(module, inner) if inner else module

    return get, lambda: sorted(places)


class Absent:
    """Stands for what a copy of the course does not have, such as a grader's sandbox.

    So the others of one import are there. Raises ImportError where it is used.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise ImportError(f"This copy of the course does not have `{self._name}`.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(f"This copy of the course does not have `{self._name}`.")


# --- the exercises, read from their files without running them: to import all takes seconds -------


@dataclass(frozen=True)
class Entry:
    """One exercise: its number, such as "02.1", its title and its points."""

    number: str
    title: str
    points: int


@cache
def index() -> dict[str, tuple[Entry, ...]]:
    """By lesson, such as "02": the exercises that this copy of the course has, in order."""
    found: dict[str, tuple[Entry, ...]] = {}
    for number in rooms():
        specs = (folder(number) / "exercises").glob("*.py")
        entries = [entry for path in specs if (entry := _entry(path)) is not None]
        if entries:
            found[number] = tuple(sorted(entries, key=lambda entry: entry.number))
    return found


def _entry(path: Path) -> Entry | None:
    """The exercise of a file; None where the file has none."""
    _, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    if not begin:
        return None
    call = ast.parse(f"Exercise({rest.partition(_END)[0]})", mode="eval").body
    assert isinstance(call, ast.Call)
    given = {word.arg: word.value for word in call.keywords}
    size = given["size"]
    assert isinstance(size, ast.Call)
    given |= {word.arg: word.value for word in size.keywords}
    return Entry(*(ast.literal_eval(given[name]) for name in ("number", "title", "points")))
