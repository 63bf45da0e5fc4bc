"""Knobs turn after Run All: what they redraw with must still be what it was in their own cell."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Sequence

import pytest

from helpers.course.build.notebook import code_cells, read
from helpers.course.build.run import ROOT, notebooks

LESSONS = {path.name[:2]: path for path in notebooks(ROOT / "solutions")}
SCOPES = (ast.FunctionDef, ast.ClassDef)
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def given_anew(cells: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(cell, name) where a cell gives another value to a name that an earlier widget reads."""
    functions: dict[str, set[str]] = {}  # what each function of the notebook reads
    widgets: set[str] = set()
    for number, source in enumerate(cells):
        tree = ast.parse(source)
        yield from ((number, name) for name in sorted(bound([tree]) & widgets))
        for statement in tree.body:
            for name in bound([statement]):
                functions[name] = read_late(ast.unparse(statement))
        widgets |= reached(redraws(tree), functions)


def redraws(tree: ast.Module) -> set[str]:
    """The names that stand in a cell's call of `explore`, `partial` and others in it included, and
    those that its lambdas read."""
    names: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "explore":
            names |= read_late(ast.unparse(call))
            outside = symtable.symtable(ast.unparse(call), "cell", "exec")  # of its lambdas
            names |= {s.get_name() for s in outside.get_symbols()} - {"explore"}
    return names


def reached(names: set[str], functions: dict[str, set[str]]) -> set[str]:
    """These names, what the functions among them read, and so on."""
    found: set[str] = set()
    while new := names - found:
        found |= new
        names = set().union(*(functions.get(name, set()) for name in new))
    return found


def read_late(source: str) -> set[str]:
    """The notebook's names that functions in a piece of code read when they are called."""
    found, left = set[str](), [symtable.symtable(source, "cell", "exec")]
    while left:
        table = left.pop()
        left += table.get_children()
        if table.get_type() == "function":
            found |= {s.get_name() for s in table.get_symbols() if s.is_global()}
    return found


def bound(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements give a value to, in the notebook's own scope."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, SCOPES):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, (*SCOPES, *INNER)):
            found |= bound(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_later_cell_changes_what_a_widget_redraws_with(lesson: str) -> None:
    cells = code_cells(read(LESSONS[lesson]))
    ids, sources = zip(*((cell.id, cell.source) for cell in cells), strict=True)
    changed = [(ids[number], name) for number, name in given_anew(sources)]
    assert not changed, "turned after Run All, a widget would read another value: rename these"


@pytest.mark.parametrize(
    "later", ["for words in 'ab': pass", "def words(): pass", "import os as words", "rate = 1"]
)
def test_it_finds_a_name_that_is_given_another_value(later: str) -> None:
    cells = ["rate = 0.3", "def words(n): return n * rate", "explore(lambda n: words(n), n=(1, 2))"]
    assert [name for _, name in given_anew([*cells, later])] == [bound([ast.parse(later)]).pop()]
    assert not [*given_anew([*cells, "print([words(n) for n in (1, 2)])\nn = 3"])]
    cells[-1] = "explore(partial(words, 2), n=(1, 2))"
    assert [*given_anew([*cells, later])]
