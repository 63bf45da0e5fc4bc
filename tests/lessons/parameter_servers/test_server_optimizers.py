"""The servers' optimizers beside torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from arrivals_driver import frozen

from helpers.lessons.parameter_servers.algorithms.server_optimizers import (
    Adagrad,
    AdamW,
    Sgd,
    cosine,
)

START = np.linspace(-1.0, 1.0, 9)
GRADIENTS = np.random.default_rng(0).standard_normal((40, 9))
TORCHS = {
    "plain": (Sgd(0.1), lambda w: torch.optim.SGD(w, 0.1)),
    "momentum": (Sgd(0.1, 0.9), lambda w: torch.optim.SGD(w, 0.1, 0.9)),
    "Nesterov": (Sgd(0.3, 0.9, True), lambda w: torch.optim.SGD(w, 0.3, 0.9, nesterov=True)),
    "a rate that falls": (Sgd(cosine(0.1, 30), 0.5), lambda w: torch.optim.SGD(w, 1.0, 0.5)),
    "Adagrad": (
        Adagrad(0.1, 0.2),
        lambda w: torch.optim.Adagrad(w, 0.1, initial_accumulator_value=0.2, eps=0),
    ),
    "AdamW": (
        AdamW(0.01, (0.8, 0.95), 1e-6, 0.1),
        lambda w: torch.optim.AdamW(w, 0.01, (0.8, 0.95), 1e-6, 0.1),
    ),
}


def after(optimizer, start=START, gradients=GRADIENTS):
    """The weights after all updates."""
    weights = start
    for version, gradient in enumerate(gradients):
        weights = optimizer.step(weights, gradient, version)
    return weights


@pytest.mark.parametrize("name", TORCHS)
def test_optimizers_are_torchs(name):
    ours, make = TORCHS[name]
    weights = torch.nn.Parameter(torch.tensor(START))
    optimizer = make([weights])
    for version, gradient in enumerate(GRADIENTS):
        if name == "a rate that falls":
            optimizer.param_groups[0]["lr"] = cosine(0.1, 30)(version)
        weights.grad = torch.tensor(gradient)
        optimizer.step()
    found = after(ours, torch.tensor(START), torch.tensor(GRADIENTS))
    torch.testing.assert_close(found, weights.detach(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("make", [Sgd, lambda rate: Sgd(rate, 0.9), Adagrad])
def test_nothing_is_changed_in_place(make):
    weights, gradients = frozen(START.copy()), frozen(GRADIENTS.copy())
    optimizer = make(0.1)
    for version, gradient in enumerate(gradients):
        weights = frozen(optimizer.step(weights, gradient, version))


@pytest.mark.parametrize("make", [lambda rate: Sgd(rate, 0.9), Adagrad])
@pytest.mark.parametrize("rate", [np.float64(0.1), lambda version: np.float64(0.1)])
def test_the_precision_of_the_weights_stays(make, rate):
    small = after(make(rate), START.astype(np.float32), GRADIENTS.astype(np.float32))
    assert small.dtype == np.float32
    large = after(make(rate), torch.tensor(START).float(), torch.tensor(GRADIENTS).float())
    assert large.dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "says"),
    [
        *((lambda make=make: make(0), "learning rate is above 0") for make in (Sgd, Adagrad)),
        (lambda: Sgd(float("nan")), "learning rate is above 0"),
        (lambda: cosine(-0.1, 10), "learning rate is above 0"),
        (lambda: Sgd(0.1, -0.1), "momentum lies from 0 up to 1"),
        (lambda: Sgd(0.1, 1), "momentum lies from 0 up to 1"),
        (lambda: Sgd(0.1, nesterov=True), "Nesterov"),
        (lambda: AdamW(0.1, (1.0, 0.9)), "betas"),
        (lambda: Adagrad(0.1, start=0), "start above 0"),
        (lambda: cosine(0.1, 0), "at least one update"),
    ],
)
def test_optimizers_refuse_what_cannot_be(make, says):
    with pytest.raises(ValueError, match=says):
        make()
