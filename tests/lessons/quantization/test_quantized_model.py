"""Whole models: calibrated, dynamic, weight-only, trained with quantization; and their files."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicGRU, DynamicLinear
from helpers.lessons.quantization.algorithms.fake_quantization import FakeQuantize
from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.integer_layers import IntegerConv2d, IntegerLinear
from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
)
from helpers.lessons.quantization.algorithms.quantized_model import (
    quantize_dynamic,
    quantize_static,
    quantize_weights,
)
from helpers.lessons.quantization.algorithms.quantized_training import convert, prepare
from helpers.lessons.quantization.algorithms.weight_only import WeightOnly
from helpers.lessons.quantization.experiments.model_file import save


def network(seed: int = 0) -> nn.Sequential:
    """Every kind of layer, with batch norms that have lived."""
    torch.manual_seed(seed)
    depthwise = nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False)
    inner = [depthwise, nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 8, 1)]
    first = nn.Conv2d(1, 6, 3, stride=1, padding=1, bias=False)
    layers = [nn.Unflatten(1, (1, 8, 8)), first, nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Sequential(*inner), nn.MaxPool2d(2), nn.ReLU(), nn.Dropout(0.5)]
    layers += [nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 4)]
    model = nn.Sequential(*layers, nn.LogSoftmax(1))
    with torch.no_grad():
        for _ in range(3):
            model.train()(pictures(50))
    return model.eval()


def pictures(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(rows, 64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("observer", ["min-max", "moving average", "percentile", "least error"])
def test_a_static_model_is_close_to_its_model(observer):
    model, x = network(), pictures(40)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    found = quantize_static(model, x.split(10), observer=observer)
    torch.testing.assert_close(found(x), model(x).detach(), rtol=0, atol=0.1)
    assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())
    assert found(x[:0]).shape == (0, 4) and found(x[:1]).shape == (1, 4)
    # It has integers from end to end; the grids behind layers clamp as a ReLU does.
    kinds = {type(layer) for layer in found}
    assert {IntegerConv2d, IntegerLinear, IntegerMaxPool2d, IntegerAvgPool2d, IntegerReLU} < kinds
    assert not kinds & {nn.BatchNorm2d, nn.Dropout, nn.ReLU}
    seen = []
    for layer in list(found)[2:-2]:
        layer.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    found(x)
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


@pytest.mark.parametrize(
    ("layer", "norm", "shape"),
    [
        (nn.Linear(5, 4), nn.BatchNorm1d(4), (7, 5)),
        (nn.Conv1d(2, 4, 3, bias=False), nn.BatchNorm1d(4, affine=False), (3, 2, 6)),
        (nn.Conv2d(4, 4, 3, 2, 1, groups=4), nn.BatchNorm2d(4, eps=0.5), (3, 4, 5, 6)),
        (nn.Conv3d(1, 4, 2, bias=False), nn.BatchNorm3d(4), (2, 1, 3, 3, 3)),
        # What cannot be folded stays.
        (nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False), (3, 4)),
        (nn.Linear(4, 4), nn.BatchNorm2d(4), (3, 4, 2, 4)),
        (nn.ReLU(), nn.BatchNorm1d(4), (3, 4)),
    ],
    ids=["linear", "conv1d", "conv2d", "conv3d", "no statistics", "other shape", "no layer"],
)
def test_a_folded_model_gives_the_same(layer, norm, shape):
    generator = torch.Generator().manual_seed(0)
    for tensor in (*norm.parameters(), *norm.buffers()):
        if tensor.dim():  # as of a trained one: none is 0 or 1
            tensor.data.copy_(torch.rand(tensor.shape, generator=generator) * 3 + 0.1)
    model = nn.Sequential(layer, norm, nn.ReLU()).double().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x = torch.randn(shape, dtype=torch.float64)
    folded = fold(model)
    torch.testing.assert_close(folded(x), model(x), rtol=1e-12, atol=1e-12)
    stays = norm.running_mean is None or isinstance(layer, nn.ReLU) or len(shape) == 4 == shape[-1]
    assert isinstance(folded[1], nn.Identity) != stays and len(folded) == 3
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])  # the model itself is left as it was


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


@pytest.mark.parametrize(("bits", "part"), [(8, 1), (6, 6 / 8), (4, 1 / 2), (2, 1 / 4)])
def test_a_file_holds_codes_packed_and_shared_weights_once(bits, part, tmp_path):
    linear = nn.Linear(1000, 100)
    tied = nn.ModuleList([linear, nn.Linear(1000, 100, bias=False)])
    tied[1].weight = linear.weight
    size = save(tied, tmp_path / "floats")
    assert 400_400 < size < 400_800 and size == (tmp_path / "floats").stat().st_size
    for form in (quantize_dynamic, quantize_weights):
        found = save(form(linear, bits), tmp_path / "codes") - (100_000 * part + 800)
        assert 0 < found < 500  # the header


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: quantize_static(network(), []), ValueError, "at least one batch"),
        (lambda: prepare(nn.Sequential(nn.ReLU())), TypeError, "no nn.Sequential with"),
        (lambda: prepare(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))), TypeError,
         "Tanh has no form on codes"),
        (lambda: prepare(network(), bits=9), ValueError, "2 to 8 bits"),
        (lambda: convert(network()), TypeError, "prepare"),
        (lambda: convert(prepare(network())), ValueError, "has seen no values"),
        (lambda: quantize_dynamic(nn.ReLU()), TypeError, "nothing in this model"),
    ],
)  # fmt: skip
def test_what_is_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()
