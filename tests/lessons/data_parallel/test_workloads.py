"""The data, the models and the published figures."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from helpers.lessons.data_parallel.experiments.digits import batches, digits
from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.data_parallel.experiments.pictures import pictures
from helpers.notebook import published


def test_digits_split_without_loss():
    data = digits()
    assert len(data.train_x) + len(data.test_x) == 1797
    assert data.train_x.shape[1] == 64
    assert data.train_x.dtype == torch.float32
    assert data.train_y.dtype == torch.int64
    assert (data.train_x.min(), data.train_x.max()) == (0, 1)
    everything = torch.cat([data.train_x, data.test_x]).sum(0)
    other = digits(seed=7, test=0.5)
    # Another split of the same rows.
    torch.testing.assert_close(everything, torch.cat([other.train_x, other.test_x]).sum(0))
    assert not torch.equal(data.train_x[:10], other.train_x[:10])


def test_digits_are_scikit_learns_the_same_every_time_and_in_both_types():
    wanted, (pixels, classes) = load_digits(), pictures()
    np.testing.assert_array_equal(pixels, wanted.data)
    np.testing.assert_array_equal(classes, wanted.target)
    assert torch.equal(digits(seed=3).train_y, digits(seed=3).train_y)
    assert torch.equal(digits(dtype=torch.float64).test_x, digits().test_x.double())
    with pytest.raises(ValueError, match="between 0 and 1"):
        digits(test=1.5)


@pytest.mark.thorough
@pytest.mark.real
def test_scikit_learn_is_not_imported():
    told = "import sys; from helpers.lessons.data_parallel import digits; digits(); "
    told += "print(any(name.startswith('sklearn') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


def test_batches_go_through_an_epoch_without_repeating():
    drawn = list(islice(batches(10, 3, seed=1), 6))
    assert all(len(rows) == 3 for rows in drawn)
    for epoch in (drawn[:3], drawn[3:]):
        assert len(set(torch.cat(epoch).tolist())) == 9
    assert not torch.equal(torch.cat(drawn[:3]), torch.cat(drawn[3:]))
    with pytest.raises(ValueError, match="1 to 10 rows"):
        next(batches(10, 11))


def test_models_start_alike_by_seed_and_leave_torch_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, second = mlp(seed=1), mlp(seed=1)
    assert torch.equal(first[0].weight, second[0].weight)
    assert torch.equal(before, torch.random.get_rng_state())
    assert not torch.equal(mlp(seed=None)[0].weight, mlp(seed=None)[0].weight)
    assert first(torch.zeros(2, 64)).shape == (2, 10)


def test_the_small_model_learns_the_digits():
    data, model = digits(), mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for rows in islice(batches(len(data.train_x), 64), 200):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data.train_x[rows]), data.train_y[rows])
        loss.backward()
        optimizer.step()
    error = (model(data.test_x).argmax(1) != data.test_y).double().mean()
    assert error < 0.06


@pytest.mark.parametrize("name", published.names())
def test_every_published_figure_has_its_source(name):
    entry = published.load(name)
    assert entry.title and entry.units and entry.data
    assert any(c.isdigit() for c in entry.source) or "documentation" in entry.source
    assert entry.origin in ("printed", "read off a figure", "printed, second-hand")
    assert entry.source in entry.label


def test_published_figures_can_be_trusted_not_to_change():
    goyal = published.load("goyal2017_table1_top1_error")
    assert goyal.data["256 gpus, gradual warmup"] == 23.74
    goyal.data.clear()
    assert published.load("goyal2017_table1_top1_error").data
    with pytest.raises(KeyError, match="chen2016_tab1"):
        published.load("chen")


def test_hours_are_iterations_times_the_mean_wait():
    """Chen et al.: a claim of the paper that its own figures let one check."""
    waits = published.load("chen2017_fig4_mean_t_k_of_100_s").data
    iterations = published.load("chen2017_fig5_kiter").data
    hours = published.load("chen2017_fig6_hours").data
    assert iterations["100"] * 1000 * waits["100"] / 3600 == pytest.approx(hours["100"], rel=0.02)
