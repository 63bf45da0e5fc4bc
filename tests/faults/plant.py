"""Plant one of the faults that were written down, run a command, and take the fault out again.

    python -m tests.faults.plant 3 -- .venv/bin/python -m pytest -x tests/lessons/pipelines

The lists were drawn by a seed before any test was changed (commits a487c9d and 3910978): a sign, a
missing wait, an off-by-one, a dropped message, in four packages by turns, no two in one file.
Its exit status is the command's: not 0 where the fault was found. In a checkout of its own: while
the fault is in, nothing else is to run there.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HELPERS = Path(__file__).resolve().parents[2] / "helpers"
LISTS = [Path(__file__).with_name(name) for name in ("faults.json", "further.json")]
# By the number in the lists, what stands now for a place that was rewritten since.
NOW = Path(__file__).with_name("now.json")


@dataclass(frozen=True)
class Fault:
    """A place and what is to stand there. line: of the file as it was. old, new: its text.

    A place is told by its file's name, its function and its text, so that it is found again when
    files have moved. nth: which of the function's lines with this text, from 0.
    """

    kind: str
    package: str
    file: str
    function: str
    line: int
    old: str
    new: str
    nth: int


def written() -> list[Fault]:
    """The faults in the lists, in order, as they can be planted now."""
    listed = [each for path in LISTS for each in json.loads(path.read_text(encoding="utf-8"))]
    now = json.loads(NOW.read_text(encoding="utf-8"))
    return [Fault(**{**each, **now.get(str(n), {})}) for n, each in enumerate(listed)]


def place(fault: Fault) -> tuple[Path, int]:
    """The file and the line, from 0, where a fault's text stands now.

    Raises LookupError where no file of that name has it in that function.
    """
    for path in sorted(HELPERS.rglob(fault.file)):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == fault.function:
                body = range(node.lineno - 1, node.end_lineno or node.lineno)
                at = [number for number in body if lines[number].strip() == fault.old.strip()]
                if len(at) > fault.nth:
                    return path, at[fault.nth]
    raise LookupError(
        f"No {fault.file} in {fault.package} has `{fault.old.strip()}` in {fault.function}: the "
        "place was rewritten. Find what stands for it now, and say so in now.json."
    )


def main(number: int, command: list[str]) -> int:
    """Plant fault `number`, from 0, and run the command; returns its exit status."""
    fault = written()[number]
    path, at = place(fault)
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = f"{indent}{fault.new.strip()}\n"
    try:
        path.write_text("".join(lines), encoding="utf-8")
        return subprocess.call(command)
    finally:
        path.write_text(before, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[3:]))
