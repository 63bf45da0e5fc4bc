"""Figures of lesson 04: curves that lie on each other, mistakes, and when gradients are summed.

Replicas with one thing wrong are there by pieces for a real run, and quickly together for a widget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.frameworks.experiments import setting
from helpers.notebook.figures import show
from helpers.notebook.style import BLACK, BLUE, CYCLE, RED, axes, fix_layout, rows

FLOOR = 1e-8  # of a logarithmic axis: differences below are drawn here
ROUNDING = 1e-5  # nats; what float32 leaves of a loss after 50 steps is less
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1)), (0, (6, 2, 1, 2)))
MARKERS = "os^DvPX"
ALONE: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 8, "solid_capstyle": "round"}


def show_seven(alone: Any, runs: Mapping[str, Any]) -> None:
    """Loss curves of seven ways over one process's, and each one's difference from it."""
    figure, (left, right) = axes(columns=2, width=9.2, height=4.0)
    steps = range(1, len(alone.losses) + 1)
    left.plot(steps, alone.losses, **ALONE, label="one process")
    gaps = {name: np.abs(np.subtract(run.losses, alone.losses)) for name, run in runs.items()}
    for number, (name, gap) in enumerate(gaps.items()):
        look = {"color": CYCLE[number], "linestyle": DASHES[number % len(DASHES)]}
        look |= {"marker": MARKERS[number], "markersize": 5, "markevery": (number, len(runs))}
        left.plot(steps, runs[name].losses, linewidth=1.4, **look)
        right.plot(steps, np.maximum(gap, FLOOR), linewidth=1.2, label=name, **look)
    left.set(xlabel="step", ylabel="loss (nats)", title="Loss of each step")
    left.legend(loc="upper right")
    right.set(yscale="log", ylim=(FLOOR * 0.8, 10), xlabel="step", ylabel="difference (nats)")
    right.set_title("Difference from one process")
    right.legend(loc="upper right", ncols=2, fontsize=9)
    most = max(map(max, gaps.values()))
    far = [name for name, gap in gaps.items() if max(gap) > ROUNDING]
    caption = (
        "Seven loss curves lie on each other and on one process's; what they differ by is rounding"
    )
    if far:
        caption = f"More than rounding from one process's loss: {', '.join(far)}"
    show(
        figure,
        caption=f"{caption} (a difference of nothing is drawn at 1e-8).",
        alt=f"Left, eight loss curves from {alone.losses[0]:.1f} down to "
        f"{alone.losses[-1]:.1f} nats{'' if far else ' that cannot be told apart'}. Right, each "
        f"one's difference from one process on a logarithmic axis: {most:.0e} at most in all 50 "
        "steps.",
    )


def show_prepared(alone: Sequence[float], torch_runs: Mapping[str, Any]) -> None:
    """A right run and two with one call missing or doubled: losses, and how far apart ranks end.

    alone: one process's losses.
    """
    figure, (left, right) = axes(columns=2, width=9.2, height=3.5)
    steps = range(1, len(alone) + 1)
    left.plot(steps, alone, **ALONE, label="one process")
    for number, (name, run) in enumerate(torch_runs.items()):
        left.plot(steps, run.losses, color=CYCLE[number], linestyle=DASHES[number], label=name)
    left.set(xlabel="step", ylabel="loss (nats)")
    left.legend()
    places = np.arange(len(torch_runs))
    apart = [max(run.apart, FLOOR) for run in torch_runs.values()]
    away = [max(run.from_alone(), FLOOR) for run in torch_runs.values()]
    hatched = {"color": RED, "hatch": "////", "label": "rank 0 from one process"}
    right.barh(places - 0.2, apart, height=0.36, color=BLUE, label="rank 1 from rank 0")
    right.barh(places + 0.2, away, height=0.36, **hatched)
    rows(right, list(torch_runs))
    right.set(xscale="log", xlim=(FLOOR * 0.8, 10), xlabel="largest difference of a weight")
    right.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, fontsize=9)
    fine, missing, twice = torch_runs.values()
    falls = "still falls" if missing.losses[-1] < missing.losses[0] else "does not fall"
    hold = "hold different models" if missing.apart > ROUNDING else "hold one model"
    agree = "agree (no bar: no difference)" if not twice.apart else f"are {twice.apart:.0e} apart"
    behind = round(twice.losses[-1] - fine.losses[-1], 3)
    than = "as low" if behind == 0 else "lower"
    hides = "" if behind > 0 else f", though their loss ends {than} here"
    ends = "; ".join(f"{name} {run.losses[-1]:.2f}" for name, run in torch_runs.items())
    far = "; ".join(
        f"{name}: rank 1 {run.apart:.0e} from rank 0, and rank 0 {run.from_alone():.0e} from one "
        "process"
        for name, run in torch_runs.items()
    )
    show(
        figure,
        caption=f"Without the broadcast the loss {falls}, and the two ranks {hold} to the end. "
        f"Averaged twice, the ranks {agree} and learn at half the rate{hides}.",
        alt=f"Left, loss curves over 50 steps, which end, in nats: {ends}. Right, bars on a "
        f"logarithmic axis. {far}.",
    )


# --- mistakes ------------------------------------------------------------------------------------

MISTAKES = ("no broadcast", "averaged twice", "summed", "not averaged", "nothing")
Arrays = list[np.ndarray]


class Silent:
    """Horovod with broadcasts that do nothing."""

    def __init__(self, hvd: Any) -> None:
        self._hvd = hvd

    def __getattr__(self, name: str) -> Any:
        if name.startswith("broadcast"):
            return lambda *args, **options: None
        return getattr(self._hvd, name)


def without_broadcast(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The same `prepare(hvd, model, optimizer)`, and nobody hears a broadcast."""
    return lambda hvd, *others: prepare(Silent(hvd), *others)


