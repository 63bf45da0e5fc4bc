"""The GPU's benchmark: its parts on a CPU, on small shapes; and on a GPU where there is one."""

from __future__ import annotations

import ast
import builtins
import json

import pytest
import torch
from torch import nn

from benchmarks import (
    gpu,
    gpu_cells,
    gpu_copies,
    gpu_lessons,
    gpu_memory,
    gpu_models,
    gpu_products,
    gpu_training,
    kept,
    on_device,
    run,
)
from benchmarks.float8_layer import Float8Linear
from benchmarks.gpu_memory import Size
from benchmarks.report import Report

CPU = torch.device("cpu")
SMALL = Size(width=16, blocks=2, length=8, vocabulary=32, rows=4, microbatches=2)


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


# --- the whole -----------------------------------------------------------------------------------


def test_a_machine_without_a_gpu_is_told_what_it_misses(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "device_here", lambda: CPU)
    assert run.main("gpu") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "torch sees no GPU here. On one, this would multiply matrices" in printed
    assert all(part.does in gpu.without_gpu() for part in gpu.PARTS.values())


def test_a_part_that_fails_is_told_and_the_others_go_on(monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "own", lambda: tmp_path)
    tried = []

    def fails(report, device):
        tried.append("fails")
        raise RuntimeError("no\nroom")

    parts = {
        "one": gpu.Part("fail", fails),
        "two": gpu.Part("add", lambda report, device: report.add("a case", "a name", [1.0])),
    }
    monkeypatch.setattr(gpu, "PARTS", parts)
    monkeypatch.setattr(gpu, "device_here", lambda: torch.device("cuda", 0))
    monkeypatch.setattr(gpu, "device_name", lambda device: "GPU 7")
    found = gpu.measure()
    assert tried == ["fails"] and [row.name for row in found.rows] == ["a name"]
    assert found.notes[0] == "one failed: RuntimeError: no room" and found.device == "GPU 7"
    # Kept after each part; under another name, as the whole is not there yet.
    (so_far,) = tmp_path.glob("*/gpu-so-far.json")
    assert json.loads(so_far.read_text(encoding="utf-8"))["rows"][0]["name"] == "a name"


# --- the lessons' cells ---------------------------------------------------------------------------


def test_every_lesson_has_its_cells_and_their_names():
    found = list(gpu_cells.cells())
    assert {cell.lesson for cell in found} >= {"00", "01", "02", "03", "11", "12", "13", "14"}
    for cell in found:
        missing = set()
        for statement in reversed(ast.parse(cell.program).body):
            missing = (missing - gpu_cells.bound(statement)) | gpu_cells.read(statement)
        assert missing <= set(dir(builtins)), (cell.lesson, cell.name)


# --- training in 8 bits, small models, copies -----------------------------------------------------


def test_8_bit_layers_are_near_the_layers():
    torch.manual_seed(0)
    layer, x = nn.Linear(64, 32), torch.randn(2, 16, 64, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    layer(x).square().sum().backward()
    weight, bias = (p.grad.clone() for p in layer.parameters())
    layer.zero_grad()
    small = Float8Linear(layer)
    out = small(other)
    assert out.dtype == torch.bfloat16 and out.shape == (2, 16, 32)
    out.float().square().sum().backward()
    for near, exact in ((other.grad, x.grad), (layer.weight.grad, weight), (layer.bias.grad, bias)):
        assert 0 < on_device.error(near, exact) < 0.15


# --- products and ranks, on a CPU -----------------------------------------------------------------


@pytest.mark.parametrize("kind", gpu_products.KINDS)
def test_products_of_every_kind(kind):
    found = Report("gpu", "A title")
    gpu_products.add(found, kind, 32, CPU, True, most=2, least=2)
    assert len(found.rows) >= 3 and found.rows[0].name == "ours"
    assert len(found.claims) == 1 and not found.notes, found.notes
    assert all("operations a second" in row.note for row in found.rows)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no GPU here.")
def test_on_a_gpu():
    device = on_device.device_here()
    found = Report("gpu", "A title", device=on_device.device_name(device))
    gpu_products.add_to(found, device, (64,), (), most=2, least=2)
    gpu_lessons.add_to(found, Size(256, 4, 64, 512, 8, 4), lengths=(1000,), repeats=2)
    gpu_training.add_to(found, device, Size(256, 4, 64, 512, 8, 4), budget=0.2)
    gpu_models.add_to(found, device)
    gpu_copies.add_to(found, device)
    assert found.device and not [note for note in found.notes if "failed" in note]
    assert len(found.claims) == 1 + len(gpu_memory.MEMORIES)


@pytest.mark.thorough
@pytest.mark.real
def test_training_and_the_lessons_cells_run_on_a_cpu():
    found = Report("gpu", "A title")
    gpu_training.add_to(found, CPU, Size(32, 2, 8, 32, 4), budget=0.2)
    assert [row.name for row in found.rows] == list(gpu_training.ways(CPU))
    gpu_lessons.add_to(found, SMALL, lengths=(10, 1000), repeats=2, device="cpu")
    cases = {row.case for row in found.rows}
    assert {"a message", "a training step, 2 ranks", "a step with Adam, 2 ranks"} <= cases
    losses = [float(row.note.split("loss ")[1]) for row in found.rows if "loss" in row.note]
    assert max(losses) < 4.5  # log 32, and one more
    # A CPU counts no bytes, so nothing is held against the formula.
    assert not found.claims and not found.notes
