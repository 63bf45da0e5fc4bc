"""Figures of lesson 12: what a split costs, which values cross, what links make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from helpers.engine.trace import Trace
from helpers.lessons.data_parallel.figures.step_view import last_step
from helpers.notebook.figures import show
from helpers.notebook.style import (
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    axes,
    measured,
    modelled,
    note,
    published,
    rows,
    ticks,
)

RANK_COLOURS = (SKY, ORANGE, GREEN, PINK)
RANK_MARKS = "os^D"


def show_counted(
    parts: Mapping[str, tuple[float, float]], found: Mapping[str, float], caption: str
) -> None:
    """Counted milliseconds, computing and messages, beside the measured ones.

    parts: for each name seconds of computing and of messages. found: seconds measured.
    """
    figure, ax = axes(height=1.2 + 0.55 * len(parts))
    places = range(len(parts))
    computing, messages = (1e3 * np.array(each) for each in zip(*parts.values(), strict=True))
    real = [1e3 * found[name] for name in parts]
    ax.barh(places, computing, 0.5, color=GREEN, label="computing, counted")
    look = {"color": ORANGE, "hatch": "////", "edgecolor": "#444444", "linewidth": 0.4}
    ax.barh(places, messages, 0.5, left=computing, label="messages, counted", **look)
    ax.plot(real, places, **measured())
    rows(ax, list(parts))
    ax.set(xlim=(0, 1.12 * max(*(computing + messages), *real)), xlabel="a training step (ms)")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1.0), ncols=3, fontsize=10)
    told = "; ".join(
        f"{name}: counted {a + b:.1f} ms, of which messages {b:.1f}, measured {c:.1f} ms"
        for name, a, b, c in zip(parts, computing, messages, real, strict=True)
    )
    show(
        figure,
        caption=caption,
        alt=f"Bars of a training step's time, computing and messages as counted, with a dot where "
        f"it was measured. {told}.",
    )


def show_speedups(
    widths: Sequence[int], counted: Sequence[float], found: Sequence[float], rows: int
) -> None:
    """Speedup of a vertical split on two ranks against the layers' width."""
    figure, ax = axes(height=3.4)
    ax.plot(widths, counted, **modelled(label="counted before"))
    ax.plot(widths, found, **measured())
    ax.axhline(1, color=GREY, linewidth=1)
    note(ax, "above this line two ranks are quicker", (widths[0], 1), (0, 3), color="#555555")
    ax.set(xscale="log", xlabel="units in each layer", ylabel="speedup of two ranks (×)")
    ax.set_ylim(0, max(2.05, 1.1 * max(*counted, *found)))
    ticks(ax.xaxis, widths)
    ax.legend(loc="lower right")
    told = ", ".join(
        f"{w} units: counted {c:.2f}, measured {m:.2f}"
        for w, c, m in zip(widths, counted, found, strict=True)
    )
    show(
        figure,
        caption=f"A vertical split with {rows} rows a batch: the wider the layers, the more "
        "work there is for each message.",
        alt=f"Speedup of two ranks against one by width. {told}.",
    )


def draw_network(ax: Any, masks: Sequence[np.ndarray], owners: Sequence[np.ndarray]) -> None:
    """Units as points, coloured by their rank; connections that cross in red.

    Units of one rank are drawn side by side, so that the borders are seen; among them, each stands
    near those that it is connected to.
    """
    places = _places(masks, owners)
    for level, mask in enumerate(masks):
        for above, below in np.argwhere(mask):
            cross = owners[level][below] != owners[level + 1][above]
            look = (RED, 1.1, 2) if cross else ("#BBBBBB", 0.7, 1)
            ends = [places[level][below], places[level + 1][above]]
            ax.plot(ends, [level, level + 1], color=look[0], linewidth=look[1], zorder=look[2])
    for level, (owner, place) in enumerate(zip(owners, places, strict=True)):
        for rank in np.unique(owner):
            here = place[owner == rank]
            mark = {"color": RANK_COLOURS[rank % 4], "markeredgecolor": "black", "markersize": 8}
            ax.plot(here, [level] * len(here), RANK_MARKS[rank % 4], zorder=3, **mark)
    ax.set_xticks([])
    ax.set_yticks(range(len(owners)), ["inputs", *(f"layer {n}" for n in range(1, len(owners)))])
    ax.set_ylim(-0.35, len(owners) - 0.65)
    ax.grid(visible=False)


