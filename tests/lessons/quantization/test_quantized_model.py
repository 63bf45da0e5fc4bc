"""Whole models: calibrated, dynamic, weight-only, trained with quantization; and their files."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicLinear
from helpers.lessons.quantization.algorithms.dynamic_recurrent import DynamicGRU
from helpers.lessons.quantization.algorithms.fake_quantization import FakeQuantize
from helpers.lessons.quantization.algorithms.integer_layers import IntegerConv2d, IntegerLinear
from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
)
from helpers.lessons.quantization.algorithms.quantized_model import (
    in_dtype,
    quantize_dynamic,
    quantize_static,
    quantize_weights,
)
from helpers.lessons.quantization.algorithms.quantized_training import convert, prepare
from helpers.lessons.quantization.algorithms.weight_only import WeightOnly
from helpers.lessons.quantization.experiments.model_file import load, save, size_bytes


def network(seed: int = 0) -> nn.Sequential:
    """Every kind of layer, with batch norms that have lived."""
    torch.manual_seed(seed)
    inner = nn.Sequential(
        nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU6(),
        nn.Conv2d(6, 8, 1),
    )
    model = nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 6, 3, stride=1, padding=1, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        inner,
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 12),
        nn.ReLU(),
        nn.Linear(12, 4),
        nn.LogSoftmax(1),
    )
    with torch.no_grad():
        for _ in range(3):
            model.train()(pictures(50))
    return model.eval()


def pictures(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(rows, 64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("per_channel", "observer"),
    [(True, "min-max"), (False, "moving average"), (True, "percentile"), (False, "least error")],
)
def test_a_static_model_is_close_to_its_model(per_channel, observer):
    model, x = network(), pictures(40)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    found = quantize_static(model, x.split(10), per_channel=per_channel, observer=observer)
    torch.testing.assert_close(found(x), model(x).detach(), rtol=0, atol=0.1)
    assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())
    assert found(x[:0]).shape == (0, 4) and found(x[:1]).shape == (1, 4)


def test_a_static_model_has_integers_from_end_to_end():
    model = quantize_static(network(), [pictures(20)])
    kinds = [type(m) for m in model]
    for kind in (IntegerConv2d, IntegerLinear, IntegerMaxPool2d, IntegerAvgPool2d, IntegerReLU):
        assert kind in kinds
    assert nn.BatchNorm2d not in kinds and nn.Dropout not in kinds
    assert kinds.count(nn.ReLU) == 0  # the grids behind layers clamp as they do
    seen = []
    for layer in list(model)[2:-2]:
        layer.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    model(pictures(3))
    assert set(seen) == {torch.int8}


@pytest.mark.parametrize(("bits", "delay"), [(8, 3), (4, 0)])
def test_training_with_quantization_and_what_becomes_of_it(bits, delay):
    model, x = network(), pictures(60)
    y = (x.view(-1, 4, 16).sum(2)).argmax(1)
    prepared = prepare(model, bits, delay=delay).train()
    optimizer = torch.optim.Adam(prepared.parameters(), 0.01)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = cross_entropy(prepared(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    prepared.eval()
    integer = convert(prepared)
    with torch.no_grad():
        as_if, real = prepared(x), integer(x)
    # A value next to a tie may fall to either side of it, which moves a code by one; of 4 bits
    # one code moves what follows visibly, and how often that is depends on the order of sums.
    steps = max(float(m.grid().scale) for m in prepared.modules() if isinstance(m, FakeQuantize))
    assert (as_if - real).abs().max() < steps
    if bits == 8:
        assert (as_if - real).abs().median() < 1e-3
    assert (as_if.argmax(1) == real.argmax(1)).float().mean() >= 0.98


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.gru = nn.GRU(6, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.gru(self.table(tokens))[0][:, -1])


def test_a_dynamic_model_of_any_build():
    torch.manual_seed(0)
    model, tokens = Recurrent().eval(), torch.arange(11).repeat(3, 1)
    found = quantize_dynamic(model)
    assert isinstance(found.gru, DynamicGRU) and isinstance(found.head, DynamicLinear)
    assert isinstance(found.table, nn.Embedding) and isinstance(model.gru, nn.GRU)
    torch.testing.assert_close(found(tokens), model(tokens).detach(), rtol=0, atol=0.03)
    whole = quantize_weights(model, bits=6)
    assert [type(m) for m in whole.children()] == [WeightOnly] * 3
    torch.testing.assert_close(whole(tokens), model(tokens).detach(), rtol=0, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_inference(dtype):
    torch.manual_seed(0)
    model, tokens = Recurrent().eval(), torch.arange(11).repeat(3, 1)
    half = in_dtype(model, dtype)
    found = half(tokens)
    assert found.dtype == torch.float32 and model.head.weight.dtype == torch.float32
    torch.testing.assert_close(found, model(tokens).detach(), rtol=0, atol=0.03)
    assert size_bytes(half) * 2 == size_bytes(model)


FORMS = {
    "float": lambda model: model,
    "static": lambda model: quantize_static(model, [pictures(20)]),
    "static, 4 bits": lambda model: quantize_static(model, [pictures(20)], bits=4),
    "dynamic, per tensor": lambda model: quantize_dynamic(model, per_channel=False),
    "weights, 6 bits": lambda model: quantize_weights(model, bits=6),
    "bf16": in_dtype,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_holds_all_that_a_model_is(form, tmp_path):
    first, second = (FORMS[form](network(seed)) for seed in (0, 1))
    x, path = pictures(10, seed=5), tmp_path / "model"
    assert not torch.equal(first(x), second(x))
    size = save(first, path)
    assert size == path.stat().st_size
    assert 0 < size - size_bytes(first) < 120 * len(first.state_dict())  # the header
    load(second, path)
    assert torch.equal(first(x), second(x))


def test_sizes_are_what_codes_take():
    linear = nn.Linear(1000, 100)
    plain = size_bytes(linear)
    assert plain == 4 * (100_000 + 100)
    for bits in (8, 6, 4, 2):
        scales = 4 * 100
        assert size_bytes(quantize_dynamic(linear, bits)) == 100_000 * bits // 8 + scales + 400
        assert size_bytes(quantize_weights(linear, bits)) == 100_000 * bits // 8 + scales + 400
    assert size_bytes(quantize_dynamic(linear, per_channel=False)) == 100_000 + 4 + 400
    static = quantize_static(nn.Sequential(linear), [torch.randn(3, 1000)])
    assert size_bytes(static) / plain < 0.254
    tied = nn.ModuleList([linear, nn.Linear(1000, 100, bias=False)])
    tied[1].weight = linear.weight
    assert size_bytes(tied) == plain


def test_files_of_something_else(tmp_path):
    path = tmp_path / "model"
    save(nn.Linear(2, 2), path)
    with pytest.raises(ValueError, match="only one has bias"):
        load(nn.Linear(2, 2, bias=False), path)
    with pytest.raises(ValueError, match="types, shapes or bits differ"):
        load(nn.Linear(3, 2), path)
    path.write_bytes(b"something")
    with pytest.raises(ValueError, match="no file that save"):
        load(nn.Linear(2, 2), path)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: quantize_static(network(), []), ValueError, "at least one batch"),
        (lambda: prepare(nn.Sequential(nn.ReLU())), TypeError, "no nn.Sequential with"),
        (
            lambda: prepare(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))),
            TypeError,
            "Tanh has no form on codes",
        ),
        (lambda: prepare(Recurrent()), TypeError, "no nn.Sequential with"),
        (lambda: prepare(network(), bits=9), ValueError, "2 to 8 bits"),
        (lambda: prepare(network(), observer="best"), ValueError, "no observer 'best'"),
        (lambda: convert(network()), TypeError, "prepare"),
        (lambda: convert(prepare(network())), ValueError, "has seen no values"),
        (lambda: quantize_dynamic(nn.ReLU()), TypeError, "nothing in this model"),
        (lambda: in_dtype(nn.Linear(2, 2), torch.int8), ValueError, "floating type"),
    ],
)
def test_what_is_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()
