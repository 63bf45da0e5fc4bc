"""Classes of cells: each rank has its own, the notebook's stay as they are, and come back."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.engine.run import run

CELL = """
import enum
from dataclasses import dataclass, field

import torch

RATE = 0.5
WEIGHTS = torch.zeros(2)

@dataclass
class Score:
    value: float

class Colour(enum.Enum):
    RED = 1

class Model:
    steps = 0

    def step(self):
        Model.steps += 1
        WEIGHTS.add_(RATE)
        return float(WEIGHTS.sum())

class Deep(Model):
    def step(self):
        return 10 * super().step()

def trained(comm, model):
    return [model.step() for _ in range(comm.rank + 1)], Model.steps

def scored(comm, data):
    return {"score": Score(1.0), "colour": Colour.RED, "class": Score, "data": data}
"""


def written(cls: type) -> dict[str, Any]:
    """A class's attributes, without what pickle keeps there for itself."""
    return {name: value for name, value in vars(cls).items() if name != "__slotnames__"}


@pytest.fixture
def cell() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(CELL, names)
    return names


def test_a_run_leaves_the_notebooks_classes_as_they_are(engine: str, cell: dict[str, Any]) -> None:
    before = {name: written(cell[name]) for name in ("Model", "Deep", "Score")}
    for _ in range(2):
        got = run(cell["trained"], cell["Deep"](), ranks=3, engine=engine)
        # Each rank counts for itself, from what the notebook has.
        assert list(got) == [([10.0], 1), ([10.0, 20.0], 2), ([10.0, 20.0, 30.0], 3)]
    assert {name: written(cell[name]) for name in before} == before
    cell["RATE"] = 2.0  # a later cell: the methods use it
    assert cell["Deep"]().step() == 40.0
    assert cell["Model"].steps == 1


def test_values_are_of_the_notebooks_classes(engine: str, cell: dict[str, Any]) -> None:
    got = run(cell["scored"], torch.arange(3.0), ranks=2, engine=engine)
    assert got[0]["score"] == got[1]["score"] == cell["Score"](1.0)
    assert got[0]["colour"] is cell["Colour"].RED
    assert got[1]["class"] is cell["Score"]
    assert got[1]["data"].tolist() == [0.0, 1.0, 2.0]


def test_a_class_made_inside_a_rank_comes_back(engine: str, cell: dict[str, Any]) -> None:
    exec(
        "def made(comm):\n    class Own(Score):\n        rank = comm.rank\n    return Own(2.0)",
        cell,
    )
    got = run(cell["made"], ranks=2, engine=engine)
    assert [value.rank for value in got] == [0, 1]
    assert all(isinstance(value, cell["Score"]) for value in got)
