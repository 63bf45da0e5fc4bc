"""What lesson 05's widget draws: how many gradients a second the links of some servers let through.

A gradient takes one second to compute; the rule for gradients a second is that of exercise 05.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.notebook.style import GREEN, GREY, ORANGE, RED, axes, fix_layout, modelled

Throughput = Callable[[int, int, float, float, float], float]


def draw_servers(
    workers: int, servers: int, link_in_Gbit_per_s: float, model_in_MB: float, rule: Throughput
) -> Any:
    """For a widget: gradients a second over workers, and where a worker's time goes.

    A gradient takes one second to compute. rule: as in exercise 05.3.
    """
    figure, (left, right) = axes(columns=2, width=8.0, height=3.0)
    fix_layout(figure, left=0.075, right=0.98, bottom=0.19, top=0.89, wspace=0.12)
    size, bandwidth = model_in_MB * 1e6, link_in_Gbit_per_s * 1e9 / 8
    xs = range(1, 65)
    left.plot(xs, [rule(n, servers, size, 1.0, bandwidth) for n in xs], **modelled(label="_"))
    now = rule(workers, servers, size, 1.0, bandwidth)
    left.plot([workers], [now], color=RED, marker="o", markersize=9)
    left.axhline(1.0, color=GREY, linewidth=1.2, linestyle=":")
    left.set(xlabel="workers", ylabel="gradients a second", xlim=(0, 65), ylim=(0, None))
    left.set_title(f"{now:.2f} a second, {now:.2f} × one machine")
    computing, moving, waiting = round_parts(
        workers, servers, link_in_Gbit_per_s, model_in_MB, rule
    )
    before = 0.0
    for name, value, look in (
        ("computing", computing, {"color": GREEN}),
        ("pull and push", moving, {"color": ORANGE, "hatch": "////"}),
        ("waiting", waiting, {"color": "#DDDDDD", "hatch": "...."}),
    ):
        edge = {"edgecolor": "#444444", "linewidth": 0.4}
        right.barh(0, value, left=before, height=0.5, label=name, **look, **edge)
        before += value
    right.set(xlabel="seconds of a worker's round", ylim=(-0.6, 0.9), yticks=[])
    right.set_title(f"a round takes {before:.2f} s")
    right.legend(loc="upper center", ncols=3, fontsize=9, handlelength=1.3)
    return figure


def round_parts(
    workers: int, servers: int, gigabits: float, megabytes: float, rule: Throughput
) -> tuple[float, float, float]:
    """Seconds that a worker computes, moves bytes and waits, in a round of its own."""
    size, bandwidth = megabytes * 1e6, gigabits * 1e9 / 8
    whole = workers / rule(workers, servers, size, 1.0, bandwidth)
    moving = 2 * size / servers / bandwidth
    return 1.0, moving, max(whole - 1.0 - moving, 0.0)


def round_words(
    workers: int, servers: int, link_in_Gbit_per_s: float, model_in_MB: float, rule: Throughput
) -> str:
    """What `draw_servers` shows, in words."""
    computing, moving, waiting = round_parts(
        workers, servers, link_in_Gbit_per_s, model_in_MB, rule
    )
    return (
        "Left, gradients a second against workers: a line that rises and is then flat. Right, a "
        f"worker's round: {computing:.2f} s computing, {moving:.2f} s pull and push, "
        f"{waiting:.2f} s waiting."
    )
