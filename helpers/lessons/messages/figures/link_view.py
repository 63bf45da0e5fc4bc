"""Figures of lesson 02 on links: times and speeds of messages, and which all-reduce wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.messages.algorithms.cost_model import INTERCONNECTS, predicted_seconds
from helpers.notebook import style
from helpers.notebook.compared import times_as
from helpers.notebook.figures import show

TRANSPORTS = {
    "shared memory": (style.BLUE, "o"),
    "sockets": (style.RED, "s"),
    "copy of memory": (style.GREEN, "^"),
}
Links = Mapping[str, tuple[float, float]]
"""For each transport its α (seconds) and β (seconds a byte)."""
MODELS = {
    "naive": (style.GREY, ":"),
    "tree": (style.PINK, "-."),
    "ring": (style.BLUE, "-"),
    "halving-doubling": (style.ORANGE, "--"),
}
CONTENDERS = {
    "gloo": (style.RED, "s"),
    "ring": (style.BLUE, "o"),
    "halving-doubling": (style.ORANGE, "v"),
    "shared memory": (style.GREEN, "^"),
}


def show_message_times(
    sizes: Sequence[int], points: Mapping[str, Sequence[float]], links: Links
) -> None:
    """Time of a message against its size: measured points, fitted lines."""
    figure, ax = style.axes()
    span = _span(sizes[0], sizes[-1])
    for name, seconds in points.items():
        colour, marker = TRANSPORTS[name]
        ax.plot(sizes, seconds, **style.measured(colour, f"{name}, measured", marker))
        alpha, beta = links[name]
        ax.plot(
            span, [alpha + n * beta for n in span], **style.modelled(colour, "α + nβ, modelled")
        )
    ax.set(xscale="log", yscale="log", xlabel="size of the message (bytes)", ylabel="time (s)")
    ax.legend()
    told = "; ".join(
        f"{way}: {1e6 * took[0]:.0f} µs for 64 B, {1e3 * took[-1]:.1f} ms for 16.8 MB"
        for way, took in points.items()
    )
    show(
        figure,
        caption="Dots: measured. Dashed: α + nβ, two numbers for each way, which are level at "
        "α for small messages and have a slope of β for large ones.",
        alt="Time of a message against its size, both on log scales, dots with a dashed "
        f"line for each way. {told}.",
    )


def show_message_speeds(
    sizes: Sequence[int], everything: Mapping[str, Sequence[float]], links: Links
) -> None:
    """Size over time against size, for the transports and for a copy of memory."""
    figure, ax = style.axes()
    span = _span(sizes[0], sizes[-1])
    speeds = {
        way: [size / took / 1e9 for size, took in zip(sizes, seconds, strict=True)]
        for way, seconds in everything.items()
    }
    for name, found in speeds.items():
        colour, marker = TRANSPORTS[name]
        ax.plot(sizes, found, **style.measured(colour, f"{name}, measured", marker))
        if name in links:
            alpha, beta = links[name]
            model = [n / (alpha + n * beta) / 1e9 for n in span]
            ax.plot(span, model, **style.modelled(colour, f"{name}, modelled"))
    ax.set(xscale="log", yscale="log", xlabel="size (bytes)", ylabel="speed (GB/s)")
    ax.legend()
    copy = speeds["copy of memory"][-1]
    ratio = copy / speeds["shared memory"][0]
    told = "; ".join(
        f"{way}: {found[0]:.2g} for 64 B, {found[-1]:.2g} for 16.8 MB"
        for way, found in speeds.items()
    )
    show(
        figure,
        caption=f"Through shared memory 64 bytes go {times_as(ratio, 'slowly', 'quickly', 0)} as a "
        f"large copy{', for all that they pay is the latency' if round(ratio) > 1 else ''}. 16.8 "
        f"MB go at {speeds['shared memory'][-1] / copy:.2f} of a copy's speed, and at "
        f"{speeds['sockets'][-1] / copy:.2f} of it over sockets.",
        alt=f"Speed in GB/s against size, both on log scales. {told}.",
    )


def busiest_rank(name: str, size: int) -> tuple[float, float]:
    """Messages and tensors that the busiest rank of an all-reduce sends, by formula.

    Example: busiest_rank("ring", 4) is (6, 1.5).
    """
    rounds, power = (size - 1).bit_length(), 1 << (size.bit_length() - 1)
    left_over = int(power != size)
    return {
        "naive": (size - 1, size - 1),
        "tree": (rounds, rounds),
        "ring": (2 * (size - 1), 2 * (size - 1) / size),
        "halving-doubling": (
            2 * (power.bit_length() - 1) + left_over,
            2 * (power - 1) / power + left_over,
        ),
    }[name]


def modelled_seconds(name: str, size: int, nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of the all-reduce called `name` by the α–β model."""
    algorithm = f"all_reduce_{name.replace('-', '_')}"
    return predicted_seconds(algorithm, size, nbytes, alpha, 1 / beta)


