"""Where the boxes of a graph's picture stand: servers above, workers below, in inches.

On a server, from the left (on the next one from the right): what its variables feed, the variables,
the updates that change them, what comes before these. On a worker, what servers and workers send
each other stands on top, and what is the worker's own affair below it. So hardly an arrow passes
behind a box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from helpers.lessons.four_ways.figures.graph_groups import VARIABLES, Groups

WIDTH = 9.0  # inches of the picture; boxes share it
LINE, PAD, NAME, GAP = 0.155, 0.14, 0.26, 0.75


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
    """panels: a place a device. boxes: a place for each of the groups' boxes. height: of all."""

    def __init__(self, groups: Groups, lines: Sequence[int]) -> None:
        self.groups = groups
        self.heights = [0.27 + LINE * count for count in lines]
        self.panels: dict[str, Place] = {}
        self.boxes: dict[int, Place] = {}
        self.above = servers(groups)
        below = [device for device in groups.devices if device not in self.above]
        self.height = self.servers(self.workers(below) + GAP)

    def on(self, device: str) -> list[int]:
        """The numbers of a device's boxes."""
        return [n for n, box in enumerate(self.groups.boxes) if box.device == device]

    def servers(self, bottom: float) -> float:
        """Place the upper row; where it ends."""
        rows = [self.in_a_row(device) for device in self.above]
        for each in rows:
            writers = self.writers(each)
            for number in each:
                if self.groups.boxes[number].label == VARIABLES and len(writers) > 1:
                    low = max(self.heights[n] for n in writers)
                    self.heights[number] = max(self.heights[number], low + 0.2 * len(writers))
        height = max(self.heights[number] for each in rows for number in each)
        for device, members, panel in self.panels_of(rows, self.above, bottom, height):
            self.panels[device] = panel
            width = (panel.width - PAD) / len(members) - PAD
            for index, number in enumerate(members):
                x = panel.x + PAD + index * (width + PAD)
                self.boxes[number] = Place(x, bottom + PAD, width, self.heights[number])
        return bottom + height + NAME + 2 * PAD

    def workers(self, devices: Sequence[str]) -> float:
        """Place the lower row; where it ends."""
        tops = [
            [n for n in self.in_order(d) if self.speaks(n)] or self.in_order(d) for d in devices
        ]
        under = [
            [n for n in self.in_order(device) if n not in top]
            for device, top in zip(devices, tops, strict=True)
        ]
        low = max((self.heights[n] for each in under for n in each), default=-2 * PAD)
        high = max(self.heights[n] for each in tops for n in each)
        rows = [top if len(top) >= len(own) else own for top, own in zip(tops, under, strict=True)]
        start = NAME + PAD
        for device, row, panel in self.panels_of(rows, devices, 0.0, low + 2 * PAD + high):
            self.panels[device] = panel
            width = (panel.width - PAD) / len(row) - PAD
            index = devices.index(device)
            for column, number in enumerate(tops[index]):
                x = panel.x + PAD + column * (width + PAD)
                y = start + low + 2 * PAD + high - self.heights[number]
                self.boxes[number] = Place(x, y, width, self.heights[number])
            for column, number in enumerate(under[index]):
                x = self.under(number, tops[index], panel.x + PAD + column * (width + PAD))
                self.boxes[number] = Place(x, start, width, self.heights[number])
        return start + low + 2 * PAD + high + PAD

    def under(self, number: int, top: Sequence[int], otherwise: float) -> float:
        """A box stands under the one that it leads to."""
        found = [a.to for a in self.groups.arrows if a.source == number and a.to in top]
        return self.boxes[found[0]].x if found else otherwise

    def panels_of(
        self, rows: Sequence[Sequence[int]], devices: Sequence[str], bottom: float, height: float
    ) -> list[tuple[str, Sequence[int], Place]]:
        """Share the width out: each device, its boxes of the longest row, and its panel."""
        count = sum(len(each) for each in rows)
        width = min(1.5, (WIDTH - PAD * (2 * len(rows) - 1 + count)) / count)
        across = [len(each) * (width + PAD) + PAD for each in rows]
        x, panels = (WIDTH - sum(across) - PAD * (len(rows) - 1)) / 2, []
        for device, each, wide in zip(devices, rows, across, strict=True):
            panels.append((device, each, Place(x, bottom, wide, height + NAME + 2 * PAD)))
            x += wide + PAD
        return panels

    def in_a_row(self, device: str) -> list[int]:
        """A server's boxes from the left."""
        mine = self.on(device)
        variables = [n for n in mine if self.groups.boxes[n].label == VARIABLES]
        arrows = [a for a in self.groups.arrows if a.kind == "data"]
        fed = [n for n in mine if any(a.source in variables and a.to == n for a in arrows)]
        rest = [n for n in mine if n not in variables and n not in fed]
        row = [*fed, *variables, *sorted(rest, key=lambda n: -self.level(n))]
        # Every second server is mirrored: what two servers send each other is then side by side.
        return row[::-1] if self.above.index(device) % 2 else row

    def in_order(self, device: str) -> list[int]:
        """A worker's boxes, what comes first first."""
        return sorted(self.on(device), key=lambda n: (self.level(n), n))

    def writers(self, numbers: Sequence[int]) -> list[int]:
        """Those boxes that change a variable."""
        writing = {a.source for a in self.groups.arrows if a.kind == "write"}
        return [number for number in numbers if number in writing]

    def speaks(self, number: int) -> bool:
        """Whether a box takes something from another device, or gives it."""
        boxes = self.groups.boxes
        return any(
            number in (a.source, a.to) and boxes[a.source].device != boxes[a.to].device
            for a in self.groups.arrows
        )

    def level(self, number: int, seen: frozenset[int] = frozenset()) -> int:
        """How many boxes of the same device come before this one, one after the other."""
        boxes = self.groups.boxes
        before = {
            a.source
            for a in self.groups.arrows
            if a.to == number and a.kind == "data" and a.source not in seen | {number}
        }
        mine = [n for n in before if boxes[n].device == boxes[number].device]
        return max((1 + self.level(n, seen | {number}) for n in mine), default=0)


def servers(groups: Groups) -> list[str]:
    """The devices of the upper row: servers and the chief."""
    return [device for device in groups.devices if not device.startswith("/job:worker")]
