"""What a parameter server does when a gradient arrives: one class for each way to train.

A rule is a state machine. It holds the weights and their version (how many updates they have
had), is told that a gradient of some worker has arrived and on which version that worker computed
it, and decides: apply it, keep it, drop it, and which workers may pull and go on. It knows nothing
of time, processes or links, so the same rule runs on a virtual clock and on real processes, and
the same order of arrivals gives the same weights, bit for bit.

Arrays are flat numpy arrays or torch tensors and are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable

from helpers.engine.servers.rule import Decision, Optimizer, Push, Rule, mean
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Adagrad, Array, Rate

__all__ = [
    "Asynchronous",
    "Averaging",
    "BoundedStaleness",
    "Decision",
    "Downpour",
    "Push",
    "Rule",
    "SoftSync",
    "SpareReplicas",
    "Synchronous",
]


class Asynchronous(Rule):
    """Apply each gradient when it comes; its worker goes on at once.

    Source: Dean et al. (2012), section 4.1. With N equal workers a gradient is N − 1 updates
    late on average, because every other worker is served once while one computes.
    """

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Apply it, however old it is."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push,))


class Downpour(Asynchronous):
    """Downpour SGD's server: asynchronous, with Adagrad's own learning rate for each weight.

    The clients' part, n_fetch and n_push, is `clients.DownpourClient`. Source: Dean et
    al. (2012), section 4.1.
    """

    def __init__(
        self, weights: Array, rate: Rate, workers: int | Iterable[int], start: float = 0.1
    ) -> None:
        super().__init__(weights, Adagrad(rate, start), workers)


class Synchronous(Rule):
    """Wait for a gradient of every worker, apply the mean, let everybody go on.

    The mean is taken in the order of the workers' numbers, so the weights do not depend on who
    came first.
    """

    def __init__(
        self, weights: Array, optimizer: Optimizer | None, workers: int | Iterable[int]
    ) -> None:
        super().__init__(weights, optimizer, workers)
        self.held: dict[int, tuple[Array, Push]] = {}

    @property
    def needed(self) -> int:
        """How many gradients an update takes: of all who are here, or left one when they went."""
        return len(self.workers | self.held.keys())

    def start(self) -> tuple[int, ...]:
        """Everybody whose gradient is not held."""
        return tuple(sorted(self.workers - self.held.keys()))

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Keep it; the last one that is needed makes the update."""
        push = self.push(worker, version)
        if worker in self.held:
            raise ValueError(f"Worker {worker} has already given a gradient to this step.")
        self.held[worker] = (gradient, push)
        return self.update_if_complete()

    def leave(self, worker: int) -> Decision:
        """Its gradient, if it is there, still counts; no other is waited for."""
        self.workers.discard(worker)
        decision = self.update_if_complete() if self.workers else Decision()
        release = tuple(w for w in decision.release if w != worker)
        return Decision(release, decision.applied, decision.dropped)

    def update_if_complete(self) -> Decision:
        """Apply the mean once enough gradients are held, and release those who gave them."""
        if not self.held or len(self.held) < self.needed:
            return Decision()
        given = [self.held[worker] for worker in sorted(self.held)]
        self.held = {}
        self.apply(mean([gradient for gradient, _ in given]))
        pushes = tuple(push for _, push in given)
        released = tuple(push.worker for push in pushes if push.worker in self.workers)
        return Decision(released, pushes)


