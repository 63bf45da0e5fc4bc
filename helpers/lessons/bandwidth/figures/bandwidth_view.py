"""Figures of lesson 09: where a speedup saturates, measured, predicted and published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from helpers.lessons.bandwidth.experiments.speedup_cases import Case
from helpers.notebook.figures import show
from helpers.notebook.style import CYCLE, GREY, axes, measured, note, rows, ticks

MARKS = "os^Dv"
Curve = Callable[[int], float]


def show_speedups(
    found: Mapping[str, Mapping[int, float]],
    curves: Mapping[str, Curve],
    caption: str,
    source: str = "measured",
) -> None:
    """Speedup against hosts: points that were found, and a curve for each of them by formula.

    found: for each name the speedup by number of hosts. source: "measured", or the clock's name.
    """
    figure, ax = axes(height=3.7)
    most = max(hosts for points in found.values() for hosts in points)
    ax.plot([1, most], [1, most], color=GREY, linewidth=1, label="N hosts, N times as many rows")
    for number, (name, points) in enumerate(found.items()):
        colour = CYCLE[number]
        hosts = list(range(1, most + 1))
        # Gaps in turn: of two curves that are one, both show.
        dashes = (4.0 * number, (4.0, 4.0))
        ax.plot(hosts, [curves[name](n) for n in hosts], linestyle=dashes, color=colour)
        look = measured(colour, f"{name}, {source}", MARKS[number])
        ax.plot(list(points), list(points.values()), **look)
    ax.plot([], [], "--", color="#555555", label="by the formula")
    ax.set(xlabel="hosts", ylabel="speedup (×)", ylim=(0, None))
    ax.set_xticks(range(1, most + 1))
    ax.legend(fontsize=9)
    told = "; ".join(
        f"{name}: " + ", ".join(f"{value:.2f} on {n}" for n, value in points.items())
        for name, points in found.items()
    )
    show(figure, caption=caption, alt=f"Speedup against hosts, {source}. {told}.")


def show_predictions(
    predicted: Mapping[str, Mapping[int, float]],
    found: Mapping[str, Mapping[int, float]],
    fitted: Sequence[int],
    caption: str,
    source: str = "measured",
) -> None:
    """Milliseconds of a step: a line that was predicted and points that were found, by links.

    predicted, found: for each link seconds by number of hosts. fitted: hosts of the runs from which
    the lines come; none where they were not fitted to any of these.
    """
    figure, ax = axes(height=3.7)
    for number, (name, points) in enumerate(found.items()):
        colour = CYCLE[number]
        line = predicted[name]
        ax.plot(list(line), [1e3 * s for s in line.values()], linestyle="--", color=colour)
        look = measured(colour, f"{name}, {source}", MARKS[number])
        ax.plot(list(points), [1e3 * s for s in points.values()], **look)
    ax.plot([], [], "--", color="#555555", label="predicted")
    if fitted:
        ax.axvspan(min(fitted) - 0.3, max(fitted) + 0.3, color=GREY, alpha=0.15, linewidth=0)
        note(ax, "fitted from these", (min(fitted), 0), (0, 4), color="#555555")
    ax.set(xlabel="hosts", ylabel="a step (ms)", ylim=(0, None))
    ax.legend(fontsize=9)
    told = "; ".join(
        f"{name}: " + ", ".join(
            f"{n} host{'s' * (n > 1)} {1e3 * s:.0f} ms ({1e3 * predicted[name][n]:.0f} predicted)"
            for n, s in points.items()
        )
        for name, points in found.items()
    )  # fmt: skip
    show(figure, caption=caption, alt=f"Milliseconds of a step against hosts. {told}.")


def show_bars(seconds: Mapping[str, tuple[float, float]], caption: str, source: str) -> None:
    """Milliseconds that were found, a bar each, and a mark where the formula puts them.

    seconds: for each name, what was found and what was predicted.
    """
    figure, ax = axes(height=1.1 + 0.5 * len(seconds))
    for row, (got, wanted) in enumerate(seconds.values()):
        first = row == 0
        ax.barh(row, 1e3 * got, 0.5, color=CYCLE[0], label=source if first else "")
        label = "by the formula" if first else ""
        ax.plot([1e3 * wanted], [row], "|", color="#222222", markersize=18, label=label)
        note(ax, f"{1e3 * got:.0f} ms", (1e3 * max(got, wanted), row), (5, -3))
    rows(ax, list(seconds))
    ax.set_xlim(0, 1.25e3 * max(max(pair) for pair in seconds.values()))
    ax.set_xlabel("time (ms)")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1.0), ncols=2, fontsize=9)
    told = "; ".join(
        f"{name}: {1e3 * got:.0f} ms, by the formula {1e3 * wanted:.0f}"
        for name, (got, wanted) in seconds.items()
    )
    show(figure, caption=caption, alt=f"Bars of milliseconds, {source}. {told}.")


def show_calibrated(
    lines: Mapping[str, Mapping[int, float]],
    more: Mapping[str, Mapping[int, float]],
    few: Sequence[int],
    off: float,
    source: str,
) -> None:
    """Predictions from three short runs beside what was measured. off: the worst, a share."""
    show_predictions(
        lines,
        more,
        few,
        "From three short runs over one kind of link, 4 and 8 hosts over three kinds. "
        f"The worst prediction is off by {off:.0%}: "
        f"{'all' if off <= 0.15 else 'not all'} are within 15 %.",
        source,
    )


def show_published_speedups(cases: Sequence[Case], on: Callable[[Case, int], float]) -> None:
    """Speedup against GPUs for each case's assumptions, and what was published as a mark.

    on: the speedup of a case on so many GPUs.
    """
    figure, ax = axes(height=4.2)
    numbers = [1, 2, 4, 8, 16, 25, 50, 100, 200, 350, 500]
    ax.plot(numbers, numbers, color=GREY, linewidth=1, label="N GPUs, N times as many rows")
    for number, case in enumerate(cases):
        colour = CYCLE[number]
        inside = [n for n in numbers if n <= case.gpus]
        ax.plot(inside, [on(case, n) for n in inside], "--", color=colour)
        look = measured(colour, f"{case.name}: {case.published[0]:g}× published", MARKS[number])
        ax.plot([case.gpus], [case.published[0]], **look)
    ax.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="speedup (×)")
    for axis in (ax.xaxis, ax.yaxis):
        ticks(axis, [1, 8, 50, 500])
    ax.legend(fontsize=9)
    told = "; ".join(
        f"{case.name}: {case.published[0]:g} published, {on(case, case.gpus):.1f} computed"
        for case in cases
    )
    show(
        figure,
        "Published speedups, and curves through them by assumption: computing and "
        "bytes as in the table, 10 Gbit/s. RankBrain has one server for every 5 GPUs, "
        "and at least one: hence the kink at 8.",
        f"Speedup against GPUs, both axes logarithmic. {told}.",
    )
