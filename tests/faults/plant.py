"""Plant one of the faults that were written down, run a command, and take the fault out again.

    python -m tests.faults.plant 3 -- .venv/bin/python -m pytest -x tests/lessons/pipelines

Its exit status is the command's: not 0 where the fault was found. In a checkout of its own: while
the fault is in, nothing else is to run there.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from tests.faults.choose import FIRST, HELPERS, Fault

LISTS = (FIRST, FIRST.with_name("further.json"))
# By the number in the lists, what stands now for a place that was rewritten since.
NOW = Path(__file__).with_name("now.json")


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
