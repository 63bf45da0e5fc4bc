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
from helpers.lessons.sharding.algorithms.memory import memory
from helpers.lessons.sharding.figures import (
    experts_view,
    memory_view,
    ring_view,
    sharding_view,
    tensor_parallel_view,
)
from helpers.lessons.start.figures import first_view
from helpers.notebook import gpu_view
from helpers.notebook.published import load
from helpers.notebook.timeline import timeline

MODULES = (
    gpu_view, chunks, quantization_view, experts_view, memory_view, ring_view, sharding_view,
    tensor_parallel_view,
)  # fmt: skip


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
    assert Trace.plot is timeline  # importing it made it so
    first_view.show_handing_out(Results([None, None], trace, Stats([])))
    assert "each rank starts a millisecond later" in shown[1][0]["text/plain"]
    shown.clear()
    memory_view.show_by_ranks(load("zero_memory_gb_7.5B"), lambda p, n, s: memory(p, n, s).total)
    held = {stage: memory(1e4, 3, stage) for stage in (1, 2, 3)}
    memory_view.show_held(held, held)
    memory_view.show_held_in_a_step({"stage 2": [(0.0, 1e9), (0.1, 2e9)]})
    sharding_view.show_by_link({"a link": {"stage 2": 0.5, "stage 3": 0.6}}, 0.4)
    sharding_view.show_real_steps({"stage 3": {"ours": 12.0, "FSDP2": 20.0}})
    experts_view.show_experts({name: ([[0.5, 0.5], [0.7, 0.3]], 0.1) for name in "ab"})
    ring_view.show_dealt({"in order": trace, "in turn": trace})
    said = [data["text/plain"] for data, _ in shown]
    assert "within 2 % of the lines" in said[0]
    assert "a link: stage 2 500 ms, stage 3 600 ms. Computing alone takes 400 ms." in said
    assert "Dots of milliseconds a step: stage 3: ours 12, FSDP2 20" in said
    assert "10 % and 10 % of the tokens are dropped" in said[11]
    assert "to the end, 1.0 ms" in said[12]
