"""The figures of lesson 14 on tensor parallelism: what is cut how, and who sends what when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    SKY,
    axes,
)

# A rank's parts: a fill and a hatch each, so that they are told apart without colour too.
PARTS: tuple[dict[str, Any], ...] = (
    {"facecolor": SKY, "hatch": ""},
    {"facecolor": ORANGE, "hatch": "////"},
    {"facecolor": GREEN, "hatch": "...."},
    {"facecolor": PINK, "hatch": "xxxx"},
)
WHOLE: dict[str, Any] = {"facecolor": "#EEEEEE", "hatch": ""}
EDGE = {"edgecolor": BLACK, "linewidth": 0.9}


def _box(ax: Any, left: float, bottom: float, width: float, height: float, **look: Any) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((left, bottom), width, height, **{**EDGE, **look}))


def _label(ax: Any, x: float, y: float, text: str, **look: Any) -> None:
    """Text in the middle of something; on a white ground, so that a hatch does not cross it."""
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    look = {"ha": "center", "va": "center", "fontsize": 9, **look}
    ax.text(x, y, text, bbox=ground if look.pop("ground", False) else None, **look)


def _arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], **look: Any) -> None:
    look = {
        "arrowstyle": "-|>",
        "color": BLACK,
        "linewidth": 1.2,
        "shrinkA": 0,
        "shrinkB": 0,
        **look,
    }
    ax.annotate("", xy=end, xytext=start, arrowprops=look)


def _bare(ax: Any, width: float, height: float) -> None:
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")


def _matrix(
    ax: Any, left: float, middle: float, shape: tuple[float, float], name: str, cut: str, ranks: int
) -> None:
    """A matrix as a rectangle, cut into the ranks' parts. shape: (width, height) of the drawing.

    cut: "columns", "rows" or "". Its name stands above it.
    """
    width, height = shape
    bottom = middle - height / 2
    if not cut:
        _box(ax, left, bottom, width, height, **WHOLE)
    for rank in range(ranks if cut else 0):
        a, b = rank / ranks, (rank + 1) / ranks
        if cut == "columns":
            _box(ax, left + a * width, bottom, (b - a) * width, height, **PARTS[rank])
        else:
            _box(ax, left, bottom + (1 - b) * height, width, (b - a) * height, **PARTS[rank])
    _label(ax, left + width / 2, bottom + height + 0.22, name, fontsize=10)


def column_then_row(ranks: int = 2) -> Any:
    """y = GELU(x A) B, with A cut by columns and B by rows: one sum, at the end."""
    figure, ax = axes(width=8.6, height=3.2)
    _bare(ax, 11.6, 4.1)
    w, h, rows, mid = 1.0, 2.0, 0.8, 2.2
    _matrix(ax, 0.1, mid, (w, rows), "x", "", ranks)
    _label(ax, 1.35, mid, "×", fontsize=13)
    _matrix(ax, 1.6, mid, (h, w), "A, by columns", "columns", ranks)
    _label(ax, 4.05, mid, "GELU\n→", fontsize=10)
    _matrix(ax, 4.5, mid, (h, rows), "GELU(x A)", "columns", ranks)
    _label(ax, 6.75, mid, "×", fontsize=13)
    _matrix(ax, 7.0, mid, (w, h), "B, by rows", "rows", ranks)
    _label(ax, 8.3, mid, "→", fontsize=13)
    # The terms, one above the other, and their sum.
    gap = 2.4 / max(ranks, 2)
    for rank in range(ranks):
        y = mid + ((ranks - 1) / 2 - rank) * gap
        tall = min(rows, gap - 0.25)
        _box(ax, 8.6, y - tall / 2, w, tall, **PARTS[rank])
        _label(ax, 8.6 + w / 2, y, f"term {rank}", ground=True, fontsize=8)
        _arrow(ax, (8.65 + w, y), (10.25, mid), color=RED)
    _matrix(ax, 10.4, mid, (w, rows), "y", "", ranks)
    _label(ax, 10.1, 0.52, "one all-reduce: g", color=RED)
    _label(ax, 5.5, 0.52, "whole hidden units: GELU needs no one else")
    _legend(ax, ranks)
    return figure


def row_first(ranks: int = 2) -> Any:
    """The same with A cut by rows: every rank has a part of every sum, and GELU has to wait."""
    figure, ax = axes(width=8.6, height=3.0)
    _bare(ax, 12.4, 4.1)
    w, h, rows, mid = 1.0, 2.0, 0.8, 2.2
    _matrix(ax, 0.1, mid, (w, rows), "x", "columns", ranks)
    _label(ax, 1.35, mid, "×", fontsize=13)
    _matrix(ax, 1.6, mid, (h, w), "A, by rows", "rows", ranks)
    _label(ax, 3.9, mid, "→", fontsize=13)
    gap = 2.4 / max(ranks, 2)
    for rank in range(ranks):
        y = mid + ((ranks - 1) / 2 - rank) * gap
        tall = min(rows, gap - 0.25)
        _box(ax, 4.2, y - tall / 2, h, tall, **PARTS[rank])
        _label(ax, 4.2 + h / 2, y, f"term {rank}, all units", ground=True, fontsize=8)
        _arrow(ax, (4.25 + h, y), (7.35, mid), color=RED)
    _matrix(ax, 7.5, mid, (h, rows), "x A", "", ranks)
    _label(ax, 9.65, mid, "→ GELU → × B …", fontsize=10, ha="left")
    _label(ax, 6.9, 0.52, "an all-reduce of x A before GELU", color=RED)
    _legend(ax, ranks)
    return figure


def _legend(ax: Any, ranks: int) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(label=f"rank {r}", **{**EDGE, **PARTS[r]}) for r in range(ranks)]
    patches.append(Patch(label="every rank", **{**EDGE, **WHOLE}))
    ax.legend(handles=patches, loc="upper center", ncols=ranks + 1, frameon=False, fontsize=9)


# --- a block --------------------------------------------------------------------------------------

_STEPS: tuple[tuple[str, str], ...] = (
    ("norm", "whole"),
    ("f", "f"),
    ("query\nkey\nvalue", "part"),
    ("attend", "part"),
    ("out", "part"),
    ("g", "g"),
    ("+ x", "whole"),
    ("norm", "whole"),
    ("f", "f"),
    ("up", "part"),
    ("GELU", "part"),
    ("down", "part"),
    ("g", "g"),
    ("+ x", "whole"),
)


def block_messages(ranks: int = 2) -> Any:
    """A Transformer block on each rank: where it is cut, and the four places where ranks talk."""
    figure, ax = axes(width=9.4, height=1.15 + 1.05 * ranks)
    wide, tall = len(_STEPS) + 1.2, 1.7 * ranks + 1.75
    _bare(ax, wide, tall)
    for rank in range(ranks):
        y = tall - 1.75 - 1.7 * rank
        _label(ax, 0.45, y, f"rank {rank}")
        for place, (name, kind) in enumerate(_STEPS):
            x = 1.1 + place
            if kind in ("f", "g"):
                _label(
                    ax,
                    x + 0.42,
                    y,
                    name,
                    fontsize=14,
                    style="italic",
                    color=RED if kind == "g" else BLUE,
                )
            else:
                look = PARTS[rank] if kind == "part" else WHOLE
                _box(ax, x, y - 0.5, 0.84, 1.0, **look)
                _label(ax, x + 0.42, y, name, ground=kind == "part", fontsize=8)
    top, bottom = tall - 1.75, tall - 1.75 - 1.7 * (ranks - 1)
    for place, (_, kind) in enumerate(_STEPS):
        x = 1.52 + place
        if kind in ("f", "g"):
            colour, dash = (RED, "-") if kind == "g" else (BLUE, "--")
            for rank in range(ranks - 1):
                y = tall - 1.75 - 1.7 * rank
                look = {"color": colour, "linestyle": dash, "arrowstyle": "<|-|>"}
                _arrow(ax, (x, y - 0.4), (x, y - 1.3), **look)
    _arrow(ax, (1.1, top + 0.95), (wide - 0.2, top + 0.95), color=RED)
    _label(ax, 1.15, top + 1.35, "forward: g sums, twice", color=RED, ha="left")
    _arrow(ax, (wide - 0.2, bottom - 0.9), (1.1, bottom - 0.9), color=BLUE, linestyle="--")
    _label(ax, wide - 0.2, bottom - 1.25, "backward: f sums, twice", color=BLUE, ha="right")
    return figure


# --- a mesh ---------------------------------------------------------------------------------------


def mesh(rows: int = 2, columns: int = 2) -> Any:
    """Ranks in rows and columns: what each holds, and what goes along a row and along a column."""
    figure, ax = axes(width=2.6 + 2.5 * columns, height=1.6 + 1.6 * rows)
    wide, tall = 1.3 + 3.6 * columns, 1.0 + 2.5 * rows
    _bare(ax, wide, tall)
    for row in range(rows):
        y = tall - 1.2 - 2.5 * row
        _label(ax, 0.95, y - 0.65, f"shard {row}\nof the batch", fontsize=9)
        for column in range(columns):
            x = 2.2 + 3.6 * column
            _box(ax, x, y - 1.35, 2.3, 1.4, **PARTS[column % len(PARTS)])
            text = f"rank {row * columns + column}\npart {column} of every layer"
            _label(ax, x + 1.15, y - 0.65, text, ground=True)
            if column + 1 < columns:
                _arrow(
                    ax, (x + 2.35, y - 0.65), (x + 3.55, y - 0.65), color=RED, arrowstyle="<|-|>"
                )
            if row + 1 < rows:
                look = {"color": BLUE, "arrowstyle": "<|-|>", "linestyle": "--"}
                _arrow(ax, (x + 1.15, y - 1.4), (x + 1.15, y - 2.4), **look)
    _label(ax, wide / 2, tall - 0.35, "along a row: activations, 4 sums a block", color=RED)
    _label(ax, wide / 2, 0.25, "along a column: gradients, one average a step", color=BLUE)
    return figure


# --- what it costs --------------------------------------------------------------------------------


def cut_vocabulary(
    vocabulary: int = 12, positions: int = 4, ranks: int = 3, targets: Sequence[int] = (1, 6, 10, 4)
) -> Any:
    """Scores cut by tokens: what each rank holds, and the numbers that it sends."""
    figure, ax = axes(width=8.6, height=3.4)
    wide = vocabulary + 1.4 * ranks + 1.2
    _bare(ax, wide + 1, positions + 4.4)
    for rank, (start, stop) in enumerate(chunk_bounds(vocabulary, ranks)):
        left = 1.6 + start + 1.4 * rank
        for position in range(positions):
            y = positions + 2.2 - position
            for token in range(start, stop):
                _box(ax, left + token - start, y, 1, 1, **PARTS[rank])
                if targets[position] == token:
                    _label(
                        ax, left + token - start + 0.5, y + 0.5, "target", ground=True, fontsize=6.5
                    )
        middle = left + (stop - start) / 2
        _label(ax, middle, positions + 3.55, f"rank {rank}: tokens {start} to {stop - 1}")
        _arrow(ax, (middle, 3.1), (middle, 2.1), color=RED)
        _label(ax, middle, 1.6, "max, sum, target", color=RED)
    for position in range(positions):
        _label(ax, 0.9, positions + 2.7 - position, f"position {position}", fontsize=8)
    _label(
        ax,
        (wide + 1.6) / 2,
        0.7,
        f"three numbers a position, however many tokens: not {vocabulary} scores",
        color=RED,
    )
    return figure


def show_column_then_row() -> None:
    """A layer cut by columns, and the next by rows."""
    show(
        column_then_row(2),
        caption="A by columns, then B by rows: the ranks meet once, at the end.",
        alt="x times A, whose columns belong to two ranks; each applies GELU to its own "
        "units and multiplies by its rows of B; an all-reduce sums the two terms to y.",
    )


def show_row_first() -> None:
    """The same with the first layer cut by rows."""
    show(
        row_first(2),
        caption="The other way round each rank has a part of every hidden unit, and GELU has "
        "to wait for an all-reduce.",
        alt="x cut by columns and A by rows: each rank has a term of all hidden units; an "
        "all-reduce comes before GELU.",
    )


def show_block_messages() -> None:
    """A Transformer block on two ranks."""
    show(
        block_messages(2),
        caption="A block on two ranks: two all-reduces forward (g), two backward (f). Norms "
        "and sums run on every rank alike.",
        alt="Two rows of boxes, one a rank: norm, f, query key value, attend, out, g, plus "
        "x, then norm, f, up, GELU, down, g, plus x. Arrows between the ranks stand at "
        "the two g and the two f.",
    )


def show_vocabulary() -> None:
    """Scores cut by tokens over three ranks."""
    show(
        cut_vocabulary(),
        caption="Three numbers a position travel, however many tokens there are.",
        alt="A table of scores, four positions by twelve tokens, cut by tokens over three "
        "ranks; under each rank an arrow says max, sum, target.",
    )


def show_mesh() -> None:
    """Four ranks in a mesh."""
    show(
        mesh(2, 2),
        caption="Ranks of a row hold parts of the same layers; ranks of a column hold the same "
        "part and see other rows of the batch.",
        alt="Four ranks in two rows and two columns. Red arrows along rows: activations, 4 "
        "sums a block. Blue dashed arrows along columns: gradients, one average a step.",
    )
