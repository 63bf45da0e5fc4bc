"""Figures of lesson 16: who trained which trial when, and what it cost not to wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from helpers.lessons.search.algorithms.promotions import wrong_promotions
from helpers.lessons.search.experiments.search_clock import Span, on_clock, speeds
from helpers.lessons.search.experiments.search_models import Synthetic
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, CYCLE, GREEN, GREY, ORANGE, RED, SKY, axes, fix_layout

RUNGS = (SKY, ORANGE, GREEN, RED, BLUE)
Make = Callable[[int, int, int, int], Any]


def idle(spans: Sequence[Span], workers: int) -> float:
    """The share of the workers' time, from the start to the last job's end, without a job."""
    end = max(span.end for span in spans)
    return 1 - sum(span.end - span.begin for span in spans) / (workers * end)


def duration(spans: Sequence[Span]) -> float:
    """Seconds of the clock until the last job ended."""
    return max(span.end for span in spans)


# --- what was drawn, and what came of it ----------------------------------------------------------


def show_rates(points: Mapping[int, tuple[float, float]], x: str, y: str, caption: str) -> None:
    """A point for each trial: a hyperparameter by factors, and the loss. Infinite ones on top."""
    figure, ax = axes(height=3.2)
    finite = [loss for _, loss in points.values() if loss < float("inf")]
    top = 1.15 * max(finite)
    for rate, loss in points.values():
        kept = loss < float("inf")
        ax.plot(rate, loss if kept else top, "o" if kept else "^", color=BLUE if kept else RED)
    ax.set(xscale="log", xlabel=x, ylabel=y)
    at = {t: (x, y if y < float("inf") else top) for t, (x, y) in points.items()}
    _label(ax, {str(trial): point for trial, point in at.items()})
    rate, loss = min(points.values(), key=lambda point: point[1])
    ends = (f(rate for rate, _ in points.values()) for f in (min, max))
    lost = len(points) - len(finite)
    told = f", and {lost} without a finite one" * bool(lost)
    alt = f"{y} against {x}, logarithmic, from {next(ends):.2g} to {next(ends):.2g}, of "
    alt += f"{len(points)} "
    show(figure, caption, f"{alt}trials: the least, {loss:.3g}, at {rate:.2g}{told}.")


def _label(ax: Any, points: Mapping[str, tuple[float, float]]) -> None:
    """A name beside each point, where it covers the fewest of the other points and names."""
    scale = 72 / ax.figure.dpi  # from pixels to text points
    ax.autoscale_view()
    at = {name: scale * ax.transData.transform(point) for name, point in points.items()}
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in at.values()]
    for name, (x, y) in at.items():
        wide = 4.6 * len(name)
        best: tuple[int, float, float] | None = None
        for up in (0, 8, -8, 15, -15):
            for right in (5, -5 - wide, -wide / 2):
                if right == -wide / 2 and not up:
                    continue  # on the point itself
                left, low = x + right, y + up - 3.5
                box = (left, low, left + wide, low + 7)
                clash = sum(_overlap(box, other) for other in taken)
                if best is None or clash < best[0]:
                    best = clash, right, up - 3.5
        assert best is not None
        _, along, above = best
        taken.append((x + along, y + above, x + along + wide, y + above + 7))
        ax.annotate(name, points[name], xytext=(along, above), textcoords="offset points",
                    fontsize=8, color=GREY)  # fmt: skip


def _overlap(one: tuple[float, ...], two: tuple[float, ...]) -> bool:
    """Whether two boxes, (left, low, right, top), share a part."""
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


# --- searches on the clock ------------------------------------------------------------------------


def show_searches(runs: Mapping[str, Sequence[Span]], caption: str) -> None:
    """Rows of workers, a panel a search: which trial each trained, coloured by its rung."""
    workers = [1 + max(span.worker for span in spans) for spans in runs.values()]
    figure, panels = axes(rows=len(runs), height=0.6 + sum(0.7 + 0.2 * each for each in workers))
    panels = [panels] if len(runs) == 1 else list(panels)
    end = max(duration(spans) for spans in runs.values())
    told = []
    for ax, crew, (name, spans) in zip(panels, workers, runs.items(), strict=True):
        _bars(ax, spans, crew)
        for span in spans:
            if (span.end - span.begin) > 0.022 * end:
                ax.text((span.begin + span.end) / 2, span.worker, str(span.job.trial),
                        ha="center", va="center", fontsize=7)  # fmt: skip
        _finish(ax, spans, crew, end, name)
        told.append(
            f"{name}: {len(spans)} jobs, over after {duration(spans):.3g} s, workers idle for "
            f"{100 * idle(spans, crew):.0f} % of it"
        )
    panels[-1].set_xlabel("seconds of the clock")
    _legend(panels[0], runs)
    show(
        figure, caption, f"What each worker trains, by time; numbers are trials. {'; '.join(told)}."
    )


def _bars(ax: Any, spans: Sequence[Span], workers: int) -> None:
    """A rectangle a job, all of a rung's in one collection: each alone would take ten times as
    long to draw. With many workers the white edges are thinner, or they would cover the bars."""
    from matplotlib.collections import PolyCollection

    tall, edge = (0.35, 0.6) if workers <= 16 else (0.45, 4.0 / workers**1.25)
    for rung in sorted({span.job.rung for span in spans}):
        corners = [
            [(x, span.worker + y) for x, y in ((span.begin, -tall), (span.begin, tall),
                                               (span.end, tall), (span.end, -tall))]
            for span in spans
            if span.job.rung == rung
        ]  # fmt: skip
        fill = RUNGS[rung % len(RUNGS)]
        bars = PolyCollection(corners, facecolor=fill, edgecolor="white", linewidth=edge)
        bars.set_label(f"rung {rung}")
        ax.add_collection(bars, autolim=False)


def _finish(ax: Any, spans: Sequence[Span], workers: int, end: float, name: str) -> None:
    ax.set(xlim=(0, 1.01 * end), ylim=(workers - 0.4, -0.6), ylabel="worker")
    step = 1 if workers <= 8 else 8
    ax.set_yticks(range(0, workers, step))
    ax.axvline(duration(spans), color="#222222", linewidth=1, linestyle="--")
    ax.grid(axis="y", visible=False)
    ax.set_title(name, loc="left")


def _legend(ax: Any, runs: Mapping[str, Sequence[Span]]) -> None:
    rungs = len({span.job.rung for spans in runs.values() for span in spans})
    look = {"fontsize": 8, "frameon": False, "handlelength": 1.2, "columnspacing": 1.0}
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=rungs, **look)


def show_wrong(
    found: Mapping[int, Sequence[tuple[int, float]]],
    paper: Sequence[tuple[int, float]],
    caption: str,
) -> None:
    """The share of wrong promotions by trials, a curve for each number of workers.

    found: for each number of workers, (trials, share). paper: what the paper expects.
    """
    figure, ax = axes(height=3.4)
    markers = "osD^v"
    for at, (workers, curve) in enumerate(found.items()):
        trials, shares = zip(*curve, strict=True)
        ax.plot(trials, [100 * share for share in shares], marker=markers[at % len(markers)],
                color=CYCLE[at], label=f"{workers} worker{'s' * (workers > 1)}")  # fmt: skip
    trials, shares = zip(*paper, strict=True)
    ax.plot(
        trials,
        [100 * share for share in shares],
        "--",
        color="#222222",
        label="the paper: √n of n/η",
    )
    ax.set(xscale="log", yscale="log", xlabel="trials, n", ylabel="wrong promotions (%)")
    ax.set_xticks(trials, [str(n) for n in trials])
    ax.minorticks_off()
    ticks = [each for each in (1, 2, 5, 10, 20, 50, 100)]
    ax.set_yticks(ticks, [str(each) for each in ticks])
    ax.legend(fontsize=9, frameon=False)
    told = "; ".join(
        f"{w} worker{'s' * (w > 1)}: {', '.join(f'{100 * s:.0f} % of n = {n}' for n, s in curve)}"
        for w, curve in found.items()
    )
    show(figure, caption, f"Wrong promotions from the first rung, both axes logarithmic. {told}.")


def show_best_of_many(curve: Sequence[tuple[int, float, float]], what: str, caption: str) -> None:
    """What the best of n has on the rows that chose it, and on others: (n, chose, others)."""
    figure, ax = axes(height=3.2)
    n, chose, others = zip(*curve, strict=True)
    ax.plot(n, [100 * each for each in chose], "o-", color=RED, label="on the rows that chose it")
    ax.plot(n, [100 * each for each in others], "s--", color=BLUE, label="on rows without a say")
    ax.fill_between(n, [100 * each for each in chose], [100 * each for each in others],
                    color=RED, alpha=0.15, linewidth=0)  # fmt: skip
    ax.set(xscale="log", xlabel="how many it is the best of", ylabel=f"{what} (%)")
    ax.set_xticks(n, [str(each) for each in n])
    ax.minorticks_off()
    ax.legend(fontsize=9, frameon=False)
    told = "; ".join(f"best of {a}: {100 * b:.1f} and {100 * c:.1f} %" for a, b, c in curve)
    show(
        figure, caption, f"{what} of the chosen one, on the rows that chose it and others. {told}."
    )


# --- the widget -----------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """A search on the clock. wrong: of its promotions from the first rung, the part that a search
    which waits does not make."""

    spans: list[Span]
    workers: int
    wrong: float

    @property
    def idle(self) -> float:
        """As `idle`."""
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
        _bars(ax, each.spans, workers)
        said = f"{name}: {duration(each.spans):.1f} s, {100 * each.idle:.0f} % idle"
        said += f", {100 * each.wrong:.0f} % of the promotions from rung 0 wrong" * bool(each.wrong)
        _finish(ax, each.spans, workers, end, said)
    panels[-1].set_xlabel("seconds of the clock")
    _legend(panels[0], {name: each.spans for name, each in found.items()})
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
