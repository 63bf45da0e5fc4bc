"""The figures of lesson 14 on tensor parallelism: what is cut how, and who sends what when."""

from __future__ import annotations

from typing import Any

from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.notebook.figures import show
from helpers.notebook.style import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, axes

# A rank's parts: a fill and a hatch each, so that they are told apart without colour too.
PARTS: tuple[dict[str, Any], ...] = (
    {"facecolor": SKY, "hatch": ""},
    {"facecolor": ORANGE, "hatch": "////"},
    {"facecolor": GREEN, "hatch": "...."},
    {"facecolor": PINK, "hatch": "xxxx"},
)
WHOLE: dict[str, Any] = {"facecolor": "#EEEEEE", "hatch": ""}
EDGE = {"edgecolor": BLACK, "linewidth": 0.9}
RANKS = 2
W, H, ROWS, MIDDLE = 1.0, 2.0, 0.8, 2.2  # of drawn matrices, and the height that they lie on


def box(ax: Any, left: float, bottom: float, width: float, height: float, **look: Any) -> None:
    """A rectangle with an edge."""
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((left, bottom), width, height, **{**EDGE, **look}))


def label(ax: Any, x: float, y: float, text: str, **look: Any) -> None:
    """Text in the middle of something; on a white ground, so that a hatch does not cross it."""
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    look = {"ha": "center", "va": "center", "fontsize": 9, **look}
    ax.text(x, y, text, bbox=ground if look.pop("ground", False) else None, **look)


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    """From start to end, in the data's own units."""
    plain = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=plain | look)


def canvas(width: float, height: float, wide: float, tall: float) -> Any:
    """(figure, axes) without axes to see, from 0 to wide and tall. width, height: in inches."""
    figure, ax = axes(width=width, height=height)
    ax.set(xlim=(0, wide), ylim=(0, tall), aspect="equal")
    ax.axis("off")
    return figure, ax


def _matrix(ax: Any, left: float, shape: tuple[float, float], name: str, cut: str) -> None:
    """A matrix as a rectangle with its name above it, cut into the ranks' parts.

    shape: (width, height) of the drawing. cut: "columns", "rows" or "".
    """
    width, height = shape
    bottom = MIDDLE - height / 2
    if not cut:
        box(ax, left, bottom, width, height, **WHOLE)
    for rank in range(RANKS if cut else 0):
        if cut == "columns":
            part = width / RANKS
            box(ax, left + rank * part, bottom, part, height, **PARTS[rank])
        else:
            part = height / RANKS
            box(ax, left, bottom + height - (rank + 1) * part, width, part, **PARTS[rank])
    label(ax, left + width / 2, bottom + height + 0.22, name, fontsize=10)


def _terms(ax: Any, left: float, width: float, words: str, to: float) -> None:
    """A term of each rank, one above the other, and arrows from all of them to their sum."""
    for rank in range(RANKS):
        y = MIDDLE + ((RANKS - 1) / 2 - rank) * 1.2
        box(ax, left, y - ROWS / 2, width, ROWS, **PARTS[rank])
        label(ax, left + width / 2, y, words.format(rank), ground=True, fontsize=8)
        arrow(ax, (left + width + 0.05, y), (to, MIDDLE), color=RED)


def _legend(ax: Any) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(label=f"rank {r}", **{**EDGE, **PARTS[r]}) for r in range(RANKS)]
    patches.append(Patch(label="every rank", **{**EDGE, **WHOLE}))
    ax.legend(handles=patches, loc="upper center", ncols=RANKS + 1, fontsize=9)


