"""Graphs of TensorFlow as pictures: gathered by device and scope, drawn without overlaps."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.four_ways_clock import WAYS
from helpers.lessons.four_ways.experiments.plain_graph import Op, graphs_of
from helpers.lessons.four_ways.figures import graph_view
from helpers.lessons.four_ways.figures.graph_groups import gather, short
from tests.selection import everyday

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="TensorFlow is not installed; ./course doctor says what that costs.",
    ),
]


@pytest.mark.thorough
@pytest.mark.real
def test_a_graph_is_gathered_by_device_and_scope() -> None:
    (graph,) = graphs_of("in-graph sync", workers=2)
    groups = gather([graph])
    assert groups.devices() == ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    found = {(short(device), label) for device, label, _ in groups.boxes}
    workers = {
        (f"worker {n}", label + suffix)
        for n, suffix in ((0, ""), (1, "_1"))
        for label in ("loss", "gradients")
    }
    servers = {("ps 0", label) for label in ("variables", "mean", "GradientDescent")}
    assert found == workers | servers | {(f"worker {n}", f"batch_{n}") for n in range(2)}
    (variables,) = (box for key, box in groups.boxes.items() if key[1] == "variables")
    assert variables.lines == ["global_step", *model.NAMES]
    names = [(a.source[1], a.to[1]) for a in groups.arrows]
    assert ("GradientDescent", "variables") in names and ("mean", "GradientDescent") in names
    assert len(names) == len(set(names)) == 10
    # What is not needed for a fetch is left out, and what is needed is all there.
    inputs = {name for op in graph for name in (*op.inputs, *op.after)}
    assert inputs < {op.name for op in graph} and not any("Initializer" in op.name for op in graph)


@pytest.mark.real
@pytest.mark.parametrize("way", everyday(list(WAYS)[::-1], 4))
def test_the_picture_of_every_way(way: str) -> None:
    workers, servers = 4, 2
    graphs = graphs_of(way, workers, servers)
    assert len(graphs) == (1 if way.startswith("in-graph") else workers)
    groups = gather(graphs)
    assert len(groups.devices()) == workers + servers
    figure = graph_view.draw_graph(groups)
    texts = [text.get_text() for text in figure.axes[0].texts]
    owners = [f", graph {n}" if len(graphs) > 1 else "" for n in range(workers)]
    assert {f"worker {n}{owner}" for n, owner in enumerate(owners)} <= set(texts)
    assert ("token queue" in texts) == (way == "between-graph sync")
    assert (f"update {workers - 1}" in texts) == way.endswith("async")
    no_overlap(figure)
    alt = graph_view.graph_alt(groups)
    assert alt.startswith("Diagram: ") and "goes to" in alt and "changes" in alt


def no_overlap(figure: Any) -> None:
    """No two boxes on each other, and no text wider than its box by more than a hair."""
    figure.canvas.draw()
    ax = figure.axes[0]
    boxes = [patch for patch in ax.patches if patch.get_zorder() == 4]
    places = [patch.get_window_extent() for patch in boxes]
    for index, one in enumerate(places):
        assert not any(
            one.x0 < other.x1 and other.x0 < one.x1 and one.y0 < other.y1 and other.y0 < one.y1
            for other in places[index + 1 :]
        )
    for text in (text for text in ax.texts if text.get_zorder() == 5):
        extent = text.get_window_extent()
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        around = [place for place in places if place.contains(*middle)]
        assert around and extent.width < around[0].width * 1.04, text.get_text()


def test_a_graph_is_shown_with_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    server, worker = "/job:ps/task:0", "/job:worker/task:0"
    ops = [
        Op("weights", "VarHandleOp", server, (), ()),
        Op("read", "ReadVariableOp", "", ("weights",), ()),
        Op("loss/square", "Square", worker, ("read",), ()),
        Op("loss/sum", "Sum", worker, ("loss/square", "loss/axis"), ()),
        Op("loss/axis", "Const", worker, (), ()),
        Op("weights/Initializer", "Const", server, (), ()),
        Op("weights/Assign", "AssignVariableOp", "", ("weights", "weights/Initializer"), ()),
        Op("two", "Const", worker, (), ()),
        Op("double", "Mul", server, ("two", "loss/sum"), ()),
    ]
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(graph_view, "show", lambda figure, *words: shown.append(words))
    graph_view.show_graph([ops], "The loss lies on a worker.")
    ((caption, alt),) = shown
    assert caption == "The loss lies on a worker."
    assert "ps 0 holds variables (weights), ops. worker 0 holds loss, ops. " in alt
    assert "variables on ps 0 goes to loss on worker 0." in alt and "changes" not in alt
    assert "loss on worker 0 goes to ops on ps 0." in alt
