"""Figures of lesson 11 on a whole model in fewer bits: sizes, times and what is lost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    axes,
    measured,
    published,
)

MARKS = "os^DvP"


def by_bits(
    floats: float,
    after: Mapping[int, float],
    cut: Mapping[int, float],
    trained: Mapping[int, float],
    points: str,
) -> Any:
    """Accuracy (%) over the bits of weights and activations, after training and trained so.

    after: with ranges from the lowest to the highest value; cut: with a recipe's that cuts. points:
    which pictures were counted, for the axis.
    """
    figure, ax = axes(width=6.4, height=3.4)
    ax.axhline(floats, color=GREY, linestyle=":", label="float32")
    ax.plot(list(after), list(after.values()), color=BLUE, linewidth=1)
    ax.plot(list(after), list(after.values()), **measured(BLUE, "rounded after training"))
    ax.plot(list(cut), list(cut.values()), **measured(ORANGE, "by a better recipe's ranges", "^"))
    ax.plot(list(trained), list(trained.values()), **measured(GREEN, "trained with rounding", "s"))
    bits = sorted({*after, *trained}, reverse=True)
    ax.set_xticks(bits, [str(b) for b in bits])
    ax.invert_xaxis()
    ax.set(xlabel="bits of weights and activations", ylabel=f"{points} right (%)", ylim=(0, 104))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def models(rows: Mapping[str, tuple[float, float, float]]) -> Any:
    """Size, time and accuracy of several forms of one model, a row a form.

    rows: by name, (KB on disk, ms for the test set, % right), the first one the model itself.
    """
    figure, panels = axes(columns=3, width=8.6, height=0.42 * len(rows) + 1.1)
    heads = ("KB on disk", "ms for the test pictures", "test pictures right (%)")
    places = list(range(len(rows)))
    for column, (ax, head) in enumerate(zip(panels, heads, strict=True)):
        values = [row[column] for row in rows.values()]
        if column == 0:
            ax.barh(places, values, height=0.6, color=ORANGE, linewidth=0)
        else:
            colour, mark = ((BLUE, "o"), (GREEN, "s"))[column - 1]
            ax.plot(values, places, **measured(colour, "_", mark))
        for value, place in zip(values, places, strict=True):
            note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
            digits = 1 if column == 2 or value < 10 else 0
            ax.annotate(f"{value:.{digits}f}", (value, place), (6, 0), **note)
        ax.set_yticks(places, list(rows) if column == 0 else [""] * len(rows), fontsize=9)
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlabel=head)
        ax.axvline(values[0], color=GREY, linestyle=":", linewidth=1)
        ax.margins(x=0.22)
        if column < 2:
            ax.set_xlim(left=0)
            ax.locator_params(axis="x", nbins=4)
        else:  # a difference of a point shall look like one
            least = min(90, 5 * math.floor(min(values) / 5))
            ax.set(xlim=(least, 103), xticks=range(least, 101, 5 if least > 80 else 20))
        ax.grid(visible=False, axis="y")
    return figure


def drops(printed: Mapping[str, float], ours: Mapping[str, float]) -> Any:
    """Points of accuracy lost to few bits, what others printed beside what was measured here."""
    figure, ax = axes(width=7.8, height=0.29 * (len(printed) + len(ours)) + 1.0)
    names = [*printed, *ours]
    ax.axvline(0, color=GREY, linewidth=1)
    ax.plot(list(printed.values()), range(len(printed)), **published())
    own = range(len(printed), len(names))
    ax.plot(list(ours.values()), own, **measured(label="measured: the patient"))
    for place, value in enumerate([*printed.values(), *ours.values()]):
        note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        said = f"{round(value, 1) + 0.0:.1f}".replace("-", "−")
        ax.annotate(said, (value, place), (7, 0), **note)
    ax.axhline(len(printed) - 0.5, color=BLACK, linewidth=0.8)
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="points of accuracy lost")
    ax.margins(x=0.1)
    ax.grid(visible=False, axis="y")
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    return figure


def products(milliseconds: Mapping[str, Mapping[int, float]]) -> Any:
    """Milliseconds of one layer over the rows of a batch, a line for each way to compute it."""
    figure, ax = axes(width=8.6, height=3.7)
    for place, (name, by_rows) in enumerate(milliseconds.items()):
        colour = CYCLE[place % len(CYCLE)]
        mark = MARKS[place % len(MARKS)]
        ax.plot(list(by_rows), list(by_rows.values()), color=colour, linewidth=1)
        ax.plot(list(by_rows), list(by_rows.values()), **measured(colour, name, mark))
    rows = sorted({r for by_rows in milliseconds.values() for r in by_rows})
    ax.set(xscale="log", yscale="log", xlabel="rows of the batch", ylabel="ms (median)")
    ax.set_xticks(rows, [str(r) for r in rows])
    seen = [ms for by_rows in milliseconds.values() for ms in by_rows.values()]
    ticks = [t for t in _decades() if min(seen) / 1.5 < t < 1.5 * max(seen)]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _decades() -> Iterable[float]:
    return (m * 10.0**power for power in range(-3, 5) for m in (1, 2, 5))


def show_fewer(
    healthy: float,
    right: Mapping[int, float],
    cut: float,
    won: float,
    said: Mapping[int, str],
    trained: str,
) -> None:
    """The patient with fewer and fewer bits. said, trained: each form in words."""
    told = ", ".join(f"{bits} bits {words}" for bits, words in said.items())
    show(
        by_bits(healthy, right, {4: cut}, {4: won}, points="test pictures"),
        caption="The patient with fewer and fewer bits. At 4 bits: by a better recipe's "
        "ranges, and trained with rounding.",
        alt="Test pictures right, in per cent, over the bits, beside a dotted line for "
        f"float32. Rounded after training: {told}. At 4 bits a triangle for the best of "
        "three recipes' ranges, and a square for training with rounding: "
        f"{trained}.",
    )


def show_forms(rows: Mapping[str, tuple[float, float, float]], lost: float) -> None:
    """Size, time and accuracy of a model's forms. lost: the most points of accuracy."""
    told = "; ".join(
        f"{n}: {kb:.0f} KB, {ms:.0f} ms, {right:.1f} % right" for n, (kb, ms, right) in rows.items()
    )
    show(
        models(rows),
        caption=f"Every form but the first is smaller, and at most {lost:.1f} points less are "
        "right. Measured here, on one thread; the dotted lines are float32's.",
        alt=f"Three panels with a row for each form. {told}",
    )


