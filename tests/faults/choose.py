"""Choose places for faults, by a seed, and write them down; nobody has a say in which.

    python -m tests.faults.choose > tests/faults/faults.json
    python -m tests.faults.choose 48 > tests/faults/further.json

Each was done once, before the tests were changed (commits a487c9d and 3910978); the second list has
nothing in a file that the first one names. In other files the same seed chooses other places: the
lists stay as they are.

Four kinds: a sign, a missing wait, an off-by-one, a dropped message. The packages take turns, and
so do the kinds, as far as a package has them. A place is told by its file's name, its function and
the text of its lines, so that it is found again when files have moved.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

SEED = 27
HELPERS = Path(__file__).resolve().parents[2] / "helpers"
FIRST = Path(__file__).with_name("faults.json")
PACKAGES = {
    "algorithms": ("lessons/*/algorithms/*.py",),
    "engines": ("engine/**/*.py",),
    "exercises": ("lessons/*/exercises/*.py", "checks/**/*.py"),
    "grading": ("grade/**/*.py", "course/build/**/*.py"),
}
KINDS = ("sign", "missing wait", "off by one", "dropped message")
COUNT = 20
_WAITS = ("wait", "join", "barrier", "acquire", "result")
_SENDS = ("send", "isend", "put", "tell", "push", "put_nowait", "sendall", "notify_all")
_SHIFTED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_TURNED = {ast.Add: "-", ast.Sub: "+"}


@dataclass(frozen=True)
class Fault:
    """A place and what is to stand there. line: of the file as it was. old, new: its text.

    nth: which of the function's lines with this text, from 0.
    """

    kind: str
    package: str
    file: str
    function: str
    line: int
    old: str
    new: str
    nth: int


def faults(path: Path, package: str) -> Iterator[Fault]:
    """Every fault that could be planted in a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        inner = {
            n
            for f in ast.walk(function)
            if f is not function and isinstance(f, ast.FunctionDef)
            for n in ast.walk(f)
        }
        for node in ast.walk(function):
            if node in inner:
                continue
            for kind, line, new in changes(node, lines):
                old = lines[line - 1]
                nth = lines[function.lineno - 1 : line - 1].count(old)
                yield Fault(kind, package, path.name, function.name, line, old, new, nth)


def changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[str, int, str]]:
    """What can be put wrong at one place of the syntax: a kind, a line's number, its new text."""
    if isinstance(node, ast.BinOp) and type(node.op) in _TURNED:
        yield from between(node.left, node.right, _TURNED[type(node.op)], "sign", lines)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SHIFTED:
        new = _SHIFTED[type(node.ops[0])]
        yield from between(node.left, node.comparators[0], new, "off by one", lines)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        if node.lineno != node.end_lineno or not isinstance(node.value.func, ast.Attribute):
            return
        kind = {
            **dict.fromkeys(_WAITS, "missing wait"),
            **dict.fromkeys(_SENDS, "dropped message"),
        }.get(node.value.func.attr)
        if kind is not None:
            line = lines[node.lineno - 1]
            yield kind, node.lineno, line[: node.col_offset] + "pass" + line[node.end_col_offset :]


def between(
    left: ast.expr, right: ast.expr, new: str, kind: str, lines: list[str]
) -> Iterator[tuple[str, int, str]]:
    """Another operator between two operands of one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    line = lines[right.lineno - 1]
    gap = line[left.end_col_offset : right.col_offset]
    old = gap.strip("() ")
    if line.isascii() and old:
        gap = gap.replace(old, new)
        yield kind, right.lineno, line[: left.end_col_offset] + gap + line[right.col_offset :]


def chosen(seed: int = SEED, but: Collection[str] = ()) -> list[Fault]:
    """COUNT faults, no two in one file. but: names of files that are left out."""
    draw = random.Random(seed)
    found: list[Fault] = []
    of: dict[str, list[Fault]] = {}
    for package, where in PACKAGES.items():
        files = sorted({path for pattern in where for path in HELPERS.glob(pattern)})
        of[package] = [fault for path in files for fault in faults(path, package)]
    for number in range(COUNT):
        package = list(PACKAGES)[number % len(PACKAGES)]
        kind = KINDS[(number // len(PACKAGES) + number) % len(KINDS)]
        taken = {*but, *(fault.file for fault in found)}
        free = [fault for fault in of[package] if fault.file not in taken]
        some = [fault for fault in free if fault.kind == kind] or free
        found.append(draw.choice(some))
    return found


def main(arguments: list[str]) -> None:
    """Print the first list, or with a seed one whose files that list does not name."""
    found = chosen()
    if arguments:
        named = {each["file"] for each in json.loads(FIRST.read_text(encoding="utf-8"))}
        found = chosen(int(arguments[0]), named)
    print(json.dumps([asdict(fault) for fault in found], indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
