"""Models in other libraries' hands: torchao's and LiteRT's say what ours say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from helpers.checks.drives.tf import split_cpu
from helpers.lessons.quantization.algorithms.quantized_model import (
    quantize_dynamic,
    quantize_static,
)
from helpers.lessons.quantization.experiments.litert_model import LiteRT, to_litert
from helpers.lessons.quantization.experiments.patients import agreement, reader, separable
from helpers.lessons.quantization.experiments.torchao_model import torchao_dynamic
from tests.selection import everyday


@pytest.fixture(autouse=True, scope="module")
def split() -> None:
    """Split TensorFlow's CPU as other modules need it: it cannot be done once a file was made."""
    if importlib.util.find_spec("tensorflow"):
        split_cpu()


def needs(*modules: str) -> pytest.MarkDecorator:
    """The mark of a test that runs other libraries."""
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {', '.join(lacking)}")


litert = needs("tensorflow", "ai_edge_litert")


@needs("torchao")
@pytest.mark.parametrize(
    "patient_of", [separable, pytest.param(reader, marks=pytest.mark.thorough)]
)
def test_torchao_s_model_says_what_ours_says(patient_of):
    patient = patient_of()
    found = torchao_dynamic(patient.model)
    assert agreement(found, quantize_dynamic(patient.model), patient) >= 0.99
    assert any(type(p.data).__name__ == "Int8Tensor" for p in found.parameters())
    assert all(type(p.data) is Tensor for p in patient.model.parameters())


@litert
@pytest.mark.tensorflow
def test_litert_s_model_says_what_ours_says():
    patient = separable()
    batches = patient.calibration()
    content = to_litert(patient.model, batches)
    theirs = LiteRT(content)
    ours = quantize_static(patient.model, batches, observer="min-max")  # as the converter does
    assert agreement(theirs, ours, patient) >= 0.99
    floats = sum(p.numel() * 4 for p in patient.model.parameters())
    assert len(content) <= 0.3 * floats
    x = patient.test_x
    assert theirs(x[:0]).shape == (0, 10)
    together = theirs(x[:7])
    assert together.dtype == torch.float32
    for row in range(7):
        assert torch.equal(theirs(x[row : row + 1])[0], together[row])


LAYERS = {
    "as large as it was": [nn.Conv2d(3, 4, 3, padding=1)],
    "uneven": [nn.Conv2d(3, 4, (1, 3), stride=(1, 2), padding=(2, 1), bias=False)],
    "depthwise": [nn.Conv2d(3, 6, 3, groups=3, padding=1), nn.ReLU(), nn.Conv2d(6, 2, 1)],
    "flattened": [nn.AvgPool2d((3, 2)), nn.Flatten(), nn.Linear(36, 5, bias=False)],
    "unflattened": [
        nn.Flatten(), nn.Linear(216, 24), nn.Unflatten(1, (2, 3, 4)), nn.Conv2d(2, 1, 2),
    ],
    "a norm inside": [nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)), nn.Dropout()],
}  # fmt: skip


@litert
@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", everyday(list(LAYERS), 3))
def test_layers_are_built_again_as_they_were(kind):
    model = nn.Sequential(*LAYERS[kind]).eval()
    x = torch.rand(12, 3, 9, 8, generator=torch.Generator().manual_seed(0))
    wanted = model(x).detach()
    found = LiteRT(to_litert(model, x.split(4)))(x)
    assert found.shape == wanted.shape
    step = float(wanted.max().clamp(min=0) - wanted.min().clamp(max=0)) / 255  # 0 has a code
    assert (found - wanted).abs().max() < 5 * step
    assert (found - wanted).abs().mean() < 1.5 * step


@litert
@pytest.mark.tensorflow
def test_what_litert_is_not_given():
    with pytest.raises(TypeError, match="Tanh cannot go into a LiteRT file"):
        to_litert(nn.Sequential(nn.Linear(8, 2), nn.Tanh()), [torch.ones(2, 8)])


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.tensorflow
@litert
def test_a_file_runs_without_tensorflow_and_nothing_is_said(tmp_path: Path):
    make = (
        "import sys, torch; from torch import nn; from pathlib import Path;"
        "from helpers.lessons.quantization.experiments.litert_model import LiteRT, to_litert;"
        "content = to_litert(nn.Sequential(nn.Linear(64, 10)), [torch.rand(8, 64)]);"
        "Path(sys.argv[1]).write_bytes(content)"
    )
    use = (
        "import sys, torch; from pathlib import Path;"
        "from helpers.lessons.quantization.experiments.litert_model import LiteRT;"
        "print(LiteRT(Path(sys.argv[1]).read_bytes())(torch.rand(3, 64)).shape);"
        "assert 'tensorflow' not in sys.modules"
    )
    for program, output in ((make, ""), (use, "torch.Size([3, 10])\n")):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "model.tflite")],
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == (output, "")
