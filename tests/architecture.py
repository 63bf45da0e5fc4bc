"""The course's packages and who imports whom, in one figure made from the imports.

python -m tests.architecture     writes docs/architecture.svg

Counted are imports at the top of a file. What a function imports where it is first used, such as
TensorFlow's figures or a command's own module, can be loaded later and so may point anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from helpers.course.build import imports
from helpers.course.setup.places import ROOT
from helpers.notebook.style import BLUE, style

FIGURE = ROOT / "docs" / "architecture.svg"
APART = ("course.build", "course.setup", "grade.worker")  # folders that are boxes of their own
Edges = Mapping[str, set[str]]
# The packages in layers, the highest first: where each stands across, and what it holds. Arrows go
# down only.
LAYERS: tuple[dict[str, tuple[float, str]], ...] = (
    {"tests": (0, "pytest, by folder as here")},
    {"course": (-2, "what ./course does"), "benchmarks": (4, "./course bench")},
    {"grade": (-3, "release, judge, report")},
    {
        "worker": (-4, "inside the sandbox"),
        "build": (0, "lessons from solutions"),
        "lessons": (4, "a room a lesson"),
    },
    {"checks": (0, "what a spec is, judging")},
    {"notebook": (2, "figures, widgets, progress")},
    {"engine": (0, "processes, hosts, a clock"), "rooms": (4, "where lessons are")},
    {"setup": (0, "the installation")},
)
ALT = (
    "The packages of the course in eight layers, with an arrow from each to those that it imports. "
    "From the top: tests; course and benchmarks; grade; worker, build and lessons; checks; "
    "notebook; engine and rooms; setup. All arrows point down."
)


def package(module: str) -> str:
    """The box of a module; "" for `helpers` itself, which loads what it is asked for."""
    first, _, rest = module.partition(".")
    if first != "helpers" or not rest:
        return "" if first == "helpers" else first
    name, _, inner = rest.partition(".")
    inner = inner.partition(".")[0]
    return inner if f"{name}.{inner}" in APART else name


def at_the_top(body: list[ast.stmt]) -> Iterator[str]:
    """What is imported as soon as a file is."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports.imported(ast.Module([node], []))
        elif isinstance(node, ast.Try):
            yield from at_the_top(node.body)


def edges() -> dict[str, set[str]]:
    """The packages that each package imports."""
    found: dict[str, set[str]] = {name: set() for layer in LAYERS for name in layer}
    for module, path in imports.modules().items():
        for other in at_the_top(imports.parsed(path).body):
            ours, theirs = package(module), package(other) if other in imports.modules() else ""
            if ours and theirs and ours != theirs:
                found.setdefault(ours, set()).add(theirs)
    return found


def drawn(of: Edges) -> list[tuple[str, str]]:
    """The edges that do not follow from others: A → C goes without saying where A → B → C is."""
    below: dict[str, set[str]] = {}

    def reach(name: str) -> set[str]:
        if name not in below:
            below[name] = of[name].union(*(reach(other) for other in of[name]))
        return below[name]

    return [
        (name, other)
        for name in sorted(of)
        for other in sorted(of[name])
        if not any(other in reach(between) for between in of[name] - {other})
    ]


def described(of: Edges) -> str:
    """All edges in words: they stand in the figure's file, for the test that it is today's."""
    return "; ".join(f"{name}: {' '.join(sorted(of[name])) or '–'}" for name in sorted(of))


def draw(of: Edges, path: Path = FIGURE) -> None:
    """Draw the figure into a file."""
    width, height = 3.4, 0.64
    places = {
        name: (x, -float(row)) for row, layer in enumerate(LAYERS) for name, (x, _) in layer.items()
    }
    with style(), plt.rc_context({"svg.hashsalt": "course"}):
        figure, axes = plt.subplots(figsize=(7.2, 6.6))
        for layer in LAYERS:
            for name, (_, does) in layer.items():
                x, y = places[name]
                corner = (x - width / 2, y - height / 2)
                axes.add_patch(Rectangle(corner, width, height, fc="#eef5fa", ec=BLUE))
                axes.text(x, y + 0.12, name, ha="center", va="center", weight="bold")
                axes.text(x, y - 0.15, does, ha="center", va="center", size=8.5)
        for name, other in drawn(of):
            (x, y), (to, end) = places[name], places[other]
            start = (x + max(-1.5, min(1.5, 0.41 * (to - x))), y - height / 2)
            stop = (to - 0.15 * (to - x), end + height / 2)
            arrow = {"arrowstyle": "-|>", "color": BLUE, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", stop, start, arrowprops=arrow)
        axes.set(xlim=(-5.8, 5.8), ylim=(0.6 - len(LAYERS), 0.4))
        axes.axis("off")
        metadata = {"Date": None, "Title": "Who imports whom", "Description": described(of)}
        figure.savefig(path, metadata=metadata)
        plt.close(figure)


if __name__ == "__main__":
    draw(edges())
    print(f"{FIGURE.relative_to(ROOT)} shows {len(drawn(edges()))} arrows.")
