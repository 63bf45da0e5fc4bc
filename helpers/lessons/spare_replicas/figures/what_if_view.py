"""Figures of lesson 07's last round: a run and what it would have been, and who costs what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.lessons.spare_replicas.algorithms.blame import Blame, lasted
from helpers.notebook.figures import show
from helpers.notebook.style import ACTIVITY, BLUE, GREY, axes, style

Run = tuple[Any, Any]  # begun: (steps + 1, workers) and ready: (steps, workers), in seconds


def show_runs(runs: Mapping[str, Run], steps: int, caption: str, alt: str) -> None:
    """Timelines of several runs' first steps, one above the other: computing, waiting, sending."""
    workers = max(ready.shape[1] for _, ready in runs.values())
    figure, drawn = axes(rows=len(runs), width=9.0, height=len(runs) * (0.95 + 0.36 * workers))
    rows = list(drawn) if len(runs) > 1 else [drawn]
    shown = {name: (begun[: steps + 1], ready[:steps]) for name, (begun, ready) in runs.items()}
    until = max(lasted(begun) for begun, _ in shown.values())
    scale, unit = (1.0, "s") if until >= 1 else (1e-3, "ms")
    for ax, (name, (begun, ready)) in zip(rows, shown.items(), strict=True):
        with style():
            _draw(ax, begun, ready, scale)
            many = f"{len(ready)} step{'s' * (len(ready) != 1)}"
            ax.set_title(f"{name}: {lasted(begun) / scale:.4g} {unit} for {many}")
            ax.set_xlim(0, 1.01 * until / scale)
    rows[-1].set_xlabel(f"time ({unit})")
    _legend(figure)
    show(figure, caption, alt)


def _draw(ax: Any, begun: Any, ready: Any, scale: float) -> None:
    start = float(begun[0].min())
    for step, moments in enumerate(ready):
        last = float(moments.max())
        for worker in range(len(moments)):
            starts, ends = float(begun[step][worker]), float(begun[step + 1][worker])
            edges = (starts, float(moments[worker]), last, ends)
            for kind, left, right in zip(
                ("computing", "waiting", "sending"), edges, edges[1:], strict=False
            ):
                if right - left > 1e-9:
                    width, place = (right - left) / scale, (left - start) / scale
                    look = {"edgecolor": "#444444", "linewidth": 0.6, **ACTIVITY[kind]}
                    ax.barh(worker, width, height=0.6, left=place, **look)
    ax.set_yticks(range(ready.shape[1]), [f"worker {w}" for w in range(ready.shape[1])])
    ax.set_ylim(ready.shape[1] - 0.5, -0.5)
    ax.grid(axis="y", visible=False)


def _legend(figure: Any) -> None:
    from matplotlib.patches import Patch

    names = {"computing": "computing", "waiting": "waiting for others", "sending": "sending"}
    handles = [Patch(edgecolor="#444444", label=name, **ACTIVITY[k]) for k, name in names.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False)


def show_blame(blame: Blame) -> None:
    """What each worker costs by itself, and what part of the lost time each of them explains."""
    figure, (left, right) = axes(columns=2, width=9.0, height=3.0)
    workers = list(blame.workers)
    costs = [blame.cost(worker) for worker in workers]
    late = set(blame.stragglers())
    colours = [BLUE if worker in late else GREY for worker in workers]
    left.bar(workers, costs, color=colours, width=0.6)
    left.axhline(1, color="black", linewidth=1, linestyle=":")
    left.set(ylabel="S of this worker alone", ylim=(0.9, 0.9 + 1.15 * (max(costs) - 0.9)))
    shares = [100 * (blame.explained([worker]) or 0.0) for worker in workers]
    together = 100 * (blame.explained(sorted(late)) or 0.0)
    right.bar(
        [*map(str, workers), "all\nlate"], [*shares, together], color=[*colours, BLUE], width=0.6
    )
    right.set(ylabel="lost time that is back (%)", ylim=(min(0, *shares) * 1.1, 115))
    for ax in (left, right):
        ax.set_xlabel("worker")
        ax.grid(axis="x", visible=False)
    left.set_xticks(workers)
    words = [f"worker {w}: S {costs[w]:.2f}, {shares[w]:.0f} %" for w in workers]
    alone = " and ".join(f"{shares[w]:.0f} %" for w in sorted(late))
    named = " and ".join(map(str, sorted(late)))
    show(
        figure,
        caption="Left: the slowdown if this worker alone were late. Right: repair one, or all that "
        f"are late (blue: workers {named}). Alone they bring back {alone}, together "
        f"{together:.0f} %.",
        alt=f"Bars for each worker. {'; '.join(words)}. All late ones together: {together:.0f} %.",
    )


def show_as_it_was(begun: Any, ready: Any) -> None:
    """A run with two stragglers, ten steps of it."""
    show_runs(
        {"as it was": (begun, ready)},
        steps=10,
        caption="In most steps everybody waits for worker 2, in every fifth for worker 4. "
        "Sending begins for all when the last gradient of the step is ready.",
        alt="Timeline of six workers and ten steps. Worker 2 computes half as long again "
        "as the others, which wait for it. In two steps worker 4 computes three times "
        "as long, and all others wait, worker 2 less than the rest.",
    )


def show_replayed(runs: Mapping[str, Run]) -> None:
    """The same steps, and what they would have been with some workers fixed."""
    show_runs(
        runs,
        steps=10,
        caption="The same steps replayed. What is left of waiting is everybody's jitter.",
        alt="Two timelines of six workers and ten steps. Above, the run as before; below, "
        "steps that are all about as long, with hardly any waiting, and that end much "
        "sooner.",
    )
