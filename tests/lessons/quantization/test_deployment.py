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


def needs(*modules: str) -> list[pytest.MarkDecorator]:
    """The marks of a test that runs other libraries."""
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"not installed: {', '.join(lacking)}"
    marks = [pytest.mark.skipif(bool(lacking), reason=reason)]
    return [*marks, pytest.mark.tensorflow] if "tensorflow" in modules else marks


def with_marks(marks: list[pytest.MarkDecorator]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("_", [pytest.param(None, marks=marks, id="")])


@pytest.fixture(autouse=True, scope="module")
def split() -> None:
    """Split TensorFlow's CPU as other modules need it: it cannot be done once a file was made."""
    if importlib.util.find_spec("tensorflow"):
        split_cpu()


torchao = with_marks(needs("torchao"))
litert = with_marks(needs("tensorflow", "ai_edge_litert"))


# --- torchao ------------------------------------------------------------------------------------


@torchao
@pytest.mark.parametrize(
    "patient_of", [separable, pytest.param(reader, marks=pytest.mark.thorough)]
)
def test_torchao_s_model_says_what_ours_says(patient_of, _):
    patient = patient_of(0)
    found = torchao_dynamic(patient.model)
    assert agreement(found, quantize_dynamic(patient.model), patient) >= 0.99
    assert any(type(p.data).__name__ == "Int8Tensor" for p in found.parameters())
    assert all(type(p.data) is Tensor for p in patient.model.parameters())


# --- LiteRT -------------------------------------------------------------------------------------


@litert
def test_litert_s_model_says_what_ours_says(_):
    patient = separable(0)
    batches = patient.calibration()
    content = to_litert(patient.model, batches)
    theirs = LiteRT(content)
    ours = quantize_static(patient.model, batches, observer="min-max")  # as the converter does
    assert agreement(theirs, ours, patient) >= 0.99
    assert agreement(theirs, quantize_static(patient.model, batches), patient) >= 0.985
    # The file has whole numbers from end to end.
    assert {"int8", "int32"} >= theirs.types() >= {"int8"}
    floats = sum(p.numel() * 4 for p in patient.model.parameters())
    assert len(content) <= 0.3 * floats
    x = patient.test_x
    assert theirs(x[:0]).shape == (0, 10)
    together = theirs(x[:7])
    assert together.dtype == torch.float32
    for row in range(7):
        assert torch.equal(theirs(x[row : row + 1])[0], together[row])


def pictures(rows: int, channels: int = 3) -> Tensor:
    return torch.rand(rows, channels, 9, 8, generator=torch.Generator().manual_seed(0))


LAYERS = {
    "plain": lambda: [nn.Conv2d(3, 4, 3)],
    "as large as it was": lambda: [nn.Conv2d(3, 4, 3, padding=1)],
    "the word for it": lambda: [nn.Conv2d(3, 4, (3, 2), padding="same")],
    "stride and padding": lambda: [nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)],
    "uneven": lambda: [nn.Conv2d(3, 4, (1, 3), stride=(1, 2), padding=(2, 1))],
    "dilated": lambda: [nn.Conv2d(3, 4, 2, dilation=2)],
    "depthwise": lambda: [nn.Conv2d(3, 6, 3, groups=3, padding=1), nn.ReLU6(), nn.Conv2d(6, 2, 1)],
    "depthwise with a stride": lambda: [
        nn.Conv2d(3, 3, 3, groups=3, padding=1, stride=2, bias=False)
    ],
    "pools": lambda: [nn.Conv2d(3, 4, 2), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2, 1)],
    "a mean of all": lambda: [
        nn.Conv2d(3, 4, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    ],
    "flattened": lambda: [nn.MaxPool2d((3, 2)), nn.Flatten(), nn.Linear(36, 5, bias=False)],
    "unflattened": lambda: [
        nn.Flatten(),
        nn.Linear(216, 24),
        nn.Unflatten(1, (2, 3, 4)),
        nn.Conv2d(2, 1, 2),
    ],
    "a norm inside": lambda: [
        nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4)),
        nn.Dropout(),
        nn.ReLU(),
    ],
}


@litert
@pytest.mark.parametrize("kind", everyday(list(LAYERS), 3))
def test_layers_are_built_again_as_they_were(kind, _):
    torch.manual_seed(0)
    model, x = nn.Sequential(*LAYERS[kind]()).eval(), pictures(12)
    wanted = model(x).detach()
    found = LiteRT(to_litert(model, x.split(4)))(x)
    assert found.shape == wanted.shape
    step = float(wanted.max().clamp(min=0) - wanted.min().clamp(max=0)) / 255  # 0 has a code
    assert (found - wanted).abs().max() < 5 * step
    assert (found - wanted).abs().mean() < 1.5 * step


@litert
@pytest.mark.parametrize(
    ("model", "says"),
    [
        (nn.Sequential(nn.Linear(8, 2), nn.Tanh()), "Tanh cannot go into a LiteRT file"),
        (nn.Sequential(nn.Conv2d(4, 4, 1, groups=2)), "one input channel"),
        (nn.Sequential(nn.MaxPool2d(2, padding=1)), "no padding"),
        (nn.Sequential(nn.AvgPool2d(2, divisor_override=1)), "or divisor"),
        (nn.Sequential(nn.Flatten(2)), "from dimension 1"),
        (nn.Sequential(nn.AdaptiveAvgPool2d(2)), "one result"),
        (nn.Sequential(nn.Unflatten(1, (2, 2))), "makes pictures"),
    ],
)
def test_what_litert_is_not_given(model, says, _):
    with pytest.raises(TypeError, match=says):
        to_litert(model, [pictures(2, channels=4)])


@litert
def test_litert_needs_a_batch(_):
    with pytest.raises(ValueError, match="at least one batch"):
        to_litert(nn.Sequential(nn.Linear(2, 2)), [])


@pytest.mark.thorough
@pytest.mark.real
@litert
def test_a_file_runs_without_tensorflow_and_nothing_is_said(tmp_path: Path, _):
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
