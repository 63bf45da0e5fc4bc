"""Figures of lesson 12, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helpers.engine.trace import Trace
from helpers.lessons.data_parallel.figures.step_view import last_step
from helpers.lessons.splitting.figures.split_view import show_links
from helpers.notebook.figures import show


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


def show_on_clock(trace: Trace, chunks: int, took: float) -> None:
    """Four recurrent layers on four ranks, with so many chunks. took: seconds."""
    show(
        trace.plot(arrows=False),
        caption=f"Four layers on four ranks, 24 steps, {chunks} "
        f"chunk{'s' if chunks > 1 else ''}: {1e3 * took:.0f} ms; one rank would "
        "take 96 ms.",
        alt=f"Timeline of four ranks on the virtual clock, {chunks} "
        f"chunk{'s' if chunks > 1 else ''}: each rank begins one chunk after the one "
        f"before, and the last ends at {1e3 * took:.0f} ms.",
    )


def show_gains(links: Sequence[str], gains: Mapping[str, Sequence[float]]) -> None:
    """Speedups of two splits on four GPUs over several links."""
    show_links(
        links,
        gains,
        4,
        "The same two splits on four GPUs, link by link: the wave gains from 10 Gbit/s "
        "of Ethernet on; the vertical split loses over Ethernet, is less than twice as "
        "quick over InfiniBand and PCIe, and comes near the wave only over NVLink.",
    )
