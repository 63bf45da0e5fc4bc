"""Encodings: how far off they are, how many bytes travel, and what feedback keeps of the rest."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from helpers.lessons.fewer_bits.algorithms.encodings import (
    Encoding,
    Half,
    Signs,
    TopK,
    falling_share,
    largest_places,
)
from helpers.lessons.fewer_bits.algorithms.feedback import (
    ErrorFeedback,
    MomentumCorrection,
)

ENCODINGS = [Half(), Half(torch.float16), TopK(0.1), Signs()]


def message_bytes(message: tuple[Tensor, ...]) -> int:
    return sum(part.nbytes for part in message)


def there_and_back(encoding: Encoding, flat: Tensor) -> Tensor:
    return encoding.decode(encoding.encode(flat), flat)


@st.composite
def gradients(draw: st.DrawFn, dtype: torch.dtype = torch.float32) -> Tensor:
    length = draw(st.integers(1, 40))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    return torch.randn(length, generator=generator, dtype=dtype)


@given(gradients())
def test_halves_are_as_near_as_their_bits(flat: Tensor) -> None:
    for dtype, bits in ((torch.bfloat16, 8), (torch.float16, 11)):
        error = (there_and_back(Half(dtype), flat) - flat).abs()
        assert (error <= flat.abs() * 2.0**-bits + 2.0**-25).all()
        assert message_bytes(Half(dtype).encode(flat)) == 2 * len(flat)


@given(gradients(), st.floats(0.001, 1))
def test_the_largest_travel_and_nothing_else(flat: Tensor, share: float) -> None:
    message = TopK(share).encode(flat)
    back, count = TopK(share).decode(message, flat), max(1, int(len(flat) * share))
    assert message_bytes(message) == 8 * count
    assert int((back != 0).sum()) == count and torch.equal(back[back != 0], flat[back != 0])
    left = (flat - back).abs().max()
    assert left == 0 or left <= flat[back != 0].abs().min()
    # Stich et al. (2018), definition 2.1: at least k/n of the square is gone.
    assert (flat - back).square().sum() <= (1 - count / len(flat)) * flat.square().sum() * 1.0001


@given(gradients())
def test_signs_are_a_bit_each_and_the_nearest_multiple(flat: Tensor) -> None:
    message = Signs().encode(flat)
    back = there_and_back(Signs(), flat)
    assert message_bytes(message) == math.ceil(len(flat) / 8) + 4
    assert torch.equal(back > 0, flat >= 0) and back.abs().unique().numel() == 1
    # Of all multiples of the signs this one is nearest: the rest is at right angles to it.
    assert abs(float((flat - back) @ back)) <= 1e-4 * float(flat.square().sum())


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_zeros_are_zeros_and_an_overflow_is_no_debt(encoding: Encoding) -> None:
    for length in (0, 9):
        assert torch.equal(there_and_back(encoding, torch.zeros(length)), torch.zeros(length))
    feedback = ErrorFeedback()
    wanted = feedback.add(0, torch.tensor([1e6, 1.0], dtype=torch.float32))
    feedback.sent(0, wanted, there_and_back(encoding, wanted))
    assert feedback.add(0, torch.zeros(2)).isfinite().all()


def test_a_share_falls_by_equal_factors() -> None:
    at = falling_share(0.25 / 16, 4)
    assert [at(step) for step in range(6)] == [0.25 / 2 ** min(step, 4) for step in range(6)]
    assert len(TopK(at).encode(torch.arange(100.0), step=9)[0]) == 1
    for share in (0, 1.5, math.nan):
        with pytest.raises(ValueError, match="share"):
            TopK(share)


@given(gradients(torch.float64), st.integers(1, 30), st.sampled_from(ENCODINGS))
def test_what_was_sent_and_what_is_owed_are_all_gradients(
    flat: Tensor, steps: int, encoding: Encoding
) -> None:
    feedback, sent, given_all = ErrorFeedback(), torch.zeros_like(flat), torch.zeros_like(flat)
    for step in range(steps):
        gradient = torch.roll(flat, step)
        wanted = feedback.add(7, gradient)
        told = there_and_back(encoding, wanted)
        feedback.sent(7, wanted, told)
        sent, given_all = sent + told, given_all + gradient
    torch.testing.assert_close(sent + feedback.errors[7], given_all, rtol=1e-9, atol=1e-9)


def test_momentum_is_corrected() -> None:
    """All sent at once: the momentum starts anew. Nothing sent: as momentum SGD's sum of steps."""
    correction = MomentumCorrection(0.5)
    for wanted in (1.0, 2.5, 4.25):  # 1; 1 + 1.5; 2.5 + 1.75
        assert float(correction.add(0, torch.ones(1))[0]) == wanted
        correction.sent(0, torch.full((1,), wanted), torch.zeros(1))
    assert float(correction.add(0, torch.ones(1))[0]) == 4.25 + 1.875
    correction.sent(0, torch.full((1,), 6.125), torch.full((1,), 6.125))
    assert float(correction.add(0, torch.ones(1))[0]) == 1.0
    with pytest.raises(ValueError, match="momentum"):
        MomentumCorrection(1.0)


def test_a_sample_changes_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randn(60_007, generator=generator, dtype=torch.float64).abs() ** 3
    for count in (1, 7, 600, 7000):
        wanted = sizes.topk(count).indices.sort().values
        assert torch.equal(largest_places(sizes, count), wanted)
    sizes[::9] = 0.0
    sizes[77] = math.nan
    assert 77 in largest_places(sizes, 10).tolist()
    assert len(largest_places(torch.zeros(100_000), 50)) == 50
