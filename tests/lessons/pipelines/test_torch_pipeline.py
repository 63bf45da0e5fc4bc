"""Our pipelines and torch's own, on real ranks: the same losses, gradients and weights."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
from helpers.lessons.pipelines.algorithms.schedules import (
    gpipe,
    interleaved,
    one_forward_one_backward,
)
from helpers.lessons.pipelines.algorithms.zero_bubble import zero_bubble
from helpers.lessons.pipelines.experiments.torch_pipeline import TorchPipeline
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

OURS = {
    "GPipe": gpipe,
    "1F1B": one_forward_one_backward,
    "interleaved": interleaved,
    "zero bubble": zero_bubble,
}


def train(comm, name: str, torchs: bool, dtype: torch.dtype):
    """Five steps; the losses, and this rank's gradients and weights after the last, by name."""
    model = transformer(11, 8, 2, 4, 5, dtype=dtype)
    # torch's zero bubble is an interleaved one: its model is cut otherwise than ours
    several = name == "interleaved" or (torchs and name == "zero bubble")
    stages = cut(model, comm.size * (2 if several else 1))
    if torchs:
        pipeline = TorchPipeline(comm, stages, name, token_loss, 4)
        step = pipeline.step
    else:
        pipeline = Pipeline(comm, stages, OURS[name], token_loss)

        def step(x, y):
            return pipeline.step(microbatches(x, 4), microbatches(y, 4))

    named = {key: p for chunk in pipeline.chunks for key, p in chunk.named_parameters()}
    optimizer = torch.optim.SGD(named.values(), lr=0.2, momentum=0.9)
    losses = []
    for number in range(5):
        optimizer.zero_grad()
        losses.append(step(*text(8, 5, 11, seed=number)))
        optimizer.step()
    return losses, {key: (p.grad, p.detach()) for key, p in named.items()}


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    [
        "1F1B",
        "interleaved",
        pytest.param("GPipe", marks=pytest.mark.thorough),
        pytest.param("zero bubble", marks=pytest.mark.thorough),
    ],
)
def test_equal_to_torch(name):
    mine, theirs = (helpers.run(train, name, t, torch.float64, ranks=2) for t in (False, True))
    assert mine[-1][0] == pytest.approx(theirs[-1][0], rel=1e-12)
    ours, torchs = (
        {k: v for _, part in ranks for k, v in part.items()} for ranks in (mine, theirs)
    )
    assert ours.keys() == torchs.keys()
    for key, pair in ours.items():
        torch.testing.assert_close(pair, torchs[key], rtol=1e-12, atol=1e-12)
