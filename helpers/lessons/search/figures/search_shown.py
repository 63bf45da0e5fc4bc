"""Figures of lesson 16, as its cells show them: each with its caption."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from helpers.lessons.search.experiments.search_clock import Span
from helpers.lessons.search.figures import search_view


def drawn(points: Mapping[int, tuple[float, float]], least: int) -> None:
    """Losses after `least` steps over the learning rate. points: both, by trial."""
    even = math.log(10)  # the loss of who gives each of ten digits 1/10
    stuck = sum(not loss < even - 0.1 for _, loss in points.values())
    search_view.show_rates(
        points,
        "learning rate",
        "loss after 20 steps (nats)",
        f"After {least} steps {stuck} of {len(points)} trials are hardly better than ln 10 = "
        f"{even:.1f} nats, or worse: that is what equal chances for ten digits give, "
        "and they have learned nothing yet. The others lie apart, and the rate alone "
        "does not explain it: the numbers are trials, drawn in all five "
        "hyperparameters at once.",
    )


def halving(in_step: Sequence[Span], idle: float, best: Sequence[int]) -> None:
    """Successive halving on the clock. idle: share of the workers' time; best: its best trials."""
    search_view.show_searches(
        {"successive halving": in_step},
        "Each rung waits for its slowest job, and the last has fewer trials than there "
        f"are workers: {100 * idle:.0f} % of the workers' time is lost. The best three "
        f"are {best}.",
    )


def asha(
    in_step: Sequence[Span], at_will: Sequence[Span], wrong: Any, best: Sequence[Sequence[int]]
) -> None:
    """ASHA beside halving. wrong: promotions from rung 0; best: trials of ASHA, and of halving."""
    one, two = (search_view.duration(spans) for spans in (in_step, at_will))
    idle, rested = (search_view.idle(spans, 8) for spans in (in_step, at_will))
    search_view.show_searches(
        {"successive halving": in_step, "ASHA": at_will},
        f"ASHA is over after {two:.1f} s and successive halving after {one:.1f} s, with "
        f"{len(at_will)} jobs instead of {len(in_step)}; its workers stand idle for "
        f"{100 * rested:.0f} % of their time, those of halving for {100 * idle:.0f} %. "
        f"Of its {wrong.promoted} promotions from rung 0, {wrong.wrong} would not "
        "have been made with all results known. Its best three are "
        f"{best[0]}, those of halving {best[1]}.",
    )


def wrong(
    found: Mapping[int, Sequence[tuple[int, float]]], paper: Sequence[tuple[int, float]]
) -> None:
    """Shares of wrong promotions by trials. found: by workers; paper: by its rule of thumb."""
    many = [n for n, _ in paper]
    falls = all(curve[0][1] > curve[-1][1] for curve in found.values())
    shares = ", ".join(
        f"from {100 * curve[0][1]:.0f} to {100 * curve[-1][1]:.0f} % with {workers}"
        for workers, curve in found.items()
    )
    above = [
        share / mean(curve[at][1] for curve in found.values())
        for at, (_, share) in enumerate(paper)
    ]
    search_view.show_wrong(
        found,
        paper,
        f"From {many[0]} to {many[-1]} trials the share of wrong promotions "
        f"{'falls' if falls else 'does not fall'} whatever the number of workers, "
        f"{shares}. The paper's rule of thumb is {above[0]:.1f} times as high at "
        f"{many[0]}, and {above[-1]:.1f} times at {many[-1]}.",
    )


def chosen(curve: Sequence[Any]) -> None:
    """Shares of rows named rightly by the best of more and more trials."""
    last = curve[-1]
    search_view.show_best_of_many(
        [(c.trials, c.validation, c.test) for c in curve],
        "rows named rightly",
        "Choosing among more trials helps, and the 50 rows that choose say more than "
        f"is true: with 27 trials {100 * last.validation:.1f} % on them and "
        f"{100 * last.test:.1f} % on others, {100 * last.bias:.1f} points of flattery.",
    )


def honest_words(apart: np.ndarray) -> str:
    """Under the table of scores. apart: points by which yours lies above all others, by draw."""
    return (
        "On average of 40 draws of the 100 rows. With the trials yours lies "
        f"{abs(apart.mean()):.1f} points {'above' if apart.mean() > 0 else 'below'} "
        f"the share of all others, and moves against it by {apart.std(ddof=1):.1f} "
        "points from draw to draw."
    )


def folds_words(lower: int, trials: int) -> str:
    """Under the table of folds. lower: of so many trials those whose mean is below the loss."""
    return (
        f"Validation losses in nats. For {lower} of {trials} trials the mean of the "
        "folds is below the loss that chose: with five folds a trial learns from the "
        "rows that chose, too, and other rows judge it, so the two columns need not "
        "agree. Folds differ among themselves, often by more than trials do."
    )


def optuna_words() -> str:
    """Under the table of searches beside Optuna's."""
    return (
        "The same space and the same rungs; Optuna on two processes, where who asks "
        "first decides, so that its rows may be others when you run it again. Its own "
        "trials are drawn by what earlier ones found."
    )
