"""Who imports whom: nothing in a circle, and later subjects of `algorithms` earlier ones only."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from helpers.commands import imports

ROOT = Path(__file__).resolve().parents[1]
HELPERS = ROOT / "helpers"
SUBJECTS = (
    "messages",
    "data_parallel",
    "servers",
    "devices",
    "compression",
    "quantization",
    "splitting",
    "pipeline",
    "actors",
    "search",
    "failures",
    "checkpoints",
    "launching",
    "racing",
)


@cache
def graph() -> dict[str, set[str]]:
    """The modules of `helpers` that each of them imports."""
    helpers = {name for name in imports.modules() if name.startswith("helpers")}
    return {name: imports.graph()[name] & helpers for name in helpers}


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


def test_no_module_imports_in_a_circle() -> None:
    assert len(graph()) > 500
    found = circle(graph())
    assert not found, " → ".join(found)


def test_every_algorithm_is_in_a_subject() -> None:
    folder = HELPERS / "algorithms"
    assert {path.name for path in folder.glob("*.py")} == {"__init__.py"}
    assert {path.parent.name for path in folder.glob("*/*.py")} == set(SUBJECTS)


def test_a_subject_imports_earlier_ones_only() -> None:
    for name, used in graph().items():
        subject = name.removeprefix("helpers.algorithms.").partition(".")[0]
        if name.startswith("helpers.algorithms.") and subject in SUBJECTS:
            earlier = SUBJECTS[: SUBJECTS.index(subject) + 1]
            for other in used:
                package, _, rest = other.removeprefix("helpers.").partition(".")
                assert package == "algorithms", f"{name} imports {other}"
                assert rest.partition(".")[0] in earlier, f"{name} imports {other}"
