"""Figures of lesson 14 on time: what a step costs, link by link, with prefetching, and here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.engine.trace import Trace
from helpers.lessons.sharding.figures.memory_view import PRECISIONS
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    axes,
    measured,
    modelled,
    note,
    rows,
    ticks,
)


def show_by_link(seconds: Mapping[str, Mapping[str, float]], computing: float) -> None:
    """Seconds of a step over each link, a mark a way; the line is what computing alone takes."""
    figure, ax = axes(width=7.6, height=3.5)
    looks = ((ORANGE, "s"), (GREY, "v"), (BLUE, "o"))
    for way, (colour, mark) in zip(next(iter(seconds.values())), looks, strict=False):
        values = [by_way[way] * 1e3 for by_way in seconds.values()]
        look = {"color": colour, "marker": mark, "linestyle": "none", "markersize": 8}
        ax.plot(values, range(len(seconds)), label=way, **look)
    ax.axvline(computing * 1e3, color=RED, linestyle="--", linewidth=1.5, label="computing alone")
    rows(ax, list(seconds), fontsize=9)
    ax.grid(axis="y")
    ax.set(xscale="log", xlabel="ms a step, virtual clock")
    low, high = computing * 1e3, max(max(v.values()) for v in seconds.values()) * 1e3
    counts = (200, 500, 1000, 2000, 5000, 10000, 20000)
    ticks(ax.xaxis, [t for t in counts if low * 0.6 < t < high * 1.5])
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.legend(fontsize=9, loc="upper right")
    told = "; ".join(
        f"{link}: " + ", ".join(f"{way} {1e3 * s:.0f} ms" for way, s in by_way.items())
        for link, by_way in seconds.items()
    )
    show(
        figure,
        caption="Prefetching hides as much of stage 3's messages as there is computing to hide "
        "them behind. Modelled: A100 at half their peak, links at their published "
        "peaks.",
        alt=f"{told}. Computing alone takes {1e3 * computing:.0f} ms.",
    )


def show_real_steps(took: Mapping[str, Mapping[str, float]]) -> None:
    """Median ms of a step on two real ranks, ours beside the framework's, a group a comparison."""
    figure, ax = axes(width=7.2, height=2.8)
    names: list[str] = []
    for group, contenders in took.items():
        for (name, value), colour in zip(contenders.items(), (BLUE, RED), strict=False):
            ax.plot(value, len(names), **measured(colour, "_"))
            note(ax, f"{value:.0f}", (value, len(names)), (7, 0), va="center")
            names.append(f"{group}: {name}")
    rows(ax, names, fontsize=9)
    ax.margins(x=0.12)
    ax.set(xlabel="ms a step (median, slowest rank)", xlim=(0, None))
    told = "; ".join(
        f"{g}: " + ", ".join(f"{n} {ms:.0f}" for n, ms in two.items()) for g, two in took.items()
    )
    show(
        figure,
        caption="A step of a Transformer with four blocks of width 128 on 2 real ranks, "
        "measured in turn.",
        alt=f"Dots of milliseconds a step: {told}",
    )


def show_tokens_or_weights() -> None:
    """MB that a rank of 8 sends for a block and a step against the tokens of the batch, float32.

    Tensor parallelism sends 4 sums of tokens · width numbers, since each rank sees all tokens; data
    parallelism, where a rank sees its share of them, sends one of the block's gradients,
    12 · width² (without biases and norms), both over so many ranks.
    """
    figure, ax = axes()
    width, ranks = 1024, 8
    even, most = 3 * width, 9 * width
    factor = 4 * 2 * (ranks - 1) / ranks / 1e6
    tensor, data = (f"{kind} parallel, formula" for kind in ("tensor", "data"))
    ax.plot([0, most], [0, 4 * most * width * factor], **modelled(RED, tensor))
    flat = {**modelled(BLUE, data), "linestyle": ":"}
    ax.plot([0, most], [12 * width**2 * factor] * 2, **flat)
    ax.axvline(even, color=GREY, linewidth=1)
    note(ax, f"equal at {even} tokens", (even, 0), (4, 6), color=GREY)
    ax.set(xlabel="tokens in the batch of all ranks together", xlim=(0, most))
    ax.set(ylabel="a rank sends (MB a block and step)", ylim=(0, None))
    ax.legend(loc="upper left", fontsize=9)
    show(
        figure,
        caption="Past 3 · width tokens in the whole batch, 384 for each of 8 data-parallel "
        "ranks, cutting the matrices sends more than averaging the gradients.",
        alt="MB sent for a block and step in float32 over tokens in the batch of all 8 "
        "ranks, width 1024: a rising line for tensor parallelism crosses a flat one "
        "for data parallelism, 88 MB, at 3072 tokens. Both by formula.",
    )


def show_prefetching(words: str, step: Trace, took: Mapping[str, float]) -> None:
    """A step with or without prefetching. took: ms of both, by these words."""
    figure = step.plot(width=8.6, arrows=False)
    figure.axes[0].set_xlim(0, 1.01 * took["without"])  # one scale for both
    told = (
        "six stretches of computing with messages underneath. Three waits of 33 ms are left, at "
        "the start, before backward and at the end; the step is over at 391 ms."
        if words == "with"
        else "a wait of 33 to 66 ms in front of each of six stretches of computing, and one at the "
        "end; the step is over at 585 ms."
    )
    show(
        figure,
        caption=f"A step of three units on 3 ranks over InfiniBand HDR, {words} prefetching: "
        f"{took[words]:.0f} ms. Thin rows: messages.",
        alt=f"Timeline of 3 ranks over a step {words} prefetching, 0 to 590 ms: {told}",
    )


def knobs() -> dict[str, Any]:
    """The sliders of `fits`, for `widgets.explore`: it begins with ZeRO's own example."""
    import ipywidgets

    choices: dict[str, tuple[list[Any], Any]] = {
        "billions": ([0.125, 0.35, 1.5, 3.0, 7.5, 13.0, 30.0, 70.0, 175.0], 7.5),
        "ranks": ([2**power for power in range(11)], 64),
        "stage": ([0, 1, 2, 3], 1),
        "precision": (list(PRECISIONS), "mixed (bf16)"),
    }
    labels = {"billions": "billion parameters", "ranks": "GPUs"}
    return {
        name: ipywidgets.SelectionSlider(
            options=options,
            value=start,
            description=labels.get(name, name),
            style={"description_width": "min(11em, 38%)"},
            layout=ipywidgets.Layout(width="min(38em, 98%)"),
        )
        for name, (options, start) in choices.items()
    }
