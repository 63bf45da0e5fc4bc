"""What a search trains: the same bits whoever trains, in however many pieces."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from helpers.lessons.data_parallel.experiments.digits import batches
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.best_of_many import alike, chosen, held_out
from helpers.lessons.search.experiments.search_models import Models, Synthetic, split
from helpers.lessons.search.experiments.search_rows import parts


def test_no_row_is_in_two_parts() -> None:
    """Each row is known by its pixels, or where two are alike, by how often they come."""
    whole = np.concatenate([part.x for part in parts(3)])
    assert [len(part.y) for part in parts(3)] == [1079, 359, 359] and len(whole) == 1797
    other = np.concatenate([part.x for part in parts(4)])
    assert (whole != other).any()
    assert sorted(map(tuple, whole)) == sorted(map(tuple, other))
    assert whole.min() == 0.0 and whole.max() == 1.0 and whole.dtype == np.float32


@pytest.mark.parametrize("trial", [1, 6, 7])
def test_a_trial_in_pieces_is_the_trial_bit_for_bit(trial: int) -> None:
    models = Models(2)
    whole, state = models.train(Job(trial, 2, 45))
    piece = None
    for rung, steps in enumerate((5, 15, 45)):
        loss, piece = Models(2).train(Job(trial, rung, steps), piece)
    assert piece is not None and torch.equal(piece, state) and loss == whole
    again, _ = models.train(Job(trial, 2, 45), state)  # nothing is left to do
    assert again == whole


def test_whoever_trains_comes_to_the_same() -> None:
    """Threads at once, torch's generator anywhere, several threads a product: equal losses."""
    jobs = [Job(trial, 0, 10) for trial in range(6)]
    alone = [Models().train(job)[0] for job in jobs]
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda job: Models().train(job)[0], jobs)) == alone
    assert torch.equal(torch.random.get_rng_state(), before)
    assert len(set(alone)) == 6
    assert [Models(1).loss(job) for job in jobs] != alone


def test_a_step_is_that_of_torch() -> None:
    """Momentum and weight decay as `torch.optim.SGD` has them."""
    given = {"rate": 0.2, "width": 8, "decay": 0.01, "momentum": 0.8, "activation": "tanh"}
    models = Models(0, given={0: given})
    network, data = models.network(0), split(0)
    optimizer = torch.optim.SGD(network.parameters(), 0.2, momentum=0.8, weight_decay=0.01)
    order = batches(len(data.train.y), 32, 0)
    for _ in range(12):
        rows = data.train.of(next(order))
        optimizer.zero_grad()
        cross_entropy(network(rows.x), rows.y).backward()
        optimizer.step()
    trained = models.network(0, models.train(Job(0, 0, 12))[1])
    for ours, theirs in zip(trained.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_training_helps_and_the_search_has_something_to_find() -> None:
    drawn = Models().settings(0)
    models = Models(given={3: drawn, 4: drawn | {"rate": 1e20}})
    assert models.settings(3) == drawn != models.settings(1)
    assert models.loss(Job(4, 0, 5)) == math.inf  # what is no number
    with pytest.raises(ValueError, match="A trial is made of rate, width"):
        Models(given={0: {"rate": 0.1}})
    table = held_out(models, (6, 0), 20)  # on rows that none was trained on
    assert table.shape == (2, 718) and table[0].mean() > table[1].mean()
    first, last = models.loss(Job(6, 0, 1)), models.loss(Job(6, 2, 90))
    assert last < 0.6 * first
    _, state = models.train(Job(6, 2, 90))
    right = models.right(6, state, "test")
    assert len(right) == 359 and np.mean(right) > 0.85
    rows = split(0).valid
    assert models.judged(6, state, rows) == last


def test_cross_validation_never_sees_the_test_rows() -> None:
    models = Models()
    losses = models.cross_validated(6, 20, count=3)
    assert len(losses) == 3 and len(set(losses)) == 3
    split(0).test.x.fill_(math.nan)
    try:
        assert models.cross_validated(6, 20, count=3) == losses
    finally:
        split.cache_clear()
        parts.cache_clear()
    assert not split(0).test.x.isnan().any()


def test_synthetic_losses_are_as_asked() -> None:
    plain, noisy = Synthetic(1), Synthetic(1, 0.5)
    assert plain.loss(Job(4, 0, 1)) == plain.loss(Job(4, 2, 9)) != plain.loss(Job(5, 0, 1))
    apart = [
        noisy.loss(Job(trial, 0, steps)) - plain.loss(Job(trial, 0, steps))
        for steps in (1, 4)
        for trial in range(800)
    ]
    assert np.std(apart[:800]) == pytest.approx(0.5, rel=0.15)
    assert np.std(apart[800:]) == pytest.approx(0.25, rel=0.15)
    assert noisy.train(Job(4, 1, 3))[0] == noisy.loss(Job(4, 1, 3))


# --- the best of many -----------------------------------------------------------------------------


def test_the_best_of_many_that_are_alike_looks_better_than_it_is() -> None:
    found = chosen(alike(64, 718, 0.95, 1), (1, 8, 64), rows=100, draws=300)
    assert [each.trials for each in found] == [1, 8, 64]
    assert abs(found[0].bias) < 0.01
    assert 0.015 < found[1].bias < found[2].bias
    assert all(abs(each.test - 0.95) < 0.02 for each in found)


def test_the_best_is_chosen_by_some_rows_and_judged_by_the_others() -> None:
    """One trial is right on all rows: from all of them it is the one, and nothing flatters it."""
    table = np.zeros((5, 40), dtype=bool)
    table[3] = True
    (found,) = chosen(table, (5,), rows=10, draws=20)
    assert (found.validation, found.test, found.bias) == (1.0, 1.0, 0.0)
    for counts, rows in (((6,), 10), ((5,), 40), ((0,), 10)):
        with pytest.raises(ValueError, match="1 to 5 can be chosen from, by 1 to 39 rows"):
            chosen(table, counts, rows)
