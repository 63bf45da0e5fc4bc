"""Figures of lesson 14 on time: what a step costs, link by link, with prefetching, and here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
)


def seconds_by_link(rows: Mapping[str, Mapping[str, float]], computing: float) -> Any:
    """Seconds of a step over each link, a mark a way; the line is what computing alone takes."""
    figure, ax = axes(width=7.6, height=3.5)
    looks = ((ORANGE, "s"), (GREY, "v"), (BLUE, "o"))
    ways = list(next(iter(rows.values())))
    for way, (colour, mark) in zip(ways, looks, strict=False):
        values = [by_way[way] * 1e3 for by_way in rows.values()]
        style = {"color": colour, "marker": mark, "linestyle": "none", "markersize": 8}
        ax.plot(values, range(len(rows)), label=way, **style)
    ax.axvline(computing * 1e3, color=RED, linestyle="--", linewidth=1.5, label="computing alone")
    ax.set_yticks(range(len(rows)), list(rows), fontsize=9)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="ms a step, virtual clock")
    ax.minorticks_off()
    low, high = computing * 1e3, max(max(v.values()) for v in rows.values()) * 1e3
    ticks = [t for t in (200, 500, 1000, 2000, 5000, 10000, 20000) if low * 0.6 < t < high * 1.5]
    ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    return figure


def real_steps(milliseconds: Mapping[str, Mapping[str, float]]) -> Any:
    """Median ms of a step on real ranks, ours beside the framework's, a group a comparison."""
    figure, ax = axes(width=7.2, height=2.8)
    place, ticks = 0.0, []
    for group, contenders in milliseconds.items():
        for (name, value), colour in zip(contenders.items(), (BLUE, RED), strict=False):
            ax.plot(value, place, **measured(colour, "_"))
            note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
            ax.annotate(f"{value:.0f}", (value, place), (7, 0), **note)
            ticks.append((place, f"{group}: {name}"))
            place += 1
        place += 0.4
    ax.set_yticks([t for t, _ in ticks], [text for _, text in ticks], fontsize=9)
    ax.invert_yaxis()
    ax.margins(x=0.12, y=0.12)
    ax.set(xlabel="ms a step (median, slowest rank)", xlim=(0, None))
    return figure


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


def tokens_or_weights(
    width: int,
    ranks: int = 2,
    parts: int = 1,
    counted: Sequence[tuple[int, float, float]] = (),
) -> Any:
    """MB that a rank sends for a block and a step against the tokens of the whole batch, float32.

    Tensor parallelism sends 4 sums of tokens · width numbers, since each rank sees all tokens; data
    parallelism, where a rank sees its share of them, sends one of the block's gradients,
    12 · width² (without biases and norms), both over so many ranks.
    parts: into how many parts the block is cut whose gradients are averaged, on a mesh.
    counted: (tokens, bytes of tensor parallelism, bytes of data parallelism) of runs.
    """
    figure, ax = axes()
    even = 3 * width / parts
    most = max([3 * even, *(tokens for tokens, *_ in counted)])
    factor = 4 * 2 * (ranks - 1) / ranks / 1e6
    tensor, data = (f"{kind} parallel, formula" for kind in ("tensor", "data"))
    ax.plot([0, most], [0, 4 * most * width * factor], **modelled(RED, tensor))
    flat = {**modelled(BLUE, data), "linestyle": ":"}
    ax.plot([0, most], [12 * width**2 / parts * factor] * 2, **flat)
    if counted:
        tokens, sums, gradients = zip(*counted, strict=True)
        squares = measured(RED, "tensor parallel, counted", "s")
        ax.plot(tokens, [nbytes / 1e6 for nbytes in sums], **squares)
        dots = measured(BLUE, "data parallel, counted")
        ax.plot(tokens, [nbytes / 1e6 for nbytes in gradients], **dots)
    ax.axvline(even, color=GREY, linewidth=1)
    note = {"textcoords": "offset points", "color": GREY, "fontsize": 9}
    ax.annotate(f"equal at {even:.0f} tokens", (even, 0), (4, 6), **note)
    ax.set(xlabel="tokens in the batch of all ranks together")
    ax.set(ylabel="a rank sends (MB a block and step)")
    ax.set(xlim=(0, most), ylim=(0, None))
    ax.legend(loc="upper left", fontsize=9, frameon=False)
    return figure


def show_tokens_or_weights() -> None:
    """What tensor and data parallelism send on 8 ranks."""
    show(
        tokens_or_weights(1024, ranks=8),
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


def show_by_link(rows: Mapping[str, Mapping[str, float]], computing: float) -> None:
    """Seconds of a step by link and way."""
    told = "; ".join(
        f"{link}: " + ", ".join(f"{way} {1e3 * s:.0f} ms" for way, s in by_way.items())
        for link, by_way in rows.items()
    )
    show(
        seconds_by_link(rows, computing),
        caption="Prefetching hides as much of stage 3's messages as there is computing to hide "
        "them behind. Modelled: A100 at half their peak, links at their published "
        "peaks.",
        alt=f"{told}. Computing alone takes {1e3 * computing:.0f} ms.",
    )


def show_real_steps(took: Mapping[str, Mapping[str, float]]) -> None:
    """Milliseconds of a step on two real ranks."""
    told = "; ".join(
        f"{g}: " + ", ".join(f"{n} {ms:.0f}" for n, ms in two.items()) for g, two in took.items()
    )
    show(
        real_steps(took),
        caption="A step of a Transformer with four blocks of width 128 on 2 real ranks, "
        "measured in turn.",
        alt=f"Dots of milliseconds a step: {told}",
    )
