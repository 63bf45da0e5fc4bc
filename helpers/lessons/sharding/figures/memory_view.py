"""Figures of lesson 14 on memory: by stage, by ranks, over a step, and what fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.lessons.sharding.algorithms.memory import (
    FLOAT32_ADAM,
    MIXED_ADAM,
    STAGES,
    PerParameter,
    memory,
)
from helpers.lessons.splitting.experiments.machines import MACHINES
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    axes,
    modelled,
    note,
    published,
    rows,
    ticks,
)

PARTS: dict[str, dict[str, Any]] = {
    "parameters": {"color": BLUE, "hatch": "", "edgecolor": "white"},
    "gradients": {"color": SKY, "hatch": "////", "edgecolor": "white"},
    "optimizer": {"color": ORANGE, "hatch": "....", "edgecolor": "white"},
}
PRECISIONS: dict[str, PerParameter] = {"mixed (bf16)": MIXED_ADAM, "float32": FLOAT32_ADAM}
STAGE_COLOURS = (ORANGE, SKY, BLUE)
CAPACITIES = sorted({each.memory / 1e9 for each in MACHINES})  # of GPUs, in GB


def _bars(
    ax: Any, held: Sequence[PerParameter], unit: float, how: str = "", chosen: int | None = None
) -> None:
    """A bar for each, stacked of parameters, gradients and optimizer state.

    how: what stands behind their names. chosen: the one that stands out.
    """
    places, left = range(len(held)), [0.0] * len(held)
    for name, look in PARTS.items():
        sizes = [getattr(each, name) / unit for each in held]
        bars = ax.barh(places, sizes, 0.62, left=left, label=name + how, linewidth=0, **look)
        for place, bar in enumerate(bars):
            bar.set_alpha(1.0 if chosen in (None, place) else 0.35)
        left = [a + b for a, b in zip(left, sizes, strict=True)]


def _stages(ax: Any, held: Sequence[PerParameter], chosen: int | None = None) -> None:
    """The bars of all stages in GB, with names and sums."""
    _bars(ax, held, 1e9, chosen=chosen)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # over a GPU's line
    for stage, each in enumerate(held):
        total = each.total / 1e9
        look = {"va": "center", "weight": "bold" if stage == chosen else "normal", "bbox": ground}
        words = f"{total:.3g}" if total < 100 else f"{total:.0f}"
        note(ax, words, (total, stage), (4, 0), fontsize=11, **look)
    names = [f"stage {stage}\n{words}" for stage, words in enumerate(STAGES)]
    rows(ax, names, fontsize=9)


def show_stages() -> None:
    """Memory of 7.5 billion parameters on 64 ranks, by stage, with Adam in mixed precision."""
    figure, ax = axes(width=7.6, height=3.3)
    _stages(ax, [memory(7.5e9, 64, stage) for stage in range(4)])
    ax.set_xlabel("GB a rank, 7.5 billion parameters on 64 ranks")
    ax.margins(x=0.12)
    ax.legend(loc="lower right", fontsize=9)
    show(
        figure,
        caption="The optimizer's state is the largest part, so the first stage saves most; "
        "only the third has no floor.",
        alt="Bars of GB a rank for 7.5 billion parameters on 64 ranks: 120 unsharded, 31.4 "
        "in stage 1, 16.6 in stage 2, 1.88 in stage 3, each stacked of parameters, "
        "gradients and optimizer state. By formula.",
    )


def show_by_ranks(printed: Any, formula: Callable[[int, int, int], float]) -> None:
    """GB a rank over ranks in the three stages, beside what ZeRO's table 1 prints.

    formula: bytes by parameters, ranks and stage.
    """
    figure, ax = axes()
    ranks, away = sorted({round(2 ** (power / 4)) for power in range(41)}), 0.0
    for stage, column in enumerate(("optimizer", "optimizer+gradients", "all"), 1):
        curve = [formula(7_500_000_000, n, stage) / 1e9 for n in ranks]
        ax.plot(ranks, curve, **modelled(STAGE_COLOURS[stage - 1], f"stage {stage}, formula"))
        points = printed.data["n"], printed.data[column]
        ax.plot(*points, **published("ZeRO, table 1" if stage == 1 else "_"))
        for n, gb in zip(*points, strict=True):
            away = max(away, abs(formula(7_500_000_000, n, stage) / 1e9 / gb - 1))
    for capacity, place, side in ((16, 1, "left"), (80, 1024, "right")):
        ax.axhline(capacity, color=GREY, linewidth=1, linestyle=":")
        words = f"a GPU of {capacity} GB"
        note(ax, words, (place, capacity), (0, 3), fontsize=8, color=GREY, ha=side)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel="GB a rank")
    ticks(ax.xaxis, (1, 4, 16, 64, 256, 1024))
    ticks(ax.yaxis, (0.1, 1, 10, 100))
    ax.legend(fontsize=9, loc="lower left")
    show(
        figure,
        caption="Stages 1 and 2 run into a floor, 4 Ψ and 2 Ψ; with stage 3 twice the ranks "
        "always hold twice the model's 16 Ψ.",
        alt="GB a rank over 1 to 1024 ranks, both axes logarithmic, for 7.5 billion "
        "parameters. Stage 1 levels off at 30 GB, stage 2 at 15, stage 3 falls in a "
        "straight line to 0.12. White diamonds, as printed in ZeRO's table 1, lie "
        f"within {100 * away:.1g} % of the lines.",
    )


def show_held(measured: Mapping[int, Any], expected: Mapping[int, PerParameter]) -> None:
    """KB that a rank was measured to hold in each stage, with diamonds where the formulas are."""
    figure, ax = axes(width=7.6, height=2.9)
    _bars(ax, list(measured.values()), 1e3, ", measured")
    mark = {"marker": "D", "color": RED, "markerfacecolor": "white", "linestyle": "none"}
    for place, stage in enumerate(measured):
        ends = [sum(expected[stage][: part + 1]) / 1e3 for part in range(len(PARTS))]
        label = "formula" if place == 0 else None
        ax.plot(ends, [place] * len(ends), **mark, label=label, clip_on=False)
    rows(ax, [f"stage {stage}" for stage in measured])
    ax.set_xlabel("KB that rank 0 holds between two steps")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    show(
        figure,
        caption="Bytes counted from rank 0's tensors end where the formulas say, part by part.",
        alt="Stacked bars of KB for stages 1 to 3 on 3 ranks: parameters, gradients and "
        "optimizer state. White diamonds, the formulas, stand at the end of each part.",
    )


def show_held_in_a_step(runs: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """GB that a rank holds over a step, a line a run: (seconds, bytes) where it changes."""
    figure, ax = axes(width=7.6, height=3.4)
    looks = ((ORANGE, "--"), (GREEN, "-."), (BLUE, "-"))
    for (name, points), (colour, dash) in zip(runs.items(), looks, strict=False):
        times, values = zip(*((s * 1e3, nbytes / 1e9) for s, nbytes in points), strict=True)
        ax.step(times, values, where="post", color=colour, linestyle=dash, label=name)
    ax.set(xlabel="time in the step (ms)", ylabel="GB a rank holds", ylim=(0, None))
    ax.legend(fontsize=9, loc="lower left")
    show(
        figure,
        caption="In passing stage 3 holds two units' parameters in forward, and up to two rows "
        "of gradients more in backward; stage 2 up to two rows of gradients.",
        alt="GB a rank holds over the time of a step, 8 ranks, 7.2 billion parameters: "
        "stage 1 flat at 40, stage 2 at 27 in forward and near 30 through backward, "
        "stage 3 at 17 in forward and 19 through backward.",
    )


def fits(billions: float, ranks: int, stage: int, precision: str) -> Any:
    """Memory of a GPU by stage against what GPUs hold; one stage is chosen."""
    figure, ax = axes(width=7.6, height=3.6)
    held = [memory(billions * 1e9, ranks, s, PRECISIONS[precision]) for s in range(4)]
    _stages(ax, held, chosen=stage)
    for place, capacity in enumerate(CAPACITIES):
        ax.axvline(capacity, color=BLACK, linewidth=1.2, linestyle="--")
        note(ax, f"{capacity:.0f} GB", (capacity, place - 0.48), (3, -3), fontsize=8)
    verdict = held[stage].total / 1e9
    sizes = " and ".join(f"{size:.0f} GB" for size in CAPACITIES if verdict < size)
    words = f"fits GPUs of {sizes}" if sizes else "fits none of these GPUs"
    ax.set_title(f"stage {stage}: {verdict:.3g} GB, {words}", fontsize=10)
    most = max(100.0, held[0].total / 1e9)
    ax.set(xlabel="GB a GPU between two steps, without activations", xlim=(0, most * 1.12))
    legend = ax.legend(loc="lower right", fontsize=8)
    for patch in legend.get_patches():
        patch.set_alpha(1.0)
    return figure


def fits_words(billions: float, ranks: int, stage: int, precision: str) -> str:
    """The alt text of `fits`."""
    held = [memory(billions * 1e9, ranks, s, PRECISIONS[precision]).total / 1e9 for s in range(4)]
    listed = ", ".join(f"stage {s} {gb:.3g} GB" for s, gb in enumerate(held))
    return (
        f"Four bars of GB a GPU for {billions:g} billion parameters on {ranks} ranks, {precision}: "
        f"{listed}. Dashed lines stand at GPUs of 16 and 80 GB; stage {stage} is chosen."
    )