def show_column_then_row() -> None:
    """y = GELU(x A) B, with A cut by columns and B by rows: one sum, at the end."""
    figure, ax = canvas(8.6, 3.2, 11.6, 4.1)
    _matrix(ax, 0.1, (W, ROWS), "x", "")
    label(ax, 1.35, MIDDLE, "×", fontsize=13)
    _matrix(ax, 1.6, (H, W), "A, by columns", "columns")
    label(ax, 4.05, MIDDLE, "GELU\n→", fontsize=10)
    _matrix(ax, 4.5, (H, ROWS), "GELU(x A)", "columns")
    label(ax, 6.75, MIDDLE, "×", fontsize=13)
    _matrix(ax, 7.0, (W, H), "B, by rows", "rows")
    label(ax, 8.3, MIDDLE, "→", fontsize=13)
    _terms(ax, 8.6, W, "term {}", 10.25)
    _matrix(ax, 10.4, (W, ROWS), "y", "")
    label(ax, 10.1, 0.52, "one all-reduce: g", color=RED)
    label(ax, 5.5, 0.52, "whole hidden units: GELU needs no one else")
    _legend(ax)
    show(
        figure,
        caption="A by columns, then B by rows: the ranks meet once, at the end.",
        alt="x times A, whose columns belong to two ranks; each applies GELU to its own "
        "units and multiplies by its rows of B; an all-reduce sums the two terms to y.",
    )


def show_row_first() -> None:
    """The same with A cut by rows: every rank has a part of every sum, and GELU has to wait."""
    figure, ax = canvas(8.6, 3.0, 12.4, 4.1)
    _matrix(ax, 0.1, (W, ROWS), "x", "columns")
    label(ax, 1.35, MIDDLE, "×", fontsize=13)
    _matrix(ax, 1.6, (H, W), "A, by rows", "rows")
    label(ax, 3.9, MIDDLE, "→", fontsize=13)
    _terms(ax, 4.2, H, "term {}, all units", 7.35)
    _matrix(ax, 7.5, (H, ROWS), "x A", "")
    label(ax, 9.65, MIDDLE, "→ GELU → × B …", fontsize=10, ha="left")
    label(ax, 6.9, 0.52, "an all-reduce of x A before GELU", color=RED)
    _legend(ax)
    show(
        figure,
        caption="The other way round each rank has a part of every hidden unit, and GELU has "
        "to wait for an all-reduce.",
        alt="x cut by columns and A by rows: each rank has a term of all hidden units; an "
        "all-reduce comes before GELU.",
    )


_STEPS: tuple[tuple[str, str], ...] = (
    ("norm", "whole"), ("f", "f"), ("query\nkey\nvalue", "part"), ("attend", "part"),
    ("out", "part"), ("g", "g"), ("+ x", "whole"), ("norm", "whole"), ("f", "f"), ("up", "part"),
    ("GELU", "part"), ("down", "part"), ("g", "g"), ("+ x", "whole"),
)  # fmt: skip


def show_block_messages() -> None:
    """A Transformer block on each rank: where it is cut, and the four places where ranks talk."""
    wide, tall = len(_STEPS) + 1.2, 1.7 * RANKS + 1.75
    figure, ax = canvas(9.4, 1.15 + 1.05 * RANKS, wide, tall)
    looks: dict[str, Any] = {"g": {"color": RED}, "f": {"color": BLUE, "linestyle": "--"}}
    top, bottom = tall - 1.75, tall - 1.75 - 1.7 * (RANKS - 1)
    for place, (name, kind) in enumerate(_STEPS):
        x = 1.1 + place
        for rank in range(RANKS):
            y = top - 1.7 * rank
            if kind in looks:
                label(
                    ax, x + 0.42, y, name, fontsize=14, style="italic", color=looks[kind]["color"]
                )
            else:
                box(ax, x, y - 0.5, 0.84, 1.0, **(PARTS[rank] if kind == "part" else WHOLE))
                label(ax, x + 0.42, y, name, ground=kind == "part", fontsize=8)
            if kind in looks and rank + 1 < RANKS:
                ends = (x + 0.42, y - 0.4), (x + 0.42, y - 1.3)
                arrow(ax, *ends, arrowstyle="<|-|>", **looks[kind])
    for rank in range(RANKS):
        label(ax, 0.45, top - 1.7 * rank, f"rank {rank}")
    arrow(ax, (1.1, top + 0.95), (wide - 0.2, top + 0.95), **looks["g"])
    label(ax, 1.15, top + 1.35, "forward: g sums, twice", color=RED, ha="left")
    arrow(ax, (wide - 0.2, bottom - 0.9), (1.1, bottom - 0.9), **looks["f"])
    label(ax, wide - 0.2, bottom - 1.25, "backward: f sums, twice", color=BLUE, ha="right")
    show(
        figure,
        caption="A block on two ranks: two all-reduces forward (g), two backward (f). Norms "
        "and sums run on every rank alike.",
        alt="Two rows of boxes, one a rank: norm, f, query key value, attend, out, g, plus "
        "x, then norm, f, up, GELU, down, g, plus x. Arrows between the ranks stand at "
        "the two g and the two f.",
    )


