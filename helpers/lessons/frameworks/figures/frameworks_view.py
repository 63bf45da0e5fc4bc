"""Figures of lesson 04: curves that lie on each other, mistakes, and when gradients are summed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from helpers.lessons.frameworks.figures.frameworks_mistakes import train_wrong
from helpers.notebook.figures import show
from helpers.notebook.style import ACTIVITY, BLACK, BLUE, CYCLE, RED, axes, fix_layout, style

FLOOR = 1e-8  # of a logarithmic axis: differences below are drawn here


def show_curves(
    alone: Sequence[float], runs: Mapping[str, Sequence[float]], caption: str, alt: str
) -> None:
    """Loss curves over each other, and each one's difference from the one of a single process.

    alone: the single process's loss in each step. runs: those of others, by name.
    """
    figure, (left, right) = axes(columns=2, width=9.2, height=4.0)
    steps = range(1, len(alone) + 1)
    left.plot(steps, alone, color="#BBBBBB", linewidth=9, solid_capstyle="round")
    for number, (name, losses) in enumerate(runs.items()):
        look = {"color": CYCLE[number % len(CYCLE)], "linestyle": _DASHES[number % len(_DASHES)]}
        marker = {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 5}
        every = {"markevery": (number, max(len(runs), 5))}
        left.plot(steps, losses, linewidth=1.4, **look, **marker, **every)
        gap = np.maximum(np.abs(np.subtract(losses, alone)), FLOOR)
        right.plot(steps, gap, linewidth=1.2, label=name, **look, **marker, **every)
    left.plot([], [], color="#BBBBBB", linewidth=9, label="one process")
    left.set_xlabel("step")
    left.set_ylabel("loss (nats)")
    left.set_title("Loss of each step", loc="left")
    left.legend(loc="upper right")
    right.set_yscale("log")
    right.set_ylim(FLOOR * 0.8, 10)
    right.set_xlabel("step")
    right.set_ylabel("difference (nats)")
    right.set_title("Difference from one process", loc="left")
    right.legend(loc="upper right", ncols=2, fontsize=9)
    show(figure, caption=caption, alt=alt)


_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1)), (0, (6, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def show_mistakes(alone: Sequence[float], runs: Mapping[str, Any], caption: str, alt: str) -> None:
    """Loss curves of runs beside one process's, and how far their ranks are apart at the end."""
    figure, (left, right) = axes(columns=2, width=9.2, height=3.5)
    steps = range(1, len(alone) + 1)
    left.plot(steps, alone, color="#BBBBBB", linewidth=8, label="one process")
    for number, (name, run) in enumerate(runs.items()):
        left.plot(steps, run.losses, color=CYCLE[number], linestyle=_DASHES[number], label=name)
    left.set_xlabel("step")
    left.set_ylabel("loss (nats)")
    left.legend()
    places = np.arange(len(runs))
    apart = [max(run.apart, FLOOR) for run in runs.values()]
    away = [max(run.from_alone(), FLOOR) for run in runs.values()]
    right.barh(places - 0.2, apart, height=0.36, color=BLUE, label="rank 1 from rank 0")
    right.barh(
        places + 0.2, away, height=0.36, color=RED, hatch="////", label="rank 0 from one process"
    )
    right.set_yticks(places, list(runs))
    right.invert_yaxis()
    right.set_xscale("log")
    right.set_xlim(FLOOR * 0.8, 10)
    right.grid(axis="y", visible=False)
    right.set_xlabel("largest difference of a weight")
    right.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, fontsize=9)
    show(figure, caption=caption, alt=alt)


def draw_mistake(mistake: str, ranks: int, learning_rate: float) -> Any:
    """The widget's picture: loss, and how far the weights are apart, with one thing wrong."""
    seen = train_wrong(mistake, ranks, learning_rate)
    figure, (left, right) = axes(columns=2, width=9.2, height=3.4)
    fix_layout(figure, left=0.06, right=0.99, bottom=0.15, top=0.95, wspace=0.24)
    steps = range(1, len(seen.losses) + 1)
    left.plot(steps, seen.alone, color="#BBBBBB", linewidth=8, label="one process")
    left.plot(steps, seen.losses, color=BLACK, label=f"{ranks} ranks, wrong: {mistake}")
    left.set_ylim(0, 5)
    left.set_xlabel("step")
    left.set_ylabel("mean loss (nats)")
    left.legend(loc="upper right")
    for values, colour, dashes, name in (
        (seen.apart, BLUE, "-", "between ranks"),
        (seen.away, RED, "--", "rank 0 from one process"),
    ):
        shown = np.clip(values, FLOOR, 1e3)
        right.plot(steps, shown, color=colour, linestyle=dashes, label=name)
    right.set_yscale("log")
    right.set_ylim(FLOOR / 2, 2e3)
    right.set_xlabel("step")
    right.set_ylabel("largest difference of a weight")
    right.legend(loc="upper right")
    return figure


