"""Read a submitted notebook as data: its code cells' text, and nothing else of it."""

from __future__ import annotations

import ast
import errno
import json
import os
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
    """The code cells of a notebook, in order.

    Outputs, metadata and execution counts are not looked at. Raises Unreadable.
    """
    import nbformat

    try:
        raw = _json(_bytes(path))
        minor = raw.get("nbformat") if isinstance(raw, dict) else None
        if type(minor) is not int or not 1 <= minor <= 4:
            raise Unreadable("The file is no notebook: it does not say which format it has.")
        notebook: Any = nbformat.from_dict(_bare(raw))
        if minor < 4:
            notebook = nbformat.convert(notebook, 4)
        nbformat.validate(notebook)
    except Unreadable:
        raise
    except Exception as error:  # the file may be anything, and so may what nbformat makes of it
        raise Unreadable(f"The file is no valid notebook ({type(error).__name__}).") from None
    return _sources(notebook)


def outputs_and_texts(path: Path) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """The outputs of the code cells and the text of the others, by nbgrader's id or the cell's own.

    They are the student's word, read as data. Raises Unreadable.
    """
    raw = _json(_bytes(path))
    cells = raw.get("cells") if isinstance(raw, dict) else None
    if not isinstance(cells, list) or len(cells) > MAX_CELLS:
        raise Unreadable("The file is no notebook that a report could be in.")
    outputs: dict[str, list[dict[str, Any]]] = {}
    texts: dict[str, str] = {}
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        name = _name(cell)
        if cell.get("cell_type") == "code":
            held = cell.get("outputs")
            outputs[name] = [o for o in held if isinstance(o, dict)] if type(held) is list else []
        else:
            source = cell.get("source", "")
            texts[name] = source if type(source) is str else "".join(map(str, source))
    return outputs, texts


def _name(cell: dict[str, Any]) -> str:
    """What a cell is called; a cell without a name has an empty one."""
    data = cell.get("metadata")
    graded = data.get("nbgrader") if isinstance(data, dict) else None
    name = graded.get("grade_id") if isinstance(graded, dict) else None
    return str(name or cell.get("id") or "")


def _sources(notebook: Any) -> list[str]:
    if len(notebook.cells) > MAX_CELLS:
        raise Unreadable(f"The notebook has more than {MAX_CELLS} cells.")
    found = [str(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    if sum(map(len, found)) > MAX_SOURCE:
        raise Unreadable(f"The notebook has more than {MAX_SOURCE:,} characters of code.")
    return found


def _bytes(path: Path) -> bytes:
    """A regular file's bytes, without following a link or waiting for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("The notebook is a link, and links are not followed.") from None
        raise Unreadable(f"The notebook cannot be read ({error.strerror}).") from None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Unreadable("The notebook is no regular file.")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Unreadable(f"The notebook is larger than {MAX_BYTES // 2**20} MiB.")
    return data


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"The file is no notebook ({type(error).__name__}).") from None


def _bare(raw: dict[str, Any]) -> dict[str, Any]:
    """The notebook without outputs and metadata: what is not read need not be valid."""
    if raw["nbformat"] < 4:
        sheets = [{"cells": [_old(c) for c in s["cells"]]} for s in raw.get("worksheets", [])]
        return {"nbformat": raw["nbformat"], "nbformat_minor": 0, "metadata": {}} | (
            {"worksheets": [s | {"metadata": {}} for s in sheets]}
        )
    cells = [_cell(cell) for cell in raw["cells"]]
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    source = cell["source"]
    text = source if isinstance(source, str) else "".join(source)
    if cell["cell_type"] != "code":
        return {"cell_type": "raw", "metadata": {}, "source": ""}
    return {
        "cell_type": "code",
        "metadata": {},
        "source": text,
        "outputs": [],
        "execution_count": None,
    }


def _old(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell of the third format and before, where code is called input."""
    if cell["cell_type"] != "code":
        return {"cell_type": "raw", "metadata": {}, "source": ""}
    source = cell["input"]
    text = source if isinstance(source, str) else "".join(source)
    return {
        "cell_type": "code",
        "metadata": {},
        "input": text,
        "outputs": [],
        "language": "python",
        "collapsed": False,
    }


_FORKS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "Popen", "Process"}


def to_look_at(sources: Sequence[str]) -> str:
    """What an instructor is to look at: cells that change the course's modules, or fork.

    That is no answer's business, and gains nothing; "" for nothing.
    """
    course, found = {"helpers"}, dict[str, None]()
    for number, source in enumerate(sources, 1):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            course |= set(_of_the_course(node))
            if _assigns_into(node, course):
                found[f"code cell {number} changes a module of the course"] = None
            elif _called(node) in _FORKS:
                found[f"code cell {number} starts processes"] = None
    return f"To look at: {'; '.join(found)}." if found else ""


def _of_the_course(node: ast.AST) -> Iterator[str]:
    """The names that an import gives to modules of the course, and to what is in them."""
    if isinstance(node, ast.Import):
        yield from (a.asname for a in node.names if a.asname and a.name.startswith("helpers"))
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("helpers"):
        yield from (a.asname or a.name for a in node.names)


def _assigns_into(node: ast.AST, names: set[str]) -> bool:
    """Whether an attribute of one of these is set."""
    root: ast.AST = node
    if _called(node) in ("setattr", "delattr"):
        assert isinstance(node, ast.Call)
        root = node.args[0] if node.args else node
    elif not (isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)):
        return False
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    return isinstance(root, ast.Name) and root.id in names


def _called(node: ast.AST) -> str:
    """The last name of what is called, or ""."""
    called: Any = node.func if isinstance(node, ast.Call) else None
    return str(getattr(called, "attr", getattr(called, "id", "")))
