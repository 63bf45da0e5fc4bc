"""Workers that pull and push layer by layer while they compute, on the clock.

A worker begins with its first layer as soon as that has come, and goes on with each as soon as it
is there; backward it pushes each layer's gradient when it has it, the first layer's last. Every
server has its part of every layer, and sends the layers of one answer in order, one after the
other, among those of other answers. The rule is asked when a server has taken up the last part of
a gradient, and gives the weights of one moment, so it sees what it sees of whole messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

from helpers.engine.servers.parameter_server import Array, Reply
from helpers.engine.servers.training import bytes_of
from helpers.engine.servers.virtual import VirtualTraining

FORWARD = 1 / 3  # of computing: backward makes two products for each one of forward

Shares = Sequence[tuple[float, float]]


class Layers(NamedTuple):
    """Each layer's share of the bytes and of the computing, from the first to the last."""

    bytes: tuple[float, ...]
    computing: tuple[float, ...]


def layers_of(given: Shares) -> Layers:
    """What `layers=` says: of each layer its share of the bytes and of the computing.

    Only their ratios count. Raises ValueError, with a sentence, for anything else.
    """
    shares = [pair for pair in given if len(pair) == 2 and all(map(_is_share, pair))]
    if len(shares) < len(given) or not shares:
        raise ValueError(
            "layers is a list with a layer's shares of the bytes and of the computing each, such "
            f"as [(1, 2), (2, 1)], all of them 0 or more, not {given!r}."
        )
    bytes_, computing = zip(*shares, strict=True)
    if not sum(bytes_) or not sum(computing):
        raise ValueError("layers shares nothing out: some share has to be above 0.")
    return Layers(
        tuple(float(share / sum(bytes_)) for share in bytes_),
        tuple(float(share / sum(computing)) for share in computing),
    )


def _is_share(value: object) -> bool:
    return isinstance(value, Real) and 0 <= float(value) < math.inf


class LayeredTraining(VirtualTraining):
    """A training on the clock whose messages go layer by layer; see `VirtualTraining`."""

    def __init__(self, *args: Any, layers: Layers, **options: Any) -> None:
        super().__init__(*args, **options)
        self._layers = layers
        workers = len(self.workers)
        self._came = [[0] * len(layers.bytes) for _ in range(workers)]  # from how many servers
        self._forward = [0.0] * workers  # until when each is busy with the layers that came
        self._takes = [0.0] * workers  # seconds of each worker's present step
        self._began = [0.0] * workers

    def _send(self, number: int, replies: Sequence[Reply]) -> None:
        for reply in replies:
            if reply.weights is None:
                super()._send(number, [reply])
            else:
                self._send_layer(number, reply, 0)

    def _send_layer(self, number: int, reply: Reply, layer: int) -> None:
        """Send one layer of an answer, and the next when this one has left the server."""
        size = bytes_of(reply.weights) * self._scale * self._layers.bytes[layer]
        came = (self._layer_came, number, reply, layer)
        left = self.links.to_worker(number, reply.worker, size, *came)
        if layer + 1 < len(self._layers.bytes):
            self.clock.at(left, self._send_layer, number, reply, layer + 1)

    def _layer_came(self, number: int, reply: Reply, layer: int) -> None:
        """Part of a layer has come; with the parts of all servers the worker computes on."""
        worker = reply.worker
        if worker in self.died:
            return
        self._answers[worker][number] = reply
        came = self._came[worker]
        came[layer] += 1
        if came[layer] < len(self.servers):
            return
        came[layer] = 0
        now = self.clock.now
        if layer == 0:
            self._draw(worker, "waiting", self._since[worker])
            self._begin(worker)
        share = self._layers.computing[layer]
        busy = max(self._forward[worker], now) + FORWARD * share * self._takes[worker]
        self._forward[worker] = busy
        if layer + 1 == len(came):
            answers = self._answers[worker]
            self.workers[worker].receive([answers[n] for n in range(len(self.servers))])
            answers.clear()
            self._computing[worker] = None
            self.clock.at(busy, self._backward, worker)

    def _begin(self, worker: int) -> None:
        """A worker's step begins now."""
        now = self.clock.now
        self._began[worker] = self._forward[worker] = now
        self._takes[worker] = float(self._times[worker](now))

    def _compute(self, number: int) -> None:
        """A worker has all weights that it wants, so nothing holds it up."""
        self._begin(number)
        self._computing[number] = None
        forward = FORWARD * self._takes[number]
        self.clock.at(self.clock.now + forward, self._backward, number)

    def _backward(self, number: int) -> None:
        """A worker goes back through its layers, and pushes each when it has its gradient."""
        if number in self.died:
            return
        worker = self.workers[number]
        parts = worker.finish(self._gradient(number))
        versions, moment = list(worker.versions), self.clock.now
        backward = (1 - FORWARD) * self._takes[number]
        for layer in reversed(range(len(self._layers.computing))):
            moment += backward * self._layers.computing[layer]
            if parts is not None:
                self.clock.at(moment, self._push_layer, number, layer, parts, versions)
        self.clock.at(moment, self._computed_all, number, parts is None)

    def _computed_all(self, number: int, alone: bool) -> None:
        """Backward is done; who has nothing to push goes on."""
        if number in self.died:
            return
        self._draw(number, "computing", self._began[number])
        self._since[number] = self.clock.now
        if alone:
            self._go_on(number)

    def _push_layer(
        self, number: int, layer: int, parts: Sequence[Array], versions: Sequence[int]
    ) -> None:
        """Push a layer's gradient to all servers; the first layer's comes last, as it left."""
        if number in self.died:
            return
        wants = self.workers[number].client.wants_weights
        share = self._layers.bytes[layer] * self._scale
        for server, part in enumerate(parts):
            act = self._arrived if layer == 0 else _nothing
            args = (server, number, part, versions[server], wants)
            self.links.to_server(number, server, bytes_of(part) * share, act, *args)


def _nothing(*args: Any) -> None:
    """Part of a gradient has come, and the rest has not."""
