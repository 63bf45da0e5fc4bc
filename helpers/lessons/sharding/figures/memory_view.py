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
    published,
)

PARTS: dict[str, dict[str, Any]] = {
    "parameters": {"color": BLUE, "hatch": "", "edgecolor": "white"},
    "gradients": {"color": SKY, "hatch": "////", "edgecolor": "white"},
    "optimizer": {"color": ORANGE, "hatch": "....", "edgecolor": "white"},
}
PRECISIONS: dict[str, PerParameter] = {"mixed (bf16)": MIXED_ADAM, "float32": FLOAT32_ADAM}
STAGE_COLOURS = {1: ORANGE, 2: SKY, 3: BLUE}


def _names() -> list[str]:
    return [f"stage {stage}\n{words}" for stage, words in enumerate(STAGES)]


def _bars(ax: Any, held: Sequence[PerParameter], unit: float, chosen: int | None = None) -> None:
    """A bar a stage, stacked of parameters, gradients and optimizer state, stage 0 on top."""
    for stage, each in enumerate(held):
        left = 0.0
        for name, look in PARTS.items():
            width = getattr(each, name) / unit
            faded = {} if chosen in (None, stage) else {"alpha": 0.35}
            label = name if stage == 0 else None
            ax.barh(stage, width, left=left, height=0.62, label=label, linewidth=0, **look, **faded)
            left += width
        digits = 3 if left < 100 else 0
        text = f"{left:.{digits}g}" if digits else f"{left:.0f}"
        weight = "bold" if stage == chosen else "normal"
        note = {"textcoords": "offset points", "va": "center", "weight": weight}
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # over a GPU's line
        ax.annotate(text, (left, stage), (4, 0), bbox=ground, **note)
    ax.set_yticks(range(len(held)), _names(), fontsize=9)
    ax.invert_yaxis()
    ax.grid(False, axis="y")


def stage_bars(billions: float = 7.5, ranks: int = 64) -> Any:
    """GB a rank holds in each stage, by the formulas, with Adam in mixed precision."""
    figure, ax = axes(width=7.6, height=3.3)
    _bars(ax, [memory(billions * 1e9, ranks, stage) for stage in range(4)], 1e9)
    ax.set(xlabel=f"GB a rank, {billions:g} billion parameters on {ranks} ranks")
    ax.margins(x=0.12)
    ax.legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def by_ranks(
    table: Mapping[str, Sequence[float]],
    formula: Callable[[int, int, int], float] | None = None,
    billions: float = 7.5,
) -> Any:
    """GB a rank over the number of ranks, in the three stages, and what ZeRO's table 1 prints.

    formula: bytes by parameters, ranks and stage; the course's own unless given.
    """
    figure, ax = axes()
    held = formula or (lambda parameters, n, stage: memory(parameters, n, stage).total)
    ranks = sorted({round(2 ** (power / 4)) for power in range(41)})
    columns = ("optimizer", "optimizer+gradients", "all")
    for stage, column in enumerate(columns, 1):
        label = f"stage {stage}, formula"
        curve = [held(round(billions * 1e9), n, stage) / 1e9 for n in ranks]
        ax.plot(ranks, curve, **modelled(STAGE_COLOURS[stage], label))
        name = "ZeRO, table 1" if stage == 1 else "_"
        ax.plot(table["n"], table[column], **published(name))
    for capacity, place, side in ((16, 1, "left"), (80, 1024, "right")):
        ax.axhline(capacity, color=GREY, linewidth=1, linestyle=":")
        note = {"textcoords": "offset points", "fontsize": 8, "color": GREY, "ha": side}
        ax.annotate(f"a GPU of {capacity} GB", (place, capacity), (0, 3), **note)
    ax.set(xscale="log", yscale="log", xlabel="ranks", ylabel="GB a rank")
    ax.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1024"])
    ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def held_bars(held: Mapping[int, Any], expected: Mapping[int, PerParameter]) -> Any:
    """KB that a rank was measured to hold in each stage, with diamonds where the formulas are."""
    figure, ax = axes(width=7.6, height=2.9)
    for place, (stage, each) in enumerate(held.items()):
        left = 0.0
        for name, look in PARTS.items():
            width = getattr(each, name) / 1e3
            label = f"{name}, measured" if place == 0 else None
            ax.barh(place, width, left=left, height=0.6, label=label, linewidth=0, **look)
            left += width
            formula = sum(expected[stage][: list(PARTS).index(name) + 1]) / 1e3
            mark = {"marker": "D", "color": RED, "markerfacecolor": "white", "linestyle": "none"}
            last = place == 0 and name == "optimizer"
            ax.plot(formula, place, **mark, label="formula" if last else None, clip_on=False)
    ax.set_yticks(range(len(held)), [f"stage {stage}" for stage in held])
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set(xlabel="KB that rank 0 holds between two steps")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return figure


