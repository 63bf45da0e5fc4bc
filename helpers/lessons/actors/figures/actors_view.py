"""Figures of lesson 15: actors that learn together, races that were found, and how old data is.

Each function takes what a cell has run, draws it and shows it with caption and alt text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from helpers.lessons.actors.experiments.races import Found, Touch
from helpers.notebook.compared import times_as
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes,
    measured,
    modelled,
    note,
    published,
    rows,
    ticks,
)
from helpers.notebook.timeline import timeline

MARKS = "osD^vPX"


def show_cart_pole(
    runs: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    unit: str,
    goal: float,
    updates: int,
) -> None:
    """Scores over seconds on real processes. runs: seconds and scores, by name."""
    figure, ax = axes(height=3.4)
    for number, (name, (where, scores)) in enumerate(runs.items()):
        look = {"color": CYCLE[number], "marker": MARKS[number], "markersize": 5}
        ax.plot(where, scores, linewidth=1.5, label=name, **look)
    ax.axhline(goal, color=GREY, linestyle=":", linewidth=1.5)
    note(ax, f"goal: {goal:g}", (0, goal), (2, 4))
    ax.set(xlabel="seconds", ylabel=unit)
    ax.set_xlim(left=0)
    ax.legend(fontsize=9, loc="lower right")
    told = "; ".join(
        f"{name} from {scores[0]:.0f} to {scores[-1]:.0f}, at best {max(scores):.0f}"
        for name, (_, scores) in runs.items()
    )
    took = ", ".join(f"{name} {where[-1]:.1f} s" for name, (where, _) in runs.items())
    show(
        figure,
        caption=f"Lock-free on real processes, {updates} updates each, one run: "
        f"{took}. A point is the mean of 20 episodes; how a curve gets there changes "
        "from run to run.",
        alt=f"{unit} by seconds: {told}. The goal is {goal:g}.",
    )


# --- races ----------------------------------------------------------------------------------------


def show_race(found: Found, again: Found) -> None:
    """The timeline of a run in which steps got lost: who read what when, and wrote what.

    Right, the same around the first loss. again: the same run a second time; the caption says
    whether it was the same.
    """
    pairs = found.overwritten
    read, write = pairs[0]
    figure, (whole, close) = axes(columns=2, width=10.4, height=1.9 + 0.5 * len(found.seconds))
    spoiled = {touch for pair in pairs for touch in pair}
    spans = (0.0, found.trace.duration), (read.seconds - 0.04, write.seconds + 0.04)
    for ax, (begin, end) in zip((whole, close), spans, strict=True):
        timeline(found.trace, ax=ax, arrows=False)
        _touches(ax, [t for t in _counts(found) if begin <= t.seconds <= end], spoiled)
        ax.set_xlim(begin, end + 0.02 * (end - begin))
        ax.set_ylim(len(found.seconds) - 0.4, -0.6)
    close.get_legend().remove()
    close.set_title("where a step is lost", fontsize=10)
    words = "; ".join(
        f"rank {read.rank} reads {read.value} at {read.seconds:.2f} s and writes {write.value} at "
        f"{write.seconds:.2f} s, though another has written in between"
        for read, write in pairs
    )
    same = found.trace.events == again.trace.events and found.touches == again.touches
    show(
        figure,
        caption=f"The times of seed {found.seed}: {found.steps} steps were taken and "
        f"{found.counted[0]} counted. ▽ reads the counter, ▲ writes it; orange is a count over "
        "another's that came in between. "
        f"{_together(found)}Played again with the same times, "
        f"{'every event was the same' if same else 'it came out otherwise'}.",
        alt=f"Timeline of {len(found.seconds)} ranks with the moments at which each reads the "
        f"counter and writes it; right, the same around the first loss. Lost: {words}.",
    )


def _together(found: Found) -> str:
    """What came first where a count was read and written at one time, before the first loss."""
    read, write = found.overwritten[0]
    for other in found.touches[found.touches.index(read) + 1 : found.touches.index(write)]:
        if other.kind == "write" and abs(other.seconds - read.seconds) < 1e-9:
            return (
                f"At {read.seconds:.2f} s rank {read.rank} reads before rank {other.rank} writes, "
                "though the clock shows one time for both. "
            )
    return ""


def _counts(found: Found) -> list[Touch]:
    """The touches without what each rank reads when it has written for the last time."""
    last = {t.rank: at for at, t in enumerate(found.touches) if t.kind == "write"}
    return [t for at, t in enumerate(found.touches) if at <= last.get(t.rank, -1)]


def _touches(ax: Any, touches: Sequence[Touch], spoiled: Collection[Touch]) -> None:
    """Reads above a rank's bar and writes below it, each with its number."""
    for touch in touches:
        reads = touch.kind == "read"
        place = touch.rank - 0.38 if reads else touch.rank + 0.34
        look = {"color": RED if touch in spoiled else "#222222", "ha": "center", "va": "center"}
        sign = f"{'▽' if reads else '▲'}{touch.value}"
        ax.text(touch.seconds, place, sign, fontsize=9, clip_on=False, **look)


