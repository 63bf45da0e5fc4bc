"""Figures of cures for stale gradients: who is below a target when, and which cure helps where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from helpers.engine.servers.training import Point
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes,
    measured,
    note,
    rows,
    ticks,
)

MARKS = "osD^vPX"
LEARNED = 10  # % of error: below it a training has learned
Runs = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]  # by setting, by cure


def first_below(curve: Sequence[Point], target: float) -> float | None:
    """The seconds after which the error is at most `target`; None if it never is."""
    return next((p.seconds for p in curve if p.error <= target), None)


def how_soon(one: float | None, other: float | None) -> str:
    """In words, when the other gets there, compared with the one: None is never."""
    if other is None:
        return "never"
    sooner = np.inf if one is None else one / other
    steps = ((5, "8 times sooner"), (1.25, "a few times sooner"), (0.8, "at about the same time"))
    return next((words for least, words in steps if sooner >= least), "later")


def show_race(curves: Mapping[str, Sequence[Point]], target: float, caption: str) -> None:
    """Test error against time, a curve each. target: an error in %. caption: what the curves
    differ in; when each is there is added."""
    figure, ax = axes(height=3.6)
    said, short = [], []
    for (name, curve), colour, mark in zip(curves.items(), CYCLE, MARKS, strict=False):
        every = max(len(curve) // 12, 1)
        look = {"color": colour, "marker": mark, "markevery": every, "ms": 5, "lw": 1.4}
        ax.plot([p.seconds for p in curve], [p.error for p in curve], label=name, **look)
        at = first_below(curve, target)
        when = "never" if at is None else f"after {at:.0f} s"
        short.append(f"{name} {when}")
        said.append(f"{name} {when}, and ends at {curve[-1].error:.0f} %")
    ax.axhline(target, color=GREY, linestyle=":", linewidth=1.5)
    note(ax, f"{target:g} %", (1, target), (0, 4), color=GREY, fontsize=11)
    ax.set(xlabel="time on the clock (s)", ylabel="test error (%)", yscale="log", ylim=(1.5, 130))
    ticks(ax.yaxis, [2, 5, 10, 20, 50, 100])
    ax.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0))
    show(
        figure,
        caption=f"{caption} First at {target:g} %: {', '.join(short)}.",
        alt=f"Line chart of the test error against time. It reaches {target:g} %: "
        f"{'; '.join(said)}.",
    )


def show_cures(found: Runs) -> None:
    """Final errors and times by setting and cure: for each seed (error in %, seconds)."""
    settings = list(found)
    names = list(found[settings[0]])
    figure, panels = axes(columns=len(settings) + 1, width=10.4, height=4.1)
    for ax, setting in zip(panels, settings, strict=False):
        for place, runs in enumerate(found[setting].values()):
            values = sorted(error for error, _ in runs)
            colour, mark = _verdict(values)
            places = [place + 0.12 * (i - (len(values) - 1) / 2) for i in range(len(values))]
            ax.plot(values, places, color=colour, marker=mark, linestyle="none", alpha=0.8)
        ax.axvline(LEARNED, color=GREY, linestyle=":", linewidth=1.2)
        ax.set(xscale="log", xlim=(1.5, 130), xlabel="final test error (%)")
        ticks(ax.xaxis, [2, 5, 10, 20, 50, 100])
        ax.set_title(setting, fontsize=9)
    for setting, colour, mark in zip(settings, (BLUE, BLACK), "ov", strict=False):
        per = [_times(found[setting], name) for name in names]
        panels[-1].plot(per, range(len(per)), **measured(colour, setting.split(",")[0], mark))
    panels[-1].set(xscale="log", xlim=(0.7, 10), xlabel="time, × no cure’s")
    ticks(panels[-1].xaxis, [1, 2, 5, 10])
    panels[-1].set_title("what it costs", fontsize=9)
    panels[-1].legend(fontsize=8, loc="upper right")
    for ax in panels:
        rows(ax, names if ax is panels[0] else [""] * len(names))
    words = []
    for setting, cures in found.items():
        errors = "; ".join(
            f"{n} {', '.join(f'{e:.0f}' for e in sorted(e for e, _ in runs))}"
            for n, runs in cures.items()
        )
        words.append(f"{setting.replace(chr(10), ' ')}: {errors}")
    slow = [n for n in names if max(_times(c, n) for c in found.values()) > 1.2]
    show(
        figure,
        caption=f"A mark a seed: green (●) ends below {LEARNED} % with every seed, orange (■) with "
        f"some, red (✕) with none. Green in both: {', '.join(holds_in_all(found)) or 'none'}.",
        alt=f"Dot charts of final test errors by cure, in %, a number a seed. {'. '.join(words)}. "
        f"The last panel is the time: these take longer than without a cure: "
        f"{', '.join(slow) or 'none'}.",
    )


def _times(cures: Mapping[str, Sequence[tuple[float, float]]], name: str) -> float:
    """The time with a cure over that with the first one, which is none."""
    first, own = ([seconds for _, seconds in cures[n]] for n in (next(iter(cures)), name))
    return float(np.mean(own) / np.mean(first))


def _verdict(errors: Sequence[float]) -> tuple[str, str]:
    """Colour and mark: learned with every seed, with some, with none."""
    learned = [error < LEARNED for error in errors]
    return (GREEN, "o") if all(learned) else (ORANGE, "s") if any(learned) else (RED, "X")


def holds_in_all(found: Runs) -> list[str]:
    """The cures with which training ends below LEARNED % in every setting, with every seed."""
    names = list(next(iter(found.values())))
    return [n for n in names if all(e < LEARNED for cures in found.values() for e, _ in cures[n])]
