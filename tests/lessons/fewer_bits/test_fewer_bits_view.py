"""Lesson 10's figures and widget say what they were given, and what the model gives."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme, compressed_step
from helpers.lessons.fewer_bits.figures import fewer_bits_view as view

SCHEMES = {"top 1 %": Scheme("top 1 %", 0.02, 1e-8), "bf16": Scheme("bf16", 0.5, 0.0)}


def test_every_figure_says_what_it_shows(shown: Any) -> None:
    found = shown(view)
    view.show_lines({"one": [3.0, 1.0], "two": [2.0, 0.5]}, "step", "loss", "Two.", log=True)
    assert found[-1][1:] == ("Two.", "loss by step: one from 3 to 1; two from 2 to 0.5.")
    view.show_losses({"bf16": (7.28, 0.147), "bf16, no feedback": (7.28, 0.2)}, "Both.")
    assert "bf16, no feedback: 7.28 MB, loss 0.200" in found[-1].alt


@pytest.mark.parametrize(("scheme", "interval"), [("top 1 %", 1), ("bf16", 1), ("top 1 %", 500)])
def test_the_widget_says_what_the_model_does(scheme: str, interval: int) -> None:
    knobs = view.Knobs(scheme, interval, 20, 8, 100)._asdict()
    words = view.pays_words(compressed_step, SCHEMES, **knobs)
    its = SCHEMES[scheme]
    chosen = Scheme(scheme, its.share, its.coding, interval)
    plain, other = (
        1e3 * compressed_step(each, 0.02, 8e6, view.WORKERS, view.LATENCY, 12.5e6)
        for each in (Scheme("plain"), chosen)
    )
    assert f"takes {plain:.3g} ms" in words and f"{other:.3g} ms" in words
    if scheme == "bf16":
        assert "It pays on every link" in words
    figure = view.pays_picture(compressed_step, SCHEMES, **knobs)
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert ("from here on it does not pay" in names) == ("up to about" in words)
    assert names[1] == (scheme if interval == 1 else f"{scheme}, every {interval} steps")


@pytest.mark.parametrize("interval", [1, 500])
def test_the_model_of_a_step_is_the_sum_of_its_parts(interval: int) -> None:
    compute, nbytes, workers, rate = 0.02, 8e6, 5, 12.5e6
    scheme = Scheme("some", 0.02, 1e-8, interval)
    chunk = 0.02 * nbytes / workers  # of each message of the ring
    wanted = compute + (1e-8 * nbytes + 2 * (workers - 1) * chunk / rate) / interval
    got = compressed_step(scheme, compute, nbytes, workers, 0.0, rate)
    assert got == pytest.approx(wanted, rel=1e-9)
    assert compressed_step(Scheme("plain"), 0.1, 1e6, 1, 1.0, 1e6) == 0.1
    assert compressed_step(Scheme("plain"), 0.0, 0.0, 3, 0.5, 1e6) == 2.0