# --- what more actors bring -----------------------------------------------------------------------


def show_speedup(
    rates: Mapping[int, float], model: Mapping[int, float], paper: Mapping[int, float], cores: int
) -> None:
    """Speedup by actors: steps a second as measured here, by the model, and the paper's table.

    rates: steps a second. model: over one actor. paper: time to a score, over one thread.
    """
    figure, ax = axes(height=3.8)
    first = rates[min(rates)]
    ours = {n: rate / first for n, rate in rates.items()}
    most = max(max(paper), max(model))
    ax.plot([1, most], [1, most], color=GREY, lw=1, label="N actors, N times")
    ax.plot(list(model), list(model.values()), **modelled(label=f"modelled, {cores} cores"))
    here = {**measured(label=f"measured here, {cores} cores"), "zorder": 4}  # above the diamonds
    ax.plot(list(ours), list(ours.values()), **here)
    ax.plot(list(paper), list(paper.values()), **published("published: A3C, 16 cores"))
    ax.set(xscale="log", yscale="log", xlabel="actors", ylabel="times as quick as one")
    for axis in (ax.xaxis, ax.yaxis):
        ticks(axis, [n for n in (1, 2, 4, 8, 16, 32) if n <= most])
    ax.legend(fontsize=9, loc="upper left")
    told = ", ".join(f"{in_words(n)} {times:.2f}" for n, times in ours.items())
    said = ", ".join(f"{in_words(n)} {times:.2f}" for n, times in model.items())
    theirs = ", ".join(f"{in_words(n, 'thread')} {times:g}" for n, times in paper.items())
    best, of_many = (max(found, key=lambda n: ours[n]) for found in (ours, [*ours][1:]))
    many = times_as(ours[of_many], "many")
    top = f"{in_words(best)}, {many} as one"
    if best != of_many:
        top = f"{in_words(best)}; {in_words(of_many)} play {many}"
    show(
        figure,
        caption=f"Most steps a second on {cores} cores here: {top}. The model stops at the "
        "number of cores. The paper's points are times to a score, on 16 cores: compute and "
        "data efficiency together.",
        alt=f"Speedup against actors, both logarithmic. Measured: {told}. Modelled: {said}. "
        f"Published: {theirs}.",
    )


def in_words(number: int, noun: str = "actor") -> str:
    """ "1 actor", "2 actors"."""
    return f"{number} {noun}{'s' * (number > 1)}"


def show_parts(
    parts: Mapping[int, tuple[float, float | None]], goal: float, unit: str, cores: int
) -> None:
    """By actors: compute, data efficiency, and their product, as bars over one actor.

    parts: compute and data efficiency; None where the goal was not reached.
    """
    figure, ax = axes(height=3.2)
    names = ("compute", "data efficiency", "speedup in time (compute × data)")
    looks = zip(names, (BLUE, ORANGE, GREEN), ("", "////", "...."), strict=True)
    products = [(c, d or 0.0, c * (d or 0.0)) for c, d in parts.values()]
    for at, (name, colour, hatch) in enumerate(looks):
        values = [each[at] for each in products]
        places = [place + 0.26 * (at - 1) for place in range(len(parts))]
        look = {"color": colour, "hatch": hatch, "edgecolor": "white", "label": name}
        bars = ax.bar(places, values, 0.24, **look)
        words = [f"{value:.2f}" if value else "never" for value in values]
        ax.bar_label(bars, words, padding=2, fontsize=8)
    said, slower = [], []
    for actors, (compute, data) in parts.items():
        told = "not reached" if data is None else f"data {data:.2f}, time {compute * data:.2f}"
        said.append(f"{in_words(actors)}: compute {compute:.2f}, {told}")
        if data is not None and round(compute * data, 2) < 1:
            slower.append(f"{in_words(actors)} {1 / (compute * data):.2f} times as long")
    ax.axhline(1, color=GREY, linewidth=1)
    ax.set_xticks(range(len(parts)), [in_words(n) for n in parts])
    ax.set(ylabel="over one actor")
    ax.set_ylim(top=1.25 * ax.get_ylim()[1])
    ax.legend(fontsize=9, ncols=3, loc="upper left")
    show(
        figure,
        caption=f"Until {goal:g} {unit}: compute as measured on {cores} cores; data efficiency "
        "(steps that one actor needs, over steps that so many need) on the virtual clock. Their "
        "product is the speedup in time to the score."
        + (f" Here more actors took longer than one: {', '.join(slower)}." if slower else ""),
        alt=f"Bars over one actor, until {goal:g} {unit}. {'; '.join(said)}.",
    )


