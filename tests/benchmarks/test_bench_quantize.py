"""The benchmark of lesson 11 runs, on small shapes; no time is held against anything here."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch import nn

import helpers
from benchmarks import gpu_lessons, gpu_memory, gpu_products, on_device, quantize, report, run
from benchmarks.gpu_memory import Kept, Size
from benchmarks.report import Report
from helpers.engines.errors import RunError

CPU = torch.device("cpu")
SMALL = Size(width=16, blocks=2, length=8, vocabulary=32, rows=4, microbatches=2)


# --- reports by device ----------------------------------------------------------------------------


def test_figures_of_a_gpu_go_into_a_file_with_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    of_cpu, of_gpu = Report("quantize", "A title"), Report("quantize", "A title", device="GPU 7")
    assert of_cpu.save().name == "quantize.json"
    kept = json.loads(of_gpu.save().read_text(encoding="utf-8"))
    assert (kept["name"], kept["device"]) == ("quantize", "GPU 7")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "quantize-gpu-7.json",
        "quantize.json",
    ]
    assert report.slug("NVIDIA H200 (NVL)") == "nvidia-h200-nvl"


@pytest.mark.parametrize("devices", [[None], [None, "GPU 7"]])
def test_json_is_one_object_however_many_devices_there_are(devices, monkeypatch, capsys):
    made = [Report("quantize", "A title", device=device) for device in devices]
    monkeypatch.setattr(quantize, "measure", lambda: made)
    assert run.main("quantize", as_json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [each["device"] for each in [printed, *printed["others"]]] == devices
    run.main("quantize")
    assert capsys.readouterr().out.count("A title") == len(devices)


# --- timing ---------------------------------------------------------------------------------------


def test_contenders_take_turns_and_slow_ones_are_timed_once(monkeypatch):
    calls: list[str] = []
    times = {"quick": 0.001, "slow": 10.0, "other": 0.002}

    def seconds(fn, device, calls=1):
        return fn() * calls

    def contender(name):
        def call():
            calls.append(name)
            return times[name]

        return call

    monkeypatch.setattr(on_device, "seconds", seconds)
    made = {name: contender(name) for name in times}
    found = on_device.in_turn(made, CPU, most=4, least=2, budget=6.0)
    assert {name: len(each) for name, each in found.items()} == {"quick": 4, "slow": 1, "other": 4}
    # After warming up and a first look, nobody always goes first.
    assert calls.count("slow") == 1 and calls[5:] == ["quick", "other", "other", "quick"] * 2
    assert len(on_device.in_turn(made, CPU, most=99, least=2, budget=0.03)["quick"]) == 10


def test_short_calls_are_repeated(monkeypatch):
    asked = []

    def seconds(call, device, calls=1):
        asked.append(calls)
        return 2.0**-10

    monkeypatch.setattr(on_device, "seconds", seconds)
    found = on_device.in_turn({"call": lambda: None}, CPU, most=3, least=3, span=2.0**-3)
    assert found["call"] == [2.0**-10] * 3 and asked[-3:] == [128] * 3


def test_a_cpu_has_neither_a_name_nor_a_count_of_bytes():
    meter = on_device.MemoryMeter(CPU)
    meter.begin()
    on_device.finish(CPU)
    assert (meter.kept, meter.peak, on_device.device_name(CPU)) == (None, None, None)
    assert on_device.device_here().type == ("cuda" if torch.cuda.is_available() else "cpu")


# --- the CPU's part -------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch):
    """Two repeats, and no compiler, which takes a while."""
    timed = on_device.in_turn

    def in_turn(contenders, device, **timing):
        return timed(contenders, device, most=2, least=2)

    monkeypatch.setattr(quantize, "in_turn", in_turn)
    monkeypatch.setattr(quantize, "compiled", lambda model, inputs: (None, "No compiler here."))


def test_the_layer_is_held_against_fp32_and_torchao(quick):
    found = Report("quantize", "A title")
    quantize.layer(found, 64, (1, 8), held=(8,))
    cases = {row.case for row in found.rows}
    assert cases == {"linear 64 × 64, batch 1", "linear 64 × 64, batch 8"}
    names = {row.name for row in found.rows}
    older = {quantize.OLDER} if "fbgemm" in torch.backends.quantized.supported_engines else set()
    assert names == {"fp32", "bf16", "ours", "ours, weights only", "torchao, eager"} | older
    assert [claim.target for claim in found.claims] == [3.0, 1.0]
    assert "No compiler here." in found.notes
    assert all("% off" in row.note for row in found.rows if row.name != "fp32")


def test_the_quicker_torchao_counts_and_only_who_is_right():
    found = Report("quantize", "A title")
    times = {"fp32": [6.0], "ours": [1.0], "torchao, eager": [3.0], "torchao, compiled": [2.0]}
    quantize.claim(found, "a case", times)
    assert [claim.value for claim in found.claims] == [6.0, 2.0]
    quantize.claim(found, "another", {"fp32": [6.0]})
    assert len(found.claims) == 2 and "too far off" in found.notes[-1]
    x = torch.randn(4, 8)
    models = {"fp32": nn.Linear(8, 3), "ours": nn.Linear(8, 3)}
    assert list(quantize.add(found, "wrong", models, x, budget=0.01)) == ["fp32"]


def test_whole_models_come_out_alike(quick):
    found = Report("quantize", "A title")
    quantize.whole_models(found, width=64, hidden=2, steps=3)
    assert [row.name for row in found.rows].count("ours") == 2
    assert "torchao, eager" in {row.name for row in found.rows if row.case.startswith("MLP")}
    for row in found.rows:
        if row.name != "fp32":
            assert float(row.note.split("fp32, ")[1].split()[0]) < 5


@pytest.mark.parametrize("problem", ["", "no C++ compiler"])
def test_the_compiler_is_tried(problem, monkeypatch):
    precision = torch.get_float32_matmul_precision()
    given = []

    def compile_(model, dynamic):
        if problem:
            raise RuntimeError(problem)
        given.append(model)
        return model

    monkeypatch.setattr(torch, "compile", compile_)
    made, words = quantize.compiled(nn.Linear(8, 3).eval(), [torch.randn(2, 8)])
    if problem:
        assert made is None and "RuntimeError: no C++ compiler" in words
    else:
        assert made is given[0] and not words
    assert torch.get_float32_matmul_precision() == precision


def test_without_torchao_it_is_left_out(monkeypatch):
    monkeypatch.setattr(quantize, "find_spec", lambda name: None)
    layer = nn.Linear(8, 3)
    names = [name for name in quantize.forms(layer) if name != quantize.OLDER]
    assert names == ["fp32", "bf16", "ours", "ours, weights only"]
    assert "not installed" in quantize.compiled(layer, [])[1]


def test_a_machine_without_a_gpu_is_told_what_it_misses(monkeypatch):
    made = Report("quantize", "A title")
    monkeypatch.setattr(quantize, "on_cpu", lambda: made)
    monkeypatch.setattr(quantize, "device_here", lambda: CPU)
    assert quantize.measure() == [made]
    assert made.notes == [quantize.WITHOUT_GPU] and ". " not in quantize.WITHOUT_GPU
    assert "thread" in quantize.arithmetic()


@pytest.mark.parametrize(("load", "notes"), [(0.1, 0), (5.0, 1)])
def test_a_busy_machine_is_told(load, notes, monkeypatch):
    monkeypatch.setattr(quantize.os, "getloadavg", lambda: (load, load, load))
    assert len(quantize.busy()) == notes


# --- the GPU's part, on a CPU ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", gpu_products.KINDS)
def test_products_of_every_kind(kind):
    found = Report("quantize", "A title")
    gpu_products.add(found, kind, 32, CPU, True, most=2, least=2)
    assert len(found.rows) >= 3 and found.rows[0].name == "ours"
    assert len(found.claims) == 1 and not found.notes, found.notes
    assert all("operations a second" in row.note for row in found.rows)


def test_all_products_at_all_sizes():
    found = Report("quantize", "A title")
    gpu_products.add_to(found, CPU, (8, 16), (16,), most=1, least=1, span=0.0)
    assert len({row.case for row in found.rows}) == 2 * len(gpu_products.KINDS)
    assert ["16³" in claim.text for claim in found.claims] == [True, True]  # int8 and bf16


def test_calls_that_fail_or_are_wrong_are_left_out():
    x, weight = gpu_products.operands("int8", 16, CPU)

    def fails():
        raise RuntimeError("not\non this one")

    right = gpu_products.contenders("int8", x, weight)["ours"]
    made = {"ours": right, "wrong": lambda: right() + 1, "none": fails}
    found, problems = gpu_products.usable("int8", x, weight, made)
    assert list(found) == ["ours"]
    assert problems == [
        "int8: wrong gives other numbers at 16³, so it is left out.",
        "int8: none does not run here: not on this one",
    ]
    with pytest.raises(RuntimeError, match="Ours fails at 16³"):
        gpu_products.usable("int8", x, weight, {"ours": fails})


def test_tf32_is_put_back():
    before = torch.get_float32_matmul_precision()
    with gpu_products.tf32(True):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before


def test_the_lessons_cells_run_on_ranks():
    found = Report("quantize", "A title")
    gpu_lessons.add_to(found, SMALL, lengths=(10, 1000), repeats=2, device="cpu")
    cases: dict[str, list[str]] = {}
    for row in found.rows:
        cases.setdefault(row.case, []).append(row.name)
    assert cases["a message"] == ["4e-05 MB", "0.004 MB"]
    assert cases["all-reduce of 0.004 MB, 2 ranks"] == ["ours, ring", "ours, shared memory", "gloo"]
    assert cases["a training step, 2 ranks"] == [
        f"{who}, {how}" for how in ("fp32", "bf16") for who in ("ours", "torch DDP")
    ]
    assert cases["a step with Adam, 2 ranks"] == list(gpu_memory.MEMORIES)
    losses = [float(row.note.split("loss ")[1]) for row in found.rows if "loss" in row.note]
    # Ours and DDP take the same steps, and bf16 nearly the same.
    assert losses == pytest.approx([losses[0]] * 4, abs=0.1) and losses[0] < math.log(32) + 1
    # A CPU counts no bytes, so nothing is held against the formula.
    assert not found.claims and not found.notes


def test_a_cell_that_fails_is_told_and_the_others_go_on(monkeypatch):
    tried = []

    def run(cell, *arguments, **options):
        tried.append(cell.__name__)
        raise RunError("rank 1 failed:\n  for a reason")

    monkeypatch.setattr(helpers, "run", run)
    found = Report("quantize", "A title")
    gpu_lessons.add_to(found, SMALL, lengths=(10,))
    assert tried[:4] == ["messages", "sums", "training", "training"]
    assert len(tried) == len(found.notes) == 4 + len(gpu_memory.MEMORIES)
    assert found.notes[1] == "sums(15,) failed: rank 1 failed: for a reason"


def test_memory_beside_its_formula():
    found = Report("quantize", "A title")
    ranks = [Kept(100e6, 102_000_000, 150_000_000, [2.0, 1.0]), Kept(80e6, 80_000_000, 9, [1, 3.0])]
    gpu_memory.add(found, "a case", "a way", ranks)
    assert found.rows[0].seconds == (3.0,)
    assert "rank 0: 100 MB by formula, 102 measured, 150 at the peak" in found.rows[0].note
    assert found.claims[0].value == pytest.approx(0.02) and found.claims[0].met


@pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no GPU here.")
def test_on_a_gpu():
    device = on_device.device_here()
    found = Report("quantize", "A title", device=on_device.device_name(device))
    gpu_products.add_to(found, device, (64,), (64,), most=2, least=2)
    gpu_lessons.add_to(found, Size(256, 4, 64, 512, 8, 4), lengths=(1000,), repeats=2)
    assert found.device and not [note for note in found.notes if "failed" in note]
    assert len(found.claims) == 2 + len(gpu_memory.MEMORIES)
