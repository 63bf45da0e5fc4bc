"""What the cells of lesson 17 show of failures: figures and tables with their captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helpers.lessons.cluster.experiments.failure_clock import Job
from helpers.lessons.cluster.experiments.failure_published import PublishedShare
from helpers.lessons.cluster.figures import failures_view
from helpers.lessons.cluster.figures.failures_view import Interval, Share


def intervals(job: Job, interval: Interval, share: Share) -> None:
    """Useful time over the work between two saves, of a job that waits for all saves."""
    failures_view.show_intervals(
        job,
        "The share of time that is of use, over the work between two saves, of Llama "
        "3's job if all waited for a save. The top is flat: half or twice the best "
        "interval costs little, ten times costs much.",
        interval,
        share,
    )


def by_gpus(
    gpus: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    clocked: Mapping[str, Sequence[float]],
    published: Sequence[PublishedShare],
) -> None:
    """Useful time by GPUs, by formula, on the clock and as published."""
    failures_view.show_by_gpus(
        gpus,
        curves,
        clocked,
        published,
        "The share of time that is of use, for Llama 3's rate of failures and for "
        "saves and restarts that others print of jobs of its size. Restarting "
        "everybody does not scale; restarting one group of 128 nearly does. torchft's "
        "point lies apart: there a group was killed every minute, on purpose. The job "
        "of 100,000 GPUs failed more often than Llama 3's rate says.",
    )


def promises_words(version: str) -> str:
    """Under the table of what `async_save` writes. version: torch's."""
    return (
        f"torch {version.partition('+')[0]}. A stager makes the copy that is "
        "written. In a thread, wait for its `staging_completion` before the "
        "optimizer's next step; and use no stager again before its save is done."
    )
