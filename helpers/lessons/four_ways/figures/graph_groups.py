"""A graph's ops gathered into a few groups by device and name scope, for a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from helpers.lessons.four_ways.experiments.plain_graph import Op

VARIABLES, ACCUMULATORS, QUEUE, READ = "variables", "accumulators", "token queue", "read"
MEAN, UPDATE, OTHERS = "mean", "GradientDescent", "ops"
Key = tuple[str, str, int | None]
"""Of a box: its device, its label, and whose graph it is in; None where all share it."""


class Box(NamedTuple):
    """A group of ops. names: of the variables that it holds or reads."""

    ops: dict[str, None]
    names: dict[str, None]

    @property
    def lines(self) -> list[str]:
        """What stands under the label."""
        return list(self.names) or [f"{len(self.ops)} op{'s' * (len(self.ops) != 1)}"]


class Arrow(NamedTuple):
    """From one box to another. kind: "data", or "write" where a variable changes."""

    source: Key
    to: Key
    kind: str


class Groups(NamedTuple):
    """What a picture shows. clients: how many graphs there are."""

    boxes: dict[Key, Box]
    arrows: list[Arrow]
    clients: int

    def devices(self, *jobs: str) -> list[str]:
        """The devices of these jobs, in their order; of all where none is named."""
        found = sorted({device for device, *_ in self.boxes})
        jobs = jobs or ("ps", "chief", "worker")
        return [name for job in jobs for name in found if name.startswith(f"/job:{job}/")]


def short(device: str) -> str:
    """ "/job:worker/task:1" as "worker 1"."""
    return device.removeprefix("/job:").replace("/task:", " ")


def gather(graphs: Sequence[Sequence[Op]]) -> Groups:
    """Gather the ops of one graph, or of several clients' graphs, into boxes with arrows.

    Variables, accumulators and queues on servers are shared by all clients. A tensor that goes to
    several boxes of a device is drawn to the first: it is sent once. Constants inside a scope get
    neither box nor arrow.
    """
    boxes: dict[Key, Box] = {}
    arrows: dict[Arrow, None] = {}
    for number, ops in enumerate(graphs):
        client = _Client(ops, number)
        keys = {op.name: client.key(op) for op in ops if not _trifle(op)}
        first: dict[tuple[str, str], Key] = {}
        for op in client.ops.values():
            if (to := keys.get(op.name)) is None:
                continue
            box = boxes.setdefault(to, Box({}, {}))
            box.ops[op.name] = None
            if to[1] == VARIABLES and _handle(op):
                box.names[op.name] = None
            if to[1] == READ:
                box.names[client.read_by(op)] = None
            for name in op.inputs:
                source = keys.get(name, to)
                if source == to:
                    continue
                if _handle(client.ops[name]) and re.search("Apply|^Assign", op.type):
                    arrows[Arrow(to, source, "write")] = None
                # A tensor is sent to a device once, however many ops there take it.
                elif first.setdefault((name, to[0]), to) == to:
                    arrows[Arrow(source, to, "data")] = None
    return Groups(boxes, _fewer(arrows), len(graphs))


def _fewer(arrows: dict[Arrow, None]) -> list[Arrow]:
    """Leave out an arrow within a device where two others lead the same way."""
    ends = {(arrow.source, arrow.to) for arrow in arrows}

    def roundabout(arrow: Arrow) -> bool:
        if arrow.source[0] != arrow.to[0]:
            return False
        return any((arrow.source, to) in ends and (to, arrow.to) in ends for _, to in ends)

    return [arrow for arrow in arrows if not roundabout(arrow)]


class _Client:
    """One client's graph, and to which box each of its ops belongs."""

    def __init__(self, ops: Sequence[Op], number: int) -> None:
        self.ops, self.number = {op.name: op for op in ops}, number
        self.scopes = {op.name.split("/")[0] for op in ops if "/" in op.name and not _handle(op)}
        self.queues = any("Enqueue" in op.type for op in ops)

    def key(self, op: Op) -> Key:
        """The box that an op belongs to."""
        owner = self.ops.get(op.name.split("/")[0])
        if (
            owner is not None and owner != op and _handle(owner)
        ):  # starts it, or asks whether it has
            return self.key(owner)
        scope, device = self.scope(op), self.device(op)
        if op.type == "ReadVariableOp" or (op.type.startswith("Assign") and not scope):
            return self.key(self.ops[op.inputs[0]])
        if _handle(op) and scope not in self.scopes:
            return device, VARIABLES, None if device.startswith("/job:ps") else self.number
        if "Accumulator" in op.type:
            return device, ACCUMULATORS, None
        unnamed = op.name.split("_")[0]
        if "Queue" in op.type or (unnamed == "Fill" and self.queues):  # the tokens
            return device, QUEUE, None
        if not scope:
            scope = MEAN if unnamed in ("AddN", "truediv") else OTHERS
            scope = READ if self.read_by(op) else scope
        return device, scope, self.number

    def scope(self, op: Op) -> str:
        """The outermost name scope, "" where TensorFlow gave the name itself."""
        first = op.name.split("/")[0]
        scoped = "/" in op.name or (first in self.scopes and not _handle(op))
        if not scoped or re.fullmatch(r"(Read|Identity|Fill|truediv|AddN|NoOp)(_\d+)?", first):
            return ""
        return first

    def read_by(self, op: Op) -> str:
        """The variable whose value an op hands on, "" for none."""
        source = self.ops.get(op.inputs[0]) if op.type == "Identity" and op.inputs else None
        return source.inputs[0] if source and source.type == "ReadVariableOp" else ""

    def device(self, op: Op) -> str:
        """Where an op lies; what reads or writes a resource lies where that does."""
        if op.inputs and (op.type == "ReadVariableOp" or op.type.startswith("Assign")):
            return self.device(self.ops[op.inputs[0]])
        parts = dict(p.split(":", 1) for p in op.device.strip("/").split("/") if ":" in p)
        return f"/job:{parts['job']}/task:{parts['task']}"


def _trifle(op: Op) -> bool:
    """A constant inside a scope, such as a shape, or an op that does nothing."""
    return op.type == "NoOp" or (op.type == "Const" and "/" in op.name)


def _handle(op: Op) -> bool:
    return op.type in ("VarHandleOp", "VariableV2")
