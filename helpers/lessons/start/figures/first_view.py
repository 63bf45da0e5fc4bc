"""The figures of lesson 00: when splitting work pays, and how many ranks are best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.notebook.compared import times_as
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREY, RED, axes, fix_layout, measured, modelled


def show_break_even(times: Mapping[int, Sequence[float]], splitting: float) -> None:
    """How many times as quick as one rank two and four are, against the work.

    times: for 1, 2 and 4 ranks, the seconds of each amount of work. splitting: seconds that two
    ranks need on top of half the work, for the modelled curve.
    """
    work = times[1]
    figure, ax = axes()
    ax.axhline(1, color=GREY, linewidth=1)
    told, speedups = [], list[list[float]]()
    for ranks, colour, marker in ((2, BLUE, "o"), (4, RED, "s")):
        quicker = [one / several for one, several in zip(work, times[ranks], strict=True)]
        ax.plot(work, quicker, **measured(colour, f"{ranks} ranks, measured", marker))
        speedups.append(quicker)
        ends = f"{quicker[0]:.2f} for the least work, {quicker[-1]:.2f} for the most"
        told.append(f"{ranks} ranks: {ends}")
    model = [seconds / (seconds / 2 + splitting) for seconds in work]
    ax.plot(work, model, **modelled(BLUE, "2 ranks, modelled"))
    ax.set(xscale="log", xlabel="work for one rank (s)", ylabel="times as quick as one rank")
    ax.set_ylim(0)
    ax.legend()
    # As they are printed: what is less cannot be told apart.
    two, four = ([round(each, 2) for each in quicker] for quicker in speedups)
    if two[-1] <= 1:
        pays = "splitting does not pay off here, even with the most"
    elif two[0] >= 1:
        pays = "splitting costs no time here, even with the least"
    else:
        pays = "splitting pays off only where the work is large beside the message"
    lie = "behind" if four[-1] < two[-1] else "ahead of" if four[-1] > two[-1] else "level with"
    show(
        figure,
        caption="Below the grey line more ranks are slower than one. Two are "
        f"{times_as(two[0], 'quick')} with the least work and {times_as(two[-1], 'quick')} with "
        f"the most: {pays}. Four, {times_as(four[-1], 'quick')} with the most, are {lie} two: more "
        "ranks want more cores.",
        alt="Speed-up over one rank against the work on a log scale, with the model for "
        f"two ranks dashed. {'; '.join(told)}.",
    )


def how_many_ranks(run: Any, model: Mapping[int, float]) -> Any:
    """Finishing time against the number of ranks, and under it the timeline of one run.

    run: results, whose rank 0 returned its seconds. model: seconds by number of ranks.
    """
    figure, (upper, lower) = axes(rows=2, height=6.4)
    fix_layout(figure, left=0.11, right=0.98, bottom=0.09, top=0.98, hspace=0.4)
    ranks = run.trace.size
    upper.plot(list(model), [seconds * 1e3 for seconds in model.values()], **modelled())
    upper.plot([ranks], [run[0] * 1e3], **measured(label="this run, on the virtual clock"))
    highest = 1.1e3 * max(model.values())
    upper.set(xlabel="ranks", ylabel="finished after (ms)", ylim=(0, highest), xlim=(0, None))
    upper.legend(frameon=False)
    run.trace.plot(ax=lower, arrows=False)
    if ranks > 12:
        some = range(0, ranks, 4)
        lower.set_yticks(some, [f"rank {rank}" for rank in some])
    return figure


def show_handing_out(results: Any) -> None:
    """Show the timeline of a run in which rank 0 hands out tasks one after the other."""
    show(
        results.trace.plot(),
        caption="Rank 0 sends one task after the other, so each rank starts a millisecond "
        "later than the one before, and the last one holds everybody up.",
        alt="Timeline of five ranks. Rank 0 sends four tasks in turn, a millisecond each; "
        "ranks 1 to 4 wait longer and longer, compute for 4 ms, and send their results "
        "back to rank 0.",
    )


def how_many_alt(ranks: int, work_ms: float, latency_ms: float) -> str:
    """What `how_many_ranks` shows, in words. latency_ms: of a message."""
    return (
        f"Above: finishing time against the number of ranks, with this run at {ranks} ranks. "
        f"Below: its timeline, {work_ms:g} ms of work and {latency_ms:g} ms a message."
    )
