"""Who imports whom: nothing in a circle, a room earlier rooms only, and the engine no room."""

from __future__ import annotations

import ast
import json
from functools import cache

import pytest

from helpers.checks.report import parts_of
from helpers.course.build import imports
from helpers.course.setup.places import ROOT
from helpers.grade.prune import Module
from helpers.rooms import LESSONS, handed_out, names_in, number_of, rooms

# What algorithms may take of the engine: what stands for ranks, rules and servers, without a clock.
_SERVERS = ("client", "cure", "parameter_server", "rule", "task")
INTERFACE = {f"helpers.engine.servers.{name}" for name in _SERVERS}
INTERFACE |= {"helpers.engine.cluster.known"}
CARRIES = ("course", "grade", "checks")
ABOVE_ENGINE = ("checks", "course.build", "grade", "lessons", "notebook")


@cache
def graph() -> dict[str, set[str]]:
    """The modules of `helpers` that each of them imports."""
    helpers = {name for name in imports.modules() if name.startswith("helpers")}
    return {name: imports.graph()[name] & helpers for name in helpers}


def circle(of: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, in its order; [] where there is none."""
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(of[name]):
            if found := visit(other, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(of) if (found := visit(name, []))), [])


def test_no_module_imports_in_a_circle() -> None:
    assert len(graph()) > 500
    found = circle(graph())
    assert not found, " → ".join(found)


def test_a_room_imports_earlier_rooms_only() -> None:
    late = [
        f"{name} imports {other}"
        for name, used in graph().items()
        for other in used
        if (theirs := number_of(other)) and theirs > (number_of(name) or theirs)
    ]
    assert late == []


def test_algorithms_import_algorithms_and_what_stands_for_servers() -> None:
    for name, used in graph().items():
        if not name.startswith(LESSONS) or ".algorithms." not in name:
            continue
        others = {one for one in used if ".algorithms." not in one and one not in rooms().values()}
        assert others <= INTERFACE, f"{name} imports {others - INTERFACE}"


def test_what_algorithms_take_of_the_engine_takes_nothing_else_of_it() -> None:
    for name in INTERFACE:
        assert graph()[name] <= INTERFACE, name


@pytest.mark.parametrize("lesson", rooms())
def test_what_a_room_hands_out_is_there(lesson: str) -> None:
    for name, (home, inner) in names_in(rooms()[lesson]).items():
        path = imports.modules().get(home)
        assert path is not None, f"{name}: there is no {home}"
        if inner:
            module = Module(home, path.read_text(encoding="utf-8"))
            assert inner in module.defines, f"{home} has no {inner}"


def test_the_engine_imports_nothing_that_is_built_on_it() -> None:
    up = [
        f"{name} imports {other}"
        for name, path in imports.modules().items()
        if name.startswith("helpers.engine")
        for other in everywhere(path.read_text(encoding="utf-8"))
        if other.startswith(tuple(f"helpers.{package}" for package in ABOVE_ENGINE))
    ]
    assert up == []


def everywhere(text: str) -> set[str]:
    """What is imported anywhere in a text, for types alone too."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    return {str(node.module) for node in nodes}


@cache
def needed_by() -> dict[str, set[str]]:
    """The lessons whose cells and exercises need a module; "" where what carries them does, too."""
    found: dict[str, set[str]] = {name: set() for name in graph()}

    def need(name: str, who: str) -> None:
        if who not in found[name]:
            found[name].add(who)
            for other in graph()[name] | (imports.started()[name] & found.keys()):
                need(other, who)

    for path, used in imports.notebooks().items():
        for name in used & found.keys():
            need(name, path.partition("/")[2][:2])
    for name in found:
        if ".exercises." in name:
            need(name, number_of(name))
        elif name.count(".") < 2 or name.split(".")[1] in CARRIES:
            need(name, "")
    for name, used in imports.graph().items():
        for other in used & found.keys() if name.startswith("benchmarks") else ():
            need(other, "")
    return found


def test_what_one_lesson_alone_needs_lies_in_its_room() -> None:
    for lesson, room in rooms().items():
        alone = {name for name, who in needed_by().items() if who == {lesson}}
        inside = {name for name in alone if name.startswith(room)}
        print(f"{lesson}: {len(inside)} of {len(alone)} in {room}", *sorted(alone - inside))
        assert len(inside) >= 0.95 * len(alone) > 0, (lesson, alone - inside)


def test_a_first_cell_imports_from_its_room_alone() -> None:
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        first = "".join(next(cell["source"] for cell in cells if cell["cell_type"] == "code"))
        lines = [line for line in first.split("\n") if line.startswith(("import ", "from "))]
        ours = [line for line in lines if line.startswith("from helpers")]
        assert len(lines) <= 6, (path.name, lines)
        assert len(ours) == 1 and ours[0].split()[1] == rooms()[path.name[:2]], (path.name, ours)


def test_what_a_copy_lacks_is_told_where_it_is_used() -> None:
    names = {"algorithms.gone": ("all_gone",), "algorithms.collectives": ("all_reduce_ring",)}
    get, every = handed_out(rooms()["02"], names)
    assert every() == ["all_gone", "all_reduce_ring"]
    assert get("all_reduce_ring").__name__ == "all_reduce_ring"
    with pytest.raises(ImportError, match="does not have `all_gone`"):
        get("all_gone")(1)
    with pytest.raises(ImportError, match="does not have `all_gone`"):
        assert get("all_gone").size
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        get("other")


def test_a_report_is_the_capstones_alone() -> None:
    # Cells of lesson 17 import a number of that name, which is no report's.
    assert [lesson for lesson in rooms() if parts_of(lesson)] == ["18"]
