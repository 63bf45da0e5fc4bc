"""Figures of lesson 13: schedules drawn, the bubble, what a stage holds, published speedups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.pipelines.algorithms.instructions import BackwardWeights, Forward
from helpers.lessons.pipelines.algorithms.timetable import Span, idle_share, makespan, own_idle
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREY,
    RED,
    axes,
    measured,
    modelled,
    note,
    published,
    rows,
    ticks,
)

Table = Sequence[Sequence[Span]]

# By chunk: of forward, of backward or its half that others wait for, and of the other half.
CHUNKS = ("#8CCDF1", "#D3ECFA"), ("#E69F00", "#F6D79A"), ("#7FC6A4", "#CDE8DB")
IDLE = "#EFEFEF"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def show_schedules(
    tables: Mapping[str, Table], caption: str, alt: str, inside: bool = False
) -> None:
    """Draw schedules one under the other, on one scale of time: a row a rank.

    tables: when each rank did what, by name, in seconds. inside: titles say how long a rank idles
    between its first box and its last, and not the share of the whole step.
    """
    ranks = sum(len(table) for table in tables.values())
    height = 0.95 * len(tables) + 0.3 * ranks + 0.35
    figure, panels = axes(rows=len(tables), width=7.2, height=height)
    panels = panels if len(tables) > 1 else [panels]
    panels[0].get_gridspec().set_height_ratios([2 + len(table) for table in tables.values()])
    begins = {name: min(s.start for row in table for s in row) for name, table in tables.items()}
    longest = max(makespan(table) for table in tables.values())
    scale, word = next(u for u in UNITS if longest >= u[0])
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        draw_table(ax, table, begins[name], scale)
        took = makespan(table) / scale
        idle = f"idle {100 * idle_share(table):.0f} %"
        if inside:
            most = max(map(own_idle, table)) / scale
            idle = f"a rank idles {most:.3g} {word} at most between its boxes"
        ax.set_title(f"{name}: {took:.3g} {word}, {idle}")
        ax.set_xlim(0, longest / scale * 1.005)
        ax.set_xlabel(f"time ({word})" if ax is panels[-1] else "")
    kinds = {type(span.instruction) for table in tables.values() for row in table for span in row}
    chunks = {span.instruction.chunk for table in tables.values() for row in table for span in row}
    legend(panels[-1], below=True, halves=BackwardWeights in kinds, chunks=len(chunks) > 1)
    show(figure, caption, alt)


def draw_table(ax: Any, table: Table, begin: float = 0.0, scale: float = 1.0) -> None:
    """One schedule in an axes: boxes with the microbatch's number, where there is room for it."""
    from matplotlib.collections import PolyCollection

    end = (max(s.end for row in table for s in row) - begin) / scale
    polygons: list[Any] = []
    colours: list[str] = []
    ax.barh(range(len(table)), end, height=0.72, color=IDLE, edgecolor="none")
    boxes = [(rank, span) for rank, row in enumerate(table) for span in row]
    for rank, span in boxes:
        left, right = (span.start - begin) / scale, (span.end - begin) / scale
        low, high = rank - 0.36, rank + 0.36
        polygons.append([(left, low), (right, low), (right, high), (left, high)])
        kinds = {Forward: CHUNKS[0], BackwardWeights: CHUNKS[2]}
        kind = kinds.get(type(span.instruction), CHUNKS[1])
        colours.append(kind[span.instruction.chunk % 2])
        wide, number = (right - left) / end, str(span.instruction.microbatch)
        if len(boxes) <= 200 and wide > 0.007 * (1 + len(number)):
            looks: dict[str, Any] = {"fontsize": 8 if wide > 0.025 else 7, "clip_on": True}
            ax.text((left + right) / 2, rank, number, ha="center", va="center", **looks)
    edges: dict[str, Any] = {"edgecolors": "#444444", "linewidths": 0.5}
    ax.add_collection(PolyCollection(polygons, facecolors=colours, **edges))
    rows(ax, [f"rank {rank}" for rank in range(len(table))])
    ax.set_xlim(0, end)
    ax.grid(visible=False)


