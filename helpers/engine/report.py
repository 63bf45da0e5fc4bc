"""What is said of a run on real ranks that went wrong: who, doing what, where in the code."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import psutil

from helpers.engine.chatter import kept
from helpers.engine.deadlock import State, rank_words, tell, wait_words
from helpers.engine.errors import Deadlock, RankDied, RankFailed, RunTimeout, death
from helpers.engine.places import file_name, is_engine, is_library
from helpers.engine.plan import START, Failure, Origin, forks

if TYPE_CHECKING:
    from helpers.engine.processes import LocalRun

Name = TypeVar("Name", int, str)
_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_DUMP_SECONDS = 3.0


def failed(
    run: LocalRun, rank: int, failure: Failure, others: Mapping[int, Failure] | None = None
) -> RankFailed:
    """A rank raised an exception. others: those of other ranks at the same time, by rank.

    An exception that says the same is told once.
    """
    doing = f" ({failure.doing})" if failure.doing else ""
    report = f"Rank {rank} of {run.plan.size} raised {said(failure)}{doing}\n"
    report += raised(rank, failure) + kept(run.stacks[rank], f"rank {rank}")
    told = {said(failure)}
    for other, its in (others or {}).items():
        if said(its) not in told:
            told.add(said(its))
            report += f"\nRank {other} raised {said(its)} at the same time.\n{raised(other, its)}"
    return RankFailed(report, rank, failure.kind, failure.message)


def said(failure: Failure) -> str:
    """An exception's kind and words."""
    return f"{failure.kind}: {failure.message}" if failure.message else failure.kind


def raised(rank: int, failure: Failure) -> str:
    """Where an exception was raised, and what is behind it."""
    lines = "".join(clean(failure.frames).format())
    if lines:
        lines = f"Traceback of rank {rank} (most recent call last):\n{lines}{said(failure)}"
    return lines + "".join(map(behind, failure.origins))


def behind(origin: Origin) -> str:
    """What an exception came of, in lines of its own, with where it was raised."""
    told = f"\n{origin.how}: {origin.text}"
    lines = "".join(clean(origin.frames).format()).rstrip()
    return f"{told}\nraised here (most recent call last):\n{lines}" if lines else told


ON_MACOS = (
    "Forked processes may break in macOS's own libraries: if that happens to all functions, type "
    f"{START}=spawn ./course lab, and each rank is a Python of its own."
)


def died(run: LocalRun, rank: int, code: int) -> RankDied:
    """A rank's process ended without an answer."""
    how = death(code) + (" and gave no answer" if code >= 0 else "")
    report = f"Rank {rank} of {run.plan.size} {how}. When it ended it {past(run, rank)}."
    how = f"it {how}."
    if code == -signal.SIGKILL:
        report += (why := " Somebody killed it, or the machine ran out of memory.")
        how += why
    elif code < 0 and sys.platform == "darwin" and forks():
        report += f" {ON_MACOS}"
    stack = "".join(clean(read_stack(run.stacks[rank])).format())
    if stack:
        report += f"\nTraceback of rank {rank} (most recent call last):\n{stack.rstrip()}"
    report += kept(run.stacks[rank], f"rank {rank}")
    return RankDied(report, (rank,), how)


def past(run: LocalRun, rank: int) -> str:
    """What a rank was doing: "was waiting to receive from rank 1"."""
    return "was " + doing(run, rank).removeprefix("is ").replace("waits", "waiting", 1)


def doing(run: LocalRun, rank: int) -> str:
    """What a rank is doing: "waits to receive from rank 1", "is computing"."""
    if run.board.read(rank).doing is None:
        return "is starting"
    states = board_states(run)
    words = wait_words(states[rank], states)
    if states[rank].waits:
        return f"waits {words}"
    return "is returning its value" if states[rank].doing == "returned" else "is computing"


def board_states(run: LocalRun) -> list[State]:
    """What every rank is doing, in rank order."""
    return [run.board.state(rank) for rank in range(run.plan.size)]


def timed_out(run: LocalRun) -> RunTimeout:
    """Ranks have not answered in time; those that compute are at fault before those that wait."""
    late = sorted(run.unfinished(), key=lambda rank: run.board.read(rank).waits)
    told = states(run)
    report = (
        f"After {run.plan.timeout:g} s {rank_words(sorted(late))} of {run.plan.size} had not "
        "answered. A longer run needs helpers.run(..., timeout=seconds).\n"
    )
    if run.answers and " waits in " in told:
        report += (
            f"{rank_words(sorted(run.answers)).capitalize()} had returned: was a collective "
            "skipped there, or called with another shape?\n"
        )
    said = "".join(kept(run.stacks[rank], f"rank {rank}") for rank in late)
    return RunTimeout(report + told + said, tuple(late))


