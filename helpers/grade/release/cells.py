"""Which cells of a lesson wait for an answer where the course's own are left out, and what they
showed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nbformat import NotebookNode

from helpers.checks import find
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells
from helpers.grade.prune import Name, imported, scope
from helpers.notebook.recorded import digest
from helpers.rooms import names_in

# What was said of the machine that ran a cell is not said of the one that shows its outputs.
ELSEWHERE = {"this machine": "that machine", "here": "there", "Here": "There"}


def recorded(
    lesson: NotebookNode, solution: NotebookNode, withheld: set[Name]
) -> dict[str, dict[str, Any]]:
    """The table that `helpers.notebook.recorded` reads.

    A cell is in the table where it takes an exercise's answer (`helpers.mine_or_yours`), or uses
    what another cell of the table made. withheld: the functions of algorithms that are
    left out. Raises ValueError with a sentence for a cell that could not run with every exercise
    done: one that calls such a function, or that takes an answer which is asked for further down.
    """
    outputs = {cell.id: cell.outputs for cell in code_cells(solution)}
    needs: dict[str, set[tuple[str, str]]] = {}  # by the name that a cell makes
    asked: set[str] = set()
    found: dict[str, dict[str, Any]] = {}
    called = direct_uses(lesson)
    for cell in code_cells(lesson):
        if missing := called[cell.id] & withheld:
            raise ValueError(
                f"Cell {cell.id} names `{min(missing)[1]}`, which answers an exercise: let it take "
                "the learner's own, by mine_or_yours."
            )
        if number := number_of(cell):
            asked.add(number)
        if number or number_of(cell, CHECK_ID):
            continue
        makes, uses = scope(cell.source)
        taken = answers(cell.source)
        mine = {(number, find(number).function) for number in taken.values()}
        if early := {number for number, _ in mine} - asked:
            raise ValueError(
                f"Cell {cell.id} takes the answer to {min(early)}, which is asked for further down."
            )
        mine = mine.union(*(needs.get(name, set()) for name in uses))
        needs |= {name: mine for name in makes}
        if mine:
            found[digest(cell.source)] = {
                "needs": sorted(mine),
                "names": {name: number for name, number in taken.items() if name.isidentifier()},
                "outputs": [shown(one) for one in outputs[cell.id]],
            }
    return found


def answers(source: str) -> dict[str, str]:
    """The exercises whose answers a cell takes by `helpers.mine_or_yours("02.1", …)`.

    Each by the name that the cell gives the answer, or by its number where it has none.
    """
    tree, found = ast.parse(source), {}
    for node in ast.walk(tree):
        if (number := _taken(node)) is not None:
            found[number] = number
    for node in tree.body:
        if isinstance(node, ast.Assign) and (number := _taken(node.value)) is not None:
            del found[number]
            found |= {ast.unparse(target): number for target in node.targets}
    return found


def _taken(node: ast.AST) -> str | None:
    """The exercise whose answer a call takes."""
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith("mine_or_yours"):
        return None
    number: str = ast.literal_eval(node.args[0])
    return number


def direct_uses(lesson: NotebookNode) -> dict[str, set[Name]]:
    """For each cell, by its id, what it names of modules that it or an earlier cell imported."""
    places: dict[str, Name] = {}
    found: dict[str, set[Name]] = {}
    for cell in code_cells(lesson):
        tree = ast.parse(cell.source)
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in imports:
            places |= {local: _at_home(place) for local, place in imported(node).items()}
        found[cell.id] = set(named(tree, places))
    return found


def _at_home(place: Name) -> Name:
    """Where something is that a room hands out."""
    module, name = place
    return names_in(module).get(name, place)


def named(tree: ast.AST, places: Mapping[str, Name]) -> Iterator[Name]:
    """What a piece of code names of imported modules, as (module, name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, inner = places.get(node.value.id, ("", ""))
            yield f"{module}.{inner}" if inner else module, node.attr
        if isinstance(node, ast.Name) and node.id in places:
            yield places[node.id]


def shown(output: NotebookNode) -> dict[str, Any]:
    """An output without what is only true of the run that made it, and of its machine."""
    kept = dict(output)
    if kept["output_type"] == "stream":
        lines = kept["text"].splitlines(keepends=True)
        kept["text"] = "".join(line for line in lines if not line.startswith("This runs your `"))
        kept["text"] = _elsewhere(kept["text"])
        return kept
    kept["data"] = {
        kind: _elsewhere(value) if kind in ("text/plain", "text/html") else value
        for kind, value in kept["data"].items()
    }
    if alt := kept["metadata"].get("image/png", {}).get("alt"):
        kept["metadata"] = {"image/png": {"alt": _elsewhere(alt)}}
    return kept


def _elsewhere(text: str) -> str:
    """Words about the machine that ran a cell, for another machine."""
    return re.sub(r"\b(this machine|[Hh]ere)\b", lambda found: ELSEWHERE[found[0]], text)
