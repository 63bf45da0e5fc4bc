"""The widget of lesson 16: two searches on the clock, by its knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from helpers.lessons.search.algorithms.promotions import wrong_promotions
from helpers.lessons.search.experiments.search_clock import Span, on_clock, speeds
from helpers.lessons.search.experiments.search_models import Synthetic
from helpers.lessons.search.figures.search_view import bars, duration, finish, idle, legend
from helpers.notebook.style import axes, fix_layout

Make = Callable[[int, int, int, int], Any]


class Outcome(NamedTuple):
    """A search on the clock. wrong: of its promotions from the first rung, the part that a search
    which waits does not make."""

    spans: list[Span]
    workers: int
    wrong: float

    @property
    def idle(self) -> float:
        """The share of the workers' time without a job."""
        return idle(self.spans, self.workers)


def outcomes(
    make: Mapping[str, Make], workers: int, spread: float, factor: int, noise: float, trials: int
) -> dict[str, Outcome]:
    """Searches with the same trials, losses and workers. The first one of `make` waits."""
    losses = Synthetic(0, noise)
    found: dict[str, Outcome] = {}
    complete: Any = None
    for name, search_of in make.items():
        search = search_of(trials, 1, factor**2, factor)
        spans = on_clock(search, speeds(workers, spread), losses.loss, search.resources)
        complete = search.losses if complete is None else complete
        share = wrong_promotions(search.losses, complete)[0].share
        found[name] = Outcome(spans, workers, share)
    return found


def knobs_picture(
    make: Mapping[str, Make], workers: int, spread: float, factor: int, noise: float, trials: int
) -> Any:
    """Two searches under one another, on the same clock."""
    found = outcomes(make, workers, spread, factor, noise, trials)
    figure, panels = axes(rows=len(found), height=4.6)
    fix_layout(figure, left=0.07, right=0.99, bottom=0.11, top=0.94, hspace=0.36)
    end = max(duration(each.spans) for each in found.values())
    for ax, (name, each) in zip(panels, found.items(), strict=True):
        bars(ax, each.spans, workers)
        said = f"{name}: {duration(each.spans):.1f} s, {100 * each.idle:.0f} % idle"
        said += f", {100 * each.wrong:.0f} % of the promotions from rung 0 wrong" * bool(each.wrong)
        finish(ax, each.spans, workers, end, said)
    panels[-1].set_xlabel("seconds of the clock")
    legend(panels[0], {name: each.spans for name, each in found.items()})
    return figure


def knobs_words(
    make: Mapping[str, Make], workers: int, spread: float, factor: int, noise: float, trials: int
) -> str:
    """What `knobs_picture` shows."""
    found = outcomes(make, workers, spread, factor, noise, trials)
    told = "; ".join(
        f"{name} takes {duration(each.spans):.3g} s, its workers idle for {100 * each.idle:.0f} % "
        f"of it, with {100 * each.wrong:.0f} % of the first rung's promotions wrong"
        for name, each in found.items()
    )
    return (
        f"{trials} trials on {workers} worker{'s' * (workers > 1)}, the quickest up to {spread:g} "
        f"times as quick as the slowest, one in {factor} goes on: {told}."
    )