def mistake_alt(mistake: str, ranks: int, learning_rate: float) -> str:
    """What the widget's picture shows, in words."""
    losses, _, apart, away = train_wrong(mistake, ranks, learning_rate)
    return (
        f"Two line charts over 50 steps on {ranks} ranks with a learning rate of "
        f"{learning_rate:g}; wrong is: {mistake}. The loss ends at {losses[-1]:.2f} nats; the "
        f"ranks' weights end {apart[-1]:.2g} apart, and rank 0 {away[-1]:.2g} from one process."
    )


# --- when gradients are summed ------------------------------------------------------------------

LAYERS = 4
LAYER = 1e-3  # seconds that backward takes in each layer
NBYTES = 250_000  # of each layer's gradients
POLICIES = ("one by one, afterwards", "fused into one, afterwards", "in buckets, while it runs")


def step_under(comm: Any, policy: str) -> float:
    """One backward and its sums on the virtual clock; seconds of this rank.

    policy: one of POLICIES.
    """
    import torch

    from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

    layer = torch.zeros(NBYTES // 4)
    requests = []
    for _ in range(LAYERS):
        comm.compute(LAYER)
        if policy == POLICIES[2]:
            requests.append(comm.background(all_reduce_ring, layer))
    if policy == POLICIES[0]:
        for _ in range(LAYERS):
            all_reduce_ring(comm, layer)
    if policy == POLICIES[1]:
        all_reduce_ring(comm, torch.zeros(LAYERS * NBYTES // 4))
    for request in requests:
        request.wait()
    return float(comm.time())


def show_policies(latency: float = 200e-6, bandwidth: float = 1e9) -> dict[str, float]:
    """A step of two ranks under each policy, as timelines; milliseconds by policy."""
    from matplotlib.patches import Patch

    import helpers

    runs = {
        policy: helpers.run(
            step_under, policy, ranks=2, engine="virtual", latency=latency, bandwidth=bandwidth
        )
        for policy in POLICIES
    }
    took = {policy: 1e3 * max(run) for policy, run in runs.items()}
    figure, each = axes(rows=3, width=8.6, height=6.2)
    longest = max(took.values())
    with style():
        for number, (ax, (policy, run)) in enumerate(zip(each, runs.items(), strict=True)):
            run.trace.plot(ax=ax, title=f"{policy}: {took[policy]:.2f} ms", arrows=False)
            ax.set_xlim(0, longest * 1.02)
            if number < 2:
                ax.set_xlabel("")
            if ax.get_legend() is not None:
                ax.get_legend().remove()
        names = ("computing", "sending", "waiting")
        patches = [
            Patch(label=name, edgecolor="#444444", linewidth=0.4, **ACTIVITY[name])
            for name in names
        ]
        figure.legend(handles=patches, loc="outside upper right", ncols=3)
    words = "; ".join(f"{policy}, {ms:.2f} ms" for policy, ms in took.items())
    show(
        figure,
        caption="Backward takes 4 ms in each case. Fusing saves messages, overlapping saves "
        "waiting; frameworks do some of each.",
        alt=f"Three timelines of two ranks, on the virtual clock: {words}. In the last one the "
        "sums run on the second lane while backward computes.",
    )
    return took


def show_prepared(alone: Sequence[float], torch_runs: Mapping[str, Any]) -> None:
    """A right run and two with one call missing or doubled. alone: one process's losses."""
    show_mistakes(
        alone,
        torch_runs,
        caption="Without the broadcast the loss still falls, and the two ranks hold different "
        "models to the end. Averaged twice, the ranks agree (no bar: no difference) "
        "and learn at half the rate.",
        alt="Left, loss curves over 50 steps: the right run lies on one process's, both "
        "mistakes fall more slowly. Right, bars on a logarithmic axis: without "
        "broadcast rank 1 is far from rank 0; averaged twice the ranks agree but are "
        "far from one process; the right run is "
        f"{torch_runs['as it is'].from_alone():.0e} away.",
    )


def show_seven(alone: Any, runs: Mapping[str, Any]) -> None:
    """Seven ways to the same training, beside one process's run."""
    apart = max(
        abs(loss - right)
        for run in runs.values()
        for loss, right in zip(run.losses, alone.losses, strict=True)
    )
    show_curves(
        alone.losses,
        {name: run.losses for name, run in runs.items()},
        caption="Seven loss curves lie on each other and on one process's; what they differ by "
        "is rounding (a difference of nothing is drawn at 1e-8).",
        alt=f"Left, eight loss curves from {alone.losses[0]:.1f} down to "
        f"{alone.losses[-1]:.1f} nats that cannot be told apart. Right, each one's "
        f"difference from one process on a logarithmic axis: {apart:.0e} at most in all "
        "50 steps.",
    )
