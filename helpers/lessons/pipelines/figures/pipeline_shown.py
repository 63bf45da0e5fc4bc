"""Schedules of lesson 13, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Mapping

from helpers.lessons.pipelines.figures.pipeline_view import Table, show_schedules


def show_microbatches(tables: Mapping[str, Table]) -> None:
    """A step on one rank, and on four in one piece and in four microbatches."""
    show_schedules(
        tables,
        "Four microbatches keep four ranks busy for four sevenths of the step.",
        "Boxes over time for one rank and twice for four ranks. In one piece, forward "
        "goes down the four ranks one after the other and backward comes up again: 3 "
        "s, as on one rank. With four microbatches the boxes overlap, and the step "
        "takes 1.3 s.",
    )


def show_two_orders(tables: Mapping[str, Table]) -> None:
    """The same work, one microbatch after the other and by GPipe."""
    show_schedules(
        tables,
        "The same work in two orders: one microbatch after the other takes 48 s, GPipe takes 21 s.",
        "Two schedules of four ranks and four microbatches. Above, each microbatch "
        "goes down and up again before the next one starts. Below, four forwards "
        "follow each other on every rank, then four backwards in the order 3, 2, 1, 0.",
    )


def show_in_turns(tables: Mapping[str, Table]) -> None:
    """GPipe and 1F1B."""
    show_schedules(
        tables,
        "1F1B takes exactly as long as GPipe. The bubble is only spread differently; "
        "what changes is how soon a microbatch leaves.",
        "Two schedules of four ranks and eight microbatches, both 33 s long. GPipe has "
        "eight forwards and then eight backwards on each rank; under 1F1B blue and "
        "orange boxes alternate after a short start, and the last rank alternates from "
        "the first box on.",
    )


def show_halves(tables: Mapping[str, Table]) -> None:
    """1F1B and three schedules that put off the halves for the weights."""
    show_schedules(
        tables,
        "The halves for the weights (green) fill the way back. Under ZB-H2 and the V "
        "no rank idles between its first box and its last; what is grey there lies "
        "before and after.",
        "Four schedules of four ranks and eight microbatches. Under 1F1B orange boxes "
        "are twice as long as blue ones, and the step takes 33 s. Below, orange and "
        "green boxes are as long as blue ones; green boxes stand at the end of the "
        "lower ranks. ZB-H1 takes 27 s. Under ZB-H2 the rows are a parallelogram "
        "without gaps, under the V nearly a rectangle.",
    )


def show_real_schedules(tables: Mapping[str, Table]) -> None:
    """GPipe and 1F1B on two processes, from their own clocks."""
    show_schedules(
        tables,
        "Eight microbatches on two processes, from their own clocks, in the median "
        "step of each. Real boxes of one kind differ in length, and a rank is idle "
        "wherever the next message is not there yet.",
        "Boxes of forward and backward of two ranks over the time of a step, in the "
        "order of GPipe above and of 1F1B below. Grey is where a rank computes "
        "nothing: rank 1 until the first activation has come, rank 0 until the first "
        "gradient has, and whatever is between boxes.",
    )
