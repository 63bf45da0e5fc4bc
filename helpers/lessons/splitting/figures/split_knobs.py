"""The widget of lesson 12: three splits of two networks, as knobs change what a message costs."""

from __future__ import annotations

from typing import Any

from helpers.lessons.splitting.algorithms.split_cost import (
    Rates,
    by_layer_work,
    dense_work,
    recurrent_work,
)
from helpers.notebook.style import CYCLE, GREY, axes, ticks

RANKS = (1, 2, 4, 8, 16)
LAYERS, STEPS = 16, 64


def speedups(
    width: int, rows: int, chunks: int, rate: float, alpha: float, beta: float
) -> dict[str, list[float]]:
    """For each split the speedup on each number of `RANKS`, by `split_cost`.

    rate: operations a second of one rank. alpha, beta: seconds a message, and a byte.
    """
    rates = Rates(rate, alpha, beta)
    widths = [width] * (LAYERS + 1)
    works = {
        "dense, by layer": lambda n: by_layer_work(rows, widths, n),
        "dense, vertical": lambda n: dense_work(rows, widths, n),
        "recurrent, wave": lambda n: recurrent_work(rows, width, LAYERS, STEPS, n, chunks),
    }
    return {
        name: [work(1).seconds(rates) / work(n).seconds(rates) for n in RANKS]
        for name, work in works.items()
    }


def knobs_picture(
    width: int, rows: int, chunks: int, latency_µs: float, bandwidth_GB_per_s: float
) -> Any:
    """Speedup against ranks for each split, at 50 · 10⁹ operations a second a rank."""
    found = speedups(width, rows, chunks, 50e9, latency_µs * 1e-6, 1e-9 / bandwidth_GB_per_s)
    figure, ax = axes(height=3.9)
    ax.plot(RANKS, RANKS, color=GREY, linewidth=1, label="N ranks, N times as quick")
    for number, (name, values) in enumerate(found.items()):
        look = {"color": CYCLE[number], "marker": "os^"[number], "linestyle": "--"}
        ax.plot(RANKS, values, label=f"{name}: {values[-1]:.2g}× on {RANKS[-1]}", **look)
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel="speedup (×), counted")
    ticks(ax.xaxis, RANKS)
    ticks(ax.yaxis, (0.03, 0.1, 0.3, 1, 2, 4, 8, 16))
    ax.set_ylim(0.02, 22)
    ax.legend(loc="lower left", fontsize=9)
    return figure


def knobs_words(
    width: int, rows: int, chunks: int, latency_µs: float, bandwidth_GB_per_s: float
) -> str:
    """What `knobs_picture` shows."""
    found = speedups(width, rows, chunks, 50e9, latency_µs * 1e-6, 1e-9 / bandwidth_GB_per_s)
    told = ", ".join(f"{name} {values[-1]:.2g}" for name, values in found.items())
    return (
        f"Speedup against ranks, both axes logarithmic, for {LAYERS} layers of {width} units, "
        f"{rows} rows, {chunks} chunks. On {RANKS[-1]} ranks: {told}."
    )
