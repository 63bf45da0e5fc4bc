"""Inception-v3 on the cluster of TensorFlow's paper, on the clock: what is assumed, and its steps.

Abadi et al., "TensorFlow: A System for Large-Scale Machine Learning" (OSDI 2016), figure 8: one GPU
a worker, 17 parameter servers, a shared cluster. What is not known of it is assumed here once, with
the reason; one number is fitted, `SLOWER`.

- A worker's seconds spread as Chen et al. measured them for the same model in the same years
  (`FittedStragglers`), all longer by one factor. Their one machine that was always slow is left
  out, for it stood in their cluster; so are hangs of 5 to 310 s, of which a run of some hundred
  steps has so few that its mean would tell of them alone.
- A batch is 32 pictures a worker, as theirs; a weight has 4 bytes, all weights 95 MB.
- Everybody has a host and a link of 10 Gbit/s, usual in data centres then; the switch is wide.
- Layers are pulled and pushed one by one, in four groups of Inception's blocks with the bytes and
  multiplications that these have; backward takes twice as long as forward.
- A server takes up gradients one after the other, as quickly as memory carries them: 5 GB/s, as
  everywhere in this course. `PASSES` counts how often each number of a gradient moves.
- The 17 servers are one, 17 times as quick: they are alike, and each has its part of every layer.
  With all 17 the seconds are the same within 3 %, and the run takes 17 times as long.

These were settled with the figure known. How much hangs on them: with memory a tenth quicker or
slower, links of 8 or 20 Gbit/s, or six groups every point stays within 15 %. In one piece, with
nothing hidden behind computing, synchronous training comes out 11 to 26 % too slow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from helpers.engine.servers.links import MEMORY
from helpers.engine.servers.rule import Array, Rule
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, SpareReplicas
from helpers.lessons.spare_replicas.experiments.inception import blocks, layer_shares
from helpers.lessons.spare_replicas.experiments.no_gradients import NoGradients
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers

SLOWER = 1.14  # the one fitted number: 434 images a second with 25 asynchronous workers
FITTED_AT = ("asynchronous", 25)
BATCH, SERVERS, GROUPS = 32, 17, 4
LINK = 1.25e9  # bytes a second in each direction
BYTES = 4 * sum(block.weights for block in blocks())
# A gradient comes from the network (read and written), becomes a tensor (read and written), and is
# added to a sum (sum and gradient read, sum written); or it makes an update by RMSProp with
# momentum (gradient, weights and two averages read, all but the gradient written). A synchronous
# step makes its one update besides, which is nothing beside 25 gradients or more.
PASSES = {"asynchronous": 2 + 2 + 7, "synchronous": 2 + 2 + 3}
START = 8  # rounds that are left out: at first everybody begins at once


def cluster_times() -> FittedStragglers:
    """A worker's seconds there: as fitted, all longer, nobody always slow and nobody hung."""
    fitted = FittedStragglers(slow_share=0.0, stuck=0.0)
    lengths = ("floor", "base", "scale", "delay")
    return replace(fitted, **{name: SLOWER * getattr(fitted, name) for name in lengths})


def round_ends(workers: int, aggregate: int | None, rounds: int, seed: int) -> np.ndarray:
    """When each round has ended, once the start is forgotten: (rounds + 1,) seconds.

    aggregate: how many gradients a synchronous step takes; None: asynchronous workers, of which a
    round makes as many updates as there are workers.
    """
    import helpers

    updates = 1 if aggregate else workers

    def rule(weights: Array) -> Rule:
        if aggregate:
            return SpareReplicas(weights, Sgd(0.1), workers, aggregate)
        return Asynchronous(weights, Sgd(0.1), workers)

    done = helpers.train(
        rule,
        workers=workers,
        task=NoGradients(),
        batch=1,
        updates=(START + rounds) * updates,
        evaluate_every=updates,
        times=cluster_times(),
        seed=seed,
        hosts={},
        bandwidth={"others": LINK, "server 0": SERVERS * LINK},
        payload=BYTES,
        adding=SERVERS * MEMORY[0] / PASSES["synchronous" if aggregate else "asynchronous"],
        layers=layer_shares(GROUPS),
    )
    return np.array([point.seconds for point in done.curve])[START:]


def images_a_second(kind: str, workers: int, seed: int = 0) -> float:
    """The throughput of "asynchronous" or "synchronous" training: images over seconds."""
    rounds = max(30 if kind == "asynchronous" else 80, 4000 // workers)
    aggregate = None if kind == "asynchronous" else workers
    ends = round_ends(workers, aggregate, rounds, seed)
    return float(BATCH * workers * rounds / (ends[-1] - ends[0]))


def median_step(spare: int, seed: int = 0) -> float:
    """The median step of 50 workers of 50 + `spare`, in seconds."""
    rounds = 80 if spare else 400  # without spare ones it depends on the slowest, which vary
    return float(np.median(np.diff(round_ends(50 + spare, 50, rounds, seed))))
