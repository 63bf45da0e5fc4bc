"""Figures of parameter servers, with caption and alt text.

"On the clock" means on the virtual clock: real gradients, virtual seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import isclose
from typing import Any

from helpers.engine.servers.training import Training
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    axes,
    measured,
    modelled,
    note,
    published,
    rows,
    ticks,
)


def draw_errors(
    xlabel: str, xs: Sequence[float], errors: Mapping[str, Sequence[float]], legend: str
) -> Any:
    """Test errors after training against what was varied, on a logarithmic axis; two series."""
    figure, ax = axes(height=3.3)
    for (name, values), colour, mark in zip(errors.items(), (BLUE, RED), "os", strict=True):
        ax.plot(xs, values, color=colour, marker=mark, label=name)
    ax.set(xscale="log", ylim=(0, 100), xlabel=xlabel, ylabel="test error (%)")
    ticks(ax.xaxis, xs)
    ax.legend(loc=legend)
    return figure


def show_averaging(intervals: Sequence[int], errors: Mapping[str, Sequence[float]]) -> None:
    """Test errors after training, by how many steps lie between two averages."""
    said = "; ".join(
        f"{name}: {values[0]:.0f} % when averaged every step, {values[-1]:.0f} % when averaged once"
        for name, values in errors.items()
    )
    ends = " and ".join(f"{values[-1]:.0f} % with {name}" for name, values in errors.items())
    show(
        draw_errors("steps alone between two averages", intervals, errors, "upper left"),
        caption=f"Averaged once, after all their steps, the workers end at an error of {ends}. Who "
        "sees other data than the rest drifts apart, and the mean of what they know is little.",
        alt=f"Line chart of the test error against the steps between two averages, logarithmic. "
        f"{said}.",
    )


def show_rates(rates: Sequence[float], errors: Mapping[str, Sequence[float]]) -> None:
    """Test errors after training by learning rate, plain SGD beside Adagrad."""
    best = {name: min(values) for name, values in errors.items()}
    ends = ", ".join(
        f"{name} {best[name]:.0f} % at {rates[values.index(best[name])]:g}"
        for name, values in errors.items()
    )
    said = "; ".join(f"{name}: {error:.0f} % at best" for name, error in best.items())
    show(
        draw_errors("learning rate", rates, errors, "upper center"),
        caption=f"Each at its best rate, in the same number of updates: {ends}.",
        alt=f"Line chart of the test error against the learning rate, logarithmic. {said}.",
    )


def show_throughput(
    counted: Mapping[tuple[int, int], float], model: Callable[[int, int], float]
) -> None:
    """Gradients a second by workers, one series for each number of servers.

    counted: on the clock, by (workers, servers). model(workers, servers): by formula.
    """
    figure, ax = axes(height=3.6)
    most = max(workers for workers, _ in counted)
    numbers = sorted({servers for _, servers in counted})
    for servers, colour, mark in zip(numbers, (RED, ORANGE, BLUE, GREEN), "s^oD", strict=False):
        points = [(w, rate) for (w, s), rate in counted.items() if s == servers]
        label = f"{servers} server{'s' if servers > 1 else ''}"
        ax.plot(*zip(*points, strict=True), **measured(colour, label, mark))
        xs = range(1, most + 1)
        ax.plot(xs, [model(w, servers) for w in xs], **modelled(colour, "_"))
    ax.axhline(1.0, color=GREY, linewidth=1.2, linestyle=":")
    note(ax, "dotted: one machine alone, no server", (9.2, 0.68), (2, 4), color="#555555")
    ax.set(xlabel="workers", ylabel="gradients a second", xlim=(0, most + 0.7), ylim=(0, None))
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.2}
    ax.legend(title="on the clock (dashed: by formula)", alignment="left", ncols=4, **place)
    tops = ", ".join(f"{model(most, s):.2f} with {s}" for s in numbers)
    series = [[round(rate, 2) for (_, s), rate in counted.items() if s == n] for n in numbers]
    rise, full = "rise with the workers until the servers' links are full", "from there on only "
    if not all(each[-1] > each[0] for each in series):
        rise, full = "do not rise with the workers", ""
    help_ = f"{full}more servers help"
    if not all(more[-1] > fewer[-1] for fewer, more in pairwise(series)):
        help_ = "more servers do not help here"
    show(
        figure,
        caption=f"Gradients a second {rise}; {help_}.",
        alt=f"Gradients a second against workers. Each series rises and then stays flat: at {most} "
        f"workers {tops} servers. The formula goes through all points.",
    )


def show_placement(
    sizes: Mapping[str, int], servers: int, ways: Mapping[str, Sequence[Sequence[int]]]
) -> None:
    """Bytes on each server for some ways to place tensors.

    sizes: bytes of each tensor. ways: for each way, how many bytes of each tensor each server
    holds: (servers, tensors).
    """
    figure, all_axes = axes(columns=len(ways), width=8.2, height=2.7)
    large = sorted(sizes, key=lambda name: -sizes[name])[:3]
    colours = dict(zip(large, (BLUE, SKY, GREEN), strict=True))
    fullest: list[str] = []
    for ax, (way, held) in zip(all_axes, ways.items(), strict=True):
        for server, parts in enumerate(held):
            left = 0.0
            for name, amount in zip(sizes, parts, strict=True):
                edge = {"edgecolor": "white", "linewidth": 0.4}
                wide = amount / 1e6
                ax.barh(server, wide, left=left, color=colours.get(name, GREY), **edge)
                left += wide
        most = max(sum(parts) for parts in held) / 1e6
        fullest.append(f"{way} {most:.0f} MB")
        ax.axvline(most, color=RED, linewidth=1.2, linestyle="--")
        ax.set_title(f"{way}\nfullest: {most:.0f} MB", fontsize=10)
        rows(ax, [f"server {s}" if ax is all_axes[0] else "" for s in range(servers)])
        ax.set(xlim=(0, 190), xlabel="MB held")
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=name) for name, colour in colours.items()]
    handles.append(Patch(color=GREY, label="all other tensors"))
    figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False)
    show(
        figure,
        caption="The fullest server decides how long a pull takes. Whole tensors cannot be "
        "balanced when one of them is most of the model; cut into parts, they can.",
        alt=f"Bars of megabytes on each of {servers} servers, for {len(ways)} ways to place "
        f"AlexNet. Fullest server: {', '.join(fullest)}. One tensor, fc6, fills most of it unless "
        "it is cut.",
    )


def show_bytes(
    servers: Sequence[int],
    formula: Sequence[float],
    clock: Sequence[float],
    real: Sequence[float],
    what: str,
) -> None:
    """Megabytes into each server, by formula, on the clock and on real processes."""
    figure, ax = axes(height=3.0)
    ax.plot(servers, formula, **modelled(label="formula"))
    ax.plot(servers, clock, **{**measured(SKY, "counted on the clock", "s"), "markersize": 11})
    ax.plot(servers, real, **measured(label="counted on processes"))
    ax.set(xlabel="servers", ylabel="MB into each server", ylim=(0, None))
    ax.set_xticks(servers)
    ax.legend()
    apart = max(
        abs(there / said - 1)
        for counted in (clock, real)
        for there, said in zip(counted, formula, strict=True)
    )
    agree = (
        "count what the formula says"
        if apart < 0.0005
        else f"count up to {apart:.1%} more or less than the formula says"
    )
    show(
        figure,
        caption=f"Bytes into each server for {what}. The clock and the processes {agree}.",
        alt=f"Megabytes into each server against servers: {formula[0]:.1f} with one, "
        f"{formula[-1]:.1f} with {servers[-1]}. Clock and processes {agree}.",
    )


def show_machines(
    ours: Mapping[str, Sequence[tuple[int, float]]],
    papers: Mapping[str, Sequence[tuple[float, float]]],
    target: float,
) -> None:
    """Time to a target against machines, ours on the clock beside the published, both relative.

    ours: (workers, seconds), papers: (machines, hours), for the same two methods in one order.
    """
    figure, (left, right) = axes(columns=2, width=8.2, height=3.5)
    said, ends = [], []
    pairs = zip((left, right), ours.items(), papers.values(), strict=True)
    for ax, (name, mine), theirs in pairs:
        for points, look in (
            (theirs, {**published("Dean et al. 2012"), "markersize": 9}),
            (mine, measured(label="ours, on the clock")),
        ):
            machines, times = zip(*points, strict=True)
            part = [t / times[0] for t in times]
            ax.plot([m / machines[0] for m in machines], part, **look)
            said.append(f"{name}, {look['label']}: {', '.join(f'{p:.2f}' for p in part)}")
            often = [f"{m / machines[0]:.2g} times" for m in machines[-2:]]
            ends.append(
                f"{part[-2]:.2f} with {often[0]} the machines, {part[-1]:.2f} with {often[1]}"
            )
        steps = [1 + 0.1 * k for k in range(28)]
        half = {**modelled(GREY, "N times as quick"), "linewidth": 1.2}
        ax.plot(steps, [1 / s for s in steps], **half)
        ax.set(title=name, ylim=(0, 1.1), xlim=(0.8, 3.8), xlabel="machines (the fewest are 1)")
    left.set_ylabel("time to the target\n(with the fewest: 1)")
    left.legend(loc="upper right", frameon=False)
    show(
        figure,
        caption="Time to the target, as a part of that with the fewest machines: "
        + "; ".join(
            f"{name}, published {theirs}, ours {mine}"
            for name, theirs, mine in zip(ours, ends[::2], ends[1::2], strict=True)
        )
        + ".",
        alt=f"Two charts of relative time to a target against relative machines. {'; '.join(said)}."
        f" Ours: to {target:g} % test error.",
    )


def show_staleness(staleness: Any, workers: int) -> None:
    """How many gradients were how many updates late, on real processes."""
    import numpy as np

    most = max(int(np.percentile(staleness, 99.5)), 2 * (workers - 1))
    counts = np.bincount(np.minimum(staleness, most), minlength=most + 1)
    figure, ax = axes(height=2.7)
    ax.bar(range(most + 1), counts, color=BLUE, width=0.8, label="measured")
    ax.axvline(workers - 1, color=RED, linestyle="--", label=f"N − 1 = {workers - 1}")
    ax.set(xlabel="updates late (last bar: that or later)", ylabel="gradients")
    ax.legend()
    mean = float(np.mean(staleness))
    late, why = "about N − 1", ": while one computes, each of the others is served once"
    if not isclose(mean, workers - 1, rel_tol=0.05):
        late, why = f"{mean:.1f}", f" on average, not N − 1 = {workers - 1}"
    show(
        figure,
        caption=f"On {workers} real workers a gradient is {late} updates late{why}.",
        alt=f"Bar chart of gradients by how many updates late they were, measured: {mean:.1f} on "
        f"average, beside a line at {workers - 1}.",
    )


def show_eight_workers(eight: Training) -> None:
    """Eight workers in line before one server."""
    assert eight.trace is not None, "train with trace=True"
    figure = eight.trace.plot()
    ax = figure.axes[0]
    ax.set_xlim(0, 40)
    rows(ax, [f"worker {worker}" for worker in range(eight.trace.size)])
    show(
        figure,
        caption="Eight workers and one server: a worker computes for one second, then it "
        "stands in line for fifteen.",
        alt="Timeline of eight workers over 40 virtual seconds. Short blocks of computing, "
        "one second each, lie between long ones of waiting, about fifteen seconds "
        "each; at any moment one worker at most computes.",
    )


def show_served(run: Any) -> None:
    """Rank 0 as a server of three workers. run: results with a trace."""
    show(
        run.trace.plot(),
        caption="Rank 0 serves the workers one after the other; a worker computes while the "
        "others are served.",
        alt="Timeline of four ranks. Rank 0 receives and sends in turn with ranks 1, 2 and "
        "3; the workers' blocks of computing lie side by side, shifted a little from "
        "rank to rank.",
    )


def show_downpour(runs: Mapping[int, Training]) -> None:
    """Learning with a fetch and a push in every n-th step. runs: by n."""
    figure, ax = axes(height=3.4)
    ends, said = [], []
    for (n, run), colour, mark in zip(runs.items(), CYCLE, "os^Dv<>", strict=False):
        errors, name = [point.error for point in run.curve], f"n_fetch = n_push = {n}"
        seconds = [point.seconds for point in run.curve]
        ax.plot(seconds, errors, color=colour, marker=mark, markevery=0.15, label=name)
        ends.append(f"{errors[-1]:.0f} % with n = {n} (least on the way {min(errors):.0f} %)")
        said.append(f"{name} ends at {errors[-1]:.0f} %")
    ax.set(xlabel="virtual time (s)", ylabel="test error (%)", ylim=(0, 100))
    ax.legend()
    show(
        figure,
        caption="Eight workers behind the full link of the surprise, all at rate 0.005, fetch "
        f"and push in every n-th step. Test error at the end: {', '.join(ends)}.",
        alt=f"Line chart of the test error over virtual seconds. {'; '.join(said)}.",
    )