def show_products(times: Mapping[str, Mapping[int, float]]) -> None:
    """Milliseconds of one wide layer by the rows of a batch."""
    told = "; ".join(
        f"{n}: " + ", ".join(f"{ms:.1f} ms for {c}" for c, ms in by_rows.items())
        for n, by_rows in times.items()
    )
    show(
        products(times),
        caption="One layer of 4096 × 4096 on one thread, measured in turn on this machine.",
        alt=f"Milliseconds over the rows of a batch, both axes logarithmic. {told}",
    )


def show_losses(
    printed: Mapping[str, float], ours: Mapping[str, float], said: Sequence[str]
) -> None:
    """Points lost, printed and here. said: in words, the patient in 8 bits, in 4, trained so."""
    by_training = [points for name, points in printed.items() if name.endswith("trained so")]
    told = ", ".join(f"{name} {points:.1f}" for name, points in printed.items())
    show(
        drops(printed, ours),
        caption=f"Eight bits cost {min(by_training):.1f} to {max(by_training):.1f} points when "
        f"trained so, after training up to {max(printed.values()):.1f} (ImageNet, as "
        f"printed). The patient with 8 bits, after training: {said[0]}; with "
        f"4 bits: {said[1]}.",
        alt=f"Diamonds for printed losses: {told}. Below, dots for the patient: "
        f"{said[0]} for 8 bits after training, {said[1]} for 4 "
        f"bits, {said[2]} for 4 bits where it was trained so.",
    )