def deadlocked(run: LocalRun) -> Deadlock:
    """All ranks that have not returned wait, and nothing moves."""
    text, waiting = tell(board_states(run))
    return Deadlock(text + "\n" + states(run), waiting)


def interrupted(run: LocalRun) -> str:
    """The cell was interrupted."""
    return "The run was interrupted.\n" + states(run)


def states(run: LocalRun) -> str:
    """What each unfinished rank does, and where in the code it is."""
    late = run.unfinished()
    stacks = where({rank: (run.pids[rank], run.stacks[rank]) for rank in late})
    parts = []
    for rank in late:
        frames = stacks[rank]
        words = f"waits in {inside}" if (inside := collective(frames)) else doing(run, rank)
        parts.append(f"Rank {rank} {words}:\n" + "".join(clean(own_code(frames)).format()))
    return "\n".join(parts).rstrip()


def where(processes: Mapping[Name, tuple[int, int]]) -> dict[Name, traceback.StackSummary]:
    """Where in the code processes are, by name, outermost first; no frames where one cannot tell.

    processes: of each its number and the file that faulthandler writes to. It writes piece by
    piece, and a process may first have to be given a processor, so each is waited for until its
    stack is whole, except one that is stopped or gone.
    """
    before = {name: os.fstat(file).st_size for name, (_, file) in processes.items()}
    for pid, _ in processes.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
    found: dict[Name, traceback.StackSummary] = {}
    until = time.monotonic() + _DUMP_SECONDS
    while True:
        missing = {name: process for name, process in processes.items() if name not in found}
        for name, (_, file) in missing.items():
            if frames := read_stack(file, before[name]):
                found[name] = frames
        waited = [n for n, (pid, _) in missing.items() if n not in found and _goes_on(pid)]
        if not waited or time.monotonic() > until:
            return {name: found.get(name, traceback.StackSummary()) for name in processes}
        time.sleep(0.01)


def _goes_on(pid: int) -> bool:
    """Whether a process is there and neither stopped nor ended."""
    halted = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP, psutil.STATUS_ZOMBIE)
    try:
        return psutil.Process(pid).status() not in halted
    except psutil.NoSuchProcess:
        return False


def read_stack(fd: int, start: int = 0) -> traceback.StackSummary:
    """The stack of a rank's own thread that faulthandler wrote into a file, outermost first.

    start: where in the file to begin. No frames where the stack is not whole.
    """
    text = os.pread(fd, 1 << 20, start).decode(errors="replace")
    for thread in reversed(re.split(r"\n(?=(?:Current t|T)hread )", text)):
        frames = [(m[1], int(m[2]), m[3]) for m in map(_FRAME.match, thread.splitlines()) if m]
        names = [name for _, _, name in frames]
        # faulthandler leaves out what is deeper than a hundred frames, and says so by dots.
        if "be_rank" in names or thread.rstrip().endswith("..."):
            inner = frames[: _engine_at(names)]
            return traceback.StackSummary.from_list(
                [traceback.FrameSummary(*frame) for frame in reversed(inner)]
            )
    return traceback.StackSummary()


def _engine_at(names: Sequence[str]) -> int:
    """Where, going outwards, the engine's own functions begin: be_rank has called answer."""
    if "be_rank" not in names:
        return len(names)
    at = names.index("be_rank")
    return at - 1 if at and names[at - 1] == "answer" else at


def collective(frames: traceback.StackSummary) -> str:
    """The framework's call that a rank is in, such as "torch.distributed.all_reduce"."""
    for frame in frames:
        path = Path(frame.filename)
        if "torch/distributed" in path.as_posix() and frame.name not in ("wrapper", "inner"):
            return f"torch.distributed.{frame.name}"
        if "horovod" in path.parts:
            return f"horovod's {frame.name}"
    return ""


def own_code(frames: traceback.StackSummary) -> traceback.StackSummary:
    """Frames up to the last one that is neither Python's nor a framework's own."""
    own = [i for i, f in enumerate(frames) if not is_library(f.filename)]
    return traceback.StackSummary.from_list(frames[: own[-1] + 1] if own else frames)


def clean(frames: traceback.StackSummary) -> traceback.StackSummary:
    """Frames without the engine's own; all of them where nothing else would be left.

    Their lines are looked up here, where the notebook's cells are known.
    """
    kept = [f for f in frames if not is_engine(f.filename)]
    return traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(
                file_name(f.filename),
                f.lineno,
                f.name,
                line=linecache.getline(f.filename, f.lineno or 0),
                end_lineno=f.end_lineno,
                colno=f.colno,
                end_colno=f.end_colno,
            )
            for f in kept or frames
        ]
    )
