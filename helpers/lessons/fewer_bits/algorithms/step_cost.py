"""What a step takes whose gradients are coded: computing, coding and sending."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """How gradients travel. share: of the dense bytes. coding: seconds for a byte of gradient,
    there and back. interval: steps from one sum to the next.
    """

    name: str
    share: float = 1.0
    coding: float = 0.0
    interval: int = 1


def ring_share(workers: int) -> float:
    """How often a gradient's bytes leave a host in a sum over so many: 2(N − 1)/N."""
    return 2 * (workers - 1) / workers


def compressed_step(
    scheme: Scheme, compute: float, nbytes: float, workers: int, latency: float, bandwidth: float
) -> float:
    """Seconds of a mean step: c + (d·n + 2(N − 1)·α + 2(N − 1)/N · s·n/B) / H.

    compute: c, seconds of forward and backward. nbytes: n, of the dense gradient. latency: α,
    seconds of a message. bandwidth: B, bytes a second of a host's link, each way.
    """
    send = 2 * (workers - 1) * latency + ring_share(workers) * scheme.share * nbytes / bandwidth
    return compute + (scheme.coding * nbytes + send) / scheme.interval
