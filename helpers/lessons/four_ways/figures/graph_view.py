"""A TensorFlow graph drawn with its devices in colour, its ops gathered into a few boxes.

Servers are on top, workers below. On a server, from the left (on the next one from the right): the
token queue, the variables, what changes them, what comes before that. On a worker, what servers and
workers send each other stands on top, and what is the worker's own affair below it. So hardly an
arrow passes behind a box. An arrow has the colour of the device that it comes from. A dashed one
changes variables.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

from helpers.lessons.four_ways.experiments.plain_graph import Op
from helpers.lessons.four_ways.figures.graph_groups import (
    ACCUMULATORS,
    MEAN,
    QUEUE,
    READ,
    UPDATE,
    VARIABLES,
    Groups,
    Key,
    gather,
    short,
)
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, YELLOW, axes, style

WIDTH = 9.0  # inches of the picture; boxes share it
LINE, PAD, NAME, GAP = 0.155, 0.14, 0.26, 0.75
LONGEST = 12  # letters of a line
ORDER = (QUEUE, VARIABLES, READ, "loss", "gradients", UPDATE, "", MEAN, ACCUMULATORS)


def show_graph(graphs: Sequence[Sequence[Op]], caption: str) -> None:
    """Draw the graphs of one client or several, as `graphs_of` gives them, with their caption."""
    groups = gather(graphs)
    show(draw_graph(groups), caption, graph_alt(groups))


def graph_alt(groups: Groups) -> str:
    """What the picture shows, for somebody who hears it: devices, boxes, and arrows between."""
    clients = f"{groups.clients} clients' graphs" if groups.clients > 1 else "one client's graph"
    parts = [f"Diagram: {clients} on {len(groups.devices())} devices."]
    named = labels(groups)
    for device in groups.devices():
        held = [
            named[key] + (f" ({', '.join(box.names)})" if box.names else "")
            for key, box in groups.boxes.items()
            if key[0] == device
        ]
        parts.append(f"{short(device)} holds {', '.join(held)}.")
    told: dict[str, list[str]] = {}
    for source, to, kind in groups.arrows:
        if source[0] != to[0] or kind == "write":
            verb = "changes" if kind == "write" else "goes to"
            first = f"{named[source]} on {short(source[0])} {verb}"
            told.setdefault(first, []).append(f"{named[to]} on {short(to[0])}")
    return " ".join([*parts, *(f"{first} {', '.join(to)}." for first, to in told.items())])


def labels(groups: Groups) -> dict[Key, str]:
    """What each box is called: the scope without TensorFlow's number; several updates get one."""
    found = {}
    for key in groups.boxes:
        found[key] = re.sub(r"_\d+$", "", key[1])
        if key[1].startswith(UPDATE):
            here = [k for k in groups.boxes if k[0] == key[0] and k[1].startswith(UPDATE)]
            found[key] = f"update {here.index(key)}" if len(here) > 1 else "update"
    return found


# --- where all stands -----------------------------------------------------------------------------


