"""Figures of lesson 02, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.messages.figures import message_view as view
from helpers.lessons.messages.figures.chunks import ring_picture, slices_picture
from helpers.notebook.figures import show


def two_sums(took: Mapping[str, float]) -> None:
    """Seconds of two ways to the same sum on 64 ranks."""
    show(
        view.bars(took),
        caption="Two ways to the same sum on 64 ranks: 12.6 s and 0.2 s.",
        alt="Bar chart of virtual time: rank 0 collects and sends 12.60 s, partners "
        "exchange halves 0.20 s.",
    )


def two_ways(runs: Mapping[str, Any]) -> None:
    """Passing on in turns and at once."""
    show(
        view.timelines(runs),
        caption="Taking turns costs two messages' time, sending and receiving at once costs "
        "one: a link carries both directions at the same time.",
        alt="Two timelines of four ranks that pass 1 MB to the right. In turns, ranks 0 "
        "and 2 send for 1 ms while 1 and 3 wait, then the other way round. At once, "
        "all four are done after 1 ms.",
    )


def broadcasts(runs: Mapping[str, Any]) -> None:
    """A broadcast one after the other, and down a tree."""
    show(
        view.timelines(runs),
        caption="Seven messages one after the other, or three rounds in which everybody who "
        "has the tensor sends it on: 7.35 ms against 3.15 ms.",
        alt="Two timelines of eight ranks. Naive: rank 0 sends seven times in turn, the "
        "others wait. Tree: rank 0 sends to rank 1, then 0 and 1 send to 2 and 3, then "
        "four ranks send to four.",
    )


def growth(worlds: Sequence[int], ran: Mapping[str, Sequence[float]], message: float) -> None:
    """Show `message_view.growth`."""
    show(
        view.growth(worlds, ran, message),
        caption="On 64 ranks the tree needs 6 rounds where the loop needs 63.",
        alt="Time of a broadcast against the number of ranks. The loop grows in a straight "
        "line to 3.8 ms on 64 ranks; the tree climbs in small steps to 0.36 ms. Dots "
        "lie on formulas.",
    )


def ring() -> None:
    """A ring on four ranks, step by step."""
    show(
        ring_picture(4),
        caption="A ring on 4 ranks: three steps that add, three steps that copy. In every step "
        "every rank sends one chunk, a quarter of the tensor.",
        alt="Seven grids of four ranks by four chunks. At the start each cell counts 1 "
        "rank. After step 3 rank r's chunk r is the sum of all 4; after step 6 every "
        "cell is the sum.",
    )


def ring_and_halving(runs: Mapping[str, Any]) -> None:
    """A ring and halving-doubling, a small tensor on four ranks."""
    show(
        view.timelines(runs),
        caption="Same sum, same bytes. The ring pays the latency 6 times, halving-doubling 4 "
        "times: 360 µs against 260 µs. On 64 ranks it would be 126 times against 12.",
        alt="Two timelines of four ranks that send all the time. The ring has six equal "
        "steps, with arrows to the next rank; halving-doubling has four, a long, two "
        "shorter and a long one, with arrows to the rank two away, to the neighbour "
        "twice, and two away again.",
    )


def message_times(
    sizes: Sequence[int], points: Mapping[str, Sequence[float]], links: view.Links
) -> None:
    """Show `message_view.message_times`."""
    told = "; ".join(
        f"{way}: {1e6 * took[0]:.0f} µs for 64 B, {1e3 * took[-1]:.1f} ms for 16.8 MB"
        for way, took in points.items()
    )
    show(
        view.message_times(sizes, points, links),
        caption="Dots: measured. Dashed: α + nβ, two numbers for each way, which are level at "
        "α for small messages and have a slope of β for large ones.",
        alt="Time of a message against its size, both on log scales, dots with a dashed "
        f"line for each way. {told}.",
    )


def message_speeds(
    sizes: Sequence[int], everything: Mapping[str, Sequence[float]], links: view.Links
) -> None:
    """Speeds of messages beside that of a copy of memory, of seconds by size."""
    speeds = {
        way: [size / took / 1e9 for size, took in zip(sizes, seconds, strict=True)]
        for way, seconds in everything.items()
    }
    copy = speeds["copy of memory"][-1]
    told = "; ".join(
        f"{way}: {found[0]:.2g} for 64 B, {found[-1]:.2g} for 16.8 MB"
        for way, found in speeds.items()
    )
    show(
        view.message_speeds(sizes, everything, links),
        caption=f"Through shared memory 64 bytes go {copy / speeds['shared memory'][0]:,.0f} "
        "times as slowly as a large copy, for all that they pay is the latency. 16.8 "
        f"MB go at {speeds['shared memory'][-1] / copy:.2f} of a copy's speed, and at "
        f"{speeds['sockets'][-1] / copy:.2f} of it over sockets.",
        alt=f"Speed in GB/s against size, both on log scales. {told}.",
    )


def slices() -> None:
    """Who works where in shared memory."""
    show(
        slices_picture(4),
        caption="Who works where: each rank reads and writes one slice, in every buffer, so "
        "that no two ranks ever touch the same place.",
        alt="A grid of four buffers by four slices. Rank 0 works in slice 0 of all four "
        "buffers, rank 1 in slice 1, rank 2 in slice 2, rank 3 in slice 3.",
    )


def all_reduces(
    megabytes: Sequence[float], real: Mapping[int, Sequence[Mapping[str, float]]], links: view.Links
) -> None:
    """Show `message_view.all_reduces`."""

    def in_order(ranks: int, mb: float) -> str:
        """The four ways at this size, the quickest first."""
        took = real[ranks][megabytes.index(mb)]
        return ", ".join(
            f"{way} {1e3 * took[way]:.3g} ms" for way in sorted(took, key=lambda way: took[way])
        )

    told = " ".join(
        f"{ranks} ranks, {mb:g} MB: {in_order(ranks, mb)}." for ranks in real for mb in (0.01, 40)
    )
    show(
        view.all_reduces(megabytes, real, links),
        caption=f"40 MB on 2 ranks: {in_order(2, 40)}.",
        alt="Two panels, 2 and 4 ranks: time of an all-reduce against the size on log "
        "scales, with the modelled ring over sockets and over shared memory dashed. "
        f"{told}",
    )


def elsewhere(links: view.Links) -> None:
    """A ring over published links and over those measured here, 100 MB on 8 ranks."""
    show(
        view.elsewhere(8, 100e6, 5e-6, links),
        caption="From one gigabit of Ethernet to the newest NVLink the same all-reduce gets "
        "several thousand times as quick.",
        alt="Dot chart of the modelled time of a 100 MB all-reduce on 8 ranks, on a log "
        "scale, for fifteen links from 1 Gbit/s Ethernet (1400 ms) to NVLink 5 (0.26 "
        "ms), and for the two transports measured on this machine.",
    )


def which_wins_alt(
    ranks: int, log10_of_bytes: float, latency_us: float, gigabytes_a_second: float
) -> str:
    """What `message_view.which_wins` shows, for the widget's knobs."""
    return (
        f"Modelled time of four all-reduces against the size, on {ranks} ranks with "
        f"{latency_us:g} µs and {gigabytes_a_second:g} GB/s. They are level for small sizes, "
        "then rise; lines cross."
    )
