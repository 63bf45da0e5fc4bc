"""What of the answers and hidden cases can be found in a ZIP, however it is packed in it."""

from __future__ import annotations

import ast
import inspect
import io
import json
import textwrap
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from helpers.checks import everything, find, provided
from helpers.checks.encoding import encode
from helpers.checks.spec import Exercise
from helpers.course.build.check import _REGION
from helpers.course.build.notebook import code_cells, read
from helpers.grade.hidden import HIDDEN_SEEDS

ROOT = Path(__file__).parents[1]
# Called by answers, but by what the lesson shows as well.
SHOWN = {"flat_view", "check_bits", "check_values"}
FEW_NODES = 25  # smaller functions, such as `return rate * times`, tell nothing


# --- what is in a ZIP -----------------------------------------------------------------------------


def members(data: bytes, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """Every file of a ZIP, those of ZIPs inside it too."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            held = archive.read(name)
            yield prefix + name, held
            if zipfile.is_zipfile(io.BytesIO(held)):
                yield from members(held, f"{prefix}{name}!")


def texts(name: str, held: bytes) -> Iterator[str]:
    """The texts that a file holds: itself, and every string inside JSON and notebooks."""
    text = held.decode("utf-8")
    yield text
    if name.endswith((".json", ".ipynb")):
        yield from strings(json.loads(text))


def strings(data: Any) -> Iterator[str]:
    """Every text in some JSON data; the lines of a cell as one."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from strings(value)
    elif isinstance(data, list):
        if data and all(isinstance(one, str) for one in data):
            yield "".join(data)
        for value in data:
            yield from strings(value)


# --- what must not be in it -----------------------------------------------------------------------


def withheld(lesson: str) -> list[Exercise]:
    """The exercises of this lesson and of later ones."""
    return [exercise for exercise in everything() if exercise.lesson >= lesson]


def answer_functions(exercise: Exercise) -> Iterator[ast.FunctionDef]:
    """The reference, the wrong answers, and what they call of what their own lesson builds."""
    lesson = f"{int(exercise.lesson) + 1:02d}"
    built = set(provided(lesson)) - set(provided(exercise.lesson))
    waiting: list[Any] = [exercise.reference, *(w.function for w in exercise.wrong)]
    seen: set[Any] = set()
    while waiting:
        function = waiting.pop()
        home = inspect.getmodule(function)
        if not inspect.isfunction(function) or function in seen or home is None:
            continue
        seen.add(function)
        if home.__name__ not in built and ".exercises." not in home.__name__:
            continue
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if not isinstance(node, ast.FunctionDef) or node.name in SHOWN:
            continue
        yield node
        called = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        waiting += [getattr(home, name, None) for name in called]
        for inner in ast.walk(node):
            if isinstance(inner, ast.ImportFrom):
                found = import_module(str(inner.module))
                waiting += [getattr(found, alias.name, None) for alias in inner.names]


def shape(node: ast.AST) -> str:
    """A function's body with its own names put away, without texts and annotations."""
    names: dict[str, str] = {}

    def put(value: Any) -> Any:
        if isinstance(value, ast.Expr) and isinstance(value.value, ast.Constant):
            return None
        if isinstance(value, ast.Name | ast.arg):
            name = value.id if isinstance(value, ast.Name) else value.arg
            return names.setdefault(name, f"n{len(names)}")
        if isinstance(value, ast.AnnAssign):
            return ["Assign", [put(value.target)], put(value.value)]
        if isinstance(value, ast.AST):
            skipped = ("annotation", "returns", "name", "decorator_list", "type_comment", "ctx")
            fields = [put(v) for k, v in ast.iter_fields(value) if k not in skipped]
            return [type(value).__name__, *fields]
        if isinstance(value, list):
            return [made for one in value if (made := put(one)) is not None]
        return value if isinstance(value, int | float | str) else None

    return json.dumps([put(one) for one in getattr(node, "body", [])])


def functions(text: str) -> Iterator[ast.FunctionDef]:
    """The functions in a text that is Python, wherever they are; none in one that is not."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError):
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def bare(source: str) -> str:
    """A text's lines without comments, spaces at their ends, and empty ones."""
    lines = (line.split("#")[0].strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line)


@cache
def answer_shapes(number: str) -> dict[str, str]:
    """The shapes of an exercise's answers, and what each is."""
    return {
        shape(node): f"{number}: {node.name}"
        for node in answer_functions(find(number))
        if sum(1 for part in node.body for _ in ast.walk(part)) >= FEW_NODES
    }


@cache
def solution_regions(path: Path) -> list[str]:
    """What a solution has between its marks, but for single lines."""
    regions = [r for cell in code_cells(read(path)) for r in _REGION.findall(cell.source)]
    return [region for region in map(bare, regions) if region.count("\n") >= 1]


def is_one_number(value: Any) -> bool:
    """Whether it is a list of one number over and over."""
    return isinstance(value, list) and all(type(v) in (int, float) and v == value[0] for v in value)


@cache
def hidden_values(number: str) -> list[str]:
    """Arrays and lists of an exercise's hidden cases, as they would be written down."""
    exercise = find(number)
    shown = json.dumps([encode(case.args) for case in exercise.cases(0)])
    hidden = [case.args for seed in HIDDEN_SEEDS for case in exercise.cases(seed)]
    texts = [json.dumps(encode(v)) for args in hidden for arguments in args for v in arguments]
    # A list of one number over and over, such as that of a worker that comes alone, tells nothing.
    tell = [text for text in texts if not is_one_number(json.loads(text))]
    return [text for text in tell if len(text) > 30 and text not in shown]


def leaks(data: bytes, lesson: str) -> list[str]:
    """Everything in a ZIP that students must not get with this lesson, in words."""
    exercises = [exercise.number for exercise in withheld(lesson)]
    solutions = [p for p in sorted((ROOT / "solutions").glob("*.ipynb")) if p.name[:2] >= lesson]
    known = {s: what for number in exercises for s, what in answer_shapes(number).items()}
    regions = [region for path in solutions for region in solution_regions(path)]
    hidden = [text for number in exercises for text in hidden_values(number)]
    found = []
    for name, held in members(data):
        if zipfile.is_zipfile(io.BytesIO(held)):
            continue
        for text in texts(name, held):
            found += [f"{name}: {known[s]}" for n in functions(text) if (s := shape(n)) in known]
            plain = bare(text)
            found += [f"{name}: a solution's {r[:40]!r}" for r in regions if r in plain]
            found += [f"{name}: hidden values {h[:40]}" for h in hidden if h in text]
            found += [f"{name}: {word}" for word in ("HIDDEN_SEEDS", "BEGIN HIDD") if word in text]
    return found
