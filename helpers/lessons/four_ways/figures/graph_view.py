"""A TensorFlow graph drawn with its devices in colour, its ops gathered into a few boxes.

Servers are on top, workers below. An arrow has the colour of the device that it comes from. A
dashed one changes variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import cycle
from typing import Any

from helpers.lessons.four_ways.experiments.plain_graph import Op
from helpers.lessons.four_ways.figures.graph_groups import Box, Groups, gather, short
from helpers.lessons.four_ways.figures.graph_plan import LINE, PAD, WIDTH, Place, Plan, servers
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, YELLOW, axes, style

_SERVERS = (BLUE, SKY)
_WORKERS = (ORANGE, GREEN, PINK, RED, YELLOW)
_LONGEST = 12  # letters of a line


def show_graph(graphs: Sequence[Sequence[Op]], caption: str) -> None:
    """Draw the graphs of one client or several, as `graphs_of` gives them, with their caption."""
    groups = gather(graphs)
    show(draw_graph(groups), caption, graph_alt(groups))


def graph_alt(groups: Groups) -> str:
    """What the picture shows, for somebody who hears it: devices, boxes, and arrows between."""
    clients = f"{groups.clients} clients' graphs" if groups.clients > 1 else "one client's graph"
    parts = [f"Diagram: {clients} on {len(groups.devices)} devices."]
    names = labels(groups)
    for device in groups.devices:
        held = [
            name + (f" ({', '.join(box.lines)})" if box.lines[0] in (*box.names, *box.ops) else "")
            for box, name in zip(groups.boxes, names, strict=True)
            if box.device == device
        ]
        parts.append(f"{short(device)} holds {', '.join(held)}.")
    told: dict[str, dict[str, None]] = {}
    for source, to, kind in groups.arrows:
        a, b = groups.boxes[source], groups.boxes[to]
        if a.device != b.device or kind == "write":
            verb = "changes" if kind == "write" else "goes to"
            first = f"{names[source]} on {short(a.device)} {verb}"
            told.setdefault(first, {})[f"{names[to]} on {short(b.device)}"] = None
    return " ".join([*parts, *(f"{first} {', '.join(to)}." for first, to in told.items())])


def labels(groups: Groups) -> list[str]:
    """What each box is called: the scope without TensorFlow's number; several updates get one."""
    found = []
    for box in groups.boxes:
        updates = [b for b in groups.boxes if b.device == box.device and _updates(b)]
        name = re.sub(r"_\d+$", "", box.label)
        if _updates(box):
            name = f"update {updates.index(box)}" if len(updates) > 1 else "update"
        found.append(name)
    return found


def _updates(box: Box) -> bool:
    """Whether an optimizer made its ops."""
    return any("/ResourceApply" in name or name.startswith("GradientDesc") for name in box.ops)


def draw_graph(groups: Groups) -> Any:
    """The figure: a panel a device, a box a group of ops."""
    texts = [
        (_wrapped(name), [line for each in box.lines for line in _wrapped(each)])
        for box, name in zip(groups.boxes, labels(groups), strict=True)
    ]
    plan = Plan(groups, [len(name) - 1 + len(lines) for name, lines in texts])
    colours = _colours(groups)
    figure, ax = axes(width=WIDTH, height=plan.height + 0.12)
    with style():
        for device, place in plan.panels.items():
            _panel(ax, place, _name(device, groups), colours[device], device in plan.above)
        for source, to, kind in groups.arrows:
            ends = _ends(plan.boxes[source], plan.boxes[to], kind)
            _arrow(ax, *ends, colours[groups.boxes[source].device], kind)
        for number, (name, lines) in enumerate(texts):
            _box(ax, plan.boxes[number], name, lines, colours[groups.boxes[number].device])
        ax.set(xlim=(-0.03, WIDTH + 0.03), ylim=(-0.03, plan.height + 0.03))
        ax.set_axis_off()
    return figure


def _name(device: str, groups: Groups) -> str:
    """A device's name, and whose graph lies there where there are several."""
    owners = {box.client for box in groups.boxes if box.device == device}
    whose = f", graph {owners.pop()}" if groups.clients > 1 and len(owners) == 1 else ""
    return short(device) + (whose if whose != ", graph None" else "")


def _wrapped(text: str) -> list[str]:
    """A long name in lines, cut after an underscore or at a blank."""
    lines = [""]
    for piece in re.findall(r"[^_ ]+[_ ]?", text):
        if lines[-1] and len(lines[-1] + piece.strip()) > _LONGEST:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _colours(groups: Groups) -> dict[str, str]:
    """A colour for each device; grey for the chief."""
    above = servers(groups)
    upper, lower = cycle(_SERVERS), cycle(_WORKERS)
    return {
        device: GREY
        if device.startswith("/job:chief")
        else next(upper if device in above else lower)
        for device in groups.devices
    }


def _panel(ax: Any, place: Place, name: str, colour: str, above: bool) -> None:
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = (1 - 0.16 * (1 - part) for part in to_rgb(colour))
    _rounded(ax, place, colour, 0.08, facecolor=to_hex((red, green, blue)), linewidth=1.6, zorder=1)
    # Where no arrows come in: on top of a server, at the foot of a worker.
    y, side = (place.top - 0.08, "top") if above else (place.y + 0.08, "bottom")
    ax.text(place.x + PAD, y, name, va=side, fontsize=10, fontweight="bold", zorder=4)


def _box(ax: Any, place: Place, name: list[str], lines: list[str], colour: str) -> None:
    _rounded(ax, place, colour, 0.05, facecolor="white", linewidth=1.1, zorder=4)
    small = min(1.0, place.width / 0.78)
    y = place.top - 0.06
    for index, line in enumerate([*name, *lines]):
        size, grey = (9, "black") if index < len(name) else (7.5, "#444444")
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": size * small}
        ax.text(place.middle, y, line, color=grey, zorder=5, **look)
        y -= 0.19 if index == len(name) - 1 else LINE


def _rounded(ax: Any, place: Place, colour: str, radius: float, **look: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = f"round,pad=0,rounding_size={radius}"
    look |= {"boxstyle": shape, "edgecolor": colour}
    ax.add_patch(FancyBboxPatch((place.x, place.y), place.width, place.height, **look))


def _arrow(ax: Any, start: Any, end: Any, colour: str, kind: str) -> None:
    look: dict[str, Any] = {
        "arrowstyle": "-|>",
        "mutation_scale": 9,
        "color": colour,
        "linewidth": 1.4,
        "linestyle": "--" if kind == "write" else "-",
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", end, start, arrowprops=look, zorder=3)


def _ends(source: Place, to: Place, kind: str) -> tuple[Any, Any]:
    """Where an arrow begins and ends."""
    aside = (to.middle - source.middle) / WIDTH
    if source.y >= to.top:
        return (source.middle + 0.4 * aside * source.width, source.y), (to.middle, to.top)
    if to.y >= source.top:
        return (source.middle, source.top), (to.middle - 0.4 * aside * to.width, to.y)
    apart = source.x - to.right if aside < 0 else to.x - source.right
    if kind == "write" and apart > source.width:  # over those between
        rise = to.y + (to.height - source.height) * min(1.0, apart / 4)
        return (source.middle, source.top), (to.right if aside < 0 else to.x, rise + source.height)
    level = min(source.top, to.top) - 0.14
    if aside > 0:
        return (source.right, level), (to.x, level)
    return (source.x, level), (to.right, level)
