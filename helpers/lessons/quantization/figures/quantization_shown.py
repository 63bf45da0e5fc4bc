"""Figures of lesson 11, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from helpers.lessons.quantization.figures import blocks_view, quantization_view
from helpers.notebook.figures import show


def line() -> None:
    """Sixteen codes on the number line."""
    show(
        quantization_view.number_line(
            scale=40 / 15, zero_point=-4, lowest=-8, highest=7, low=-10, high=30
        ),
        caption="Sixteen codes for −10 … 30 (shaded). The value 0 is met exactly; inside the "
        "range no value is more than half a step off; beyond it the error grows.",
        alt="A number line with 16 dots 2.67 apart, labelled with the codes −8 to 7; the "
        "value 0 is code −4. Below, the error over the value: a saw between plus and "
        "minus half a step, 1.33, which leaves this band beyond both ends.",
    )


def channels(layers: Mapping[str, Tensor]) -> None:
    """Weights by channel of two models that compute the same."""
    show(
        quantization_view.channel_ranges(layers),
        caption="One range for all channels (dashed) has to reach the widest one. On the right "
        "it leaves next to nothing for the others.",
        alt="Two panels with a bar for each of 64 channels, from its smallest to its "
        "largest weight. On the left the bars are of many lengths; on the right one "
        "fills the dashed range, and the others are thin lines around 0.",
    )


def codes(weights: Tensor, steps: Mapping[str, float]) -> None:
    """One ordinary channel's weights under two steps between codes of 6 bits."""
    show(
        quantization_view.codes_over_weights(weights, steps, bits=6),
        caption="The weights of an ordinary channel (grey) and the codes of 6 bits (lines). "
        "The scale of the wild channel leaves them next to none.",
        alt="Two histograms of one channel's weights. On the left one or a few lines stand "
        "for codes, one of them at 0; on the right 63 lines are spread over all of the "
        "weights.",
    )


def bounds(
    found: Sequence[float],
    curves: Mapping[int, Sequence[float]],
    chosen: Mapping[int, tuple[float, float]],
) -> None:
    """Errors over the bound of a range, of values of a normal distribution."""
    show(
        quantization_view.bound_error(found, curves, chosen),
        caption="The error over the bound, for values of a normal distribution. Right of the "
        "best bound (marked) rounding rules, left of it what is cut off.",
        alt="Four curves, for 8, 6, 4 and 3 bits, of the mean squared error over a bound "
        "from 0.3 to 6, the error's axis logarithmic. Each falls steeply, has a least "
        "point and rises along a dashed line of rounding alone. The fewer the bits, "
        "the higher the curve and the further left its least point.",
    )


def fewer(
    healthy: float,
    right: Mapping[int, float],
    cut: float,
    won: float,
    said: Mapping[int, str],
    trained: str,
) -> None:
    """The patient with fewer and fewer bits. said, trained: each form in words."""
    told = ", ".join(f"{bits} bits {words}" for bits, words in said.items())
    show(
        quantization_view.by_bits(healthy, right, {4: cut}, {4: won}, points="test pictures"),
        caption="The patient with fewer and fewer bits. At 4 bits: by a better recipe's "
        "ranges, and trained with rounding.",
        alt="Test pictures right, in per cent, over the bits, beside a dotted line for "
        f"float32. Rounded after training: {told}. At 4 bits a triangle for the best of "
        "three recipes' ranges, and a square for training with rounding: "
        f"{trained}.",
    )


def blocks(row: Tensor, left: Mapping[str, Tensor]) -> None:
    """64 weights with a wild one among them, and what codes leave of them."""
    zeros = [
        [int((kept[part] == 0).sum()) for part in (slice(0, 32), slice(32, 64))]
        for kept in left.values()
    ]
    told = " ".join(
        f"{name}: {first} and {second} of 32 lie at 0 in the first and the second block."
        for name, (first, second) in zip(left, zeros, strict=True)
    )
    show(
        blocks_view.one_row(row, left),
        caption="The wild weight spoils its row, or its block. Rounded to 0 in the block "
        f"beside its own: {zeros[0][1]} of 32 with a scale for the row, {zeros[1][1]} "
        "with a scale for each block.",
        alt="Two panels with 64 weights, grey, and what is left of them, blue; a dashed "
        "line between the two blocks, and an arrow up at the wild weight in the first. "
        f"{told}",
    )


def block_errors(
    counts: Sequence[int], errors: Mapping[str, Sequence[float]], bits: Mapping[str, float]
) -> None:
    """Errors of ordinary weights beside more and more wild ones. bits: of a weight, by way."""
    told = ", ".join(map(str, counts))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{each:.1f}" for each in those) for name, those in errors.items()
    )
    show(
        blocks_view.errors(counts, errors, bits),
        caption="How far off the ordinary weights are, root mean square over root mean square, "
        "with more and more wild weights among 512.",
        alt=f"Error in per cent, its axis logarithmic, over {told} wild weights in a row. {said}.",
    )


def forms(rows: Mapping[str, tuple[float, float, float]], lost: float) -> None:
    """Size, time and accuracy of a model's forms. lost: the most points of accuracy."""
    told = "; ".join(
        f"{n}: {kb:.0f} KB, {ms:.0f} ms, {right:.1f} % right" for n, (kb, ms, right) in rows.items()
    )
    show(
        quantization_view.models(rows),
        caption=f"Every form but the first is smaller, and at most {lost:.1f} points less are "
        "right. Measured here, on one thread; the dotted lines are float32's.",
        alt=f"Three panels with a row for each form. {told}",
    )


def products(times: Mapping[str, Mapping[int, float]]) -> None:
    """Milliseconds of one wide layer by the rows of a batch."""
    told = "; ".join(
        f"{n}: " + ", ".join(f"{ms:.1f} ms for {c}" for c, ms in by_rows.items())
        for n, by_rows in times.items()
    )
    show(
        quantization_view.products(times),
        caption="One layer of 4096 × 4096 on one thread, measured in turn on this machine.",
        alt=f"Milliseconds over the rows of a batch, both axes logarithmic. {told}",
    )


def losses(printed: Mapping[str, float], ours: Mapping[str, float], said: Sequence[str]) -> None:
    """Points lost, printed and here. said: in words, the patient in 8 bits, in 4, trained so."""
    by_training = [points for name, points in printed.items() if name.endswith("trained so")]
    told = ", ".join(f"{name} {points:.1f}" for name, points in printed.items())
    show(
        quantization_view.drops(printed, ours),
        caption=f"Eight bits cost {min(by_training):.1f} to {max(by_training):.1f} points when "
        f"trained so, after training up to {max(printed.values()):.1f} (ImageNet, as "
        f"printed). The patient with 8 bits, after training: {said[0]}; with "
        f"4 bits: {said[1]}.",
        alt=f"Diamonds for printed losses: {told}. Below, dots for the patient: "
        f"{said[0]} for 8 bits after training, {said[1]} for 4 "
        f"bits, {said[2]} for 4 bits where it was trained so.",
    )
