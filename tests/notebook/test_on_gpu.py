"""What the lessons show of a GPU is what was measured, and what they say of it is so."""

from __future__ import annotations

import pytest

from benchmarks import gpu_figures
from benchmarks.kept import REPOSITORY, Store
from helpers.notebook import gpu_view, on_gpu

H200 = "intel-xeon-16-cores-nvidia-h200"
STEP = "a training step, 408 million parameters, 8192 tokens"


def test_the_figures_are_those_of_the_results() -> None:
    path = Store(REPOSITORY, H200).path("gpu")
    assert on_gpu.FILE.read_text(encoding="utf-8") == gpu_figures.text(path)


def test_each_is_marked_with_its_device() -> None:
    words = "easured on one NVIDIA H200 with torch 2.11.0, not here."
    assert on_gpu.mark() == f"M{words}"
    assert on_gpu.mark("There") == f"There: m{words}"


@pytest.mark.parametrize(("case", "name"), [("no such case", "ours"), ("int8, 512³", "theirs")])
def test_what_was_not_measured_is_told(case: str, name: str) -> None:
    with pytest.raises(KeyError, match=f"'{name}' in '{case}' was not measured. There is: "):
        on_gpu.seconds(case, name)


def test_lesson_01_says_what_copies_did() -> None:
    """A product waits for the copy before it where that is from pageable memory, and only there."""
    for kind in gpu_view.KINDS:
        spans = on_gpu.timeline(kind)
        products, copies = (
            [(begin, end) for lane, begin, end in spans if lane == which]
            for which in ("compute", "copy")
        )
        for before, after, copied in zip(products, products[1:], copies, strict=False):
            waited = after[0] - before[1]
            assert (after[0] > copied[1] and waited > 5) if kind == "pageable" else waited < 0.1
    assert "From pinned memory all ends after 11 ms; products run in 11." in gpu_view.copies_words()


def test_lesson_11_says_what_codes_gain() -> None:
    largest = [on_gpu.seconds(f"{kind}, 8192³", "ours") for kind in ("bf16", "int8")]
    assert 1 < largest[0] / largest[1] < 2
    for rows in (1, 32, 256, 4096):
        case = f"linear 8192 × 8192, batch {rows}"
        for way in ("ours", "ours, weights only, bf16"):
            assert on_gpu.seconds(case, "bf16") < on_gpu.seconds(case, way), (rows, way)
    float8 = on_gpu.seconds("int8, 8192³", "float8, torch._scaled_mm")
    assert float8 < largest[0]
    assert on_gpu.seconds(STEP, "bf16 autocast") < on_gpu.seconds(
        STEP, "float8 layers, under bf16 autocast"
    )


def test_lessons_12_and_14_say_what_is_kept() -> None:
    gpipe, one_by_one, vertical = (
        on_gpu.kept(way) for way in ("pipeline, GPipe", "pipeline, 1F1B", "tensor parallel")
    )
    assert one_by_one.peak < 0.6 * gpipe.peak < vertical.peak
    whole = on_gpu.kept("data parallel").formula
    for kept in (gpipe, one_by_one, vertical):
        assert abs(kept.formula / whole - 0.5) < 0.01
        assert abs(kept.measured / kept.formula - 1) < 0.05
