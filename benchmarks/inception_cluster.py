"""Inception-v3 on the cluster of TensorFlow's paper: what is assumed of it, and its steps.

Abadi et al., "TensorFlow: A System for Large-Scale Machine Learning" (OSDI 2016), figure 8: one GPU
a worker, 17 parameter servers, a shared cluster. What is not known of it is assumed here once, with
the reason; one number is fitted, `SLOWER`.

- A worker's seconds spread as Chen et al. measured them for the same model in the same years
  (`FittedStragglers`), all longer by one factor. Their one machine that was always slow is left
  out, for it stood in their cluster; so are hangs of 5 to 310 s, of which a run of some hundred
  steps has so few that its mean would tell of them alone.
- A batch is 32 pictures a worker, as theirs; 23.83 million weights of 4 bytes (Szegedy et al.,
  "Rethinking the Inception Architecture for Computer Vision", 2015).
- Everybody has a link of 10 Gbit/s, usual in data centres then; the switch is wide.
- A server takes up gradients one after the other, as quickly as memory carries them: 5 GB/s, as
  everywhere in this course. `PASSES` counts how often each number of a gradient moves. The 17
  servers are one, 17 times as quick.
- Layers are pulled and pushed one by one while workers compute, so a third of the bytes, those of
  the layers at the ends, is waited for each way; what a server can take up in a second stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.arrivals import asynchronous, synchronous
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers

SLOWER = 1.115  # the one fitted number: 434 images a second with 25 asynchronous workers
FITTED_AT = ("asynchronous", 25)
BATCH, SERVERS, BYTES = 32, 17, 4 * 23.83e6
LINK, MEMORY = 1.25e9, 5e9  # bytes a second, a link's in each direction
WAITED_FOR = 1 / 3
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


def step_ends(workers: int, aggregate: int, seed: int, spells: int = 200) -> np.ndarray:
    """When each synchronous step of so many gradients has ended, once the start is forgotten."""
    model = cluster_times()
    push, pull, own = (WAITED_FOR * seconds for seconds in _seconds("synchronous"))
    table = model.table(spells, workers, seed)
    return synchronous(table, aggregate, push, pull, own, model.spell).seconds[START:]


def images_a_second(kind: str, workers: int, seed: int = 0) -> float:
    """The throughput of "asynchronous" or "synchronous" training: images over seconds."""
    if kind == "synchronous":
        ends, made = step_ends(workers, workers, seed), workers
    else:
        push, pull, own = _seconds(kind)
        table = cluster_times().table(200, workers, seed)
        ends = asynchronous(table, push, pull, WAITED_FOR * own).seconds[START * workers :]
        made = 1
    return float(BATCH * made * (len(ends) - 1) / (ends[-1] - ends[0]))


def median_step(spare: int, seed: int = 0) -> float:
    """The median step of 50 workers of 50 + `spare`, in seconds."""
    return float(np.median(np.diff(step_ends(50 + spare, 50, seed, spells=600))))


def _seconds(kind: str) -> tuple[float, float, float]:
    """What a gradient and the weights take at the servers, and either at a worker's own link."""
    pull = BYTES / (SERVERS * LINK)
    return max(pull, BYTES * PASSES[kind] / (SERVERS * MEMORY)), pull, BYTES / LINK
