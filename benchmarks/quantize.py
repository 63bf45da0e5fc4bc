"""8-bit arithmetic beside fp32, bf16 and torchao's, in one run: a large layer, and whole models.

Ours is eager. torchao is measured eager and under torch.compile, and the quicker of the two is
what ours is held against. torch's own quantization, which came before torchao, stands beside them
where its library FBGEMM is there. A GPU's figures are those of `./course bench gpu`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import goals
from benchmarks.on_device import error, in_turn
from benchmarks.report import Report, ratio
from helpers.lessons.quantization.algorithms.quantized_model import (
    in_dtype,
    quantize_dynamic,
    quantize_weights,
)

WIDTH = 4096
BATCHES = (1, 32, 256)
HELD = (32, 256)  # batches that are held against the targets
FEW_ROWS, OF_FP32_AT_ONE_ROW = "ours, weights only, bf16", 2.0
OF_FP32_RECURRENT, WHERE_FBGEMM = 1.4, 1.5
RIGHT = 0.05
"""A contender whose result is further off than this has not computed the layer."""
TORCHAO, COMPILED = "torchao, eager", "torchao, compiled"
OLDER = "torch.ao, FBGEMM"

Models = Mapping[str, Callable[[Tensor], Any]]


def forms(model: nn.Module) -> dict[str, Callable[[Tensor], Any]]:
    """A model as it is, in half the bits, and in every way of ours to 8 bits that needs no
    calibration. All take float32."""
    return {
        "fp32": model,
        "bf16": in_dtype(model, torch.bfloat16),
        "ours": quantize_dynamic(model),
        "ours, weights only": quantize_weights(model),
        FEW_ROWS: quantize_weights(model, compute=torch.bfloat16),
    }


def beside_others(model: nn.Module, torchao: bool = True) -> dict[str, Callable[[Tensor], Any]]:
    """These forms of a trained model, and those of other libraries."""
    found = forms(model)
    if "fbgemm" in torch.backends.quantized.supported_engines:
        found[OLDER] = older(model)
    if torchao and find_spec("torchao") is not None:
        from helpers.lessons.quantization.experiments.torchao_model import torchao_dynamic

        found[TORCHAO] = torchao_dynamic(model)
    return found


def older(model: nn.Module) -> nn.Module:
    """A copy quantized by torch.ao.quantization: 7 bits for inputs, one range for all rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        from torch.ao import quantization

        of_kinds = dict.fromkeys((nn.Linear, nn.LSTM), quantization.per_channel_dynamic_qconfig)
        made: nn.Module = quantization.quantize_dynamic(nn.Sequential(model), of_kinds)
    return made


def compiled(model: nn.Module, inputs: Sequence[Tensor]) -> tuple[Any, str]:
    """torchao's model under torch.compile, run once on each input; or None, and why it cannot be.

    torchao's settings of the compiler are for the whole process. Its setting of float32 products
    would change the other contenders, so that one is put back.
    """
    if find_spec("torchao") is None:
        return None, "torchao is not installed here, so it is left out."
    from helpers.lessons.quantization.experiments.torchao_model import torchao_dynamic

    precision = torch.get_float32_matmul_precision()
    try:
        made = torch.compile(torchao_dynamic(model, for_compiler=True), dynamic=False)
        with torch.no_grad():
            for x in inputs:
                made(x)
    except Exception as problem:  # a missing C++ compiler has many names
        words = " ".join(str(problem).split())[:120]
        return None, f"torch.compile does not work here ({type(problem).__name__}: {words})."
    finally:
        torch.set_float32_matmul_precision(precision)
    return made, ""


def add(
    report: Report, case: str, models: Models, x: Tensor, budget: float = 6.0
) -> dict[str, list[float]]:
    """Time all forms of a model on an input. Returns the seconds of those that are right.

    How far each result is from the float32 one stands beside its time.
    """
    outputs: dict[str, Tensor] = {}

    def call(name: str) -> None:
        outputs[name] = first(models[name](x))

    times = in_turn({name: partial(call, name) for name in models}, x.device, budget=budget)
    apart = {name: error(output, outputs["fp32"]) for name, output in outputs.items()}
    fp32 = median(times["fp32"])
    for name, seconds in times.items():
        note = f"{fp32 / median(seconds):.2f}× fp32, {100 * apart[name]:.2g} % off"
        report.add(case, name, seconds, note if name != "fp32" else "")
    return {name: times[name] for name in models if apart[name] <= RIGHT}


