"""Pictures of lesson 01, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helpers.lessons.devices.experiments.graphs import Seen
from helpers.lessons.devices.figures.device_view import MIB, show_chains, show_graph, show_live


def show_without_pin(seen: Seen, hide: Sequence[str]) -> None:
    """Three steps, of which the middle one has no pin."""
    show_graph(
        seen,
        hide=hide,
        caption="An op without a pin goes to the first device, not to where its input is: both "
        "of its tensors travel.",
        alt="A graph in three columns. On CPU:1 is half; an orange arrow leads from half "
        "to middle on CPU:0, another from middle to result on CPU:2.",
    )


def show_variable(seen: Seen, hide: Sequence[str]) -> None:
    """A variable on one device, read and changed from another."""
    show_graph(
        seen,
        hide=hide,
        caption="Reading and assigning are on the variable's device, wherever they were asked "
        "for; values travel.",
        alt="A graph in two columns. On CPU:1 weight, a reading of it, and the assignment, "
        "with a second reading behind it; on CPU:2 twice and more. Orange arrows lead "
        "from the first reading to twice and from more to the assignment.",
    )


def show_two_chains(runs: Mapping[str, Seen], said: Sequence[str]) -> None:
    """Two chains of products with one thread for ops and with two. said: what became of each."""
    show_chains(
        runs,
        caption=f"One device, two chains. With one thread for ops: {said[0]}. With two: {said[1]}.",
        alt="Two timelines of the four products of each chain. Above, with one thread: "
        f"{said[0]}. Below, with two threads: {said[1]}.",
    )


def show_control(free: Seen, chained: Seen) -> None:
    """Memory over time, without control dependencies and with them."""
    show_live(
        {"as soon as possible": free, "each load waits for the step before": chained},
        caption="Without control dependencies all six loads are there before the first step "
        "is; with them there is never more than one.",
        alt="Two step lines of allocated memory over time. One rises before the first step "
        f"and reaches {free.peak / MIB:.0f} MiB, the other goes up and down with every "
        f"step and reaches {chained.peak / MIB:.0f}.",
    )