class Place(NamedTuple):
    """A rectangle, in inches: its lower left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.y + self.height

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def middle(self) -> float:
        """Its centre, from the left."""
        return self.x + self.width / 2


class Plan:
    """panels: a place a device. boxes: a place a box. top: the height of all."""

    def __init__(self, groups: Groups, lines: Mapping[Key, int]) -> None:
        self.panels: dict[str, Place] = {}
        self.boxes: dict[Key, Place] = {}
        self.heights = {key: 0.27 + LINE * count for key, count in lines.items()}
        in_order = sorted(groups.boxes, key=_column)
        ends = {key for a in groups.arrows if a.source[0] != a.to[0] for key in a[:2]}
        workers = {}
        for device in groups.devices("worker"):
            here = [key for key in in_order if key[0] == device]
            above = [key for key in here if key in ends] or here
            workers[device] = [above, [key for key in here if key not in above]]
        end = self.in_rows(workers, 0.0)
        leads = {arrow.source: arrow.to for arrow in groups.arrows}
        for _, below in workers.values():
            if len(below) == 1 and below[0] in leads:  # under the box that it leads to
                to = self.boxes[leads[below[0]]]
                self.boxes[below[0]] = self.boxes[below[0]]._replace(x=to.x)
        servers = {}
        for number, device in enumerate(groups.devices("ps", "chief")):
            here = [key for key in in_order if key[0] == device]
            writers = sum(
                arrow.kind == "write" and arrow.to[0] == device for arrow in groups.arrows
            )
            for key in here:
                if key[1] == VARIABLES and writers > 1:  # so many arrows come in at its side
                    self.heights[key] = max(self.heights[key], 0.43 + 0.2 * writers)
            # Mirrored, what two servers send each other is side by side.
            servers[device] = [here[::-1] if number % 2 else here]
        self.top = self.in_rows(servers, end + GAP)

    def in_rows(self, devices: Mapping[str, Sequence[Sequence[Key]]], bottom: float) -> float:
        """Place devices beside each other, with rows of boxes, the upper one first; where they end.

        The names of workers, which have two rows, stand below the boxes.
        """
        most = [max(map(len, rows)) for rows in devices.values()]
        wide = WIDTH - PAD * (2 * len(most) - 1 + sum(most))
        width = min(1.5, wide / sum(most))
        x = (WIDTH - sum(most) * (width + PAD) - PAD * (2 * len(most) - 1)) / 2
        tall = [
            max((self.heights[key] for rows in devices.values() for key in rows[row]), default=0.0)
            for row in range(len(next(iter(devices.values()))))
        ]
        high = NAME + PAD + sum(each + 2 * PAD for each in tall if each) - PAD
        for (device, rows), count in zip(devices.items(), most, strict=True):
            self.panels[device] = Place(x, bottom, count * (width + PAD) + PAD, high)
            y = bottom + PAD + NAME * (len(rows) > 1)
            for row in reversed(range(len(rows))):
                for column, key in enumerate(rows[row]):
                    # Arrows come from above to a worker, and from below to a server.
                    up = tall[row] - self.heights[key] if row < len(rows) - 1 else 0.0
                    left = x + PAD + column * (width + PAD)
                    self.boxes[key] = Place(left, y + up, width, self.heights[key])
                y += tall[row] + 2 * PAD * bool(tall[row])
            x += self.panels[device].width + PAD
        return bottom + high


def _column(key: Key) -> tuple[int, str, int]:
    """Where in its row a box stands: as `ORDER` has it."""
    named = (place for place, label in enumerate(ORDER) if label and key[1].startswith(label))
    return next(named, ORDER.index("")), key[1], key[2] or 0


# --- the picture ----------------------------------------------------------------------------------


def draw_graph(groups: Groups) -> Any:
    """The figure: a panel a device, a box a group of ops."""
    named = labels(groups)
    texts = {
        key: (_wrapped(named[key]), [line for each in box.lines for line in _wrapped(each)])
        for key, box in groups.boxes.items()
    }
    plan = Plan(groups, {key: len(name) - 1 + len(lines) for key, (name, lines) in texts.items()})
    servers, workers = cycle((BLUE, SKY)), cycle((ORANGE, GREEN, PINK, RED, YELLOW))
    colours = {device: next(servers) for device in groups.devices("ps")}
    colours |= {device: next(workers) for device in groups.devices("worker")}
    colours |= dict.fromkeys(groups.devices("chief"), GREY)
    figure, ax = axes(width=WIDTH, height=plan.top + 0.12)
    with style():
        for device, place in plan.panels.items():
            owners = {whose for where, _, whose in groups.boxes if where == device}
            title = short(device)
            if groups.clients > 1 and len(owners) == 1 and None not in owners:
                title += f", graph {owners.pop()}"
            _panel(ax, place, title, colours[device], not device.startswith("/job:worker"))
        for source, to, kind in groups.arrows:
            look = {"arrowstyle": "-|>", "mutation_scale": 9, "color": colours[source[0]]}
            look |= {"linewidth": 1.4, "linestyle": "--" if kind == "write" else "-"}
            start, end = _ends(plan.boxes[source], plan.boxes[to], kind)
            ax.annotate("", end, start, arrowprops={**look, "shrinkA": 0, "shrinkB": 0}, zorder=3)
        for key, (name, lines) in texts.items():
            _box(ax, plan.boxes[key], name, lines, colours[key[0]])
        ax.set(xlim=(-0.03, WIDTH + 0.03), ylim=(-0.03, plan.top + 0.03))
        ax.set_axis_off()
    return figure


def _wrapped(text: str) -> list[str]:
    """A long name in lines, cut after an underscore or at a blank."""
    lines = textwrap.wrap(text.replace("_", "_ "), LONGEST + 1)
    return [line.replace("_ ", "_") for line in lines]


def _panel(ax: Any, place: Place, name: str, colour: str, above: bool) -> None:
    from matplotlib.colors import to_rgb

    light = tuple(1 - 0.16 * (1 - part) for part in to_rgb(colour))
    _rounded(ax, place, colour, 0.08, facecolor=light, linewidth=1.6, zorder=1)
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
