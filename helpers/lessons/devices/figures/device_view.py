"""Pictures of lesson 01: memory of a step, ops on their devices, threads, memory over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.lessons.devices.experiments.graphs import Node, Seen, stem
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
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
    rows,
    style,
)

MIB = 2**20
ITEMS = {
    "parameters": (BLUE, ""),
    "gradients": (SKY, "////"),
    "optimizer state": (GREEN, "...."),
    "activations": (ORANGE, ""),
}
SLOTS = {"plain SGD": 0, "momentum": 1, "Adam": 2}
StepMemory = Callable[[Sequence[int], int, int], Sequence[int]]


def knobs_of_memory(step_memory: StepMemory) -> tuple[Callable[..., Any], Callable[..., str]]:
    """What `explore` draws for the memory of a step, and its alt text.

    Knobs: rows of a batch, width of all layers, their number, the optimizer.
    """

    def items(rows: int, width: int, layers: int, optimizer: str) -> list[float]:
        widths = [width] * (layers + 1)
        return [size / MIB for size in step_memory(widths, rows, SLOTS[optimizer])]

    def words(sizes: Sequence[float]) -> str:
        largest = max(zip(sizes, ITEMS, strict=True))[1]
        return f"{sum(sizes):,.4g} MiB in all; most of it {largest}"

    def draw(**knobs: Any) -> Any:
        sizes = items(**knobs)
        with style():
            figure, ax = axes(height=2.2)
            _stack(ax, sizes)
            room = 1.0
            while room < sum(sizes):
                room *= 4
            ax.set_xlim(0, room)
            ax.set_xlabel("memory (MiB)")
            ax.set_title(words(sizes), pad=26)
        return figure

    def alt(**knobs: Any) -> str:
        sizes = items(**knobs)
        said = ", ".join(f"{n} {s:,.1f} MiB" for n, s in zip(ITEMS, sizes, strict=True))
        return f"A bar of the memory that a training step takes: {said}; {words(sizes)}."

    return draw, alt


def _stack(ax: Any, sizes: Sequence[float]) -> None:
    left = 0.0
    for (item, (colour, hatch)), size in zip(ITEMS.items(), sizes, strict=True):
        look = {"facecolor": colour, "hatch": hatch, "edgecolor": "#444444", "linewidth": 0.4}
        ax.barh(0, size, left=left, height=0.6, label=item, **look)
        left += size
    rows(ax, [""])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, borderaxespad=0.2)


def show_formula(
    batches: Sequence[int],
    counted: Sequence[int],
    formula: Callable[[int], int],
    limit: float,
    full: int | None,
) -> None:
    """Memory of a step against rows: counted from torch's tensors, and by the formula.

    counted, and what formula gives: bytes. limit: MiB. full: the batch that did not fit, or None.
    """
    curve = [2 ** (power / 2) for power in range(8, 35)]
    with style():
        figure, ax = axes()
        ax.plot(batches, [size / MIB for size in counted], **measured(label="counted in torch"))
        ours = [formula(round(rows)) / MIB for rows in curve]
        ax.plot(curve, ours, **modelled(label="your formula"))
        ax.axhline(limit, color=GREY, linewidth=1.2)
        ax.text(18, limit * 1.12, f"limit of the process, {limit:g} MiB", color="#444444")
        if full:
            ax.axvline(full, color=RED, linestyle=":", linewidth=1.6)
            ax.text(full * 0.92, 5, f"{full:,} rows:\nout of memory", ha="right", color=RED)
        ax.set(xscale="log", yscale="log", xlabel="rows of a batch", ylabel="memory (MiB)")
        ax.set_ylim(3, 900)
        ax.legend(loc="upper left", bbox_to_anchor=(0, 0.72))
    show(
        figure,
        caption="Few rows: the parameters, their gradients and the optimizer's state fill the "
        "memory. Many rows: the activations do, and grow with every row.",
        alt="Line chart of memory in MiB against rows of a batch, both axes logarithmic. The "
        "counted points lie on the formula's curve, flat up to about a thousand rows, then rising "
        f"in proportion; it crosses the limit of {limit:g} MiB before 100,000 rows.",
    )


def show_graph(seen: Seen, caption: str, alt: str, hide: Sequence[str] = ()) -> None:
    """The ops of a step, a column a device; what is sent between devices as an orange arrow.

    hide: beginnings of names that are left out, such as an initial value's.
    """
    own = [node for node in seen.nodes if not node.kind.startswith("_")]
    nodes = [node for node in own if not node.name.startswith(tuple(hide))]
    devices = sorted({node.device for node in nodes})
    edges = _edges(seen, nodes)
    depth = _depths(nodes, edges)
    columns = {device: place for place, device in enumerate(devices)}
    spots = _spots(nodes, columns, depth)
    lines = 1 + max(y for _, y in spots.values())
    figure, ax = axes(width=2.3 * len(devices) + 0.4, height=0.7 + 0.62 * lines)
    for device, x in columns.items():
        colour = CYCLE[x % len(CYCLE)]
        ax.axvspan(x - 0.46, x + 0.46, color=colour, alpha=0.12, linewidth=0)
        ax.text(x, -0.75, device, ha="center", va="center", color=colour, weight="bold")
    boxes: dict[str, Any] = {}
    for node in nodes:
        x, y = spots[node.name]
        told = node.name.rsplit("/", 1)[-1].startswith(node.kind)
        text = node.name if told else f"{node.name}\n{node.kind}"
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "#666666"}
        made = ax.text(x, y, text, ha="center", va="center", fontsize=9, bbox=box, zorder=2)
        boxes[node.name] = made.get_bbox_patch()
    for start, end in edges:
        look: dict[str, Any] = {"arrowstyle": "-|>", "color": "#444444", "linewidth": 1.0}
        if spots[start][0] == spots[end][0]:
            look |= {"shrinkA": 13, "shrinkB": 15, "zorder": 1}
        else:  # after the boxes: it ends where it meets them, once they have been drawn
            look |= {"shrinkA": 1, "shrinkB": 2, "zorder": 3, "color": ORANGE, "linewidth": 2.2}
            look |= {"patchA": boxes[start], "patchB": boxes[end]}
        order = look.pop("zorder")
        ax.annotate("", spots[end], spots[start], arrowprops=look, zorder=order)
    ax.set_xlim(-0.5, len(devices) - 0.5)
    ax.set_ylim(lines - 0.45, -1.05)
    ax.axis("off")
    show(figure, caption=caption, alt=alt)


def _edges(seen: Seen, nodes: Sequence[Node]) -> list[tuple[str, str]]:
    """Who needs whose tensor, straight through sends and receives."""
    kept = {node.name for node in nodes}
    sent = {n.name: n.inputs[0].split(":")[0] for n in seen.nodes if n.kind == "_Send" and n.inputs}
    by_stem = {stem(name): tensor for name, tensor in sent.items()}
    found = []
    for node in nodes:
        for each in node.inputs:
            name = each.lstrip("^").split(":")[0]
            source = name if name in kept else by_stem.get(stem(name), "")
            if source in kept:
                found.append((source, node.name))
    return found


def _depths(nodes: Sequence[Node], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    depth = {node.name: 0 for node in nodes}
    for _ in nodes:
        for start, end in edges:
            depth[end] = max(depth[end], depth[start] + 1)
    return depth


def _spots(
    nodes: Sequence[Node], columns: Mapping[str, int], depth: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """A place for each op: below what it needs, never two in one place."""
    spots: dict[str, tuple[int, int]] = {}
    for node in sorted(nodes, key=lambda n: (depth[n.name], n.name)):
        x, y = columns[node.device], depth[node.name]
        while (x, y) in spots.values():
            y += 1
        spots[node.name] = (x, y)
    return spots


def show_without_pin(seen: Seen, hide: Sequence[str]) -> None:
    """Three steps, of which the middle one has no pin."""
    show_graph(
        seen,
        hide=hide,
        caption="An op without a pin goes to the first device, not to where its input is: both "
        "of its tensors travel.",
        alt="A graph in three columns. On CPU:1 is half; an orange arrow leads from half "
        "to middle on CPU:0, another from middle to result on CPU:2.",
    )


def show_variable(seen: Seen, hide: Sequence[str]) -> None:
    """A variable on one device, read and changed from another."""
    show_graph(
        seen,
        hide=hide,
        caption="Reading and assigning are on the variable's device, wherever they were asked "
        "for; values travel.",
        alt="A graph in two columns. On CPU:1 weight, a reading of it, and the assignment, "
        "with a second reading behind it; on CPU:2 twice and more. Orange arrows lead "
        "from the first reading to twice and from more to the assignment.",
    )


def show_two_chains(runs: Mapping[str, Seen], said: Sequence[str]) -> None:
    """Two chains of products, a timeline a run: with one thread for ops, and with two.

    said: what became of each.
    """
    last = max(span.end for run in runs.values() for span in run.spans) * 1.01e3
    with style():
        figure, panels = axes(rows=len(runs), height=0.9 + 1.35 * len(runs))
        for ax, (title, run) in zip(panels, runs.items(), strict=True):
            _chains(ax, run)
            ax.set_xlim(0, last)
            ax.set_title(title)
        panels[-1].set_xlabel("time (ms)")
    show(
        figure,
        caption=f"One device, two chains. With one thread for ops: {said[0]}. With two: {said[1]}.",
        alt="Two timelines of the four products of each chain. Above, with one thread: "
        f"{said[0]}. Below, with two threads: {said[1]}.",
    )


def _chains(ax: Any, run: Seen) -> None:
    looks = {"a": {"facecolor": GREEN}, "b": {"facecolor": PINK, "hatch": "////"}}
    spans = [span for span in run.spans if span.name[:1] in looks and span.name[1:].isdigit()]
    zero = min(span.start for span in spans)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    for span in spans:
        begin, long = 1e3 * (span.start - zero), 1e3 * (span.end - span.start)
        row = list(looks).index(span.name[0])
        look = {"height": 0.7, "edgecolor": "#444444", "linewidth": 0.4}
        ax.barh(row, long, left=begin, **look, **looks[span.name[0]])
        middle = begin + long / 2
        ax.text(middle, row, span.name, ha="center", va="center", fontsize=8, bbox=box)
    rows(ax, [f"chain {name}" for name in looks])


def show_control(free: Seen, chained: Seen) -> None:
    """Memory that is allocated over time, without control dependencies and with them."""
    end = max(run.live[-1][0] for run in (free, chained)) * 1.05e3
    looks = (
        ("as soon as possible", free, {"color": CYCLE[0]}),
        ("each load waits for the step before", chained, {"color": CYCLE[1], "linestyle": "--"}),
    )
    with style():
        figure, ax = axes(height=3.2)
        for name, run, look in looks:
            times = [1e3 * when for when, _ in run.live] + [end]
            sizes = [held / MIB for _, held in run.live] + [run.live[-1][1] / MIB]
            label = f"{name}: {run.peak / MIB:.0f} MiB at the peak"
            ax.step(times, sizes, where="post", label=label, **look)
        ax.set(xlabel="time (ms)", ylabel="allocated (MiB)", xlim=(0, end))
        ax.set_ylim(0, 1.4 * max(free.peak, chained.peak) / MIB)
        ax.legend(loc="upper right")
    # Of 4 MiB each, as is what the steps before them have made.
    loads = [round(run.peak / MIB / 4) - 1 for run in (free, chained)]
    show(
        figure,
        caption=f"Without control dependencies {loads[0]} of 6 loads are there at the peak, with "
        f"them {loads[1]}.",
        alt="Two step lines of allocated memory over time. One rises before the first step "
        f"and reaches {free.peak / MIB:.0f} MiB, the other goes up and down with every "
        f"step and reaches {chained.peak / MIB:.0f}.",
    )
