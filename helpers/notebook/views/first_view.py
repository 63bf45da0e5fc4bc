"""The figures of lesson 00: when splitting work pays, and how many ranks are best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.notebook.style import BLUE, GREY, RED, axes, measured, modelled


def break_even(times: Mapping[int, Sequence[float]], splitting: float) -> Any:
    """How many times as quick as one rank two and four are, against the work.

    times: for 1, 2 and 4 ranks, the seconds of each amount of work. splitting: seconds that two
    ranks need on top of half the work, for the modelled curve.
    """
    work = times[1]
    figure, ax = axes()
    ax.axhline(1, color=GREY, linewidth=1)
    for ranks, colour, marker in ((2, BLUE, "o"), (4, RED, "s")):
        quicker = [one / several for one, several in zip(work, times[ranks], strict=True)]
        ax.plot(work, quicker, **measured(colour, f"{ranks} ranks, measured", marker))
    model = [seconds / (seconds / 2 + splitting) for seconds in work]
    ax.plot(work, model, **modelled(BLUE, "2 ranks, modelled"))
    ax.set(xscale="log", xlabel="work for one rank (s)", ylabel="times as quick as one rank")
    ax.set_ylim(0)
    ax.legend(frameon=False)
    return figure


def how_many_ranks(run: Any, model: Mapping[int, float]) -> Any:
    """Finishing time against the number of ranks, and under it the timeline of one run.

    run: results, whose rank 0 returned its seconds. model: seconds by number of ranks.
    """
    figure, (upper, lower) = axes(rows=2, height=6.4)
    ranks = run.trace.size
    upper.plot(list(model), [seconds * 1e3 for seconds in model.values()], **modelled())
    upper.plot([ranks], [run[0] * 1e3], **measured(label="this run, on the virtual clock"))
    highest = 1.1e3 * max(model.values())
    upper.set(xlabel="ranks", ylabel="finished after (ms)", ylim=(0, highest), xlim=(0, None))
    upper.legend(frameon=False)
    run.trace.plot(ax=lower, arrows=False)
    lower.tick_params(axis="y", labelsize=11 if ranks < 13 else 6)
    return figure
