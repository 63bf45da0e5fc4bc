"""The pictures of kept figures: ours beside the peers, in one run each.

Each file says in its metadata what it shows, so that a test can tell whether that is still so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.kept import Store
from helpers.course.setup.places import ROOT

DOCS = ROOT / "docs"
KEY = "Description"  # of what PNG knows about itself


class Panel(NamedTuple):
    """One case of a benchmark. unit: how many of what `label` names are a second."""

    benchmark: str
    case: str
    label: str
    unit: float


PICTURES = {
    "benchmarks.png": (
        Panel("launch", "4 torch ranks", "4 ranks, from call to answer (s)", 1.0),
        Panel("collectives", "40 MB, 2 ranks", "all-reduce of 40 MB on 2 ranks (ms)", 1e3),
        Panel("data-parallel", "2 ranks", "training step on 2 ranks (ms)", 1e3),
    ),
    "benchmarks-more.png": (
        Panel("hosts", "20 MB, 4 hosts, 1gbit", "all-reduce of 20 MB, 4 hosts, 1 Gbit/s (ms)", 1e3),
        Panel("simulate", "100 workers", "20 000 updates by 100 workers, simulated (ms)", 1e3),
        Panel("quantize", "linear 4096 × 4096, batch 32", "linear layer, 32 rows (ms)", 1e3),
        Panel("grade", "exercise 02.1, seconds a submission", "a submission graded (s)", 1.0),
    ),
}
PEERS = (
    "torchrun", "mp.spawn", "notebook_launcher", "gloo", "copy", "torch", "Horovod", "plain TCP",
    "SimPy", "fp32", "bf16", "nbgrader", "otter",
)  # fmt: skip


def bars(store: Store, panel: Panel) -> dict[str, float]:
    """What each contender took, in the panel's unit; none where it is not kept."""
    kept = store.load(panel.benchmark)
    rows = [row for row in kept.rows if row.case == panel.case] if kept else []
    return {row.name: float(f"{row.median_s * panel.unit:.3g}") for row in rows}


def shown(store: Store, picture: str) -> str:
    """What a picture shows, as JSON."""
    found = {panel.label: bars(store, panel) for panel in PICTURES[picture]}
    return json.dumps({"machine": store.machine, "panels": found})


def told(path: Path) -> str:
    """What a file says that it shows."""
    from PIL import Image

    with Image.open(path) as image:
        return str(image.info.get(KEY, ""))


def alt(store: Store, picture: str) -> str:
    """A picture in words, for those who do not see it."""
    parts = [
        f"{panel.label}: " + "; ".join(f"{name}, {v:g}" for name, v in bars(store, panel).items())
        for panel in PICTURES[picture]
    ]
    return f"{len(parts)} bar charts. {'. '.join(parts)}."


def draw(store: Store, picture: str) -> Path:
    """Draw a picture into docs/. Returns its path."""
    import matplotlib

    matplotlib.use("Agg")

    from helpers.notebook.style import axes

    panels = PICTURES[picture]
    figure, grid = axes(columns=1, rows=len(panels), width=7.5, height=2.2 * len(panels))
    for ax, panel in zip(grid, panels, strict=True):
        _panel(ax, panel.label, bars(store, panel))
    figure.suptitle(f"Ours in blue, peers hatched; {processor(store)}", fontsize=10)
    path = DOCS / picture
    figure.savefig(path, dpi=110, metadata={KEY: shown(store, picture)})
    return path


def processor(store: Store) -> str:
    """The machine of the first picture in a few words."""
    kept = store.load(PICTURES["benchmarks.png"][0].benchmark)
    found = kept.machine if kept else None
    return f"{found['processor']}, {found['cores']} cores" if found else store.machine


def _panel(ax: Any, label: str, values: dict[str, float]) -> None:
    """A bar for each contender, ours in blue, with its time at the end."""
    from helpers.notebook.style import BLUE, ORANGE

    for at, (name, value) in enumerate(values.items()):
        peer = name.startswith(PEERS)
        ax.barh(at, value, color=ORANGE if peer else BLUE, hatch="//" if peer else "", height=0.6)
        ax.annotate(f"{value:g}", (value, at), xytext=(4, 0), textcoords="offset points",
                    va="center", fontsize=9)  # fmt: skip
    ax.set_yticks(range(len(values)), list(values), fontsize=9)
    ax.set_xlim(0, 1.2 * max(values.values(), default=1.0))
    ax.set_xlabel(label, fontsize=10)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