def held_in_a_step(runs: Mapping[str, Sequence[tuple[float, float]]]) -> Any:
    """GB that a rank holds over a step, a line a run: (seconds, bytes) where it changes."""
    figure, ax = axes(width=7.6, height=3.4)
    looks = ((ORANGE, "--"), (GREEN, "-."), (BLUE, "-"))
    for (name, points), (colour, dash) in zip(runs.items(), looks, strict=False):
        seconds, held = zip(*points, strict=True)
        values = [nbytes / 1e9 for nbytes in held]
        times = [s * 1e3 for s in seconds]
        ax.step(times, values, where="post", color=colour, linestyle=dash, label=name)
    ax.set(xlabel="time in the step (ms)", ylabel="GB a rank holds", ylim=(0, None))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def fits(billions: float, ranks: int, stage: int, precision: str) -> Any:
    """Memory of a GPU by stage against what GPUs hold; one stage is chosen."""
    figure, ax = axes(width=7.6, height=3.6)
    held = [memory(billions * 1e9, ranks, s, PRECISIONS[precision]) for s in range(4)]
    _bars(ax, held, 1e9, chosen=stage)
    most = max(100.0, held[0].total / 1e9)
    for place, capacity in enumerate(sorted({each.memory / 1e9 for each in MACHINES})):
        ax.axvline(capacity, color=BLACK, linewidth=1.2, linestyle="--")
        note = {"textcoords": "offset points", "fontsize": 8}
        ax.annotate(f"{capacity:.0f} GB", (capacity, place - 0.48), (3, -3), **note)
    verdict = held[stage].total / 1e9
    fitting = sorted({each.memory / 1e9 for each in MACHINES if verdict < each.memory / 1e9})
    sizes = " and ".join(f"{size:.0f} GB" for size in fitting)
    words = f"fits GPUs of {sizes}" if fitting else "fits none of these GPUs"
    ax.set_title(f"stage {stage}: {verdict:.3g} GB, {words}", fontsize=10)
    ax.set(xlabel="GB a GPU between two steps, without activations")
    ax.set(xlim=(0, most * 1.12), ylim=(3.5, -0.65))
    legend = ax.legend(frameon=False, loc="lower right", fontsize=8)
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


def show_stages() -> None:
    """Memory of 7.5 billion parameters on 64 ranks, by stage."""
    show(
        stage_bars(7.5, 64),
        caption="The optimizer's state is the largest part, so the first stage saves most; "
        "only the third has no floor.",
        alt="Bars of GB a rank for 7.5 billion parameters on 64 ranks: 120 unsharded, 31.4 "
        "in stage 1, 16.6 in stage 2, 1.88 in stage 3, each stacked of parameters, "
        "gradients and optimizer state. By formula.",
    )


def show_by_ranks(printed: Any, formula: Callable[[int, int, int], float]) -> None:
    """Memory over ranks by formula, beside what ZeRO's table 1 prints."""
    away = max(
        abs(formula(7_500_000_000, ranks, stage) / 1e9 / gb - 1)
        for stage, column in enumerate(("optimizer", "optimizer+gradients", "all"), 1)
        for ranks, gb in zip(printed.data["n"], printed.data[column], strict=True)
    )
    show(
        by_ranks(printed.data, formula),
        caption="Stages 1 and 2 run into a floor, 4 Ψ and 2 Ψ; with stage 3 twice the ranks "
        "always hold twice the model's 16 Ψ.",
        alt="GB a rank over 1 to 1024 ranks, both axes logarithmic, for 7.5 billion "
        "parameters. Stage 1 levels off at 30 GB, stage 2 at 15, stage 3 falls in a "
        "straight line to 0.12. White diamonds, as printed in ZeRO's table 1, lie "
        f"within {100 * away:.1g} % of the lines.",
    )


def show_held(measured: Mapping[int, Any], expected: Mapping[int, Any]) -> None:
    """Bytes counted from tensors beside those by formula."""
    show(
        held_bars(measured, expected),
        caption="Bytes counted from rank 0's tensors end where the formulas say, part by part.",
        alt="Stacked bars of KB for stages 1 to 3 on 3 ranks: parameters, gradients and "
        "optimizer state. White diamonds, the formulas, stand at the end of each part.",
    )


def show_held_in_a_step(runs: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """What a rank holds over the time of a step, by stage."""
    show(
        held_in_a_step(runs),
        caption="In passing stage 3 holds two units' parameters in forward, and up to two rows "
        "of gradients more in backward; stage 2 up to two rows of gradients.",
        alt="GB a rank holds over the time of a step, 8 ranks, 7.2 billion parameters: "
        "stage 1 flat at 40, stage 2 at 27 in forward and near 30 through backward, "
        "stage 3 at 17 in forward and 19 through backward.",
    )
