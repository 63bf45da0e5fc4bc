"""Notebooks to grade, made from the specs' own answers, whose modules no sandbox has."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from helpers.checks import provided
from helpers.checks.spec import Exercise
from helpers.grade.worker import cells

REPOSITORY = Path(__file__).parent.parent
LESSON = r"helpers\.lessons\.\w+\.exercises"


def named(lesson: str) -> str:
    """The file name of a lesson's notebook."""
    return next(p.name for p in (REPOSITORY / "solutions").glob(f"{lesson}_*.ipynb"))


def solution(lesson: str) -> Path:
    """The solution's notebook."""
    return REPOSITORY / "solutions" / named(lesson)


def untouched(lesson: str) -> Path:
    """The lesson's notebook, as students get it."""
    return REPOSITORY / "lessons" / named(lesson)


def code_cells(path: Path) -> list[str]:
    """A notebook's code."""
    found = nbformat.read(path, 4).cells
    return [str(cell.source) for cell in found if cell.cell_type == "code"]


def write(path: Path, sources: Sequence[str]) -> Path:
    """A notebook with these code cells."""
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


def as_cell(exercise: Exercise, function: Callable[..., Any]) -> str:
    """An answer with all that it uses, as a learner could have written it into one cell."""
    spec, home = inspect.getmodule(exercise.cases), inspect.getmodule(function)
    assert spec is not None and home is not None
    allowed = provided(exercise.lesson)
    name = next((n for n, one in vars(home).items() if one is function), function.__name__)
    taken, factory = _patched(function, allowed), function.__qualname__.partition(".<locals>")[0]
    if not taken and factory != function.__qualname__:  # made of the exercise's own answer
        base = exercise.wrong.base[0].__name__  # type: ignore[attr-defined]
        taken = _with_imports(inspect.getsource(home), [factory], allowed)
        taken += "\n\n" + _with_imports(inspect.getsource(spec), [base], allowed)
        name = f"next(f for f in {factory}({base}) if f.__name__ == {name!r})"
    taken = taken or _with_imports(inspect.getsource(home), [name], allowed)
    body = textwrap.indent(f"{taken}\n\nreturn {name}", "    ")
    return (
        "from __future__ import annotations\n\n"
        f"def make_{exercise.function}_answer():\n{body}\n\n"
        f"{exercise.function} = make_{exercise.function}_answer()\n"
    )


def _patched(function: Callable[..., Any], allowed: Sequence[str]) -> str:
    """What a patched answer needs, "" for another one: what was patched instead of what it was."""
    texts: dict[str, list[str]] = {}
    for module, text in getattr(function, "patched", ()):
        texts.setdefault(module, []).append(text)
    parts, given = list[str](), list[str]()
    for module, changed in reversed(texts.items()):
        names = [node.name for text in changed for node in _defined(text)]
        tree = ast.parse(inspect.getsource(import_module(module)))
        tree.body = [node for node in tree.body if getattr(node, "name", "") not in names]
        source = "\n\n".join([ast.unparse(tree), *changed])
        parts.append(_with_imports(source, names, allowed, given))
        given += names
    return "\n\n".join(parts)


def _defined(text: str) -> list[Any]:
    return [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]


def _with_imports(
    source: str, names: Sequence[str], allowed: Sequence[str], given: Sequence[str] = ()
) -> str:
    """What some names of a module need, with the course's hidden modules written out.

    given: names that are there already.
    """
    parts: list[str] = []
    whole = dict(pair for node in ast.walk(ast.parse(source)) for pair in _modules(node))
    for statement in cells.needed(cells.read([source]).statements, names):
        inliner = _Inliner(allowed, whole, given)
        node = inliner.visit(statement.node)
        parts += inliner.parts
        if node is not None:
            parts.append(ast.unparse(ast.fix_missing_locations(node)))
    return "\n\n".join(dict.fromkeys(parts))


def _modules(node: ast.AST) -> list[tuple[str, str]]:
    """The specs' modules that an import makes whole, by their names there."""
    if not isinstance(node, ast.ImportFrom) or not re.fullmatch(LESSON, node.module or ""):
        return []
    return [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]


class _Inliner(ast.NodeTransformer):
    """Takes imports of hidden modules out; their text is in `parts`.

    whole: those of them that are imported whole, by their names, of which `name.part` is used.
    given: names that are there already.
    """

    def __init__(
        self, allowed: Sequence[str], whole: Mapping[str, str], given: Sequence[str]
    ) -> None:
        self.allowed, self.whole, self.given, self.parts = allowed, whole, given, list[str]()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        module = self.whole.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if module is None:
            return node
        source = inspect.getsource(import_module(module))
        self.parts.append(_with_imports(source, [node.attr], self.allowed))
        return ast.Name(node.attr, node.ctx)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        module = node.module or ""
        hidden = re.match(r"helpers\.lessons\.\w+\.(exercises|algorithms)\b", module)
        if module == "__future__":
            return None
        given = module in self.allowed or f"{module}.{node.names[0].name}" in self.allowed
        if not hidden or given:
            node.names = [alias for alias in node.names if alias.name not in self.given]
            return node if node.names else None
        names = [alias.name for alias in node.names if alias.name not in self.given]
        source = inspect.getsource(import_module(module))
        self.parts.append(_with_imports(source, names, self.allowed))
        if not _modules(node):  # a module's new name stands for no value
            self.parts += [f"{a.asname} = {a.name}" for a in node.names if a.asname]
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node