def which_wins(size: int, nbytes: float, alpha: float, beta: float) -> Any:
    """Modelled time of four all-reduces against the tensor's size, the quickest one marked."""
    figure, ax = style.axes(height=4.2)
    style.fix_layout(figure, left=0.1, right=0.98, bottom=0.12, top=0.92)
    span = _span(10, 1e9, points=41)
    for name, (colour, line) in MODELS.items():
        times = [modelled_seconds(name, size, n, alpha, beta) for n in span]
        ax.plot(span, times, color=colour, linestyle=line, label=name)
    here = {name: modelled_seconds(name, size, nbytes, alpha, beta) for name in MODELS}
    first = min(here, key=lambda name: here[name])
    ax.axvline(nbytes, color=style.BLACK, linewidth=1)
    ax.plot([nbytes], [here[first]], "o", color=style.BLACK)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="size of the tensor (bytes)",
        ylabel="modelled time (s)",
        title=f"{size} ranks, {nbytes:,.0f} B: {first} is quickest, {here[first] * 1e3:.3g} ms",
    )
    ax.minorticks_off()
    ax.legend()
    return figure


def which_wins_alt(
    ranks: int, log10_of_bytes: float, latency_us: float, gigabytes_a_second: float
) -> str:
    """What `which_wins` shows, for the widget's knobs."""
    return (
        f"Modelled time of four all-reduces against the size, on {ranks} ranks with "
        f"{latency_us:g} µs and {gigabytes_a_second:g} GB/s. They are level for small sizes, "
        "then rise; lines cross."
    )


def show_all_reduces(
    megabytes: Sequence[float], real: Mapping[int, Sequence[Mapping[str, float]]], links: Links
) -> None:
    """A panel for each number of ranks: measured all-reduces, and the ring by the model.

    real: for each number of ranks, for each size, the seconds of each contender.
    """
    figure, panels = style.axes(columns=len(real), width=8.4, height=4.4)
    span = _span(megabytes[0], megabytes[-1])
    for panel, (size, by_megabytes) in zip(panels, real.items(), strict=True):
        for name, (colour, marker) in CONTENDERS.items():
            times = [seconds[name] * 1e3 for seconds in by_megabytes]
            panel.plot(megabytes, times, **style.measured(colour, f"{name}, measured", marker))
        for transport, (alpha, beta) in links.items():
            times = [modelled_seconds("ring", size, mb * 1e6, alpha, beta) * 1e3 for mb in span]
            label = f"ring over {transport}, modelled"
            panel.plot(span, times, **style.modelled(TRANSPORTS[transport][0], label))
        panel.set(xscale="log", yscale="log", xlabel="size of the tensor (MB)")
        panel.set_title(f"{size} ranks")
    panels[0].set_ylabel("time of an all-reduce (ms)")
    limits = [limit for panel in panels for limit in panel.get_ylim()]
    for panel in panels:
        panel.set_ylim(min(limits), max(limits))
    shown = panels[0].get_legend_handles_labels()
    figure.legend(*shown, loc="outside lower center", ncols=2, frameon=False)

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
        figure,
        caption=f"40 MB on 2 ranks: {in_order(2, 40)}.",
        alt="Two panels, 2 and 4 ranks: time of an all-reduce against the size on log "
        "scales, with the modelled ring over sockets and over shared memory dashed. "
        f"{told}",
    )


def show_elsewhere(links: Links) -> None:
    """A ring by the model over published links and over those measured here, 100 MB on 8 ranks.

    The published ones have only a bandwidth; for their latency 5 µs are assumed.
    """
    figure, ax = style.axes(height=5.2)

    def milliseconds(alpha: float, beta: float) -> float:
        return modelled_seconds("ring", 8, 100e6, alpha, beta) * 1e3

    times = [milliseconds(5e-6, 1 / link.bandwidth) for link in INTERCONNECTS]
    names = [link.name for link in INTERCONNECTS]
    ax.plot(times, names, **style.published("ring by the model, on a published peak"))
    for transport, link in links.items():
        label = f"ring by the model, on what you measured: {transport}"
        look = style.measured(TRANSPORTS[transport][0], label, TRANSPORTS[transport][1])
        ax.plot([milliseconds(*link)], [f"measured: {transport}"], **look)
    ax.invert_yaxis()
    ax.set(xscale="log", xlabel="100 MB all-reduce on 8 ranks, modelled (ms)")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", frameon=False)
    show(
        figure,
        caption="From one gigabit of Ethernet to the newest NVLink the same all-reduce gets "
        "several thousand times as quick.",
        alt="Dot chart of the modelled time of a 100 MB all-reduce on 8 ranks, on a log "
        "scale, for fifteen links from 1 Gbit/s Ethernet (1400 ms) to NVLink 5 (0.26 "
        "ms), and for the two transports measured on this machine.",
    )


def _span(low: float, high: float, points: int = 61) -> list[float]:
    """Values from low to high, evenly spaced on a log scale."""
    return [low * (high / low) ** (k / (points - 1)) for k in range(points)]
