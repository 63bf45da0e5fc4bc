"""Figures that cells show by a name alone: each has a picture, its alt text and its caption."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from helpers.engine.trace import Event, Results, Stats, Trace
from helpers.lessons.messages.figures import chunks, link_view
from helpers.lessons.quantization.figures import quantization_view
from helpers.lessons.sharding.figures import memory_view, ring_view, tensor_parallel_view
from helpers.lessons.start.figures import first_view
from helpers.notebook import gpu_view
from helpers.notebook.shown import plot

MODULES = (gpu_view, chunks, quantization_view, memory_view, ring_view, tensor_parallel_view)


def alone(module: ModuleType) -> Iterator[str]:
    """The functions of a module that show something and take nothing."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        signature = inspect.signature(function)
        here = function.__module__ == module.__name__
        if here and not signature.parameters and signature.return_annotation == "None":
            yield name


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is displayed: data and metadata."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def display(data: Any, **how: Any) -> None:
        found.append((data, how.get("metadata") or {}))

    monkeypatch.setattr("IPython.display.display", display)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_each_figure_has_its_words(
    module: ModuleType, shown: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    names = list(alone(module))
    assert names
    for name in names:
        shown.clear()
        getattr(module, name)()
        (picture, metadata), (caption, _) = shown
        assert picture["image/png"], name
        assert len(metadata["image/png"]["alt"]) > 60, name
        assert len(caption["text/plain"]) > 40, name


def test_words_that_are_computed_say_what_was_given(
    shown: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    first_view.show_break_even({1: [1e-3, 8e-3], 2: [2e-3, 5e-3], 4: [4e-3, 4e-3]}, 1e-3)
    assert "2 ranks: 0.50 for the least work, 1.60 for the most" in str(shown[0][1])
    assert "4 ranks: 0.25 for the least work, 2.00 for the most" in str(shown[0][1])
    shown.clear()
    took = {"shared memory": [1e-6, 1e-3], "sockets": [2e-6, 4e-3], "copy of memory": [1e-8, 5e-4]}
    links = {"shared memory": (1e-6, 1e-9), "sockets": (2e-6, 4e-9)}
    link_view.show_message_speeds([64, 10**6], took, links)
    assert "64 bytes go 31 times as slowly" in shown[1][0]["text/plain"]
    shown.clear()
    trace = Trace([Event(0, "computing", 0.0, 1e-3), Event(1, "waiting", 0.0, 1e-3)], 2)
    assert Trace.plot is plot  # importing it made it so
    first_view.show_handing_out(Results([None, None], trace, Stats([])))
    assert "each rank starts a millisecond later" in shown[1][0]["text/plain"]
