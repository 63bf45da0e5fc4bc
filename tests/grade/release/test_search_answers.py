"""The search of a release for answers finds them, whatever they are called."""

from __future__ import annotations

from typing import Any

import pytest
import search_answers

import helpers.engine.cluster.place
from helpers.checks import find
from helpers.lessons.messages.algorithms.collectives import broadcast_tree
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, Synchronous

pytestmark = pytest.mark.thorough  # with the search itself


def late(times: Any, k: int) -> Any:
    """07.1 in other words."""
    return times.sort(dim=1).values[:, k - 1].mean()


def nothing(times: Any, k: int) -> float:
    """No answer."""
    return float(k)


def place(environ: Any) -> Any:
    """17.5, and more than that."""
    found = find("17.5").reference(environ)
    return found and (*found, 1, "srun")


def test_it_finds_what_a_longer_tuple_begins_with(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [("place", place), ("theirs", helpers.engine.cluster.place.place)]
    monkeypatch.setattr(search_answers, "candidates", lambda *_: held)
    exercise = find("17.5")  # where the engine's own goes by SLURM's local rank, it is 0
    assert search_answers.answering(exercise, exercise.reference) == ["17.5: place"]


def test_it_finds_functions_what_runs_on_ranks_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [late, nothing, broadcast_tree, Asynchronous, Synchronous]
    named = [(one.__name__, one) for one in held]
    monkeypatch.setattr(search_answers, "candidates", lambda *_: named)
    for number, name in (("07.1", "late"), ("02.2", "broadcast_tree"), ("06.1", "Asynchronous")):
        exercise = find(number)
        assert search_answers.answering(exercise, exercise.reference) == [f"{number}: {name}"]
