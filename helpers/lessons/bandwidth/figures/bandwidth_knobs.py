"""The widget of lesson 09: the speedup on up to 512 GPUs, as computing, bytes and links change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from helpers.lessons.bandwidth.algorithms.two_level import two_level_seconds
from helpers.lessons.bandwidth.experiments.speedup_cases import LATENCY
from helpers.notebook.style import CYCLE, GREY, axes, ticks

ServerSeconds = Callable[[int, int, float, float, float], float]
EXCHANGES = ("ring", "two levels", "one server", "one server for every 8 GPUs")
GPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
MEMORY = 10e9  # bytes a second between the GPUs of one host: about PCIe 3
MEMORY_LATENCY = 5e-6


def exchange_seconds(
    server_seconds: ServerSeconds, kind: str, gpus: int, each: int, nbytes: float, bandwidth: float
) -> float:
    """Seconds in which GPUs exchange their gradients; a host's link is shared by all of its GPUs.

    The GPUs of one host alone sum through its memory. A ring goes through one host after the other,
    and each of its steps takes as long as the slower of a link and a host's memory.
    server_seconds: exercise 09.2's. kind: one of `EXCHANGES`. each: GPUs on a host. nbytes: of one
    GPU's gradients. bandwidth: of a host's link, in bytes a second.
    """
    each = min(gpus, each)
    hosts = gpus // each
    if kind == "two levels" or hosts == 1:
        return two_level_seconds(nbytes, hosts, each, LATENCY, bandwidth, MEMORY_LATENCY, MEMORY)
    if kind == "ring":
        inside = MEMORY_LATENCY + nbytes / gpus / MEMORY if each > 1 else 0.0
        return 2 * (gpus - 1) * max(LATENCY + nbytes / gpus / bandwidth, inside)
    servers = 1 if kind == "one server" else max(gpus // 8, 1)
    at_servers = server_seconds(gpus, servers, nbytes, LATENCY, bandwidth)
    at_workers = server_seconds(each, 1, nbytes, LATENCY, bandwidth)
    return max(at_servers, at_workers)


def speedups(
    server_seconds: ServerSeconds,
    compute_ms: float,
    MB: float,
    Gbit_per_s: float,
    GPUs_per_host: int,
    exchange: str,
) -> dict[int, float]:
    """The speedup on each number of `GPUS`, each with a batch of its own."""
    found = {}
    for gpus in GPUS:
        taken = exchange_seconds(
            server_seconds, exchange, gpus, GPUs_per_host, MB * 1e6, Gbit_per_s * 1.25e8
        )
        found[gpus] = gpus * compute_ms / (compute_ms + 1e3 * taken * (gpus > 1))
    return found


def knobs_picture(server_seconds: ServerSeconds, exchange: str, **knobs: Any) -> Any:
    """Speedup against GPUs, each with a batch of its own: the chosen exchange, the others faint.

    knobs: as `speedups` takes them.
    """
    figure, ax = axes(height=4.2)
    ax.plot(GPUS, GPUS, color=GREY, linewidth=1, label="N GPUs, N times as many rows")
    least = 0.1
    for number, kind in enumerate(EXCHANGES):
        found = speedups(server_seconds, exchange=kind, **knobs)
        values, colour = list(found.values()), CYCLE[number]
        look: dict[str, Any] = {"color": colour, "linewidth": 4, "alpha": 0.6, "zorder": 2}
        if kind != exchange:  # above it, with gaps in turn: of curves that are one, all show
            look = {"color": colour, "linewidth": 1.4, "zorder": 3}
            look["linestyle"] = (4.0 * number, (4.0, 12.0))
        ax.plot(GPUS, values, label=kind, **look)
        least = min(least, *values)
    ax.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="speedup (×)")
    lowest = math.floor(math.log10(least))  # so that no curve leaves the picture
    ax.set_ylim(10.0**lowest, 600)
    ticks(ax.xaxis, GPUS)
    ticks(ax.yaxis, [*(10.0**power for power in range(lowest, 3)), 500])
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=9, handlelength=2.6,
        columnspacing=1.0,
    )  # fmt: skip
    return figure


def knobs_words(server_seconds: ServerSeconds, exchange: str, **knobs: Any) -> str:
    """What `knobs_picture` shows."""
    found = {kind: speedups(server_seconds, exchange=kind, **knobs) for kind in EXCHANGES}
    values, each = found.pop(exchange), knobs["GPUs_per_host"]
    told = ", ".join(f"{values[n]:.3g} on {n}" for n in (8, 16, 64, 512))
    best = max(values, key=values.__getitem__)
    others = ", ".join(f"{kind} {its[16]:.3g}" for kind, its in found.items())
    return (
        f"Speedup against GPUs, both axes logarithmic: {knobs['compute_ms']:g} ms of computing, "
        f"{knobs['MB']:g} MB, {knobs['Gbit_per_s']:g} Gbit/s a host, "
        f"{each} GPU{'s' * (each > 1)} on each, {exchange}: {told}; "
        f"the most is {values[best]:.3g} on {best}. Faint, on 16 GPUs: {others}."
    )
