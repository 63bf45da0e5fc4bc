"""Graphs of TensorFlow as pictures: gathered by device and scope, drawn without overlaps."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.four_ways.experiments.plain_graph import Op, graphs_of
from helpers.lessons.four_ways.experiments.record import WAYS
from helpers.lessons.four_ways.figures import graph_view
from helpers.lessons.four_ways.figures.graph_groups import gather
from tests.selection import everyday


@pytest.mark.real
@pytest.mark.tensorflow
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


def test_a_graph_is_shown_with_what_it_holds(shown: Any) -> None:
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
    found = shown(graph_view)
    graph_view.show_graph([ops], "The loss lies on a worker.")
    ((_, caption, alt),) = found
    assert caption == "The loss lies on a worker."
    assert "ps 0 holds variables (weights), ops. worker 0 holds loss, ops. " in alt
    assert "variables on ps 0 goes to loss on worker 0." in alt and "changes" not in alt
    assert "loss on worker 0 goes to ops on ps 0." in alt
