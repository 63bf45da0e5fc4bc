"""Two submissions, one after the other: the first leaves something, the second looks for it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hostile.submission import Attack, armed, probe, right


@dataclass(frozen=True)
class Leftover:
    """Two submissions, one after the other."""

    name: str
    plants: Attack
    looks: Attack


def leftover(function: Callable[[], Any]) -> Leftover:
    """From a function that defines `plant` and `look`."""
    body = inspect.getsource(function).split("\n", 1)[1]
    lines = [line for line in textwrap.dedent(body).splitlines() if not line.startswith('"""')]
    text = "\n".join(lines)
    name = function.__name__
    start = f"{text}\n_armed = plant() or True\n"
    functions = ("fit",)
    plants = Attack(
        f"{name}, left behind",
        [start, *(armed(right(f)) for f in functions)],
        full=functions,
    )
    looking = probe(_look)
    looks = Attack(
        f"{name}, looked for",
        [text, *looking.cells[1:]],
        full=looking.full,
        finished=looking.finished,
    )
    cells = [cell.replace("_look()", "look()") for cell in looks.cells]
    return Leftover(name, plants, Attack(looks.name, cells, full=looks.full, finished=("fit",)))


def _look() -> bool:
    return False
