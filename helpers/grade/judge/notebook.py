"""Read a submitted notebook as data: its code cells' text, and nothing else of it."""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MAX_BYTES = 20 * 2**20
MAX_CELLS = 2000
MAX_SOURCE = 2 * 2**20  # characters of all code cells


class Unreadable(ValueError):
    """A file that is no notebook to grade; the text says why, in one sentence."""


def code_cells(path: Path) -> list[str]:
    """The code cells of a notebook, in order; nothing else is looked at. Raises Unreadable."""
    found = [_source(cell) for cell in _cells(path) if cell.get("cell_type") == "code"]
    if sum(map(len, found)) > MAX_SOURCE:
        raise Unreadable(f"The notebook has more than {MAX_SOURCE:,} characters of code.")
    return found


def outputs_and_texts(path: Path) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """The outputs of the code cells and the text of the others, by nbgrader's id or the cell's own.

    They are the student's word, read as data. Raises Unreadable.
    """
    outputs: dict[str, list[dict[str, Any]]] = {}
    texts: dict[str, str] = {}
    for cell in _cells(path):
        name = _name(cell)
        if cell.get("cell_type") == "code":
            held = cell.get("outputs")
            outputs[name] = [o for o in held if isinstance(o, dict)] if type(held) is list else []
        else:
            texts[name] = _source(cell)
    return outputs, texts


def _cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    data = _bytes(path)
    try:
        raw = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"The file is no notebook ({type(error).__name__}).") from None
    if not isinstance(raw, dict) or raw.get("nbformat") != 4:
        raise Unreadable("The file is no notebook of format 4: open it in JupyterLab and save it.")
    cells = raw.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise Unreadable("The file is no valid notebook: it has no cells.")
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"The notebook has more than {MAX_CELLS} cells.")
    return cells


def _source(cell: dict[str, Any]) -> str:
    """A cell's text, which may be a list of lines."""
    source = cell.get("source")
    if type(source) is list and all(type(line) is str for line in source):
        return "".join(source)
    if type(source) is not str:
        raise Unreadable("The file is no valid notebook: a cell has no text.")
    return source


def _name(cell: dict[str, Any]) -> str:
    """What a cell is called; a cell without a name has an empty one."""
    data = cell.get("metadata")
    graded = data.get("nbgrader") if isinstance(data, dict) else None
    name = graded.get("grade_id") if isinstance(graded, dict) else None
    return str(name or cell.get("id") or "")


def _bytes(path: Path) -> bytes:
    """A regular file's bytes, without following a link or waiting for a pipe."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

    try:
        with open(path, "rb", opener=opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unreadable("The notebook is no regular file.")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("The notebook is a link, and links are not followed.") from None
        raise Unreadable(f"The notebook cannot be read ({error.strerror}).") from None
    if len(data) > MAX_BYTES:
        raise Unreadable(f"The notebook is larger than {MAX_BYTES // 2**20} MiB.")
    return data


_FORKS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "Popen", "Process"}


def to_look_at(sources: Sequence[str]) -> str:
    """What an instructor is to look at: cells that change the course's modules, or fork.

    That is no answer's business, and gains nothing; "" for nothing.
    """
    course, found = {"helpers"}, dict[str, None]()
    for number, source in enumerate(sources, 1):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = list(ast.walk(ast.parse(source)))
            course |= {name for node in nodes for name in _of_the_course(node)}
            if any(re.split(r"[.[]", changed)[0] in course for changed in _changed(nodes)):
                found[f"code cell {number} changes a module of the course"] = None
            called = [name.rpartition(".")[2] for _, name in _calls(nodes)]
            taken = [
                a.name for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names
            ]
            if not _FORKS.isdisjoint([*called, *taken]):
                found[f"code cell {number} starts processes"] = None
    return f"To look at: {'; '.join(found)}." if found else ""


def _of_the_course(node: ast.AST) -> Iterator[str]:
    """The names that an import gives to modules of the course, and to what is in them."""
    if isinstance(node, ast.Import):
        yield from (a.asname for a in node.names if a.asname and a.name.startswith("helpers"))
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
        yield from (a.asname or a.name for a in node.names)


def _changed(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """What an attribute, or an item of one, is set of, or taken from, as it is written."""
    for node in nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute):
            continue
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield ast.unparse(node)
    for call, name in _calls(nodes):
        if name in ("setattr", "delattr") and call.args:
            yield ast.unparse(call.args[0])


def _calls(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.Call, str]]:
    """The calls, each with what is called, as it is written."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)
