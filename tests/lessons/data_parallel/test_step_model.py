"""The model of a data-parallel step agrees with the virtual clock; the rates of large batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import helpers
from helpers.engine.trace import Event, Trace
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.data_parallel.algorithms.learning_rate import gradual_warmup, linear_scaling
from helpers.lessons.data_parallel.experiments.models import timed_mlp
from helpers.lessons.data_parallel.experiments.step_model import bucket_layers, modelled_step
from helpers.lessons.data_parallel.figures.step_view import last_step, share_beside

LAYERS, WIDTH, BANDWIDTH = 6, 20, 4e6
LAYER_BYTES = 4 * WIDTH**2


def step(comm: Any, limit: int) -> float:
    """Seconds of one overlapped step, after a barrier."""
    model = timed_mlp(comm, LAYERS, WIDTH)
    replica = DataParallel(model, comm, bucket_bytes=limit, first_bucket_bytes=limit)
    comm.barrier()
    start = comm.time()
    replica(torch.ones(1, WIDTH)).sum().backward()
    replica.finish()
    return float(comm.time() - start)


@pytest.mark.parametrize("limit", [1, 2 * LAYER_BYTES, 10**9])
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_the_model_is_exact_on_the_virtual_clock(ranks: int, limit: int) -> None:
    results = helpers.run(
        step, limit, ranks=ranks, engine="virtual", latency=50e-6, bandwidth=BANDWIDTH
    )
    model = modelled_step(LAYERS, LAYER_BYTES, limit, ranks, 50e-6, BANDWIDTH)
    assert max(results) == pytest.approx(model.seconds, rel=1e-9)
    if ranks > 1:
        assert last_step(results.trace).duration == pytest.approx(model.seconds, rel=1e-9)


def test_overlap_never_makes_a_step_longer_and_layers_are_all_in_buckets() -> None:
    for limit in (1, 3 * LAYER_BYTES, 10**9):
        assert sum(bucket_layers(LAYERS, LAYER_BYTES, limit)) == LAYERS
        step = modelled_step(LAYERS, LAYER_BYTES, limit, 4, 50e-6, BANDWIDTH)
        sums = sum(end - start for start, end in step.sums)
        assert step.computed <= step.seconds <= step.computed + sums * (1 + 1e-9)


def test_the_share_beside_computing_is_of_all_that_communication_threads_do() -> None:
    events = [
        Event(0, "computing", 0.0, 4.0),
        Event(0, "waiting", 4.0, 6.0),
        Event(0, "sending", 3.0, 5.0, lane=1),
        Event(1, "computing", 0.0, 1.0),
        Event(1, "waiting", 2.0, 4.0, lane=1),
    ]
    assert share_beside(Trace(events, 2, virtual=True)) == pytest.approx(1 / 4)
    assert share_beside(Trace(events[:2], 1, virtual=True)) == 0.0


def test_a_warmup_grows_evenly_from_the_small_rate_to_the_scaled_one() -> None:
    """Goyal et al. (2017): "increments by a constant amount at each iteration"."""
    assert linear_scaling(0.1, 8) == pytest.approx(0.8)
    factor = gradual_warmup(steps=10, times=8)
    rates = [0.8 * factor(step) for step in range(12)]
    assert rates == pytest.approx([*(0.1 + 0.07 * step for step in range(11)), 0.8])
    assert gradual_warmup(0, 8)(0) == 1.0
    with pytest.raises(ValueError, match="above zero"):
        linear_scaling(0.1, 0)
    with pytest.raises(ValueError, match="no negative"):
        gradual_warmup(-1, 8)
