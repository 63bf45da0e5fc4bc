"""The search of a release for answers finds them, whatever they are called and take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import planted
import pytest
import search_answers

from helpers.checks import find

pytestmark = pytest.mark.thorough  # with the search itself


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single candidate that computes may take its time, whatever else this process does."""
    for name in ("SECONDS", "IN_ALL"):
        monkeypatch.setattr(search_answers, name, 1.0)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (planted.turned, True),
        (planted.by_lists, True),
        (planted.Steps, True),
        (planted.curried, True),
        (planted.drawn, True),
        (planted.nothing, False),
    ],
)
def test_the_search_finds_answers_in_disguise(
    function: Callable[..., Any], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_answers, "candidates", lambda *_: [("planted", function)])
    exercise = find("07.1")
    assert bool(search_answers.answering(exercise, exercise.reference)) is found


def test_it_finds_what_runs_on_ranks_and_what_is_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(comm: Any, root: int, tensor: Any) -> Any:
        from helpers.lessons.messages.algorithms.collectives import broadcast_tree

        return broadcast_tree(comm, tensor, root)

    from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, Synchronous

    held = [("swapped", swapped), ("Asynchronous", Asynchronous), ("Synchronous", Synchronous)]
    monkeypatch.setattr(search_answers, "candidates", lambda *_: held)
    for number, name in (("02.2", "swapped"), ("06.1", "Asynchronous")):
        exercise = find(number)
        (found,) = search_answers.answering(exercise, exercise.reference)
        assert found.startswith(f"{number}: {name}")