def _places(masks: Sequence[np.ndarray], owners: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Where each unit stands on its level, from 0 to 1: by rank, then near its neighbours."""

    def spread(owner: np.ndarray, wish: np.ndarray) -> np.ndarray:
        place = np.empty(len(owner))
        place[np.lexsort((wish, owner))] = (np.arange(len(owner)) + 0.5) / len(owner)
        return place

    places = [spread(owner, np.arange(len(owner))) for owner in owners]
    for _ in range(30):  # up and down again, each level by the mean of the one before
        for level, mask in enumerate(masks):
            wish = mask @ places[level] / np.maximum(mask.sum(axis=1), 1)
            places[level + 1] = spread(owners[level + 1], wish)
        for level, mask in reversed(list(enumerate(masks))):
            wish = mask.T @ places[level + 1] / np.maximum(mask.sum(axis=0), 1)
            places[level] = spread(owners[level], wish)
    return places


def show_crossings(
    masks: Sequence[np.ndarray],
    assignments: Mapping[str, Sequence[np.ndarray]],
    crossing: Callable[[list[tuple[int, int]], list[int], list[int]], int],
) -> dict[str, list[int]]:
    """One network under several assignments, side by side. Returns each layer's crossings.

    crossing: counts them for one layer's connections (unit below, unit above) and two levels'
    owners, as exercise 12.3 asks.
    """
    figure, panels = axes(columns=len(assignments), width=4.6 * len(assignments), height=3.3)
    found: dict[str, list[int]] = {}
    for ax, (name, owners) in zip(np.atleast_1d(panels), assignments.items(), strict=True):
        draw_network(ax, masks, owners)
        found[name] = []
        for level, mask in enumerate(masks):
            pairs = [(int(below), int(above)) for above, below in np.argwhere(mask)]
            levels = [[int(rank) for rank in owners[n]] for n in (level, level + 1)]
            found[name].append(int(crossing(pairs, *levels)))
        ax.set_title(f"{name}: {sum(found[name])} values cross")
    ranks = len(np.unique(next(iter(assignments.values()))[0]))
    told = ", ".join(f"{name} {sum(numbers)}" for name, numbers in found.items())
    show(
        figure,
        caption="One network, the same number of units for each rank (colour and mark). "
        "Red connections lead to another rank.",
        alt=f"A partly connected network of {len(masks)} layers on {ranks} ranks, drawn under "
        f"{len(found)} assignments. Values that cross for one row: {told}.",
    )
    return found


def show_gains(links: Sequence[str], gains: Mapping[str, Sequence[float]]) -> None:
    """Speedups of two splits on four GPUs over several links, slowest first, a series a split."""
    figure, ax = axes(height=4.2)
    for number, (name, values) in enumerate(gains.items()):
        look = {"marker": "os"[number], "linestyle": "--", "linewidth": 1.2, "label": name}
        ax.plot(values, range(len(links)), color=CYCLE[number], **look)
    ax.axvline(1, color=GREY, linewidth=1)
    rows(ax, links)
    ax.set(xscale="log", xlabel="speedup of 4 GPUs (×), modelled")
    ticks(ax.xaxis, (0.01, 0.03, 0.1, 0.3, 1, 2, 4))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    told = "; ".join(
        f"{name} from {min(values):.2f} over {links[0]} to {max(values):.2f}"
        for name, values in gains.items()
    )
    show(
        figure,
        caption="The same two splits on four GPUs, link by link: the wave gains from 10 Gbit/s "
        "of Ethernet on; the vertical split loses over Ethernet, is less than twice as "
        "quick over InfiniBand and PCIe, and comes near the wave only over NVLink.",
        alt=f"Speedup of 4 GPUs by link, modelled. {told}.",
    )


def show_distbelief(data: Mapping[str, Sequence[float]]) -> None:
    """The published speedups of DistBelief's model parallelism, on 1 to 128 machines."""
    figure, ax = axes(height=3.8)
    counts = [2**k for k in range(8)]
    series = {
        "images, 1.7 billion parameters": ("img1.7B", data["machines"]),
        "images, 330 million": ("img330M", data["machines"]),
        "images, 80 million": ("img80M", data["machines"]),
        "speech, 42 million": ("speech42M_1_2_4_8_16_32_64_128", counts),
    }
    for number, (name, (key, machines)) in enumerate(series.items()):
        line = {**published(name), "color": CYCLE[number], "linestyle": ":", "linewidth": 1.2}
        ax.plot(machines, data[key], **line, markeredgecolor=CYCLE[number])
    ax.plot([1, 16], [1, 16], color=GREY, linewidth=1)
    ax.text(17, 13, "N machines,\nN times as quick", fontsize=9, color="#555555")
    ax.axhline(1, color=GREY, linewidth=0.6)
    ax.set(xscale="log", yscale="log", xlabel="machines", ylabel="speedup (×)", ylim=(0.8, 18))
    ticks(ax.xaxis, counts)
    ticks(ax.yaxis, counts[:5])
    ax.legend(loc="upper left", fontsize=9)
    show(
        figure,
        caption="Published (Dean et al. 2012, figure 3, read off): the dense speech network is "
        "slower on 16 machines than on one; the largest network of local connections gains most.",
        alt="Speedup against machines, both axes logarithmic. Speech, 42 million parameters: rises "
        "to 2.2 on 8 machines, falls to 0.95 on 16. Images: 80 million 5.8, 330 million 12.1, 1.7 "
        "billion 13.2 on 128 machines, all far below one for one.",
    )


def show_by_layer(trace: Trace) -> None:
    """A step of a network that is cut by layer over four ranks."""
    show(
        last_step(trace).plot(arrows=False),
        caption="A network cut by layer: forward goes down the ranks, backward comes up, and "
        "three of four wait.",
        alt="Timeline of four ranks on the virtual clock. Forward: each computes 1 ms "
        "after the one before. Backward: 2 ms each, in the opposite order. At any time "
        "one rank computes and three wait.",
    )