def show_mesh() -> None:
    """Four ranks in rows and columns: what each holds, what goes along a row and a column."""
    wide, tall = 1.3 + 3.6 * 2, 1.0 + 2.5 * 2
    figure, ax = canvas(7.6, 4.8, wide, tall)
    for row in range(2):
        y = tall - 1.2 - 2.5 * row
        label(ax, 0.95, y - 0.65, f"shard {row}\nof the batch")
        for column in range(2):
            x = 2.2 + 3.6 * column
            box(ax, x, y - 1.35, 2.3, 1.4, **PARTS[column])
            text = f"rank {row * 2 + column}\npart {column} of every layer"
            label(ax, x + 1.15, y - 0.65, text, ground=True)
        arrow(ax, (4.55, y - 0.65), (5.75, y - 0.65), color=RED, arrowstyle="<|-|>")
    for x in (3.35, 6.95):
        ends = (x, tall - 2.6), (x, tall - 3.6)
        arrow(ax, *ends, color=BLUE, arrowstyle="<|-|>", linestyle="--")
    label(ax, wide / 2, tall - 0.35, "along a row: activations, 4 sums a block", color=RED)
    label(ax, wide / 2, 0.25, "along a column: gradients, one average a step", color=BLUE)
    show(
        figure,
        caption="Ranks of a row hold parts of the same layers; ranks of a column hold the same "
        "part and see other rows of the batch.",
        alt="Four ranks in two rows and two columns. Red arrows along rows: activations, 4 "
        "sums a block. Blue dashed arrows along columns: gradients, one average a step.",
    )


def show_vocabulary() -> None:
    """Scores cut by tokens over three ranks: what each holds, and the numbers that it sends."""
    vocabulary, ranks, targets = 12, 3, (1, 6, 10, 4)
    positions, wide = len(targets), vocabulary + 1.4 * ranks + 1.2
    figure, ax = canvas(8.6, 3.4, wide + 1, positions + 4.4)
    for rank, (start, stop) in enumerate(chunk_bounds(vocabulary, ranks)):
        left = 1.6 + start + 1.4 * rank
        for position, target in enumerate(targets):
            y = positions + 2.2 - position
            for token in range(start, stop):
                x = left + token - start
                box(ax, x, y, 1, 1, **PARTS[rank])
                if target == token:
                    label(ax, x + 0.5, y + 0.5, "target", ground=True, fontsize=6.5)
        middle = left + (stop - start) / 2
        label(ax, middle, positions + 3.55, f"rank {rank}: tokens {start} to {stop - 1}")
        arrow(ax, (middle, 3.1), (middle, 2.1), color=RED)
        label(ax, middle, 1.6, "max, sum, target", color=RED)
    for position in range(positions):
        label(ax, 0.9, positions + 2.7 - position, f"position {position}", fontsize=8)
    words = f"three numbers a position, however many tokens: not {vocabulary} scores"
    label(ax, (wide + 1.6) / 2, 0.7, words, color=RED)
    show(
        figure,
        caption="Three numbers a position travel, however many tokens there are.",
        alt="A table of scores, four positions by twelve tokens, cut by tokens over three "
        "ranks; under each rank an arrow says max, sum, target.",
    )