# --- how old data is ------------------------------------------------------------------------------


def show_staleness(runs: Sequence[tuple[str, float, float]]) -> None:
    """Mean staleness of some runs, counted on the clock beside the formula: (name, counted, it)."""
    figure, ax = axes(height=1.2 + 0.36 * len(runs))
    names, counts, formulas = zip(*runs, strict=True)
    ax.barh(range(len(runs)), counts, 0.55, color=BLUE, label="counted on the clock")
    look = {**modelled(label="formula"), "marker": "|", "linestyle": "none", "markersize": 18}
    ax.plot(formulas, range(len(runs)), **look, markeredgewidth=2.5)
    rows(ax, names)
    ax.set(xlabel="mean staleness of a rollout (updates)")
    ax.legend(fontsize=9, loc="lower right")
    worst = max(abs(counted - formula) for _, counted, formula in runs)
    told = "; ".join(f"{name}: counted {c:.2f}, formula {f:g}" for name, c, f in runs)
    show(
        figure,
        caption="How old a rollout is when it is learned from, counted over each run and by the "
        f"formula; they differ by at most {worst:.2f} updates.",
        alt=f"Bars of mean staleness. {told}.",
    )


def show_ways(
    curves: Sequence[tuple[str, float, Sequence[int], Sequence[Sequence[float]]]],
    unit: str,
    goal: float,
    actors: int,
) -> None:
    """Score by steps played, of several ways to learn: (label, mean staleness, steps, scores).

    scores: a row a seed. Dashed where the label says V-trace.
    """
    figure, ax = axes(width=8.4, height=4.4)
    colours: dict[str, str] = {}
    said = []
    for label, late, steps, scores in curves:
        plain = label.removesuffix(", V-trace")
        colour = colours.setdefault(plain, CYCLE[len(colours)])
        values, thousands = np.array(scores, dtype=float), np.array(steps) / 1e3
        mean = values.mean(0)
        dash, face = ("-", colour) if label == plain else ("--", "white")
        look = {"linestyle": dash, "linewidth": 1.7, "marker": "o", "markersize": 5}
        name = f"{label}: {late:.1f} updates late"
        ax.plot(thousands, mean, color=colour, markerfacecolor=face, label=name, **look)
        ends = values.min(0), values.max(0)
        ax.fill_between(thousands, *ends, color=colour, alpha=0.12, linewidth=0)
        said.append(f"{label} ({late:.1f} updates late) ends at {mean[-1]:.1f}")
    ax.axhline(goal, color=GREY, linestyle=":", linewidth=1.5)
    ax.set(xlabel="steps played (thousands)", ylabel=unit)
    ax.set_xlim(left=0)
    ax.legend(fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    seeds = max(len(scores) for *_, scores in curves)
    show(
        figure,
        caption=f"{actors} actors and one learner on the virtual clock, all with as many steps "
        f"played: means; bands from the worst to the best of {seeds} seeds. Dashed: weighed by "
        "V-trace.",
        alt=f"{unit} by thousands of steps played. {'; '.join(said)}. The goal is {goal:g}.",
    )


def shared_words(made: Mapping[str, Any], before: float, goal: float) -> str:
    """Under the table of lock-free and locked actors. before: what an untrained network scores."""
    speed = {way: done.steps_per_second for way, done in made.items()}
    first, second = sorted(speed, key=lambda way: speed[way], reverse=True)
    times = f"{speed[first] / speed[second]:.2f}"
    compared = f"{first} was quicker, {times} times as quick as {second}"
    if times == "1.00":
        compared = "both were as quick, to the hundredth"
    return (
        "1000 games that nobody trained on. The untrained network does not lose "
        f"{before:.1f} % of them; the goal is {goal:g} %. In this run {compared}. "
        f"Updates beyond 1000, lock-free: {sum(made['lock-free'].updates) - 1000}."
    )
