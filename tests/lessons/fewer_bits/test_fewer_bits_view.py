"""Lesson 10's figures and widget say what they were given, and what the model gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_where_it_is_even_is_where_the_steps_are_equal() -> None:
    knobs = view.Knobs("top 1 %", 1, 20, 8, 100)
    found = knobs.even_at(compressed_step, SCHEMES["top 1 %"])
    assert found is not None
    exact = 1.5 * 0.98 / 1e-8  # latencies are the same for both
    assert exact <= found <= exact * 10 ** (1 / 20) * 1.001


def parts(scheme: Scheme, compute: float, nbytes: float, workers: int, rate: float) -> float:
    """A step's seconds, added up message by message of the ring."""
    chunk = scheme.share * nbytes / workers
    messages = sum(chunk / rate for _ in range(2 * (workers - 1)))
    return compute + (scheme.coding * nbytes + messages) / scheme.interval


@given(
    st.floats(1e-3, 1.0), st.floats(1e3, 1e8), st.integers(2, 64), st.floats(0.01, 0.9),
    st.floats(1e-11, 1e-8), st.floats(1e5, 1e10), st.integers(1, 500),
)  # fmt: skip
def test_the_model_of_a_step_is_the_sum_of_its_parts(
    compute: float, nbytes: float, workers: int, share: float, coding: float, rate: float, h: int
) -> None:
    scheme = Scheme("some", share, coding)
    for each in (scheme, Scheme("often", share, coding, h)):
        got = compressed_step(each, compute, nbytes, workers, 0.0, rate)
        assert got == pytest.approx(parts(each, compute, nbytes, workers, rate), rel=1e-9)
    assert compressed_step(Scheme("plain"), 0.1, 1e6, 1, 1.0, 1e6) == 0.1
    assert compressed_step(Scheme("plain"), 0.0, 0.0, 3, 0.5, 1e6) == 2.0
