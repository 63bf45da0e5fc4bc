"""Our pipelines and torch's own, on real ranks: the same losses, gradients and weights."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.algorithms.pipeline.pipeline import Pipeline, cut, microbatches
from helpers.algorithms.pipeline.schedules import gpipe, interleaved, one_forward_one_backward
from helpers.frameworks.torch_pipeline import SCHEDULES, TorchPipeline
from helpers.workloads.transformer import text, token_loss, transformer

OURS = {"GPipe": gpipe, "1F1B": one_forward_one_backward, "interleaved": interleaved}


def train(comm, name: str, torchs: bool, dtype: torch.dtype):
    """Five steps; the losses, and the gradients and weights after the last."""
    model = transformer(11, 8, 2, 4, 5, dtype=dtype)
    stages = cut(model, comm.size * (2 if name == "interleaved" else 1))
    if torchs:
        theirs = TorchPipeline(comm, stages, name, token_loss, 4)
        step, parameters = theirs.step, list(theirs.parameters())
    else:
        ours = Pipeline(comm, stages, OURS[name], token_loss)
        parameters = list(ours.parameters())

        def step(x, y):
            return ours.step(microbatches(x, 4), microbatches(y, 4))

    optimizer = torch.optim.SGD(parameters, lr=0.2, momentum=0.9)
    losses = []
    for number in range(5):
        optimizer.zero_grad()
        losses.append(step(*text(8, 5, 11, seed=number)))
        optimizer.step()
    return losses, [p.grad for p in parameters], [p.detach() for p in parameters]


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("name", list(SCHEDULES))
def test_equal_to_torch(size, name):
    if name == "interleaved" and size == 1:
        pytest.skip("torch's interleaved schedule needs two ranks")
    for dtype, close in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        mine, theirs = (helpers.run(train, name, t, dtype, ranks=size) for t in (False, True))
        assert mine[-1][0] == pytest.approx(theirs[-1][0], rel=close)
        for rank in range(size):
            for which in (1, 2):
                for a, b in zip(mine[rank][which], theirs[rank][which], strict=True):
                    torch.testing.assert_close(a, b, rtol=close, atol=close)


def test_a_schedule_that_torch_is_not_asked_for():
    with pytest.raises(ValueError, match="no schedule 'naive'"):
        TorchPipeline(None, [], "naive", token_loss, 1)  # type: ignore[arg-type]
