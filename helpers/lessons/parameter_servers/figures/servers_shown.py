"""Figures of lesson 05, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.figures.servers_view import show_learning, show_workers
from helpers.notebook.figures import show


def show_eight_workers(eight: Training) -> None:
    """Eight workers in line before one server."""
    assert eight.trace is not None, "train with trace=True"
    show_workers(
        eight.trace,
        seconds=40,
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
    ends = ", ".join(
        f"{run.curve[-1].error:.0f} % with n = {n} (least on the way "
        f"{min(point.error for point in run.curve):.0f} %)"
        for n, run in runs.items()
    )
    show_learning(
        {f"n_fetch = n_push = {n}": run.curve for n, run in runs.items()},
        caption="Eight workers behind the full link of the surprise, all at rate 0.005, fetch "
        f"and push in every n-th step. Test error at the end: {ends}.",
    )