def averaging_twice(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The same `prepare`, and each gradient is divided by the number of ranks once more."""

    def twice(hvd: Any, model: Any, optimizer: Any) -> Any:
        for parameter in model.parameters():
            parameter.register_hook(lambda gradient: gradient / hvd.size())
        return prepare(hvd, model, optimizer)

    return twice


class Course(NamedTuple):
    """Of each step: the mean loss of the ranks and one process's; the largest difference between
    rank 0's weights and another rank's (apart), and between rank 0's and one process's (away).
    """

    losses: list[float]
    alone: list[float]
    apart: list[float]
    away: list[float]


@cache
def train_wrong(mistake: str, ranks: int, rate: float = setting.RATE) -> Course:
    """Replicas of the lesson's setting with one of MISTAKES, for 50 steps; all ranks at once."""
    whole = setting.task()
    replicas = _stacked([rank if mistake == "no broadcast" else 0 for rank in range(ranks)])
    alone = _stacked([0])
    scale = {"averaged twice": 1 / ranks, "summed": float(ranks)}.get(mistake, 1.0)
    seen = Course([], [], [], [])
    for x, y in zip(whole.x, whole.y, strict=True):
        losses, slopes = _slopes(replicas, x.reshape(ranks, -1, x.shape[1]), y.reshape(ranks, -1))
        if mistake != "not averaged":
            slopes = [scale * slope.mean(0, keepdims=True) for slope in slopes]
        replicas = [w - rate * slope for w, slope in zip(replicas, slopes, strict=True)]
        loss, slopes = _slopes(alone, x[None], y[None])
        alone = [w - rate * slope for w, slope in zip(alone, slopes, strict=True)]
        seen.losses.append(float(losses.mean()))
        seen.alone.append(float(loss[0]))
        seen.apart.append(max(float(np.abs(w - w[0]).max()) for w in replicas))
        pairs = zip(replicas, alone, strict=True)
        seen.away.append(max(float(np.abs(w[0] - one[0]).max()) for w, one in pairs))
    return seen


def _stacked(seeds: list[int]) -> Arrays:
    """The weights of several replicas, by their seeds, along a dimension more."""
    starts = zip(*(setting.weights(seed) for seed in seeds), strict=True)
    return [np.stack(same).astype(float) for same in starts]


def _slopes(weights: Arrays, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Arrays]:
    """Each replica's mean cross-entropy over its rows, and its gradients, in torch's layout."""
    first, first_bias, last, last_bias = weights
    hidden = np.tanh(x @ first.swapaxes(1, 2) + first_bias[:, None])
    out = hidden @ last.swapaxes(1, 2) + last_bias[:, None]
    out -= out.max(axis=2, keepdims=True)
    log = out - np.log(np.exp(out).sum(axis=2, keepdims=True))
    right = np.eye(out.shape[2])[y]
    losses = -(log * right).sum(axis=2).mean(axis=1)
    delta = (np.exp(log) - right) / y.shape[1]
    back = delta @ last * (1 - hidden**2)
    slopes = [back.swapaxes(1, 2) @ x, back.sum(axis=1), delta.swapaxes(1, 2) @ hidden]
    return losses, [*slopes, delta.sum(axis=1)]


def draw_mistake(mistake: str, ranks: int, learning_rate: float) -> Any:
    """The widget's picture: loss, and how far the weights are apart, with one thing wrong."""
    seen = train_wrong(mistake, ranks, learning_rate)
    figure, (left, right) = axes(columns=2, width=9.2, height=3.4)
    fix_layout(figure, left=0.06, right=0.99, bottom=0.15, top=0.95, wspace=0.24)
    steps = range(1, len(seen.losses) + 1)
    left.plot(steps, seen.alone, **ALONE, label="one process")
    left.plot(steps, seen.losses, color=BLACK, label=f"{ranks} ranks, wrong: {mistake}")
    left.set(xlabel="step", ylabel="mean loss (nats)", ylim=(0, 5))
    left.legend(loc="upper right")
    apart, away = (np.clip(values, FLOOR, 1e3) for values in (seen.apart, seen.away))
    right.plot(steps, apart, color=BLUE, label="between ranks")
    right.plot(steps, away, color=RED, linestyle="--", label="rank 0 from one process")
    right.set(yscale="log", ylim=(FLOOR / 2, 2e3), xlabel="step")
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


def show_policies() -> dict[str, float]:
    """A step of two ranks under each policy, as timelines; milliseconds by policy."""
    import helpers

    link: dict[str, Any] = {"latency": 200e-6, "bandwidth": 1e9}
    runs = {
        policy: helpers.run(step_under, policy, ranks=2, engine="virtual", **link)
        for policy in POLICIES
    }
    took = {policy: 1e3 * max(run) for policy, run in runs.items()}
    figure, each = axes(rows=3, width=8.6, height=6.2)
    for ax, (policy, run) in zip(each, runs.items(), strict=True):
        run.trace.plot(ax=ax, title=f"{policy}: {took[policy]:.2f} ms", arrows=False)
        ax.set_xlim(0, max(took.values()) * 1.02)
        handles, labels = ax.get_legend().legend_handles, [*ax.get_legend().texts]
        ax.get_legend().remove()
        if ax is not each[-1]:
            ax.set_xlabel("")
    names = [label.get_text() for label in labels]
    figure.legend(handles, names, loc="outside upper right", ncols=3, frameon=False)
    words = "; ".join(f"{policy}, {ms:.2f} ms" for policy, ms in took.items())
    show(
        figure,
        caption="Backward takes 4 ms in each case. Fusing saves messages, overlapping saves "
        "waiting; frameworks do some of each.",
        alt=f"Three timelines of two ranks, on the virtual clock: {words}. In the last one the "
        "sums run on the second lane while backward computes.",
    )
    return took
