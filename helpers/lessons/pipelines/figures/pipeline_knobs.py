"""What lesson 13's widget draws: a schedule for so many stages and microbatches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from helpers.lessons.pipelines.algorithms.instructions import Backward, Instruction
from helpers.lessons.pipelines.algorithms.schedules import Schedule, live_activations, orders
from helpers.lessons.pipelines.algorithms.timetable import (
    Place,
    Span,
    idle_share,
    in_turn,
    makespan,
    timetable,
)
from helpers.lessons.pipelines.figures.pipeline_view import draw_table, legend
from helpers.notebook.style import BLUE, RED, axes

INTERLEAVED = "interleaved, 2 chunks"


def played(
    schedule: Schedule, stages: int, microbatches: int, chunks: int = 1, place: Place = in_turn
) -> list[list[Span]]:
    """When each rank does what: a stage takes 1 s forward and 2 s backward, 1 s for either half of
    it, and messages take nothing."""

    def seconds(rank: int, now: Instruction) -> float:
        return (2.0 if isinstance(now, Backward) else 1.0) / chunks

    return timetable(orders(schedule, stages, microbatches), seconds, place=place)


def fitting(name: str, stages: int, microbatches: int) -> int:
    """The number of microbatches, or the next that the interleaved schedule can take."""
    return -(-microbatches // stages) * stages if name == INTERLEAVED else microbatches


def _of(
    stages: int, microbatches: int, name: str, schedules: Mapping[str, Schedule]
) -> tuple[int, list[list[Span]], list[float]]:
    """How many microbatches, when each rank does what, and how many of them it holds."""
    chunks, count = 2 if name == INTERLEAVED else 1, fitting(name, stages, microbatches)
    table = played(schedules[name], stages, count, chunks)
    return count, table, [live_activations(s.instruction for s in row) / chunks for row in table]


def draw_schedule(
    stages: int, microbatches: int, schedule: str, schedules: Mapping[str, Schedule]
) -> Any:
    """For a widget: the schedule as boxes, and beside it how many microbatches each rank holds.

    schedules: by name; `INTERLEAVED` has two chunks a rank, and counts half a microbatch for each.
    """
    count, table, held = _of(stages, microbatches, schedule, schedules)
    figure, (left, right) = axes(columns=2, width=8.6, height=3.4)
    figure.set_layout_engine("none")  # a fixed layout takes half the time to draw
    left.set_position((0.075, 0.14, 0.7, 0.74))
    right.set_position((0.815, 0.14, 0.17, 0.74))
    draw_table(left, table)
    gain = stages * (1 - idle_share(table))
    left.set_xlabel("time (s; a stage's forward takes 1, its backward 2)")
    more = f" ({count} microbatches)" if count != microbatches else ""
    left.set_title(
        f"{makespan(table):g} s, idle {100 * idle_share(table):.0f} %, {gain:.2f}× one rank{more}"
    )
    colours = [RED if h > stages else BLUE for h in held]
    bars = right.barh(range(stages), held, height=0.72, color=colours)
    right.bar_label(bars, fmt="{:g}", padding=2, fontsize=9)
    right.set(ylim=(stages - 0.4, -0.6), xlim=(0, max(17.5, 1.15 * max(held))), yticks=[])
    right.set_xlabel("microbatches held")
    right.grid(axis="y", visible=False)
    legend(left)
    return figure


def words(schedules: Mapping[str, Schedule]) -> Callable[[int, int, str], str]:
    """The picture's alt text, as a function of the knobs."""

    def say(stages: int, microbatches: int, schedule: str) -> str:
        count, table, held = _of(stages, microbatches, schedule, schedules)
        return (
            f"Schedule {schedule}, {stages} stages, {count} microbatches: {makespan(table):g} "
            f"s, idle {100 * idle_share(table):.0f} per cent; microbatches held by each rank: "
            f"{', '.join(f'{h:g}' for h in held)}."
        )

    return say


def two_chunks(schedule: Callable[..., Any]) -> Schedule:
    """The interleaved schedule with two chunks, as a schedule."""
    return partial(schedule, chunks=2)
