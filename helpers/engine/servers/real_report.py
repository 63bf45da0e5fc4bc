"""What is said of a training on real ranks that cannot go on: by servers and workers, not ranks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpers.engine.errors import Deadlock, RunError, RunInterrupted, RunTimeout

_RANKS = re.compile(r"\b([Rr])anks? (\d+(?:(?:, | and | to )\d+)*)(?: of \d+)?")


def retold(
    error: RunError | RunInterrupted, names: Sequence[str], progress: str, timeout: float
) -> RunError | RunInterrupted:
    """The error of a run, as one of a training.

    names: of the ranks. progress: what each server has made and whom it waits for.
    """
    if isinstance(error, Deadlock):
        words = {rank: named(told, names) for rank, told in error.waiting.items()}
        waits = [f"{names[rank]} {told}" for rank, told in words.items()]
        head = (
            "Nobody can go on: every worker waits for an answer, and the servers have taken up all "
            "that they may. A rule has to release somebody in the end."
        )
        return Deadlock("\n".join([head, progress, *waits]), words)
    if isinstance(error, RunInterrupted):
        head = "The training was interrupted; its servers and workers have been ended."
        return RunInterrupted("\n".join([head, progress, busy(error.report, names)]).rstrip())
    if isinstance(error, RunTimeout):
        head = (
            f"After {timeout:g} s the training had not ended; a longer one needs timeout=seconds."
        )
        report = "\n".join([head, progress, busy(error.report, names)])
        return RunTimeout(report.rstrip(), error.ranks)
    # Where a rank was among its messages says nothing here.
    error.report = named(re.sub(r" \(after: [^)]*\)\n", "\n", error.report), names)
    error.args = (error.report, *error.args[1:])
    return error


def named(text: str, names: Sequence[str]) -> str:
    """A text about ranks, with their names."""

    def name(found: re.Match[str]) -> str:
        if max(map(int, re.findall(r"\d+", found[2]))) >= len(names):
            return found[0]  # somebody else's words
        words = re.sub(r"\d+", lambda number: names[int(number[0])], found[2])
        return words[0].upper() + words[1:] if found[1] == "R" else words

    return _RANKS.sub(name, text.replace("receive from rank None", "hear from a worker"))


def busy(report: str, names: Sequence[str]) -> str:
    """Of a report of what each rank does, the lines of those that compute."""
    parts = re.split(r"\n(?=Rank \d)", report)[1:]
    return "\n".join(named(part, names) for part in parts if " waits " not in part.split("\n")[0])
