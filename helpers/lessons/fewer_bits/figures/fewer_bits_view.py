"""Figures of lesson 10: what each way to send less costs, saves and pays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme
from helpers.notebook.figures import show
from helpers.notebook.style import CYCLE, GREY, axes, fix_layout, note

Step = Callable[[Scheme, float, float, int, float, float], float]
LATENCY = 50e-6
WORKERS = 4


def show_lines(
    lines: Mapping[str, Sequence[float]], x: str, y: str, caption: str, log: bool = False
) -> None:
    """Some curves over steps, each named at its end."""
    figure, ax = axes(height=3.2)
    for number, (name, values) in enumerate(lines.items()):
        dashes = (4.0 * number, (4.0, 4.0)) if number else "-"
        ax.plot(values, linestyle=dashes, color=CYCLE[number], label=name)
    ax.set(xlabel=x, ylabel=y, yscale="log" if log else "linear")
    ax.legend(fontsize=9)
    told = "; ".join(f"{name} from {v[0]:.3g} to {v[-1]:.3g}" for name, v in lines.items())
    show(figure, caption=caption, alt=f"{y} by {x}: {told}.")


def show_losses(
    found: Mapping[str, tuple[float, float]], caption: str, lost: str = ", no feedback"
) -> None:
    """Loss against bytes, a point for each way; hollow where what was left out is forgotten.

    found: for each name the MB that a rank sent and the loss at the end.
    """
    figure, ax = axes(height=4.2)
    names = [name.removesuffix(lost) for name in found]
    colours = {name: CYCLE[i % len(CYCLE)] for i, name in enumerate(dict.fromkeys(names))}
    for name, (mb, loss) in found.items():
        colour = colours[name.removesuffix(lost)]
        forgets = name.endswith(lost)
        ax.plot(mb, loss, "o", color=colour, markerfacecolor="white" if forgets else colour)
        note(ax, name, (mb, loss), (7, -3))
    ax.set(xscale="log", xlabel="MB that a rank sent", ylabel="training loss at the end")
    least, most = (f(mb for mb, _ in found.values()) for f in (min, max))
    ax.set_xlim(least / 1.6, most * 6)
    ax.set_ylim(0, 1.1 * max(loss for _, loss in found.values()))
    told = "; ".join(f"{name}: {mb:.3g} MB, loss {loss:.3f}" for name, (mb, loss) in found.items())
    show(figure, caption=caption, alt=f"Training loss against MB sent, logarithmic. {told}.")


# --- the widget -----------------------------------------------------------------------------------


def even_at(
    step: Step, scheme: Scheme, compute: float, nbytes: float, rates: Sequence[float]
) -> float | None:
    """The first bandwidth of `rates` from which on a scheme is no quicker than none."""
    plain = Scheme("plain")
    for rate in rates:
        dense = step(plain, compute, nbytes, WORKERS, LATENCY, rate)
        if step(scheme, compute, nbytes, WORKERS, LATENCY, rate) >= dense:
            return rate
    return None


def _rates() -> list[float]:
    return [10 ** (n / 20) * 1.25e6 for n in range(81)]  # 10 Mbit/s to 100 Gbit/s


def pays_picture(
    step: Step,
    schemes: Mapping[str, Scheme],
    scheme: str,
    steps_between_sums: int,
    compute_ms: float,
    MB: float,
    Mbit_per_s: float,
) -> Any:
    """A step against bandwidth: plain, and the chosen way; a mark where one is as slow as both."""
    figure, ax = axes(height=4.0)
    fix_layout(figure, left=0.1, right=0.98, bottom=0.13, top=0.85)
    chosen, plain = _chosen(schemes, scheme, steps_between_sums), Scheme("plain")
    compute, nbytes, rates = compute_ms / 1e3, MB * 1e6, _rates()
    for number, (name, each) in enumerate((("float32", plain), (scheme, chosen))):
        seconds = [step(each, compute, nbytes, WORKERS, LATENCY, rate) for rate in rates]
        ax.plot([r / 1.25e5 for r in rates], [1e3 * s for s in seconds], color=CYCLE[number],
                label=name if not number or steps_between_sums == 1
                else f"{name}, every {steps_between_sums} steps")  # fmt: skip
    ax.axvline(Mbit_per_s, color=GREY, linewidth=1, linestyle="--", label="your link")
    even = even_at(step, chosen, compute, nbytes, rates)
    if even is not None:
        at = 1e3 * step(plain, compute, nbytes, WORKERS, LATENCY, even)
        ax.plot(even / 1.25e5, at, "D", color="#222222", label="from here on it does not pay")
    ax.axhline(compute_ms, color=GREY, linewidth=1, label="computing")
    ax.set(xscale="log", yscale="log", xlabel="bandwidth (Mbit/s)", ylabel="a step (ms)")
    ax.minorticks_off()
    look = {"fontsize": 9, "handlelength": 1.5, "columnspacing": 1.0}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, **look)
    return figure


def pays_words(
    step: Step,
    schemes: Mapping[str, Scheme],
    scheme: str,
    steps_between_sums: int,
    compute_ms: float,
    MB: float,
    Mbit_per_s: float,
) -> str:
    """What `pays_picture` shows."""
    chosen = _chosen(schemes, scheme, steps_between_sums)
    compute, nbytes, rate = compute_ms / 1e3, MB * 1e6, Mbit_per_s * 1.25e5
    plain, other = (
        1e3 * step(each, compute, nbytes, WORKERS, LATENCY, rate)
        for each in (Scheme("plain"), chosen)
    )
    even = even_at(step, chosen, compute, nbytes, _rates())
    until = "on every link" if even is None else f"up to about {_said(even / 1.25e5)}"
    return (
        f"Milliseconds of a step on {WORKERS} hosts against Mbit/s, both axes logarithmic: "
        f"{compute_ms:g} ms of computing and {MB:g} MB of gradients. At {Mbit_per_s:g} Mbit/s a "
        f"plain step takes {plain:.3g} ms, one with {scheme}, summed every {steps_between_sums} "
        f"step{'s' * (steps_between_sums > 1)}, {other:.3g} ms: {plain / other:.2g} times as "
        f"quick. It pays {until}."
    )


def _chosen(schemes: Mapping[str, Scheme], name: str, interval: int) -> Scheme:
    its = schemes[name]
    return Scheme(name, its.share, its.coding, interval)


def _said(mbit: float) -> str:
    digits = 1 - math.floor(math.log10(mbit))
    value = round(mbit, digits)
    return f"{value / 1000:g} Gbit/s" if value >= 1000 else f"{value:g} Mbit/s"


def show_scaled(runs: Mapping[str, Any], scale: Any) -> None:
    """Losses in 16 bits and in 32. scale: the loss scale of one of them."""
    show_lines(
        {name: run.losses for name, run in runs.items()},
        "step",
        "loss (share of the variance)",
        "fp16 alone never moves: all gradients of its last layer are 0. With a scale "
        f"it trains; {scale.skipped} steps overflowed at first and were left out, and "
        f"the scale ended at 2^{math.log2(scale.scale):.0f}. bf16 needs none.",
        log=True,
    )
