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
MAX_TEXT = 20_000  # characters of a cell that is no code
MAX_SOURCE = 2 * 2**20  # characters of all code cells


class Unreadable(ValueError):
    """A file that is no notebook to grade; the text says why, in one sentence."""


def code_cells(path: Path) -> list[str]:
    """The code cells of a notebook, in order; nothing else is looked at. Raises Unreadable."""
    found = [_source(cell) for cell in _cells(path) if cell.get("cell_type") == "code"]
    if sum(map(len, found)) > MAX_SOURCE:
        raise Unreadable(f"The notebook has more than {MAX_SOURCE:,} characters of code.")
    return found


def other_cells(path: Path) -> list[tuple[str, str]]:
    """What is no code, (kind, the text's beginning). Raises Unreadable."""
    found = []
    for cell in _cells(path):
        if (kind := cell.get("cell_type")) != "code":
            source = cell.get("source")
            text = "".join(map(str, source if type(source) is list else [source]))
            found.append(("Markdown" if kind == "markdown" else "raw", text[:MAX_TEXT]))
    return found


def begin(source: str) -> str:
    """By which a cell is known: its first line. Jupyter shows no number that stays."""
    return next((line.strip()[:80] for line in source.splitlines() if line.strip()), "")


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
        raw = json.loads(data)  # in UTF-8, or in UTF-16 or 32, as its first bytes say
    except (ValueError, RecursionError) as error:
        raise Unreadable(_instead(data, error)) from None
    if not isinstance(raw, dict) or "nbformat" not in raw:
        raise Unreadable("The file is JSON, but no notebook: hand in the notebook itself.")
    if raw["nbformat"] != 4:
        raise Unreadable(
            "The notebook is not of format 4, which Jupyter writes since 2014: open it in "
            "JupyterLab, save it, and hand that in."
        )
    cells = raw.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise Unreadable("The file is no valid notebook: it has no cells.")
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"The notebook has more than {MAX_CELLS} cells.")
    return cells


def _instead(data: bytes, error: Exception) -> str:
    """What a file is that is no JSON, and what to do."""
    text = data.decode(json.detect_encoding(data), "replace").lstrip("\ufeff")
    start, lines = text[:500].strip().lower(), text.split("\n")
    marked = [number for number, line in enumerate(lines, 1) if line.startswith("<<<<<<<")]
    if not text.strip():
        return "The file is empty, so the upload failed: hand it in once more."
    if start.startswith(("<!doctype", "<html", "<?xml")):
        return (
            "The file is a web page (a login page, or an export) that is called like a notebook: "
            "hand in the notebook itself, in JupyterLab by File > Download."
        )
    if data.startswith((b"PK\x03\x04", b"%PDF", b"\x1f\x8b", b"Rar!", b"7z")):
        return "The file is an archive or a PDF, called like a notebook: hand in the notebook."
    if marked:
        return (
            f"Git has left merge conflicts in it (<<<<<<< in {len(marked)} of its lines, first "
            f"in line {marked[0]}), so Jupyter cannot open it either: settle them and hand it in."
        )
    if not start.startswith(("{", "[")):
        return f"The file is no notebook, it begins with `{begin(text)}`: hand in the notebook."
    if isinstance(error, UnicodeDecodeError):
        return (
            f"The text is not in UTF-8 (byte {error.start} is 0x{data[error.start]:02x}), so some "
            "other editor has saved it: save it as UTF-8, or hand in a copy from JupyterLab."
        )
    if isinstance(error, json.JSONDecodeError):
        ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        what, why = ("breaks off", "") if ends else ("is damaged", f" ({error.msg})")
        return (
            f"The notebook {what} in line {error.lineno} of {len(lines)}{why}, so Jupyter cannot "
            "open it either: hand in one that opens."
        )
    return "The file is no notebook that can be read: hand in one that opens in JupyterLab."


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
        raise Unreadable(
            f"The notebook is larger than {MAX_BYTES // 2**20} MiB, which outputs make it: clear "
            "them in JupyterLab (Edit > Clear Outputs of All Cells), save it, and hand that in."
        )
    return data


_FORKS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "Popen", "Process"}


def to_look_at(sources: Sequence[str]) -> str:
    """What an instructor is to look at: cells that change the course's modules, or fork.

    That is no answer's business, and gains nothing; "" for nothing.
    """
    course, found = {"helpers"}, dict[str, None]()
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = list(ast.walk(ast.parse(source)))
            cell = f"the cell that begins with `{begin(source)}`"
            course |= {name for node in nodes for name in _of_the_course(node)}
            parts = [re.split(r"[.[]", changed)[0] for changed in _changed(nodes)]
            modules = any(c.startswith("sys.modules[") for c in _changed(nodes))
            # `type(comm).time = …` changes what the course handed over.
            if modules or any(p in course or p.startswith("type(") for p in parts):
                found[f"{cell} changes a module of the course"] = None
            called = [name.rpartition(".")[2] for _, name in _calls(nodes)]
            taken = [
                a.name for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names
            ]
            if not _FORKS.isdisjoint([*called, *taken]):
                found[f"{cell} starts processes"] = None
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