class SpareReplicas(Synchronous):
    """N of N + b: apply the mean of the first N gradients of a step; drop the b that come later.

    aggregate: N. A late worker learns that its step is over when its gradient arrives; it pulls
    then. Source: Chen et al., "Revisiting Distributed Synchronous SGD" (2016), section 3.1.
    """

    def __init__(
        self,
        weights: Array,
        optimizer: Optimizer | None,
        workers: int | Iterable[int],
        aggregate: int,
    ) -> None:
        super().__init__(weights, optimizer, workers)
        if not 1 <= aggregate <= len(self.workers):
            raise ValueError(
                f"{aggregate} gradients a step cannot come from {len(self.workers)} workers; "
                f"aggregate 1 to {len(self.workers)}."
            )
        self.aggregate = aggregate

    @property
    def needed(self) -> int:
        """How many gradients an update takes: fewer once fewer workers are left."""
        return min(self.aggregate, super().needed)

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Drop it if its step is over, otherwise keep it for the mean."""
        if version < self.version:
            return self.discard(worker, version)
        return super().arrive(worker, gradient, version)


class SoftSync(Rule):
    """n-softsync: apply the mean of every ⌊λ/n⌋ gradients, of λ workers; nobody waits.

    splits: n, from 1 to λ. A fast worker may be in a mean twice. Mean staleness is about n;
    n = λ is `Asynchronous`. Source: Zhang et al., "Staleness-aware Async-SGD for Distributed Deep
    Learning" (2015), section 3.1.
    """

    def __init__(
        self,
        weights: Array,
        optimizer: Optimizer | None,
        workers: int | Iterable[int],
        splits: int,
    ) -> None:
        super().__init__(weights, optimizer, workers)
        if not 1 <= splits <= len(self.workers):
            raise ValueError(f"splits is from 1 to {len(self.workers)} workers, not {splits}.")
        self.splits = splits
        self.held: list[tuple[Array, int, int]] = []

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Keep it until there are enough; its worker goes on at once."""
        self.push(worker, version)
        self.held.append((gradient, worker, version))
        applied = self._update_if_complete()
        return Decision(release=(worker,), applied=applied)

    def leave(self, worker: int) -> Decision:
        """Fewer workers may mean that what is held is enough."""
        super().leave(worker)
        return Decision(applied=self._update_if_complete() if self.workers else ())

    def _update_if_complete(self) -> tuple[Push, ...]:
        if not self.held or len(self.held) < max(len(self.workers) // self.splits, 1):
            return ()
        given, self.held = self.held, []
        pushes = tuple(Push(w, version, self.version - version) for _, w, version in given)
        self.apply(mean([gradient for gradient, _, _ in given]))
        return pushes


class BoundedStaleness(Rule):
    """Stale synchronous parallel: apply at once, but nobody runs far ahead of the slowest.

    bound: s; a worker that has given more than s gradients more than the slowest one waits. So one
    that has given c pulls weights in which the first c − s of everybody's are, and all of its own,
    and a gradient misses at most (2s + 1)(λ − 1) updates of λ workers. s = 0 is bulk-synchronous,
    s = ∞ is `Asynchronous`. Who leaves is no longer waited for. Source: Ho et al., "More
    Effective Distributed ML via a Stale Synchronous Parallel Parameter Server" (2013), section 2.
    """

    def __init__(
        self,
        weights: Array,
        optimizer: Optimizer | None,
        workers: int | Iterable[int],
        bound: float,
    ) -> None:
        super().__init__(weights, optimizer, workers)
        if bound < 0:
            raise ValueError(f"A bound of {bound} would stop everybody; it is 0 or more.")
        self.bound = bound
        self.clocks = dict.fromkeys(self.workers, 0)
        self.waiting: set[int] = set()

    def start(self) -> tuple[int, ...]:
        """Everybody who is not too far ahead."""
        return tuple(sorted(self.workers - self.waiting))

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """Apply it; its worker goes on when it is not too far ahead."""
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=self._tick(worker), applied=(push,))

    def discard(self, worker: int, version: int) -> Decision:
        """A gradient that is left out counts as given all the same."""
        push = self.push(worker, version)
        return Decision(release=self._tick(worker), dropped=(push,))

    def leave(self, worker: int) -> Decision:
        """The slowest may be gone, and others may go on."""
        super().leave(worker)
        self.clocks.pop(worker, None)
        self.waiting.discard(worker)
        return Decision(release=self.may_go())

    def _tick(self, worker: int) -> tuple[int, ...]:
        self.clocks[worker] += 1
        self.waiting.add(worker)
        return self.may_go()

    def may_go(self) -> tuple[int, ...]:
        """Those who waited and may go on now; they wait no longer."""
        if not self.clocks:
            return ()
        slowest = min(self.clocks.values())
        ready = tuple(w for w in sorted(self.waiting) if self.clocks[w] - slowest <= self.bound)
        self.waiting -= set(ready)
        return ready


class Averaging(Synchronous):
    """A supervisor that averages weights: workers train alone for a while and push their weights.

    What arrives is a worker's weights, not a gradient; the new weights are their mean. Source:
    Ramsundar and Zadeh, "TensorFlow for Deep Learning" (2018), chapter 9.
    """

    pushes = "weights"

    def __init__(self, weights: Array, workers: int | Iterable[int]) -> None:
        super().__init__(weights, None, workers)

    def apply(self, gradient: Array) -> None:
        """Take the workers' mean weights (they stand where a gradient stands in other rules)."""
        self.weights = gradient
        self.version += 1
