"""The figures on tensor parallelism: drawn, small, and with every rank in them."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.sharding.figures import sharding_view
from helpers.lessons.sharding.figures import tensor_parallel_view as view
from helpers.notebook.figures import png


def words(figure: Any) -> str:
    """All text in a figure."""
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("ranks", [1, 3])
def test_matrices_are_cut_into_a_part_for_each_rank(ranks):
    for figure in (view.column_then_row(ranks), view.row_first(ranks)):
        assert f"rank {ranks - 1}" in words(figure) and f"term {ranks - 1}" in words(figure)
        assert len(png(figure)) < 30_000


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_block_shows_two_of_each_function_on_every_rank(ranks):
    said = words(view.block_messages(ranks)).split()
    assert said.count("query") == ranks
    # One more of each in the sentences that say what they do.
    assert said.count("f") == said.count("g") == 2 * ranks + 1


def test_what_is_sent_is_equal_where_the_formulas_meet():
    counted = [(10, 1e4, 2e4), (500, 3e5, 2e4)]
    figure = sharding_view.tokens_or_weights(64, ranks=4, parts=2, counted=counted)
    assert "equal at 96 tokens" in words(figure)
    tensor, data, *_ = figure.axes[0].lines
    (_, most), (_, top) = tensor.get_data()
    assert top * 96 / most == pytest.approx(data.get_ydata()[0])
