"""A data-parallel step by the α–β model: when each bucket starts, and how long the step takes.

The model of Li et al., "PyTorch Distributed" (2020), section 3.2.3: backward makes the last
layer's gradient first; a bucket's all-reduce starts when its gradients are there and the one
before it is done; the step ends when backward and the last all-reduce have ended. Additions and
copies count as nothing. On the virtual clock it is exact where the ranks divide each bucket.
"""

from __future__ import annotations

from typing import NamedTuple

from helpers.engine.trace import Event, Trace
from helpers.lessons.messages.algorithms.cost_model import predicted_seconds


class Step(NamedTuple):
    """One step. computed: seconds of forward and backward. sums: (start, end) of each bucket's
    all-reduce, in seconds from the step's start."""

    computed: float
    sums: tuple[tuple[float, float], ...]

    @property
    def seconds(self) -> float:
        """From the start to the end of the last all-reduce."""
        return max([self.computed, *(end for _, end in self.sums)])

    @property
    def exposed(self) -> float:
        """Seconds in which nothing is computed and a bucket is still under way."""
        return self.seconds - self.computed

    def trace(self) -> Trace:
        """The step of one rank as a trace, for a timeline."""
        events = [Event(0, "computing", 0.0, self.computed)]
        if self.exposed > 0:
            events.append(Event(0, "waiting", self.computed, self.seconds))
        events += [Event(0, "sending", *span, lane=1) for span in self.sums]
        return Trace(events, 1, virtual=True)


def bucket_layers(layers: int, layer_bytes: float, bucket_bytes: float) -> list[int]:
    """How many layers each bucket holds, last layers first; closed at `bucket_bytes` or more."""
    counts = [0]
    for _ in range(layers):
        if counts[-1] and counts[-1] * layer_bytes >= bucket_bytes:
            counts.append(0)
        counts[-1] += 1
    return counts


def modelled_step(
    layers: int,
    layer_bytes: float,
    bucket_bytes: float,
    ranks: int,
    latency: float,
    bandwidth: float,
    forward: float = 1e-3,
    backward: float = 2e-3,
) -> Step:
    """A step of equal layers whose buckets are summed round a ring.

    layer_bytes: of each layer's gradients. forward, backward: seconds a layer. latency: α in
    seconds. bandwidth: bytes a second.
    """
    computed = layers * (forward + backward)
    made = layers * forward  # when the gradients so far are there
    free, sums = 0.0, []
    for count in bucket_layers(layers, layer_bytes, bucket_bytes):
        made += count * backward
        start = max(made, free)
        free = start + predicted_seconds(
            "all_reduce_ring", ranks, count * layer_bytes, latency, bandwidth
        )
        sums.append((start, free))
    return Step(computed, tuple(sums))
