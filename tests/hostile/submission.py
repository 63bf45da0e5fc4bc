"""Notebooks as students hand them in: right answers, wrong ones, and something hostile beside."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).parents[2]
LESSONS = {"02": "02_messages", "03": "03_data_parallelism"}
OVER = "the attack is over"

# Each is wrong in every case, hidden or not.
WRONG: dict[str, str] = {
    "scatter": "def scatter(comm, batch, rows, width):\n    return {value}\n",
    "all_reduce_ring": "def all_reduce_ring(comm, tensor):\n    return {value}\n",
    "fit": "def fit(sizes, seconds):\n    return {value}\n",
    "shard": "def shard(rows, rank, size, epoch):\n    return {value}\n",
}
NUMBERS = {
    "scatter": "02.1",
    "all_reduce_ring": "02.3",
    "fit": "02.4",
    "all_reduce_shared": "02.5",
    "shard": "03.1",
    "overlap": "03.5",
}


@dataclass(frozen=True)
class Attack:
    """A hostile submission.

    name: its test's id. cells: the notebook's sources. full: the functions whose answers get all
    their points whatever stands beside them; every other exercise gets none. either: right ones
    that may keep or lose theirs. finished: the functions that have to say that their attack came to
    its end, so that a slip of the pen in an attack is not taken for a defence. outcomes: what the
    exercises without points may be called.
    """

    name: str
    cells: list[str]
    lesson: str = "02"
    full: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The notebook as a file in a folder of its own. Returns its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{LESSONS[self.lesson]}.ipynb"
        nbformat.write(notebook(self.cells), path)
        return path


def notebook(cells: list[str]) -> nbformat.NotebookNode:
    """A notebook of code cells."""
    new = nbformat.v4
    return new.new_notebook(cells=[new.new_code_cell(source) for source in cells])


@cache
def right(function: str) -> str:
    """The course's own answer, as its cell's source, with the imports that it needs."""
    for name in LESSONS.values():
        solution = nbformat.read(ROOT / "solutions" / f"{name}.ipynb", as_version=4)
        for cell in solution.cells:
            if cell.cell_type == "code" and f"\ndef {function}(" in f"\n{cell.source}":
                return f"import torch\nfrom torch import nn\n\n\n{cell.source}\n"
    raise LookupError(function)


def wrong(function: str, value: str = "None") -> str:
    """An answer that returns an expression and does nothing else."""
    return WRONG[function].format(value=value)


def good(lesson: str = "02") -> Attack:
    """A submission without any attack: what the next student hands in."""
    functions = ("scatter", "fit") if lesson == "02" else ("shard",)
    return Attack("good", [right(f) for f in functions], lesson, functions)


def source(function: Callable[..., Any]) -> str:
    """A function's source, to be put into a cell."""
    return textwrap.dedent(inspect.getsource(function))


def at_once(attack: Callable[[], Any]) -> str:
    """A cell that runs a function where answers need what it defines."""
    return f"{source(attack)}\n\n_armed = {attack.__name__}() or True\n"


def armed(answer: str) -> str:
    """An answer that does not work unless the attack's cell was run to its end."""
    tree = ast.parse(answer)
    definition = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    definition.body.insert(0, ast.parse("_armed").body[0])
    return ast.unparse(tree)


def beside(attack: Callable[[], Any], harmful: bool = False) -> list[Attack]:
    """Something done before the answers: right ones keep their points, wrong ones get none.

    harmful: it breaks the submission's own process, so that right answers may lose theirs.
    """
    name, start = attack.__name__, at_once(attack)
    functions = ("scatter", "fit")
    cells = [start, *(armed(wrong(f)) for f in functions)]
    made = [Attack(f"{name}, wrong answers", cells)]
    if not harmful:
        cells = [start, *(armed(right(f)) for f in functions)]
        made.append(Attack(f"{name}, right answers", cells, full=functions))
    return made


def lie(value: Callable[[], Any]) -> Attack:
    """Answers that return something made to look right."""
    call = f"{value.__name__}()"
    cells = [source(value), wrong("scatter", call), wrong("fit", call)]
    return Attack(value.__name__, cells)


def probe(attack: Callable[[], Any]) -> Attack:
    """An attack from inside `fit`, which answers right only where the attack got through.

    It returns whether it did. `scatter` is right and has nothing to do with it.
    """
    cells = [source(attack), right("scatter"), _probing(attack.__name__)]
    return Attack(attack.__name__, cells, full=("scatter",), finished=("fit",))


def _probing(attack: str) -> str:
    true = right("fit").replace("def fit(", "def true_fit(")
    return (
        f"{true}\n\ndef fit(sizes, seconds):\n    if {attack}():\n"
        f"        return true_fit(sizes, seconds)\n    raise RuntimeError({OVER!r})\n"
    )


def ending(attack: Callable[[], Any], *outcomes: str) -> Attack:
    """An attack from inside `fit`, from which it does not come back, or not well."""
    call = f"def fit(sizes, seconds):\n    return {attack.__name__}()\n"
    cells = [source(attack), right("scatter"), call]
    return Attack(attack.__name__, cells, full=("scatter",), outcomes={"fit": outcomes})


def opening(attack: Callable[[], Any]) -> Attack:
    """A cell that ends its process: it is left out, and the answers keep their points."""
    functions = ("scatter", "fit")
    start = f"{source(attack)}\n\nscatter = fit = {attack.__name__}()\n"
    cells = [start, *map(right, functions)]
    return Attack(f"{attack.__name__}, in a cell", cells, full=functions)
