"""The README's figure, drawn from benchmarks/results: ours beside the peers, in one run each.

python -m benchmarks.figure
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from helpers.notebook.style import BLUE, ORANGE, axes

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "docs" / "benchmarks.png"

PANELS = (
    ("launch", "4 torch ranks", "4 ranks, from call to answer (s)", 1.0),
    ("collectives", "40 MB, 2 ranks", "all-reduce of 40 MB on 2 ranks (ms)", 1e3),
    ("data-parallel", "2 ranks", "training step on 2 ranks (ms)", 1e3),
)
PEERS = ("torchrun", "mp.spawn", "notebook_launcher", "gloo", "copy", "torch DDP", "Horovod")


def load(name: str) -> dict[str, Any]:
    """The results of one benchmark, as `python -m benchmarks.run NAME --save` kept them."""
    found: dict[str, Any] = json.loads((HERE / "results" / f"{name}.json").read_text())
    return found


def panel(ax: Any, name: str, case: str, label: str, unit: float) -> None:
    """One benchmark: a bar for each contender, ours in blue, with its time at the end."""
    rows = [row for row in load(name)["rows"] if row["case"] == case]
    for at, row in enumerate(rows):
        value = row["median_s"] * unit
        peer = row["name"].startswith(PEERS)
        ax.barh(at, value, color=ORANGE if peer else BLUE, hatch="//" if peer else "", height=0.6)
        ax.annotate(f"{value:.3g}", (value, at), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=9)  # fmt: skip
    ax.set_yticks(range(len(rows)), [row["name"] for row in rows], fontsize=9)
    ax.set_xlim(0, 1.2 * max(row["median_s"] for row in rows) * unit)
    ax.set_xlabel(label, fontsize=10)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)


def main() -> None:
    """Draw docs/benchmarks.png."""
    figure, grid = axes(columns=1, rows=len(PANELS), width=7.5, height=6.6)
    for ax, (name, case, label, unit) in zip(grid, PANELS, strict=True):
        panel(ax, name, case, label, unit)
    machine = load("launch")["machine"]
    figure.suptitle(
        f"Ours in blue, peers hatched; {machine['processor']}, {machine['cores']} cores",
        fontsize=10,
    )
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
