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
from functools import cache
from pathlib import Path

from nbformat import NotebookNode

from helpers.course.build import imports
from helpers.course.setup.places import ROOT

IN_A_ROOM = re.compile(r"helpers\.lessons\.\w+\.(?:algorithms|experiments|figures)\b")


def imports_hash(notebook: NotebookNode) -> str:
    """A hash of the code of all modules that the outputs of a solution depend on."""
    found: set[str] = set()
    waiting = [imports.code(c.source) for c in notebook.cells if c.cell_type == "code"]
    while waiting:
        for name in in_rooms(waiting.pop()) - found:
            found.add(name)
            waiting.append(imports.parsed(imports.modules()[name]))
    digest = hashlib.sha256()
    for path in sorted(imports.modules()[name] for name in found):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{code_of(path)}\0".encode())
    return digest.hexdigest()[:16]


@cache
def in_rooms(tree: ast.Module) -> set[str]:
    """The lessons' modules that code imports, and their packages."""
    names = imports.imported(tree, packages=True)
    return {name for name in names if IN_A_ROOM.match(name) and name in imports.modules()}


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
