"""The servers' optimizers beside torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from arrivals_driver import frozen

from helpers.lessons.parameter_servers.algorithms.server_optimizers import Adagrad, Sgd, cosine

START = np.linspace(-1.0, 1.0, 9)
GRADIENTS = np.random.default_rng(0).standard_normal((40, 9))


def after(optimizer, start=START, gradients=GRADIENTS):
    """The weights after all updates."""
    weights = start
    for version, gradient in enumerate(gradients):
        weights = optimizer.step(weights, gradient, version)
    return weights


def in_torch(make, schedule=None):
    """The same with an optimizer of torch."""
    weights = torch.nn.Parameter(torch.tensor(START))
    optimizer = make([weights])
    rate = schedule and torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    for gradient in GRADIENTS:
        weights.grad = torch.tensor(gradient)
        optimizer.step()
        if rate:
            rate.step()
    return weights.detach().numpy()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_torchs(momentum):
    ours = after(Sgd(0.1, momentum))
    theirs = in_torch(lambda w: torch.optim.SGD(w, lr=0.1, momentum=momentum))
    np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("start", [0.1, 1.0])
def test_adagrad_is_torchs(start):
    ours = after(Adagrad(0.1, start))
    theirs = in_torch(
        lambda w: torch.optim.Adagrad(w, lr=0.1, initial_accumulator_value=start, eps=0)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_a_rate_may_fall_with_the_version():
    ours = after(Sgd(cosine(0.1, 30), momentum=0.5))
    theirs = in_torch(
        lambda w: torch.optim.SGD(w, lr=1.0, momentum=0.5), lambda version: cosine(0.1, 30)(version)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("make", [Sgd, lambda rate: Sgd(rate, 0.9), Adagrad])
def test_nothing_is_changed_in_place(make):
    weights, gradients = frozen(START.copy()), frozen(GRADIENTS.copy())
    optimizer = make(0.1)
    for version, gradient in enumerate(gradients):
        weights = frozen(optimizer.step(weights, gradient, version))
    # What a worker was given, and what it pushed, is as it was.
    assert (gradients == GRADIENTS).all()


@pytest.mark.parametrize("make", [lambda rate: Sgd(rate, 0.9), Adagrad])
@pytest.mark.parametrize("rate", [np.float64(0.1), lambda version: np.float64(0.1)])
def test_the_precision_of_the_weights_stays(make, rate):
    small = after(make(rate), START.astype(np.float32), GRADIENTS.astype(np.float32))
    assert small.dtype == np.float32
    large = after(make(rate), torch.tensor(START).float(), torch.tensor(GRADIENTS).float())
    assert large.dtype == torch.float32


def test_optimizers_refuse_what_cannot_be():
    for make in (Sgd, Adagrad, lambda rate: cosine(rate, 10)):
        for rate in (0, -0.1, float("nan")):
            with pytest.raises(ValueError, match="learning rate is above 0"):
                make(rate)
    for momentum in (-0.1, 1, float("nan")):
        with pytest.raises(ValueError, match="momentum lies from 0 up to 1"):
            Sgd(0.1, momentum)
    with pytest.raises(ValueError, match="start above 0"):
        Adagrad(0.1, start=0)
    with pytest.raises(ValueError, match="at least one update"):
        cosine(0.1, 0)
