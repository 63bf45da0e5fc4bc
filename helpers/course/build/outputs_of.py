"""What a solution's outputs were made with: the lesson's own modules that its cells import.

Outputs grow old when a view, a workload or an algorithm that a cell names is changed. Held are the
modules that cells import by name, and what these import of the same packages: nearly all of them
belong to one lesson. The engines and the checks are not held. Every lesson runs on them, so any
change would make all nineteen run again, and their own tests hold that they do what they did.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nbformat import NotebookNode

from helpers.course.setup.places import ROOT
from helpers.rooms import names_in

IN_A_ROOM = re.compile(r"helpers\.lessons\.\w+\.(?:algorithms|experiments|figures)\b")


def imports_hash(notebook: NotebookNode) -> str:
    """A hash of the code of all modules that the outputs of a solution depend on."""
    found: set[Path] = set()
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    left = {path for source in cells for path in imported(_parsed(source))}
    while left:
        found |= left
        left = {p for path in left for p in imports_of(path)} - found
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{code_of(path)}\0".encode())
    return digest.hexdigest()[:16]


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # told elsewhere
        return ast.Module([], [])


@cache
def imports_of(path: Path) -> frozenset[Path]:
    """The modules of the packages that a module imports, in its functions, too."""
    return frozenset(imported(ast.parse(path.read_text(encoding="utf-8"))))


def imported(tree: ast.AST) -> Iterator[Path]:
    """The files of the packages that code imports; of a package, its `__init__`."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            names += [names_in(node.module).get(alias.name, ("",))[0] for alias in node.names]
        for name in names:
            where = name.replace(".", "/")
            if IN_A_ROOM.match(name):
                places = (ROOT / f"{where}.py", ROOT / where / "__init__.py")
                yield from (path for path in places if path.is_file())


@cache
def code_of(path: Path) -> str:
    """A module's text without comments, docstrings and blanks, which no output comes of."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0]
            for number in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[number] = ""
    return "".join("".join(lines).split())