def has_bfloat16() -> bool:
    """Whether the processor has instructions for products of bfloat16 numbers."""
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def first(value: Any) -> Tensor:
    """A layer's output, also of one that returns its state beside it."""
    output: Tensor = value[0] if isinstance(value, tuple) else value
    return output


def claim(report: Report, case: str, times: Mapping[str, Sequence[float]]) -> None:
    """Hold ours against fp32, and against the quicker of torchao's."""
    if "ours" not in times:
        report.notes.append(f"{case}: ours is too far off to count.")
        return
    ours = times["ours"]
    gain = quicker(times["fp32"], ours)
    report.hold(goals.OF_FP32, f"ours, times as quick as fp32, {case}", gain)
    theirs = [quicker(times[name], ours) for name in (TORCHAO, COMPILED) if name in times]
    if theirs:
        report.hold(goals.OF_TORCHAO, f"ours, times as quick as torchao, {case}", min(theirs))


def quicker(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long theirs takes; a contender that is far slower was timed only once."""
    alike = len(theirs) == len(ours)
    return ratio(theirs, ours) if alike else median(theirs) / median(ours)


def layer(report: Report, width: int, batches: Sequence[int], held: Sequence[int] = HELD) -> None:
    """A square linear layer at several batch sizes."""
    torch.manual_seed(0)
    linear = nn.Linear(width, width).eval()
    inputs = {batch: torch.randn(batch, width) for batch in batches}
    models = beside_others(linear)
    made, problem = compiled(linear, list(inputs.values()))
    if made is not None:
        models[COMPILED] = made
    else:
        report.notes.append(problem)
    for batch, x in inputs.items():
        case = f"linear {width} × {width}, batch {batch}"
        times = add(report, case, models, x)
        if batch in held:
            claim(report, case, times)
        if batch == 1 and FEW_ROWS in times and has_bfloat16():
            gain = quicker(times["fp32"], times[FEW_ROWS])
            report.claim(f"{FEW_ROWS}, times as quick as fp32, {case}", gain, OF_FP32_AT_ONE_ROW)


def whole_models(report: Report, width: int = 1024, hidden: int = 8, steps: int = 32) -> None:
    """A dense network, and an LSTM that reads a sequence; for torchao only linear layers count."""
    from helpers.lessons.data_parallel.experiments.digits import PIXELS
    from helpers.lessons.data_parallel.experiments.models import wide_mlp

    torch.manual_seed(0)
    rows = 64
    dense = wide_mlp(width, hidden).eval()
    x = torch.randn(rows, PIXELS)
    add(report, f"MLP, {hidden} layers of {width}, batch {rows}", beside_others(dense), x)
    lstm = nn.LSTM(width // 2, width // 2, num_layers=2).eval()
    x = torch.randn(steps, rows, width // 2)
    case = f"LSTM, 2 layers of {width // 2}, {steps} steps, batch {rows}"
    times = add(report, case, beside_others(lstm, torchao=False), x)
    if OLDER in times and "ours" in times:
        theirs = quicker(times["fp32"], times[OLDER])
        if theirs >= WHERE_FBGEMM:
            gain = quicker(times["fp32"], times["ours"])
            report.claim(f"ours, times as quick as fp32, {case}", gain, OF_FP32_RECURRENT)
        else:
            report.notes.append(
                f"{case}: FBGEMM is {theirs:.2f}× as quick as fp32 here, less than "
                f"{WHERE_FBGEMM}×, so ours is not held against fp32."
            )


def measure() -> Report:
    """The layer and the models on the CPU, with as many threads as torch takes by itself."""
    report = Report(
        "quantize", f"8-bit arithmetic beside fp32: a layer of {WIDTH} × {WIDTH}, and models"
    )
    report.notes.append(arithmetic())
    layer(report, WIDTH, BATCHES)
    whole_models(report)
    return report


def arithmetic() -> str:
    """Threads, and what the processor has for products of 8-bit numbers."""
    from helpers.lessons.quantization.algorithms.integer_products import how_products_run

    threads = torch.get_num_threads()
    return f"{threads} thread{'s' * (threads > 1)}; {how_products_run()}."
