"""A graph of `tf.compat.v1` run in a session, and what it did: where, when, with how much memory.

Everything that optimises a graph is off, so that each op that is written is an op that runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Node(NamedTuple):
    """An op that ran. device: short, as "CPU:1" or "ps/0". inputs: ops, "^" for control."""

    name: str
    kind: str
    device: str
    inputs: tuple[str, ...] = ()


class Span(NamedTuple):
    """When an op ran: seconds from the first one's start."""

    name: str
    start: float
    end: float


class Seen(NamedTuple):
    """What one step of a session showed.

    live: (seconds, bytes that are allocated from then on), as the CPU's allocator noted it.
    """

    value: Any
    nodes: tuple[Node, ...]
    spans: tuple[Span, ...]
    live: tuple[tuple[float, int], ...]

    @property
    def peak(self) -> int:
        """The most bytes that were allocated at one time."""
        return max((held for _, held in self.live), default=0)

    def device_of(self, name: str) -> str:
        """Where an op ran. Raises KeyError where none of that name did."""
        for node in self.nodes:
            if node.name == name:
                return node.device
        raise KeyError(f"No op {name!r} ran; there are {[node.name for node in self.nodes]}.")

    def transfers(self) -> list[tuple[str, str, str]]:
        """What was sent between devices: (the tensor's op, from, to), in the order of the names."""
        to: dict[str, list[str]] = {}
        for node in self.nodes:
            if node.kind == "_Recv":
                to.setdefault(stem(node.name), []).append(node.device)
        found = {
            (stem(node.name), node.device, other)
            for node in self.nodes
            if node.kind == "_Send"
            for other in to.get(stem(node.name), [])
            if other != node.device
        }
        return sorted(found)


def stem(name: str) -> str:
    """What a send and its receive have in common: the name of the op whose tensor is sent."""
    for mark in ("/_", "_S"):
        head, _, tail = name.rpartition(mark)
        if head and tail.isdigit():
            return head
    return name


def settings(cpus: int = 1, threads: int = 1, soft: bool = False) -> Any:
    """A ConfigProto: so many logical CPUs, threads that ops share, soft placement or not.

    An op itself computes on one thread, and no op is optimised away.
    """
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(
        device_count={"CPU": cpus, "GPU": 0},
        allow_soft_placement=soft,
        inter_op_parallelism_threads=threads,
        intra_op_parallelism_threads=1,
        use_per_session_threads=True,
    )
    return as_written(config)


def as_written(config: Any) -> Any:
    """The same settings, with everything off that changes a graph before it runs."""
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def watch(session: Any, fetch: Any, feed: dict[Any, Any] | None = None) -> Seen:
    """Run one step and note where each op ran, when, and what was allocated."""
    import tensorflow as tf

    v1 = tf.compat.v1
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = v1.RunMetadata()
    value = session.run(fetch, feed, options=options, run_metadata=metadata)
    nodes = tuple(
        Node(node.name, node.op, short(node.device), tuple(node.input))
        for graph in metadata.partition_graphs
        for node in graph.node
    )
    devices = [d for d in metadata.step_stats.dev_stats if "CPU" in d.device]
    stats = [node for device in devices for node in device.node_stats]
    return Seen(value, nodes, spans(stats), live(stats))


def short(device: str) -> str:
    """ "/job:localhost/replica:0/task:0/device:CPU:1" → "CPU:1"; on a cluster "ps/0"."""
    parts = dict(part.split(":", 1) for part in device.strip("/").split("/") if ":" in part)
    if parts.get("job", "localhost") != "localhost":
        return f"{parts['job']}/{parts.get('task', '0')}"
    return parts.get("device", device)


def spans(stats: Sequence[Any]) -> tuple[Span, ...]:
    """When each op computed, in order."""
    zero = min((node.all_start_micros for node in stats), default=0)
    found = []
    for node in stats:
        begin = node.all_start_micros - zero
        ends = (begin + node.op_start_rel_micros, begin + node.op_end_rel_micros)
        found.append(Span(node.node_name, ends[0] / 1e6, ends[1] / 1e6))
    return tuple(sorted(found, key=lambda span: (span.start, span.end, span.name)))


def live(stats: Sequence[Any]) -> tuple[tuple[float, int], ...]:
    """The bytes held after each allocation and each release."""
    records = [
        (record.alloc_micros, record.alloc_bytes)
        for node in stats
        for memory in node.memory
        for record in memory.allocation_records
    ]
    records.sort()
    zero, held, found = records[0][0] if records else 0, 0, []
    for when, size in records:
        held += size
        found.append(((when - zero) / 1e6, held))
    return tuple(found)
