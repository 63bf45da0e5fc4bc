"""Which cells of a lesson cannot run where its answers are left out, and what they showed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from nbformat import NotebookNode

from helpers.exercises import find
from helpers.instructor.build_lesson import CHECK_ID, number_of
from helpers.instructor.build_notebook import code_cells
from helpers.instructor.release.prune import Name, imported, scope
from helpers.notebook.recorded import digest

NO_PREDICTION = " You made no prediction: try one, and run again."


def recorded(
    lesson: NotebookNode, solution: NotebookNode, withheld: set[Name]
) -> dict[str, dict[str, Any]]:
    """The table that `helpers.notebook.recorded` reads.

    withheld: the functions of `helpers.algorithms` that are left out. A cell is in the table where
    it takes an exercise's answer (`helpers.mine_or_yours`), calls such a function, or uses what
    another cell of the table made.
    """
    outputs = {cell.id: cell.outputs for cell in code_cells(solution)}
    needs: dict[str, set[tuple[str, str]]] = {}  # by the name that a cell makes
    lacks: dict[str, set[str]] = {}
    found: dict[str, dict[str, Any]] = {}
    called = direct_uses(lesson)
    for cell in code_cells(lesson):
        if number_of(cell) or number_of(cell, CHECK_ID):
            continue
        makes, uses = scope(cell.source)
        mine = {(number, find(number).function) for number in answers(cell.source)}
        mine = mine.union(*(needs.get(name, set()) for name in uses))
        missing = {name for module, name in called[cell.id] if (module, name) in withheld}
        missing = missing.union(*(lacks.get(name, set()) for name in uses))
        needs |= {name: mine for name in makes}
        lacks |= {name: missing for name in makes}
        if mine or missing:
            found[digest(cell.source)] = {
                "needs": sorted(mine),
                "withheld": sorted(missing),
                "outputs": [_shown(one) for one in outputs[cell.id]],
            }
    return found


def answers(source: str) -> Iterator[str]:
    """The exercises whose answers a cell takes by `helpers.mine_or_yours("02.1", …)`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mine_or_yours"):
            yield ast.literal_eval(node.args[0])


def direct_uses(lesson: NotebookNode) -> dict[str, set[Name]]:
    """For each cell, by its id, what it names of modules that it or an earlier cell imported."""
    places: dict[str, Name] = {}
    found: dict[str, set[Name]] = {}
    for cell in code_cells(lesson):
        tree = ast.parse(cell.source)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imports:
            places |= imported(node)
        found[cell.id] = set(named(tree, places))
    return found


def named(tree: ast.AST, places: Mapping[str, Name]) -> Iterator[Name]:
    """What a piece of code names of imported modules, as (module, name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, inner = places.get(node.value.id, ("", ""))
            yield f"{module}.{inner}" if inner else module, node.attr
        if isinstance(node, ast.Name) and node.id in places:
            yield places[node.id]


def _shown(output: NotebookNode) -> dict[str, Any]:
    """An output without what is only true of the run that made it."""
    kept = dict(output)
    if kept["output_type"] == "stream":
        lines = kept["text"].splitlines(keepends=True)
        kept["text"] = "".join(line for line in lines if not line.startswith("This runs your `"))
    else:
        texts = ("text/plain", "text/html")
        kept["data"] = {
            kind: value.replace(NO_PREDICTION, "") if kind in texts else value
            for kind, value in kept["data"].items()
        }
    return kept
