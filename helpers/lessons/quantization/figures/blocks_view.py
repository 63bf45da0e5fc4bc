"""The figures of lesson 11 about block formats: a wild weight in its block, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

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
