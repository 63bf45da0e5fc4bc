"""Pipelines against the same model in one piece: loss, gradients, weights, over five steps."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

import helpers
from helpers.engine.errors import RunError
from helpers.lessons.pipelines.algorithms.instructions import Backward, Forward
from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
from helpers.lessons.pipelines.algorithms.schedules import (
    bubble,
    gpipe,
    interleaved,
    naive,
    one_forward_one_backward,
    orders,
)
from helpers.lessons.pipelines.algorithms.timetable import idle_share, timetable
from helpers.lessons.pipelines.algorithms.zero_bubble import zero_bubble
from helpers.lessons.splitting.algorithms.stages import balanced
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

SCHEDULES = {
    "naive": naive,
    "GPipe": gpipe,
    "1F1B": one_forward_one_backward,
    "interleaved": interleaved,
    "ZB-H1": zero_bubble,
    "ZB-H2": partial(zero_bubble, times=2),
}
STEPS, ROWS, CLOSE = 5, 13, {"rtol": 1e-10, "atol": 1e-12}


def model_of(seed: int, kind: str = "plain") -> nn.Sequential:
    """Eight layers of uneven size. kind: "plain", "tied", "frozen" in parts, or "frozen start"."""
    model = transformer(11, 8, 2, 6, 5, tied=kind != "plain", dtype=torch.float64, seed=seed)
    if kind == "frozen":
        model[0].positions.requires_grad_(False)
        model[1].requires_grad_(False)
        model[4].mlp.requires_grad_(False)
    if kind == "frozen start":
        model[:4].requires_grad_(False)
    return model


def optimizer_of(parameters, adam: bool):
    if adam:
        return torch.optim.Adam(parameters, lr=0.01)
    return torch.optim.SGD(parameters, lr=0.2, momentum=0.9)


def batch(step: int):
    return text(ROWS, 5, 11, seed=step)


def gradients_of(*models: nn.Module) -> dict[str, torch.Tensor]:
    named = [each for m in models for each in m.named_parameters(remove_duplicate=False)]
    return {name: p.grad.clone() for name, p in named if p.grad is not None}


def parts_of(stages: int) -> list[int]:
    """An uneven cut of eight layers."""
    return {1: [8], 2: [3, 5], 3: [1, 5, 2], 4: [1, 4, 1, 2], 5: [1, 1, 1, 1, 4]}[stages]


def count_of(name: str, size: int) -> int:
    """Microbatches that do not divide the rows, and that the schedule can take."""
    return 2 * size if name == "interleaved" else 5


def train(comm, kind: str, name: str, count: int, recompute: bool, adam: bool):
    """Five steps on ranks that each start from weights of their own."""
    chunks = 2 if name == "interleaved" else 1
    model = model_of(seed=comm.rank, kind=kind)
    parts = parts_of(comm.size) if chunks == 1 else comm.size * chunks
    pipeline = Pipeline(comm, cut(model, parts), SCHEDULES[name], token_loss, recompute=recompute)
    start = {k: v.clone() for chunk in pipeline.chunks for k, v in chunk.state_dict().items()}
    optimizer = optimizer_of(pipeline.parameters(), adam)
    losses, gradients = [], []
    for step in range(STEPS):
        inputs, targets = (microbatches(t, count) for t in batch(step))
        optimizer.zero_grad()
        first, last = comm.rank == 0, comm.rank == comm.size - 1
        given = inputs if first else None, targets if last else None
        losses.append(pipeline.step(*given, count=count))
        gradients.append(gradients_of(*pipeline.chunks))
        optimizer.step()
    return start, losses, gradients


def dense(start: dict[str, torch.Tensor], kind: str, adam: bool):
    """The same five steps of the model in one piece, on whole batches."""
    model = model_of(seed=0, kind=kind)
    model.load_state_dict(start)
    optimizer = optimizer_of(model.parameters(), adam)
    losses, gradients = [], []
    for step in range(STEPS):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        loss = token_loss(model(inputs), targets)
        loss.backward()
        losses.append(loss.item())
        gradients.append(gradients_of(model))
        optimizer.step()
    return losses, gradients


def assert_as_dense(results, kind: str, adam: bool) -> None:
    start = {k: v for state, _, _ in results for k, v in state.items()}
    losses, gradients = dense(start, kind, adam)
    # The mean loss is known where the last stage is, and nowhere else.
    torch.testing.assert_close(torch.tensor(results[-1][1]), torch.tensor(losses), **CLOSE)
    assert all(each is None for _, mine, _ in results[:-1] for each in mine)
    for step in range(STEPS):
        # Gradients are those of the whole batch; of a tied parameter, on each rank that has it.
        seen = set()
        for _, _, mine in results:
            for name, gradient in mine[step].items():
                torch.testing.assert_close(gradient, gradients[step][name], **CLOSE)
                seen.add(name)
        assert seen == set(gradients[step])


@pytest.mark.parametrize(
    ("engine", "size", "name", "kind"),
    [
        *(("virtual", size, "1F1B", "tied") for size in (1, 2, 3, 5)),
        *(
            ("virtual", 3, name, kind)
            for name, kind in zip(SCHEDULES, 3 * ["frozen", "plain"], strict=True)
        ),
        *(("virtual", 2, name, "tied") for name in ("interleaved", "ZB-H1")),
        # Gradients still come through to where nobody needs them, and leave no trace there.
        *(("virtual", size, "1F1B", "frozen start") for size in (2, 4)),
        ("processes", 3, "1F1B", "tied"),
        pytest.param("processes", 2, "interleaved", "tied", marks=pytest.mark.thorough),
        pytest.param("processes", 4, "ZB-H2", "tied", marks=pytest.mark.thorough),
    ],
)
def test_equal_to_the_model_in_one_piece(engine, size, name, kind):
    recompute, adam = kind == "tied", engine == "processes"
    job = (train, kind, name, count_of(name, size), recompute, adam)
    assert_as_dense(helpers.run(*job, ranks=size, engine=engine, timeout=240), kind, adam)


def test_gradients_are_added_to_those_that_are_there():
    def twice(comm):
        pipeline = Pipeline(comm, cut(model_of(0, "tied"), comm.size), gpipe, token_loss)
        given = [microbatches(t, 4) for t in batch(0)]
        found = []
        for _ in range(2):
            pipeline.step(*given)
            found.append([p.grad.clone() for p in pipeline.parameters()])
        return found

    for once, again in helpers.run(twice, ranks=3, engine="virtual"):
        for a, b in zip(once, again, strict=True):
            torch.testing.assert_close(2 * a, b, **CLOSE)


# --- time -----------------------------------------------------------------------------------------


def spans(comm, name, count, recompute=False):
    """When this rank did what, where forward takes 1 s, backward 2, and links nothing."""
    chunks = 2 if name == "interleaved" else 1
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(comm.size * chunks)))
    pipeline = Pipeline(
        comm, cut(model, comm.size * chunks), SCHEDULES[name], nn.functional.mse_loss,
        seconds=lambda now: (1.0 if isinstance(now, Forward) else 2.0) / chunks,
        recompute=recompute,
    )  # fmt: skip
    x = microbatches(torch.ones(count, 2), count)
    pipeline.step(x, x)
    return pipeline.spans


FREE = {"engine": "virtual", "latency": 0.0, "bandwidth": float("inf")}


@pytest.mark.parametrize(("size", "name"), [(1, "GPipe"), (3, "1F1B"), (4, "interleaved")])
def test_the_clock_keeps_the_timetable(size, name):
    table = helpers.run(spans, name, 2 * size, ranks=size, **FREE)
    chunks = 2 if name == "interleaved" else 1
    wanted = timetable(
        orders(SCHEDULES[name], size, 2 * size),
        lambda rank, now: (1.0 if isinstance(now, Forward) else 2.0) / chunks,
    )
    assert list(table) == wanted
    assert idle_share(table) == pytest.approx(bubble(size, 2 * size, chunks=chunks), abs=1e-12)


def test_recomputation_hides_in_the_bubble():
    # The first stage computes microbatch 0 again from 7 to 8, while the second goes backward, and
    # waits for nothing. Microbatch 1 is needed at once on both stages: its activations are kept.
    table = helpers.run(spans, "GPipe", 2, True, ranks=2, **FREE)
    order = [Forward(0), Forward(1), Backward(1), Forward(0), Backward(0)]
    assert [[span.instruction for span in row] for row in table] == [order, order]
    assert [span.start for span in table[0]] == [0, 1, 5, 7, 8]
    assert [span.start for span in table[1]] == [1, 2, 3, 5, 6]


# --- cutting, and what goes wrong -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "parts", "dearest"),
    [([1, 2, 3], 3, 3), ([5, 1, 1, 1, 5], 2, 7), ([1, 1, 9, 1, 1], 3, 9), ([4, 4, 4, 4, 4], 3, 8)],
)
def test_the_dearest_stage_is_as_cheap_as_can_be(costs, parts, dearest):
    left, sums = iter(costs), []
    for count in balanced(costs, parts):
        sums.append(sum(next(left) for _ in range(count)))
    assert len(sums) == parts and not list(left)
    assert min(sums) > 0 and max(sums) == dearest


def test_impossible_cuts():
    with pytest.raises(ValueError, match="are not a cut of 8"):
        cut(model_of(0), [3, 4])
    with pytest.raises(ValueError, match="8 layers cannot be cut into 9 stages"):
        cut(model_of(0), 9)
    with pytest.raises(ValueError, match="2 rows cannot be cut into 3"):
        microbatches(torch.ones(2, 1), 3)


class Whole(nn.Module):
    """Passes whole numbers on."""

    def forward(self, x):
        return x.long()


X = microbatches(torch.ones(4, 2), 2)


@pytest.mark.parametrize(
    ("stages", "schedule", "given", "words"),
    [
        ([nn.Identity()], gpipe, (X, X), "1 stages cannot be shared out to 2 ranks"),
        (2 * [Whole()], gpipe, (X, X), "a stage passes one tensor of floating point"),
        (2 * [Whole()], gpipe, (None, None, 2), "Rank 0 needs the inputs"),
        (2 * [Whole()], gpipe, (X, X[:1]), "Say how many microbatches"),
        (
            2 * [Whole()], lambda *_: [Forward(0), Backward(0)], (X, X),
            "has 1 Forward instructions",
        ),
    ],
)  # fmt: skip
def test_misuse_is_told(stages, schedule, given, words):
    def job(comm):
        Pipeline(comm, stages, schedule, nn.functional.mse_loss).step(*given)

    with pytest.raises(RunError, match=words):
        helpers.run(job, ranks=2, engine="virtual")
