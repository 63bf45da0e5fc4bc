"""Who imports whom: the modules of the course and its tests, and the notebooks that use them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from helpers.course.setup.places import ROOT
from helpers.rooms import names_in

FOLDERS = ("helpers", "tests", "benchmarks")
NOTEBOOKS = ("solutions", "lessons")
Graph = Mapping[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module, by its dotted name from the course's folder."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {dotted(path): path for path in paths}


def dotted(path: Path) -> str:
    """A module's name, of its file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    """A file's code."""
    return code(path.read_text(encoding="utf-8"))


def code(source: str) -> ast.Module:
    """Some text's code; nothing of one that is no Python, about which others speak: the style
    check, or the cell that shows an error."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def imported(node: ast.AST, packages: bool = False) -> Iterator[str]:
    """What is imported anywhere in some code, in functions too, but for types alone.

    packages: also the package out of which a module is imported.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from imported(ast.Module(child.orelse, []), packages)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            handed = names_in(str(child.module))
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                if inner in modules():
                    yield inner
                if packages or inner not in modules():
                    yield str(child.module)
                if alias.name in handed:
                    yield handed[alias.name][0]
        else:
            yield from imported(child, packages)


@cache
def graph() -> dict[str, set[str]]:
    """The modules that each module imports. A test finds those beside it by their bare names."""
    found = {}
    for name, path in modules().items():
        used = set()
        for other in imported(parsed(path)):
            beside = f"{name.rpartition('.')[0]}.{other}"
            used |= {one for one in (other, beside, f"tests.{other}") if one in modules()}
        found[name] = used - {name}
    return found


@cache
def started() -> dict[str, set[str]]:
    """The modules that each module names in a text, to run them or to import them later."""
    found = {}
    for name, path in modules().items():
        nodes = ast.walk(parsed(path))
        texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        found[name] = {text.partition(":")[0] for text in texts} & modules().keys() - {name}
    return found


@cache
def notebooks() -> dict[str, set[str]]:
    """The modules that the cells of each notebook import, by its path from the course's folder."""
    found = {}
    for path in [p for folder in NOTEBOOKS for p in sorted((ROOT / folder).glob("*.ipynb"))]:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        used = {name for source in sources for name in imported(code(source))}
        found[path.relative_to(ROOT).as_posix()] = used & modules().keys()
    return found


def importers(of: Iterable[str], among: Graph) -> set[str]:
    """These modules, and all that import one of them, over others too."""
    users: dict[str, set[str]] = {}
    for name, used in among.items():
        for other in used:
            users.setdefault(other, set()).add(name)
    seen, waiting = set[str](), list(of)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += users.get(name, ())
    return seen
