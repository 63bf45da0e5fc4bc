"""Figures of lesson 02 on the clock: timelines, and how the time of a broadcast grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, RED, axes, measured, modelled, rows


def timelines(runs: Mapping[str, Any]) -> Any:
    """One timeline under the other, on the same time axis. runs: results by title."""
    height = sum(1.1 + 0.38 * result.trace.size for result in runs.values())
    figure, panels = axes(rows=len(runs), height=height)
    for panel, (title, result) in zip(panels, runs.items(), strict=True):
        result.trace.plot(ax=panel, title=title)
    widest = max(panel.get_xlim()[1] for panel in panels)
    for panel in panels:
        panel.set_xlim(0, widest)
    return figure


def show_two_sums(took: Mapping[str, float]) -> None:
    """Seconds of two ways to the same sum on 64 ranks, a bar each."""
    figure, ax = axes(height=0.9 + 0.42 * len(took))
    drawn = ax.barh(range(len(took)), list(took.values()), color=BLUE)
    ax.bar_label(drawn, [f"{s:.2f} s" for s in took.values()], padding=4)
    rows(ax, list(took))
    ax.set(xlabel="virtual time (s)", xlim=(0, 1.12 * max(took.values())))
    show(
        figure,
        caption="Two ways to the same sum on 64 ranks: 12.6 s and 0.2 s.",
        alt="Bar chart of virtual time: rank 0 collects and sends 12.60 s, partners "
        "exchange halves 0.20 s.",
    )


def show_two_ways(runs: Mapping[str, Any]) -> None:
    """Passing on in turns and at once."""
    show(
        timelines(runs),
        caption="Taking turns costs two messages' time, sending and receiving at once costs "
        "one: a link carries both directions at the same time.",
        alt="Two timelines of four ranks that pass 1 MB to the right. In turns, ranks 0 "
        "and 2 send for 1 ms while 1 and 3 wait, then the other way round. At once, "
        "all four are done after 1 ms.",
    )


def show_broadcasts(runs: Mapping[str, Any]) -> None:
    """A broadcast one after the other, and down a tree."""
    show(
        timelines(runs),
        caption="Seven messages one after the other, or three rounds in which everybody who "
        "has the tensor sends it on: 7.35 ms against 3.15 ms.",
        alt="Two timelines of eight ranks. Naive: rank 0 sends seven times in turn, the "
        "others wait. Tree: rank 0 sends to rank 1, then 0 and 1 send to 2 and 3, then "
        "four ranks send to four.",
    )


def show_growth(worlds: Sequence[int], ran: Mapping[str, Sequence[float]], message: float) -> None:
    """Time of a broadcast against the number of ranks, on the virtual clock and by formula.

    ran: seconds of "loop" and "tree", one for each world size. message: seconds of one message.
    """
    looks = {
        "loop": (BLUE, "o", lambda n: n - 1),
        "tree": (RED, "s", lambda n: math.ceil(math.log2(n))),
    }
    figure, ax = axes()
    every = range(2, max(worlds) + 1)
    for name, seconds in ran.items():
        colour, marker, rounds = looks[name]
        shown = measured(colour, f"{name}, virtual clock", marker)
        ax.plot(worlds, [s * 1e3 for s in seconds], **shown)
        model = [rounds(n) * message * 1e3 for n in every]
        ax.plot(every, model, **modelled(colour, f"{name}, formula"))
    ax.set(xlabel="ranks", ylabel="time of the broadcast (ms)")
    ax.legend()
    show(
        figure,
        caption="On 64 ranks the tree needs 6 rounds where the loop needs 63.",
        alt="Time of a broadcast against the number of ranks. The loop grows in a straight "
        "line to 3.8 ms on 64 ranks; the tree climbs in small steps to 0.36 ms. Dots "
        "lie on formulas.",
    )


def show_ring_and_halving(runs: Mapping[str, Any]) -> None:
    """A ring and halving-doubling, a small tensor on four ranks."""
    show(
        timelines(runs),
        caption="Same sum, same bytes. The ring pays the latency 6 times, halving-doubling 4 "
        "times: 360 µs against 260 µs. On 64 ranks it would be 126 times against 12.",
        alt="Two timelines of four ranks that send all the time. The ring has six equal "
        "steps, with arrows to the next rank; halving-doubling has four, a long, two "
        "shorter and a long one, with arrows to the rank two away, to the neighbour "
        "twice, and two away again.",
    )
