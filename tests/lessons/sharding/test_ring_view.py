"""The figures on attention in a ring and on experts: drawn, small, and with everybody in them."""

from __future__ import annotations

from typing import Any

import pytest

import helpers
from helpers.lessons.sharding.algorithms.sequence_places import contiguous, pairs, striped
from helpers.lessons.sharding.experiments import ring_clock
from helpers.lessons.sharding.figures import experts_view, ring_view
from helpers.notebook.figures import png


def words(figure: Any) -> list[str]:
    """The texts in a figure."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("ranks", [1, 4])
def test_every_block_is_once_at_every_rank(ranks):
    figure = ring_view.round_the_ring(ranks)
    said = words(figure)
    assert all(said.count(f"k, v of {source}") == ranks for source in range(ranks))
    assert len(png(figure)) < 30_000


def test_work_on_the_clock_is_what_the_pairs_say():
    setting = ring_clock.RingSetting()
    traces = {}
    for name, deal in {"in order": contiguous, "in turn": striped}.items():
        places = deal(4096, 4)
        run = helpers.run(ring_clock.work, places, True, setting.pair, ranks=4, **setting.clock)
        traces[name] = run.trace
        longest = float(pairs(places).sum(1).max()) * setting.pair
        # Blocks of 1024 positions are longer than what hides their messages, on this link.
        assert run.trace.duration == pytest.approx(longest, rel=0.02)
    said = words(ring_view.side_by_side(traces))
    assert any(each.startswith("in order: ") for each in said)
    assert traces["in order"].duration / traces["in turn"].duration == pytest.approx(1.75, rel=0.01)


def test_dropped_tokens_are_crossed_out_and_not_at_their_expert():
    figure = experts_view.to_their_experts([[0, 0, 1], [0, 1, 1]], capacity=1)
    crosses = list(figure.axes[0].lines)
    assert len(crosses) == 2 * 2
    # Six tokens at home, and four of them at their experts.
    assert sum(each in ("0", "1") for each in words(figure)) == 6 + 4


def test_shares_have_a_line_for_each_expert():
    runs = {"one": [[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], "two": [[0.3, 0.3, 0.4]]}
    figure = experts_view.shares(runs)
    assert [len(ax.lines) for ax in figure.axes] == [4, 4]
    assert len(png(figure)) < 30_000
