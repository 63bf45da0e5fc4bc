"""Which tests run: those of a lesson, or those that a change reaches.

A test belongs to an exercise or to a lesson by what it is parametrized with: an exercise, a number
such as "06" or "06.5", or a notebook's path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from helpers.checks.spec import Exercise
from tests import kinds, parts

JUDGED = "tests/checks/"
FEW = 3  # lessons: where a change reaches more, some stand for all


def add_options(parser: pytest.Parser) -> None:
    """What `./course test` hands over."""
    parser.addoption("--lesson", help="run what belongs to this lesson alone")
    parser.addoption("--reached", help="run what a change reaches, said in JSON")


def numbers(value: Any) -> Iterator[str]:
    """The numbers of the exercises or lessons that a parameter stands for."""
    if isinstance(value, Exercise):
        yield value.number
    elif isinstance(value, str) and re.fullmatch(r"\d\d(\.\d+)?", value):
        yield value
    elif isinstance(value, Path) and re.match(r"\d\d_", value.name):
        yield value.name[:2]
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Exercise):
        yield value[0].lesson


def belongs_to(item: pytest.Item) -> set[str]:
    """The numbers of the exercises or lessons that a test belongs to; empty for no one's."""
    values: Iterable[Any] = getattr(getattr(item, "callspec", None), "params", {}).values()
    return {number for value in values for number in numbers(value)}


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for, and what only --all runs."""
    lesson, reached = config.getoption("--lesson"), config.getoption("--reached")
    kept = items
    if lesson:
        kept = [item for item in items if any(n[:2] == lesson for n in belongs_to(item))]
    elif reached:
        told = json.loads(reached)
        kept = [item for item in items if is_reached(item, told)]
    if not config.getoption("--all"):
        kept = [item for item in kept if is_everyday(item)]
    kept = parts.leave_out(config, kinds.choose(config, kept))
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def is_everyday(item: pytest.Item) -> bool:
    """Whether a test runs without --all: it takes no minutes, and no other lesson stands for it."""
    return item.get_closest_marker("thorough") is None and left_out_of_sample(item) is None


def is_reached(item: pytest.Item, told: dict[str, list[str]]) -> bool:
    """Whether a change reaches a test.

    An exercise whose lesson is not reached, but what its spec imports, is judged and not graded.
    """
    file = item.path.relative_to(item.config.rootpath).as_posix()
    mine = belongs_to(item)
    if not mine or file in told["whole"]:
        return file in told["files"]
    if any(number[:2] in told["lessons"] for number in mine):
        return True
    return file.startswith(JUDGED) and any(number in told["exercises"] for number in mine)


def left_out_of_sample(item: pytest.Item) -> str | None:
    """The lesson of a test that other lessons stand for, where all are run; else None."""
    marker, mine = item.get_closest_marker("sample"), {n[:2] for n in belongs_to(item)}
    if marker is None or not mine or any(in_sample(item, lesson, *marker.args) for lesson in mine):
        return None
    return min(mine)


def in_sample(item: pytest.Item, lesson: str, *stand_for_all: str) -> bool:
    """Whether a test runs for a lesson where, everyday, some lessons stand for all.

    The others run with --all, and where a lesson was chosen or a change reaches few.
    """
    if lesson in stand_for_all or any(map(item.config.getoption, ("--all", "--lesson"))):
        return True
    reached = item.config.getoption("--reached")
    if not reached:
        return False
    return len(json.loads(reached)["lessons"]) <= FEW


def everyday(params: Sequence[Any], every: int) -> list[Any]:
    """Parameters: one of so many runs everyday, the first among them, the others with --all."""
    made = []
    for n, one in enumerate(params):
        if n % every:
            values, name = (one.values, one.id) if isinstance(one, ParameterSet) else ((one,), None)
            one = pytest.param(*values, id=name, marks=pytest.mark.thorough)
        made.append(one)
    return made
