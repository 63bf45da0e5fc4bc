"""Figures of lesson 10: what each way to send less costs, saves and pays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme
from helpers.notebook.figures import show
from helpers.notebook.style import CYCLE, GREY, axes, fix_layout, note

Step = Callable[[Scheme, float, float, int, float, float], float]
LATENCY = 50e-6
WORKERS = 4
PLAIN = Scheme("plain")
RATES = [10 ** (n / 20) * 1.25e6 for n in range(81)]  # bytes a second: 10 Mbit/s to 100 Gbit/s


def show_lines(
    lines: Mapping[str, Sequence[float]], x: str, y: str, caption: str, log: bool = False
) -> None:
    """Some curves over steps, each named at its end."""
    figure, ax = axes(height=3.2)
    for number, (name, values) in enumerate(lines.items()):
        dashes = (4.0 * number, (4.0, 4.0)) if number else "-"
        steps = range(1, len(values) + 1)
        ax.plot(steps, values, linestyle=dashes, color=CYCLE[number], label=name)
    ax.set(xlabel=x, ylabel=y, yscale="log" if log else "linear")
    ax.xaxis.get_major_locator().set_params(integer=True)
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


class Knobs(NamedTuple):
    """What the widget's knobs say: scheme, steps between sums, computing, bytes and link."""

    scheme: str
    steps_between_sums: int
    compute_ms: float
    MB: float
    Mbit_per_s: float

    def chosen(self, schemes: Mapping[str, Scheme]) -> Scheme:
        """The scheme, with so many steps between sums."""
        its = schemes[self.scheme]
        return Scheme(self.scheme, its.share, its.coding, self.steps_between_sums)

    def seconds(self, step: Step, scheme: Scheme, rate: float) -> float:
        """Of a step with a scheme over links of so many bytes a second."""
        return step(scheme, self.compute_ms / 1e3, self.MB * 1e6, WORKERS, LATENCY, rate)

    def even_at(self, step: Step, scheme: Scheme) -> float | None:
        """The bandwidth within `RATES` from which on a scheme is no quicker than none."""

        def slower(rate: float) -> bool:
            return self.seconds(step, scheme, rate) >= self.seconds(step, PLAIN, rate)

        place = next((at for at, rate in enumerate(RATES) if slower(rate)), None)
        if not place:
            return None if place is None else RATES[0]
        low, high = RATES[place - 1 : place + 1]
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if slower(middle) else (middle, high)
        return high


def pays_picture(step: Step, schemes: Mapping[str, Scheme], **values: Any) -> Any:
    """A step against bandwidth: plain, and the chosen way; a mark where one is as slow as both.

    values: of `Knobs`.
    """
    knobs = Knobs(**values)
    chosen, every = knobs.chosen(schemes), knobs.steps_between_sums
    named = knobs.scheme if every == 1 else f"{knobs.scheme}, every {every} steps"
    figure, ax = axes(height=4.0)
    fix_layout(figure, left=0.1, right=0.98, bottom=0.13, top=0.85)
    for number, (name, each) in enumerate((("float32", PLAIN), (named, chosen))):
        seconds = [1e3 * knobs.seconds(step, each, rate) for rate in RATES]
        ax.plot([r / 1.25e5 for r in RATES], seconds, color=CYCLE[number], label=name)
    ax.axvline(knobs.Mbit_per_s, color=GREY, linewidth=1, linestyle="--", label="your link")
    even = knobs.even_at(step, chosen)
    if even is not None:
        at = 1e3 * knobs.seconds(step, PLAIN, even)
        ax.plot(even / 1.25e5, at, "D", color="#222222", label="from here on it does not pay")
    ax.axhline(knobs.compute_ms, color=GREY, linewidth=1, label="computing")
    ax.set(xscale="log", yscale="log", xlabel="bandwidth (Mbit/s)", ylabel="a step (ms)")
    ax.minorticks_off()
    look = {"fontsize": 9, "handlelength": 1.5, "columnspacing": 1.0}
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, **look)
    return figure


def pays_words(step: Step, schemes: Mapping[str, Scheme], **values: Any) -> str:
    """What `pays_picture` shows."""
    knobs = Knobs(**values)
    chosen, every = knobs.chosen(schemes), knobs.steps_between_sums
    plain, other = (
        1e3 * knobs.seconds(step, each, knobs.Mbit_per_s * 1.25e5) for each in (PLAIN, chosen)
    )
    even = knobs.even_at(step, chosen)
    until = "on every link" if even is None else f"up to about {_said(even / 1.25e5)}"
    return (
        f"Milliseconds of a step on {WORKERS} hosts against Mbit/s, both axes logarithmic: "
        f"{knobs.compute_ms:g} ms of computing and {knobs.MB:g} MB of gradients. At "
        f"{knobs.Mbit_per_s:g} Mbit/s a plain step takes {plain:.3g} ms, one with {knobs.scheme}, "
        f"summed every {every} step{'s' * (every > 1)}, {other:.3g} ms: {plain / other:.2g} times "
        f"as quick. It pays {until}."
    )


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
