"""Figures of lesson 11 on a whole model in fewer bits: sizes, times and what is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from helpers.notebook import style
from helpers.notebook.figures import show

MARKS = "os^DvP"


def show_fewer(
    healthy: float,
    right: Mapping[int, float],
    cut: float,
    won: float,
    said: Mapping[int, str],
    trained: str,
) -> None:
    """The patient with fewer and fewer bits: test pictures right (%), rounded before or after.

    healthy: in floats. right: by bits, with ranges from the lowest to the highest value. cut, won:
    with 4 bits, by a recipe that cuts ranges, and trained so. said, trained: each form in words.
    """
    figure, ax = style.axes(width=6.4, height=3.4)
    ax.axhline(healthy, color=style.GREY, linestyle=":", label="float32")
    ax.plot(list(right), list(right.values()), color=style.BLUE, linewidth=1)
    ax.plot(
        list(right), list(right.values()), **style.measured(style.BLUE, "rounded after training")
    )
    ax.plot([4], [cut], **style.measured(style.ORANGE, "by a better recipe's ranges", "^"))
    ax.plot([4], [won], **style.measured(style.GREEN, "trained with rounding", "s"))
    style.ticks(ax.xaxis, sorted(right, reverse=True))
    ax.invert_xaxis()
    ax.set(xlabel="bits of weights and activations", ylabel="test pictures right (%)")
    ax.set_ylim(0, 104)
    ax.legend(fontsize=9, loc="lower left")
    told = ", ".join(f"{bits} bits {words}" for bits, words in said.items())
    show(
        figure,
        caption="The patient with fewer and fewer bits. At 4 bits: by a better recipe's "
        "ranges, and trained with rounding.",
        alt="Test pictures right, in per cent, over the bits, beside a dotted line for "
        f"float32. Rounded after training: {told}. At 4 bits a triangle for the best of "
        "three recipes' ranges, and a square for training with rounding: "
        f"{trained}.",
    )


def show_forms(forms: Mapping[str, tuple[float, float, float]], lost: float) -> None:
    """Size, time and accuracy of several forms of one model, a row a form.

    forms: by name, (KB on disk, ms for the test set, % right), the first one the model itself.
    lost: the most points of accuracy.
    """
    figure, panels = style.axes(columns=3, width=8.6, height=0.42 * len(forms) + 1.1)
    heads = ("KB on disk", "ms for the test pictures", "test pictures right (%)")
    places = range(len(forms))
    for column, (ax, head) in enumerate(zip(panels, heads, strict=True)):
        values = [form[column] for form in forms.values()]
        if column == 0:
            ax.barh(places, values, height=0.6, color=style.ORANGE, linewidth=0)
        else:
            colour, mark = ((style.BLUE, "o"), (style.GREEN, "s"))[column - 1]
            ax.plot(values, places, **style.measured(colour, "_", mark))
        for value, place in zip(values, places, strict=True):
            digits = 1 if column == 2 or value < 10 else 0
            style.note(ax, f"{value:.{digits}f}", (value, place), (6, 0), va="center")
        style.rows(ax, list(forms) if column == 0 else [""] * len(forms), fontsize=9)
        ax.set_xlabel(head)
        ax.axvline(values[0], color=style.GREY, linestyle=":", linewidth=1)
        ax.margins(x=0.22)
        if column < 2:
            ax.set_xlim(left=0)
            ax.locator_params(axis="x", nbins=4)
        else:  # a difference of a point shall look like one
            least = min(90, 5 * math.floor(min(values) / 5))
            ax.set(xlim=(least, 103), xticks=range(least, 101, 5 if least > 80 else 20))
    told = "; ".join(
        f"{n}: {kb:.0f} KB, {ms:.0f} ms, {right:.1f} % right"
        for n, (kb, ms, right) in forms.items()
    )
    show(
        figure,
        caption=f"Every form but the first is smaller, and at most {lost:.1f} points less are "
        "right. Measured here, on one thread; the dotted lines are float32's.",
        alt=f"Three panels with a row for each form. {told}",
    )


def show_products(times: Mapping[str, Mapping[int, float]]) -> None:
    """Milliseconds of one wide layer over the rows of a batch, a line for each way to compute."""
    figure, ax = style.axes(width=8.6, height=3.7)
    for colour, mark, (name, by_rows) in zip(style.CYCLE, MARKS, times.items(), strict=False):
        ax.plot(list(by_rows), list(by_rows.values()), color=colour, linewidth=1)
        ax.plot(list(by_rows), list(by_rows.values()), **style.measured(colour, name, mark))
    ax.set(xscale="log", yscale="log", xlabel="rows of the batch", ylabel="ms (median)")
    style.ticks(ax.xaxis, next(iter(times.values())))
    seen = [ms for by_rows in times.values() for ms in by_rows.values()]
    decades = [m * 10.0**power for power in range(-3, 5) for m in (1, 2, 5)]
    style.ticks(ax.yaxis, [t for t in decades if min(seen) / 1.5 < t < 1.5 * max(seen)])
    ax.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    told = "; ".join(
        f"{n}: " + ", ".join(f"{ms:.1f} ms for {c}" for c, ms in by_rows.items())
        for n, by_rows in times.items()
    )
    show(
        figure,
        caption="One layer of 4096 × 4096 on one thread, measured in turn on this machine.",
        alt=f"Milliseconds over the rows of a batch, both axes logarithmic. {told}",
    )


def show_losses(
    printed: Mapping[str, float], ours: Mapping[str, float], said: Sequence[str]
) -> None:
    """Points of accuracy lost to few bits, what others printed beside what was measured here.

    said: in words, the patient in 8 bits, in 4, trained so.
    """
    every = {**printed, **ours}
    figure, ax = style.axes(width=7.8, height=0.29 * len(every) + 1.0)
    ax.axvline(0, color=style.GREY, linewidth=1)
    ax.plot(list(printed.values()), range(len(printed)), **style.published())
    own = range(len(printed), len(every))
    ax.plot(list(ours.values()), own, **style.measured(label="measured: the patient"))
    for place, value in enumerate(every.values()):
        words = f"{round(value, 1) + 0.0:.1f}".replace("-", "−")
        style.note(ax, words, (value, place), (7, 0), va="center")
    ax.axhline(len(printed) - 0.5, color=style.BLACK, linewidth=0.8)
    style.rows(ax, list(every), fontsize=9)
    ax.set_xlabel("points of accuracy lost")
    ax.margins(x=0.1)
    ax.legend(fontsize=9, loc="upper right")
    by_training = [points for name, points in printed.items() if name.endswith("trained so")]
    told = ", ".join(f"{name} {points:.1f}" for name, points in printed.items())
    show(
        figure,
        caption=f"Eight bits cost {min(by_training):.1f} to {max(by_training):.1f} points when "
        f"trained so, after training up to {max(printed.values()):.1f} (ImageNet, as "
        f"printed). The patient with 8 bits, after training: {said[0]}; with "
        f"4 bits: {said[1]}.",
        alt=f"Diamonds for printed losses: {told}. Below, dots for the patient: "
        f"{said[0]} for 8 bits after training, {said[1]} for 4 "
        f"bits, {said[2]} for 4 bits where it was trained so.",
    )
