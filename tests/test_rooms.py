"""Who imports whom: nothing in a circle, and later subjects of `algorithms` earlier ones only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HELPERS = ROOT / "helpers"
SUBJECTS = (
    "messages",
    "data_parallel",
    "servers",
    "devices",
    "quantization",
    "splitting",
    "pipeline",
)


@cache
def modules() -> dict[str, Path]:
    """Every module of `helpers`, by its dotted name."""
    paths = sorted(HELPERS.rglob("*.py"))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return {name.removesuffix(".__init__"): path for name, path in zip(names, paths, strict=True)}


def imported(node: ast.AST) -> Iterator[str]:
    """What is imported anywhere in it, in functions too, but for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from imported(other)
        elif isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                yield inner if inner in modules() else str(child.module)
        else:
            yield from imported(child)


@cache
def graph() -> dict[str, set[str]]:
    """The modules of `helpers` that each of them imports."""
    found = {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[name] = {other for other in imported(tree) if other in modules()} - {name}
    return found


def circle(of: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, in its order; [] where there is none."""
    done: set[str] = set()

    def visit(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        for other in sorted(of[name]):
            if found := visit(other, [*way, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(of) if (found := visit(name, []))), [])


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_module_imports_in_a_circle() -> None:
    assert len(graph()) > 500
    found = circle(graph())
    assert not found, " → ".join(found)


def test_every_algorithm_is_in_a_subject() -> None:
    folder = HELPERS / "algorithms"
    assert {path.name for path in folder.glob("*.py")} == {"__init__.py"}
    assert {path.parent.name for path in folder.glob("*/*.py")} == set(SUBJECTS)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_imports_earlier_ones_only(subject: str) -> None:
    earlier = SUBJECTS[: SUBJECTS.index(subject) + 1]
    for name, used in graph().items():
        if name.startswith(f"helpers.algorithms.{subject}"):
            for other in used:
                package, _, rest = other.removeprefix("helpers.").partition(".")
                assert package == "algorithms", f"{name} imports {other}"
                assert rest.partition(".")[0] in earlier, f"{name} imports {other}"
