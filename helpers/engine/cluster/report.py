"""What is said of a cluster's run that went wrong: who, on which node, doing what, where."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helpers.engine import report
from helpers.engine.chatter import kept
from helpers.engine.deadlock import rank_words, tell
from helpers.engine.errors import (
    Deadlock,
    JobCancelled,
    NodeDied,
    RankDied,
    RunError,
    RunTimeout,
    death,
)

if TYPE_CHECKING:
    from helpers.engine.cluster.follow import Follower

    Run = Follower

_LOG_LINES = 12
AT_ONCE = 0.5  # seconds by which a keeper may tell of a death later than its cause


def first(run: Run) -> RunError:
    """What went wrong first: an exception, a death, or a rank that the launcher ended."""
    bad = {rank: each for rank, each in run.outcomes.items() if each.what != "value"}

    def order(rank: int) -> tuple[bool, float]:
        early = AT_ONCE if bad[rank].what == "died" else 0.0
        return bad[rank].what == "ended", bad[rank].time - early

    rank = min(bad, key=order)
    what = bad[rank].what
    if run.state.word == "NODE_FAIL" or what == "ended":
        return job_ended(run)
    if what == "died":
        return died(run, rank)
    if what == "late":
        return timed_out(run)
    failures = {r: run.folder.value(f"rank-{r}") for r, each in bad.items() if each.what == what}
    mine = failures.pop(rank)
    told: Any = run
    error: RunError = report.failed(told, rank, mine, failures)
    error.report += f"\nRank {rank} was on {bad[rank].node}."
    error.args = (error.report,)
    return error


def died(run: Run, rank: int) -> RankDied:
    """A rank's process ended without an answer."""
    outcome = run.outcomes[rank]
    how = death(outcome.code) + (" and gave no answer" if outcome.code >= 0 else "")
    told = f"Rank {rank} of {run.plan.size}, on {outcome.node}, {how}. It {past(run, rank)}."
    if outcome.code == -signal.SIGKILL:
        told += " Somebody killed it, or the node ran out of memory."
    told += last_seen(run, rank) + kept(run.stacks[rank], f"rank {rank}")
    return RankDied(told, (rank,))


def never_starts(run: Run) -> RunError:
    """A job that its launcher will never start."""
    return RunError(f"{run.job.name} would wait for ever: {run.state.reason}. It is cancelled.")


def node_died(run: Run, ranks: Sequence[int]) -> NodeDied:
    """Nothing comes from a node any more."""
    lost = list(dict.fromkeys(run.node(rank) for rank in ranks))
    word, its = ("node", "its") if len(lost) == 1 else ("nodes", "their")
    told = (
        f"The {word} {' and '.join(lost)} stopped answering, and {rank_words(ranks)} of "
        f"{run.plan.size} with it: nothing has been heard of {its} ranks since. "
    )
    if run.state.word == "NODE_FAIL":
        told += "SLURM says so too (NODE_FAIL). "
    told += f"{run.job.name} is cancelled. A checkpoint is where a next job can go on from."
    return NodeDied(told + states(run, ranks), tuple(ranks), tuple(lost))


def job_ended(run: Run) -> RunError:
    """The launcher says that the job has ended, and ranks have not answered."""
    state = run.state
    lost = [rank for rank in run.unfinished() if rank in run.notes]
    if state.word == "NODE_FAIL" and lost:
        return node_died(run, lost)
    ranks = [r for r in range(run.plan.size) if r not in run.values]
    before = f"before {rank_words(ranks)} of {run.plan.size} had answered"
    if state.word.startswith("CANCELLED"):
        told = f"{run.job.name} was cancelled (scancel) {before}."
        return JobCancelled(told + states(run, ranks), tuple(ranks))
    if state.word in ("TIMEOUT", "DEADLINE"):
        told = f'{run.job.name} reached its time limit in SLURM {before}: give time="hh:mm:ss".'
        return RunTimeout(told + states(run, ranks), tuple(ranks))
    why = f"{state.word}, {state.reason}" if state.reason else state.word
    told = f"{run.job.name} ended ({why}) {before}." + states(run, ranks) + launcher_log(run)
    kind = JobCancelled if state.word in ("PREEMPTED", "ENDED") and run.notes else RankDied
    return kind(told, tuple(ranks))


def not_started(run: Run) -> RunTimeout:
    """Ranks have not come up."""
    late = [rank for rank in run.unfinished() if not run.board.read(rank).doing]
    told = (
        f"{rank_words(late).capitalize()} of {run.plan.size} had not started "
        f"{run.plan.start_timeout:g} s after {run.job.name.lower()} began. "
        "start_timeout= gives them longer. Which interface leads to the other nodes? interface= "
        "says so."
    )
    return RunTimeout(told + states(run, late) + launcher_log(run), tuple(late))


def timed_out(run: Run) -> RunTimeout:
    """Ranks have not answered in time; those that compute are at fault before those that wait."""
    ranks = [r for r in range(run.plan.size) if r not in run.values]
    late = sorted(ranks, key=lambda rank: run.board.read(rank).waits)
    told = (
        f"After {run.plan.timeout:g} s {rank_words(ranks)} of {run.plan.size} had not answered. "
        "A longer run needs helpers.run(..., timeout=seconds)."
    )
    return RunTimeout(told + states(run, ranks), tuple(late))


def deadlocked(run: Run) -> Deadlock:
    """All ranks that have not returned wait, and nothing moves."""
    text, waiting = tell([run.board.state(rank) for rank in range(run.plan.size)])
    return Deadlock(text + states(run, run.unfinished()), waiting)


def interrupted(run: Run) -> str:
    """The cell was interrupted."""
    told = f"The run was interrupted, and {run.job.name.lower()} cancelled."
    return told + states(run, run.unfinished())


def states(run: Run, ranks: Sequence[int]) -> str:
    """What ranks were doing when they were last heard of, and where in the code."""
    told = []
    for rank in ranks:
        where = f", on {run.node(rank)}," if run.node(rank) else ""
        told.append(f"\nRank {rank}{where} {past(run, rank)}." + last_seen(run, rank))
    return "".join(told)


def past(run: Run, rank: int) -> str:
    """What a rank was doing when it was last heard of."""
    told: Any = run
    return report.past(told, rank) if rank in run.notes else "had not started"


def last_seen(run: Run, rank: int) -> str:
    """Where in its code a rank was at its last note."""
    noted = run.notes[rank]["frames"] if rank in run.notes else []
    frames = traceback.StackSummary.from_list(
        [traceback.FrameSummary(*frame, lookup_line=False) for frame in noted]
    )
    lines = "".join(report.clean(report.own_code(frames)).format()).rstrip()
    return f"\nTraceback of rank {rank} (most recent call last):\n{lines}" if lines else ""


def launcher_log(run: Run) -> str:
    """The end of what the launcher itself wrote."""
    lines = (run.folder.get("job.log") or b"").decode(errors="replace").strip().splitlines()
    if not lines:
        return ""
    return "\nThe end of the launcher's log:\n" + "\n".join(lines[-_LOG_LINES:])
