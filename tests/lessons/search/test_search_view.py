"""Lesson 16's figures and widget say what they were given, and what the clock gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.best_of_many import Chosen
from helpers.lessons.search.experiments.search_clock import Span
from helpers.lessons.search.figures import search_knobs
from helpers.lessons.search.figures import search_view as view

SPANS = [
    Span(0, Job(0, 0, 2), 0.0, 1.0, 0.5),
    Span(1, Job(1, 0, 2), 0.0, 2.0, 0.7),
    Span(0, Job(0, 1, 6), 2.0, 4.0, 0.4),
]
PAIR: dict[str, Any] = {"waits": SuccessiveHalving, "does not": Asha}


def test_idle_time_is_what_no_job_fills() -> None:
    assert view.duration(SPANS) == 4.0
    assert view.idle(SPANS, 2) == pytest.approx(3 / 8)
    assert view.idle(SPANS[:1], 1) == 0.0


def test_every_figure_says_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str]] = []
    monkeypatch.setattr(view, "show", lambda figure, caption, alt: said.append((caption, alt)))
    view.show_drawn({0: (0.1, 2.5), 1: (1.0, 1.5), 2: (3.0, float("inf"))}, 20)
    assert "After 20 steps 2 of 3 trials are hardly better" in said[-1][0]
    assert "logarithmic, 3 trials: the least, 1.5, at 1; 1 without a finite one" in said[-1][1]
    view.show_searches({"one": SPANS, "two": SPANS[:2]}, "S.")
    assert "one: 3 jobs, over after 4 s, workers idle for 38 % of it" in said[-1][1]
    assert "two: 2 jobs, over after 2 s, workers idle for 25 % of it" in said[-1][1]
    view.show_wrong({1: [(9, 0.5), (81, 0.2)]}, [(9, 1.0), (81, 1 / 3)])
    assert "from 9 to 81 trials: from 50 to 20 % with 1 worker" in said[-1][0]
    view.show_chosen([Chosen(1, 0.9, 0.9), Chosen(27, 0.96, 0.93)])
    assert "96.0 % on them and 93.0 % on others, 3.0 points of flattery" in said[-1][0]
    assert "best of 27: 96.0 and 93.0 %" in said[-1][1]


def test_the_widget_says_what_the_clock_gives() -> None:
    knobs: tuple[Any, ...] = (4, 4.0, 3, 0.5, 27)
    found = search_knobs.outcomes(PAIR, *knobs)
    words = search_knobs.knobs_words(PAIR, *knobs)
    for name, each in found.items():
        assert f"{name} takes {view.duration(each.spans):.3g} s" in words
        assert f"idle for {100 * each.idle:.0f} % of it" in words
        assert f"with {100 * each.wrong:.0f} % of the first rung's promotions wrong" in words
    assert found["waits"].wrong == 0  # it is what promotions are held against
    figure = search_knobs.knobs_picture(PAIR, *knobs)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert [title.partition(":")[0] for title in titles] == list(found)
    assert all(
        f"{100 * e.idle:.0f} % idle" in t for e, t in zip(found.values(), titles, strict=True)
    )


@pytest.mark.parametrize(
    ("workers", "spread", "waits", "does_not"),
    [(1, 4, 78.2, 106.3), (8, 4, 14.7, 18.3), (64, 16, 8.7, 6.7)],
)
def test_the_lessons_answer_names_what_the_clock_gives(
    workers: int, spread: float, waits: float, does_not: float
) -> None:
    found = search_knobs.outcomes(PAIR, workers, spread, 3, 0.5, 81)
    times = [round(view.duration(each.spans), 1) for each in found.values()]
    assert times == [waits, does_not]


@pytest.mark.thorough
def test_asha_is_over_first_from_so_many_workers_on() -> None:
    def times(workers: int, spread: float) -> list[float]:
        found = search_knobs.outcomes(PAIR, workers, spread, 3, 0.5, 81)
        return [view.duration(each.spans) for each in found.values()]

    for spread, first in ((4, 32), (16, 16)):
        for workers in (1, 2, 4, 8, 16, 32, 64):
            waits, does_not = times(workers, spread)
            assert (does_not < waits) == (workers >= first)
    assert all(one <= two for one, two in (times(w, 1) for w in (1, 2, 4, 8, 16, 32, 64)))


@pytest.mark.thorough
def test_noise_moves_wrong_promotions_by_luck_alone() -> None:
    noises = (0.0, 0.5, 1.0, 2.0)
    one = [search_knobs.outcomes(PAIR, 8, 4, 3, noise, 81)["does not"].wrong for noise in noises]
    assert [round(100 * share) for share in one] == [31, 25, 21, 18]


def test_what_a_mean_over_draws_says_stands_beside_what_chance_does() -> None:
    apart = np.array([3.0, -2.0, 2.5, -2.0])
    above, below = view.honest_words(apart), view.honest_words(apart - 5)
    assert "0.4 points above" in above and "within" in above
    assert "4.6 points below" in below and "beyond" in below
    assert "With 1 of them" in view.folds_words(2, [[0.1, 0.2], [0.19, 0.21]])
