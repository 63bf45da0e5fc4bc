"""Pipelines against the same model in one piece: loss, gradients, weights, over five steps."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import helpers
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
    model = transformer(
        vocabulary=11,
        width=8,
        heads=2,
        blocks=6,
        length=5,
        tied=kind != "plain",
        dtype=torch.float64,
        seed=seed,
    )
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


def parts_of(stages: int) -> list[int]:
    """An uneven cut of eight layers."""
    return {1: [8], 2: [3, 5], 3: [1, 5, 2], 4: [1, 4, 1, 2]}.get(
        stages, [1] * (stages - 1) + [9 - stages]
    )


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
        losses.append(
            pipeline.step(inputs if first else None, targets if last else None, count=count)
        )
        gradients.append(
            {
                k: p.grad.clone()
                for chunk in pipeline.chunks
                for k, p in chunk.named_parameters(remove_duplicate=False)
                if p.grad is not None
            }
        )
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
        named = model.named_parameters(remove_duplicate=False)
        gradients.append({k: p.grad.clone() for k, p in named if p.grad is not None})
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
    ("size", "name", "kind"),
    [
        *((size, "1F1B", "tied") for size in (1, 2, 3, 5)),
        *((3, name, kind) for name, kind in zip(SCHEDULES, 3 * ["frozen", "plain"], strict=True)),
        *((2, "interleaved", "tied"), (2, "ZB-H1", "tied")),
    ],
)
def test_equal_to_the_model_in_one_piece(size, name, kind):
    count, recompute = count_of(name, size), kind == "tied"
    results = helpers.run(train, kind, name, count, recompute, False, ranks=size, engine="virtual")
    assert_as_dense(results, kind, adam=False)


@pytest.mark.parametrize(("size", "recompute"), [(2, True), (4, False)])
def test_stages_of_which_nothing_is_trained(size, recompute):
    # Gradients still come through to where nobody needs them, and leave no trace there.
    job = (train, "frozen start", "1F1B", 5, recompute, False)
    assert_as_dense(helpers.run(*job, ranks=size, engine="virtual"), "frozen start", adam=False)


def train_all(comm, names):
    """Schedules with recomputation, one after the other in one world."""
    return {
        name: train(comm, "tied", name, count_of(name, comm.size), True, True) for name in names
    }


@pytest.mark.real
@pytest.mark.parametrize(
    ("size", "names"),
    [(3, ["1F1B"]), *(pytest.param(n, [*SCHEDULES], marks=pytest.mark.thorough) for n in (2, 4))],
)
def test_equal_on_real_ranks(size, names):
    ranks = helpers.run(train_all, names, ranks=size, timeout=240)
    for name in names:
        assert_as_dense([rank[name] for rank in ranks], "tied", adam=True)


@settings(max_examples=4, deadline=None)
@given(
    size=st.integers(1, 5),
    count=st.integers(1, ROWS),
    name=st.sampled_from(["naive", "GPipe", "1F1B"]),
    recompute=st.booleans(),
)
def test_equal_for_any_numbers(size, count, name, recompute):
    results = helpers.run(train, "tied", name, count, recompute, True, ranks=size, engine="virtual")
    assert_as_dense(results, "tied", adam=True)


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


@pytest.mark.thorough
@pytest.mark.real
def test_dropout_is_the_same_again_when_recomputed():
    def gradients(comm, recompute):
        torch.manual_seed(7)
        layers = [nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout(0.5)]
        model = nn.Sequential(*layers, nn.Linear(4, 1))
        torch.manual_seed(comm.rank)
        pipeline = Pipeline(
            comm, cut(model, comm.size), gpipe, nn.functional.mse_loss, recompute=recompute
        )
        x = microbatches(torch.ones(6, 4), 3)
        pipeline.step(x, microbatches(torch.ones(6, 1), 3))
        return [p.grad for p in pipeline.parameters()]

    # On the clock the ranks are threads with one generator between them, so: processes.
    for plain, again in zip(
        *(helpers.run(gradients, flag, ranks=2) for flag in (False, True)), strict=True
    ):
        for a, b in zip(plain, again, strict=True):
            assert torch.equal(a, b)


# --- time -----------------------------------------------------------------------------------------


def spans(comm, name, count, recompute=False, forward=1.0, backward=2.0):
    """When this rank did what, on a clock with the given costs and links that cost nothing."""
    chunks = 2 if name == "interleaved" else 1
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(comm.size * chunks)))
    pipeline = Pipeline(
        comm,
        cut(model, comm.size * chunks),
        SCHEDULES[name],
        nn.functional.mse_loss,
        seconds=lambda now: (forward if isinstance(now, Forward) else backward) / chunks,
        recompute=recompute,
    )
    x = microbatches(torch.ones(count, 2), count)
    pipeline.step(x, x)
    return pipeline.spans


FREE = {"engine": "virtual", "latency": 0.0, "bandwidth": float("inf")}


@pytest.mark.parametrize(("size", "name"), [(1, "GPipe"), (5, "1F1B"), (4, "interleaved")])
def test_the_bubble_on_the_clock_is_the_formula(size, name):
    for count in (size, 3 * size):
        table = helpers.run(spans, name, count, ranks=size, **FREE)
        chunks = 2 if name == "interleaved" else 1
        assert idle_share(table) == pytest.approx(bubble(size, count, chunks=chunks), abs=1e-12)


def test_the_clock_keeps_the_timetable():
    table = helpers.run(spans, "1F1B", 5, ranks=3, **FREE)
    assert list(table) == timetable(orders(SCHEDULES["1F1B"], 3, 5))


def test_recomputation_hides_in_the_bubble():
    # The first stage computes microbatch 0 again from 7 to 8, while the second goes backward, and
    # waits for nothing. Microbatch 1 is needed at once on both stages: its activations are kept.
    table = helpers.run(spans, "GPipe", 2, True, ranks=2, **FREE)
    order = [Forward(0), Forward(1), Backward(1), Forward(0), Backward(0)]
    assert [[span.instruction for span in row] for row in table] == [order, order]
    assert [span.start for span in table[0]] == [0, 1, 5, 7, 8]
    assert [span.start for span in table[1]] == [1, 2, 3, 5, 6]


# --- cutting --------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.data())
def test_the_dearest_stage_is_as_cheap_as_can_be(costs, data):
    parts = data.draw(st.integers(1, len(costs)))
    counts = balanced(costs, parts)
    assert len(counts) == parts and sum(counts) == len(costs) and min(counts) >= 1

    def dearest(sizes):
        ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
        return max(sum(costs[end - size : end]) for size, end in zip(sizes, ends, strict=True))

    def every(layers, stages):
        if stages == 1:
            yield [layers]
            return
        for first in range(1, layers - stages + 2):
            for rest in every(layers - first, stages - 1):
                yield [first, *rest]

    assert dearest(counts) == min(map(dearest, every(len(costs), parts)))


# --- what goes wrong ------------------------------------------------------------------------------


def test_impossible_cuts():
    with pytest.raises(ValueError, match="are not a cut of 8"):
        cut(model_of(0), [3, 4])
    with pytest.raises(ValueError, match="8 layers cannot be cut into 9 stages"):
        cut(model_of(0), 9)
    with pytest.raises(ValueError, match="2 rows cannot be cut into 3"):
        microbatches(torch.ones(2, 1), 3)


def failing(comm, what):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    stages, schedule, x = cut(model, 2), gpipe, microbatches(torch.ones(4, 2), 2)
    if what == "stages":
        stages = stages[:1]
    if what == "schedule":
        schedule = lambda *_: [Forward(0), Backward(0)]  # noqa: E731
    if what == "integers":
        stages = [nn.Sequential(nn.Flatten(0), nn.Identity()), stages[1]]
        stages[0].forward = lambda x: x.long()
    pipeline = Pipeline(comm, stages, schedule, nn.functional.mse_loss)
    if what == "inputs":
        pipeline.step(None, None, count=2)
    elif what == "count":
        pipeline.step(x, x[:1])
    else:
        pipeline.step(x, x)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("stages", "1 stages cannot be shared out to 2 ranks"),
        ("schedule", "has 1 Forward instructions"),
        ("integers", "a stage passes one tensor of floating point"),
        ("inputs", "Rank 0 needs the inputs"),
        ("count", "Say how many microbatches"),
    ],
)
def test_misuse_is_told(what, words):
    with pytest.raises(helpers_error(), match=words):
        helpers.run(failing, what, ranks=2, engine="virtual")


def helpers_error():
    from helpers.engine.errors import RunError

    return RunError