def legend(ax: Any, below: bool = False, halves: bool = False, chunks: bool = False) -> None:
    """What the colours mean: above a panel at its right, or below it beside the axis's label.

    halves: a backward is cut in two. chunks: a rank has two.
    """
    from matplotlib.patches import Patch

    words = [("forward", CHUNKS[0][0]), ("backward", CHUNKS[1][0]), ("idle", IDLE)]
    if halves:
        words.insert(2, ("for weights", CHUNKS[2][0]))
    if chunks:
        words.insert(-1, ("light: the second chunk", CHUNKS[0][1]))
    handles = [Patch(facecolor=c, edgecolor="#444444", label=word) for word, c in words]
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    if below:
        place = {"loc": "upper right", "bbox_to_anchor": (1.0, -0.4 if halves else -0.22)}
    looks = {"handlelength": 1.2, "columnspacing": 1.0, "borderaxespad": 0.1}
    ax.legend(handles=handles, ncols=len(words), fontsize=9, **looks, **place)


def show_bubble(
    formula: Mapping[int, Mapping[int, float]], clock: Mapping[int, Mapping[int, float]]
) -> None:
    """Idle share over microbatches, by number of stages: the formula, and points from the clock."""
    figure, ax = axes(width=7.0, height=3.3)
    for colour, (stages, shares) in zip(CYCLE, formula.items(), strict=False):
        ax.plot(list(shares), [100 * s for s in shares.values()], **modelled(colour, f"{stages}"))
        points = clock[stages]
        ax.plot(list(points), [100 * s for s in points.values()], **measured(colour, "_"))
        second = list(shares)[1]
        note(ax, f"{stages} stages", (second, 100 * shares[second]), (7, 5), color=colour)
    counts = list(next(iter(formula.values())))
    ax.set(xscale="log", xlabel="microbatches", ylabel="idle (% of the step)", ylim=(0, 100))
    ax.set_xlim(0.9, counts[-1] * 1.1)
    ticks(ax.xaxis, counts)
    ax.plot([], [], **modelled("#444444", "formula"))
    ax.plot([], [], **measured("#444444", "the schedule, on the clock"))
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[-2:], labels[-2:], loc="upper right")
    ends = [
        f"{stages} stages from {100 * shares[counts[0]]:.0f} to {100 * shares[counts[-1]]:.0f}"
        for stages, shares in formula.items()
    ]
    apart = max(abs(formula[p][m] - clock[p][m]) for p in formula for m in counts)
    lies = "lies on the formula" if apart < 1e-9 else f"is up to {100 * apart:.1f} points off it"
    show(
        figure,
        "Idle time falls with the number of microbatches, and twice as many stages want more than "
        f"twice as many; the clock {lies}.",
        f"Idle share in per cent over {counts[0]} to {counts[-1]} microbatches on a logarithmic "
        f"axis, falling curves: {', '.join(ends)}. Dots: the clock, which {lies}.",
    )


def show_held(held: Mapping[str, Sequence[int]], nbytes: Mapping[str, Sequence[int]]) -> None:
    """Microbatches held by each stage, by schedule, and the bytes that were counted for them."""
    figure, (left, right) = axes(columns=2, width=7.6, height=3.0)
    stages = range(len(next(iter(held.values()))))
    for ax, values, scale in ((left, held, 1.0), (right, nbytes, 1e6)):
        for at, (name, each) in enumerate(values.items()):
            look = {"color": (BLUE, RED)[at], "hatch": ("", "////")[at], "label": name}
            places, sizes = [stage + 0.4 * at - 0.2 for stage in stages], [v / scale for v in each]
            ax.bar(places, sizes, 0.4, edgecolor="white", linewidth=0.4, **look)
        ax.set_xlabel("stage")
        ticks(ax.xaxis, stages)
        ax.grid(axis="x", visible=False)
    left.set_ylabel("microbatches held at once")
    right.set_ylabel("kept for backward (MB)")
    top = max(max(each) for each in held.values())
    left.set_ylim(0, top * 1.35)
    left.legend(loc="upper right", ncols=2, fontsize=9, handlelength=1.2, columnspacing=1.0)
    words = "; ".join(f"{name} {', '.join(map(str, each))}" for name, each in held.items())
    listed = "; ".join(
        f"{name} {', '.join(f'{size / 1e6:.1f}' for size in each)}" for name, each in nbytes.items()
    )
    show(
        figure,
        "GPipe keeps every microbatch on every stage; one forward one backward keeps as many as "
        "there are stages after it, and itself.",
        f"Two bar charts by stage. Microbatches held: {words}. Megabytes that autograd kept: "
        f"{listed}.",
    )


