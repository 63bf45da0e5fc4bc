"""The figures of lesson 11 about block formats: a wild weight in its block, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREEN, GREY, ORANGE, RED, axes, measured

LOOKS = ((BLUE, "o", "--"), (GREEN, "s", "-"), (RED, "^", "--"), (ORANGE, "D", "-"))


def one_row(weights: Tensor, left: Mapping[str, Tensor], block: int = 32) -> Any:
    """Neighbouring weights and what is left of them, a panel for each way to hold them.

    weights: (n,). left: by name, (n,). A block ends at each dashed line; what is far outside of the
    others' range is told in words at the upper edge.
    """
    reach = 4.0
    figure, panels = axes(rows=len(left), width=8.2, height=1.9 * len(left) + 0.5)
    places = list(range(len(weights)))
    for ax, (name, kept) in zip(panels, left.items(), strict=True):
        ax.plot(places, weights.tolist(), **measured(GREY, "the weights"))
        ax.plot(places, kept.tolist(), **{**measured(BLUE, "what is left"), "markersize": 4})
        for end in range(block, len(weights), block):
            ax.axvline(end - 0.5, color=GREY, linestyle="--", linewidth=1)
        for place, value in enumerate(weights.tolist()):
            if value > reach:
                note = {"textcoords": "offset points", "fontsize": 9, "color": RED, "va": "top"}
                ax.annotate(f"↑ the wild one, {value:g}", (place, reach), (0, -2), **note)
        ax.set(xlim=(-1, len(weights)), ylim=(-reach, reach), ylabel="weight")
        ax.set_title(name, loc="left", fontsize=10)
        ax.grid(visible=False)
    panels[-1].set_xlabel("place in the row")
    panels[0].legend(
        frameon=False, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1, 0.97)
    )
    return figure


def errors(
    counts: Sequence[int], by_format: Mapping[str, Sequence[float]], bits: Mapping[str, float]
) -> Any:
    """Errors (%) of ordinary weights over how many wild ones a row has, a line for each format.

    counts: evenly spaced on the axis, whatever they are. bits: of a weight, its part of the scales
    among them, for the legend.
    """
    figure, ax = axes(width=8.2, height=3.5)
    places = list(range(len(counts)))
    for (colour, mark, line), (name, values) in zip(LOOKS, by_format.items(), strict=False):
        ax.plot(places, values, color=colour, linestyle=line, linewidth=1)
        ax.plot(places, values, **measured(colour, f"{name}: {bits[name]:.2f}", mark))
        note = {"textcoords": "offset points", "fontsize": 9, "color": colour, "va": "center"}
        ax.annotate(f"{values[-1]:.1f}", (places[-1], values[-1]), (8, 0), **note)
    ticks = [
        t
        for t in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
        if t >= 0.7 * min(map(min, by_format.values()))
    ]
    ax.set(yscale="log", xlabel="wild weights in a row", ylabel="error of the others (%)")
    ax.set_xticks(places, [str(count) for count in counts])
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xlim(-0.3, len(counts) - 0.5)
    ax.minorticks_off()
    ax.legend(
        frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5),
        title="bits a weight, with scales", title_fontsize=9, alignment="left",
    )  # fmt: skip
    return figure


def show_blocks(row: Tensor, left: Mapping[str, Tensor]) -> None:
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
        one_row(row, left),
        caption="The wild weight spoils its row, or its block. Rounded to 0 in the block "
        f"beside its own: {zeros[0][1]} of 32 with a scale for the row, {zeros[1][1]} "
        "with a scale for each block.",
        alt="Two panels with 64 weights, grey, and what is left of them, blue; a dashed "
        "line between the two blocks, and an arrow up at the wild weight in the first. "
        f"{told}",
    )


def show_block_errors(
    counts: Sequence[int], found: Mapping[str, Sequence[float]], bits: Mapping[str, float]
) -> None:
    """Errors of ordinary weights beside more and more wild ones. bits: of a weight, by way."""
    told = ", ".join(map(str, counts))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{each:.1f}" for each in those) for name, those in found.items()
    )
    show(
        errors(counts, found, bits),
        caption="How far off the ordinary weights are, root mean square over root mean square, "
        "with more and more wild weights among 512.",
        alt=f"Error in per cent, its axis logarithmic, over {told} wild weights in a row. {said}.",
    )
