"""The lessons' own GPU cells, one after the other, each in a process of its own.

A GPU cell is a code cell of a solution that asks for GPUs. It runs after those statements of the
cells above it that bind what it names, and no others: so a machine without TensorFlow runs the
torch cells of every lesson.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import symtable
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.report import Report

ROOT = Path(__file__).parent.parent
ASKS = ("torch.cuda.", 'list_physical_devices("GPU")')
SIMPLE = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
PATIENCE = 240.0  # seconds for a cell
MISSING = "ModuleNotFoundError: "
FAILED = "GPU cells that end with an error"


@dataclass(frozen=True)
class Cell:
    """A lesson's GPU cell, and the source that it needs before it."""

    lesson: str
    name: str
    before: str
    source: str

    @property
    def program(self) -> str:
        """All of it, as a script."""
        return f"{self.before}\n\n# {self.name}\n{self.source}\n"


def cells(folder: Path = ROOT / "solutions") -> Iterator[Cell]:
    """The GPU cells of every lesson, in order."""
    for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
        before: list[ast.stmt] = []
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            source = "".join(cell["source"])
            own = ast.parse(source).body
            if any(asks in source for asks in ASKS):
                kept = "\n".join(map(ast.unparse, needed(before, own)))
                yield Cell(path.name[:2], cell["id"], kept, source)
            before += own


def needed(before: list[ast.stmt], cell: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that bind what a cell reads, what these read, and so on back to the first."""
    wanted: set[str] = set()
    for statement in reversed(cell):
        wanted = (wanted - bound(statement)) | read(statement)
    kept = []
    for statement in reversed(before):
        if here := bound(statement) & wanted:
            kept.append(statement)
            certain = here if isinstance(statement, SIMPLE) else set()
            wanted = (wanted - certain) | read(statement)
    return kept[::-1]


def bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds for those after it."""
    return {
        s.get_name() for s in _table(statement).get_symbols() if s.is_assigned() or s.is_imported()
    }


def read(statement: ast.stmt) -> set[str]:
    """The names that a statement, or a function in it, reads from what came before."""
    own, inner = _table(statement), [*_table(statement).get_children()]
    found = {symbol.get_name() for symbol in own.get_symbols() if symbol.is_referenced()}
    while inner:
        table = inner.pop()
        inner += table.get_children()
        found |= {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    # A loop binds its name before it reads it.
    return found if isinstance(statement, SIMPLE) else found - bound(statement)


def _table(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "cell", "exec")


def run(cell: Cell, patience: float = PATIENCE) -> tuple[int, str, float]:
    """The exit status of a cell's process, what it printed, and its seconds."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with TemporaryDirectory() as folder:
        script = Path(folder) / f"lesson_{cell.lesson}.py"
        script.write_text(cell.program, encoding="utf-8")
        start = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, str(script)],
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=patience,
            )
        except subprocess.TimeoutExpired:
            return 124, f"It had not ended after {patience:.0f} s.", patience
    told = done.stderr.strip() if done.returncode else ""
    if MISSING in told:  # where in the course a package is missed is nothing to know
        told = MISSING + told.rpartition(MISSING)[2].splitlines()[0]
    return done.returncode, f"{done.stdout}{told}".strip(), time.perf_counter() - start


def add_to(report: Report, folder: Path = ROOT / "solutions", patience: float = PATIENCE) -> None:
    """Run all of them; their outputs stand in the report's `extra`, under "cells"."""
    failed, outputs = 0, report.extra.setdefault("cells", {})
    for cell in cells(folder):
        status, text, seconds = run(cell, patience)
        outputs[f"{cell.lesson} {cell.name}"] = text
        last = text.splitlines()[-1] if text else ""
        if status and last.startswith(MISSING):
            note = "skipped: " + last.removeprefix(MISSING)
        elif status:
            failed += 1
            note = f"failed: {last}"
        else:
            note = "ran"
        report.add("the lessons' GPU cells", f"{cell.lesson} {cell.name}", [seconds], note)
    report.claim(FAILED, failed, 0, at_least=False, unit="")