def show_speedups(
    devices: Sequence[int],
    ours: Mapping[str, Sequence[float]],
    alone: Mapping[str, Sequence[float]],
    paper: Mapping[str, Sequence[float]],
) -> None:
    """Published speedups beside the clock's, with and without the fitted cost of a sample."""
    figure, panels = axes(columns=len(ours), width=8.0, height=3.2)
    places = range(len(devices))
    for ax, (name, values) in zip(panels, ours.items(), strict=True):
        dots = modelled(GREY, "the clock, bubble alone") | {"linestyle": ":"}
        ax.plot(places, alone[name], **dots)
        ax.plot(places, values, **modelled(label="the clock, fitted"))
        ax.plot(places, paper[name], **published("Huang et al. 2019"))
        ax.set_xticks(places, [str(n) for n in devices])
        count = name.removeprefix("M")
        ax.set_title(f"{count} microbatch{'es' if count != '1' else ''}")
        ax.set(ylim=(0, 7.5), xlim=(-0.3, len(devices) - 0.7))
    panels[0].set_ylabel("throughput (2 devices, M = 1: 1)")
    panels[1].set_xlabel("devices")
    panels[0].legend(loc="upper left", fontsize=9)
    worst = max(abs(o / p - 1) for n in ours for o, p in zip(ours[n], paper[n], strict=True))
    show(
        figure,
        f"The clock is within {100 * worst:.0f} % of every published point once a larger "
        "microbatch costs less a sample; the bubble alone explains the right panel, not the "
        "middle one.",
        "Three panels, 1, 4 and 32 microbatches; throughput over 2, 4 and 8 devices. Published "
        f"diamonds {'; '.join(', '.join(f'{v:g}' for v in paper[n]) for n in ours)}; dashed curves "
        "of the clock pass close by; dotted curves of the bubble alone lie far below for M = 4.",
    )


def show_microbatches(tables: Mapping[str, Table]) -> None:
    """A step on one rank, and on four in one piece and in four microbatches."""
    show_schedules(
        tables,
        "Four microbatches keep four ranks busy for four sevenths of the step.",
        "Boxes over time for one rank and twice for four ranks. In one piece, forward "
        "goes down the four ranks one after the other and backward comes up again: 3 "
        "s, as on one rank. With four microbatches the boxes overlap, and the step "
        "takes 1.3 s.",
    )


def show_two_orders(tables: Mapping[str, Table]) -> None:
    """The same work, one microbatch after the other and by GPipe."""
    show_schedules(
        tables,
        "The same work in two orders: one microbatch after the other takes 48 s, GPipe takes 21 s.",
        "Two schedules of four ranks and four microbatches. Above, each microbatch "
        "goes down and up again before the next one starts. Below, four forwards "
        "follow each other on every rank, then four backwards in the order 3, 2, 1, 0.",
    )


def show_in_turns(tables: Mapping[str, Table]) -> None:
    """GPipe and 1F1B."""
    show_schedules(
        tables,
        "1F1B takes exactly as long as GPipe. The bubble is only spread differently; "
        "what changes is how soon a microbatch leaves.",
        "Two schedules of four ranks and eight microbatches, both 33 s long. GPipe has "
        "eight forwards and then eight backwards on each rank; under 1F1B blue and "
        "orange boxes alternate after a short start, and the last rank alternates from "
        "the first box on.",
    )


def show_halves(tables: Mapping[str, Table]) -> None:
    """1F1B and three schedules that put off the halves for the weights."""
    show_schedules(
        tables,
        "The halves for the weights (green) fill the way back. Under ZB-H2 and the V "
        "no rank idles between its first box and its last; what is grey there lies "
        "before and after.",
        "Four schedules of four ranks and eight microbatches. Under 1F1B orange boxes "
        "are twice as long as blue ones, and the step takes 33 s. Below, orange and "
        "green boxes are as long as blue ones; green boxes stand at the end of the "
        "lower ranks. ZB-H1 takes 27 s. Under ZB-H2 the rows are a parallelogram "
        "without gaps, under the V nearly a rectangle, half of its boxes light.",
        inside=True,
    )


def show_real_schedules(tables: Mapping[str, Table]) -> None:
    """GPipe and 1F1B on two processes, from their own clocks."""
    show_schedules(
        tables,
        "Eight microbatches on two processes, from their own clocks, in the median "
        "step of each. Real boxes of one kind differ in length, and a rank is idle "
        "wherever the next message is not there yet.",
        "Boxes of forward and backward of two ranks over the time of a step, in the "
        "order of GPipe above and of 1F1B below. Grey is where a rank computes "
        "nothing: rank 1 until the first activation has come, rank 0 until the first "
        "gradient has, and whatever is between boxes.",
    )
