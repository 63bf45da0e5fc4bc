"""A graph's ops gathered into a few groups by device and name scope, for a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from helpers.lessons.four_ways.experiments.plain_graph import Op

VARIABLES, ACCUMULATORS, QUEUE, READ = "variables", "accumulators", "token queue", "read"
OTHERS = "ops"
_VARIABLE = ("VarHandleOp", "VariableV2")


@dataclass
class Box:
    """A group of ops on one device. client: whose graph it is in, None where all share it.

    lines: what stands under the label: names of variables, or how many ops.
    """

    device: str
    label: str
    client: int | None
    ops: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """What stands under the label."""
        if self.names:
            return self.names
        if self.label == OTHERS and len(self.ops) <= 4:
            return self.ops
        return [f"{len(self.ops)} op{'s' * (len(self.ops) != 1)}"]


class Arrow(NamedTuple):
    """From one box's number to another's. kind: "data", or "write" where a variable changes."""

    source: int
    to: int
    kind: str


class Groups(NamedTuple):
    """What a picture shows. clients: how many graphs there are."""

    boxes: list[Box]
    arrows: list[Arrow]
    clients: int

    @property
    def devices(self) -> list[str]:
        """The devices in the order of the picture: servers, chief, workers."""
        kinds = ("/job:ps", "/job:chief", "/job:worker")
        found = {box.device for box in self.boxes}
        return [name for kind in kinds for name in sorted(found) if name.startswith(kind)]


def short(device: str) -> str:
    """ "/job:worker/task:1" as "worker 1"."""
    return device.removeprefix("/job:").replace("/task:", " ")


def gather(graphs: Sequence[Sequence[Op]]) -> Groups:
    """Gather the ops of one graph, or of several clients' graphs, into boxes with arrows.

    Variables, accumulators and queues on servers are shared by all clients. A tensor that goes to
    several boxes of a device is drawn to the first: it is sent once. Constants inside a scope get
    neither box nor arrow.
    """
    groups = Groups([], [], len(graphs))
    for client, ops in enumerate(graphs):
        _Client(ops, client, groups).add()
    return Groups(groups.boxes, _fewer(groups), len(graphs))


def _fewer(groups: Groups) -> list[Arrow]:
    """Leave out an arrow within a device where two others lead the same way."""
    ends = {(a.source, a.to) for a in groups.arrows}

    def roundabout(arrow: Arrow) -> bool:
        if groups.boxes[arrow.source].device != groups.boxes[arrow.to].device:
            return False
        return any(
            (arrow.source, middle) in ends and (middle, arrow.to) in ends
            for middle in range(len(groups.boxes))
        )

    return [arrow for arrow in groups.arrows if not roundabout(arrow)]


class _Client:
    """One client's graph on its way into the groups."""

    def __init__(self, ops: Sequence[Op], client: int, groups: Groups) -> None:
        self.ops, self.client, self.groups = {op.name: op for op in ops}, client, groups
        self.scopes = {op.name.split("/")[0] for op in ops if "/" in op.name and not _handle(op)}
        self.variables = {op.name for op in ops if _handle(op)}
        self.box_of: dict[str, int] = {}
        self.first: dict[tuple[str, str], int] = {}

    def add(self) -> None:
        """Put every op into its box, and draw the arrows."""
        keys = {op.name: self.key(op) for op in self.ops.values()}
        worth = {keys[op.name] for op in self.ops.values() if not _trifle(op)}
        for name, key in keys.items():
            if key in worth:
                self.put(name, key)
        for op in self.ops.values():
            self.connect(op)

    def key(self, op: Op) -> tuple[str, str, int | None]:
        """The box that an op belongs to: device, label and client."""
        owner = op.name.split("/")[0]
        if owner != op.name and owner in self.variables:  # starts it, or asks whether it has begun
            return self.key(self.ops[owner])
        device, shared = self.device(op), None
        if op.type == "ReadVariableOp" or (op.type.startswith("Assign") and not self.scope(op)):
            return self.key(self.ops[op.inputs[0]])
        if _handle(op) and self.scope(op) not in self.scopes:
            return device, VARIABLES, shared if device.startswith("/job:ps") else self.client
        if "Accumulator" in op.type:
            return device, ACCUMULATORS, shared
        if "Queue" in op.type or self.only_feeds_a_queue(op):
            return device, QUEUE, shared
        return device, self.scope(op) or self.unscoped(op), self.client

    def scope(self, op: Op) -> str:
        """The outermost name scope, "" where TensorFlow gave the name itself."""
        first = op.name.split("/")[0]
        scoped = "/" in op.name or (first in self.scopes and not _handle(op))
        if not scoped or re.fullmatch(r"(Read|Identity|Fill|truediv|AddN|NoOp)(_\d+)?", first):
            return ""
        return first

    def unscoped(self, op: Op) -> str:
        """The label of ops outside any scope: what they do, by their type."""
        source = self.ops.get(op.inputs[0]) if op.inputs else None
        if op.type == "Identity" and source and source.type == "ReadVariableOp":
            return f"{READ} {source.inputs[0]}"
        return "mean" if op.name.split("/")[0].split("_")[0] in ("AddN", "truediv") else OTHERS

    def only_feeds_a_queue(self, op: Op) -> bool:
        """Whether an op makes the tokens."""
        if op.name.split("/")[0].split("_")[0] != "Fill":
            return False
        return any("Enqueue" in other.type for other in self.ops.values())

    def device(self, op: Op) -> str:
        """Where an op lies; what reads or writes a resource lies where that does."""
        if op.inputs and (op.type == "ReadVariableOp" or op.type.startswith("Assign")):
            return self.device(self.ops[op.inputs[0]])
        parts = dict(p.split(":", 1) for p in op.device.strip("/").split("/") if ":" in p)
        return f"/job:{parts['job']}/task:{parts['task']}"

    def put(self, name: str, key: tuple[str, str, int | None]) -> None:
        """Put an op into its box, a new one where there is none yet."""
        boxes = self.groups.boxes
        device, label, client = key
        label, _, read = label.partition(" ") if label.startswith(READ + " ") else (label, "", "")
        key = device, label, client
        keys = [(box.device, box.label, box.client) for box in boxes]
        number = keys.index(key) if key in keys else len(boxes)
        if number == len(boxes):
            boxes.append(Box(device, label, client, names=[read] if read else []))
        self.box_of[name] = number
        box = boxes[number]
        if name not in box.ops:
            box.ops.append(name)
        if key[1] == VARIABLES and _handle(self.ops[name]) and name not in box.names:
            box.names.append(name)

    def connect(self, op: Op) -> None:
        """Arrows to what an op takes; an op that changes a variable has one to it."""
        to = self.box_of.get(op.name)
        for name in op.inputs:
            source = self.box_of.get(name)
            if source is None or to is None or source == to or _trifle(self.ops[name]):
                continue
            if _handle(self.ops[name]) and ("Apply" in op.type or op.type.startswith("Assign")):
                self.arrow(Arrow(to, source, "write"))
                continue
            # A tensor is sent to a device once, however many ops there take it.
            sent = self.first.setdefault((name, self.groups.boxes[to].device), to)
            if sent == to:
                self.arrow(Arrow(source, to, "data"))

    def arrow(self, arrow: Arrow) -> None:
        if arrow not in self.groups.arrows:
            self.groups.arrows.append(arrow)


def _trifle(op: Op) -> bool:
    """A constant inside a scope, such as a shape, or an op that does nothing."""
    return op.type == "NoOp" or (op.type == "Const" and "/" in op.name)


def _handle(op: Op) -> bool:
    return op.type in _VARIABLE
