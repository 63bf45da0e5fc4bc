"""What is said of a cluster's run that went wrong: who, on which node, doing what, where."""

from __future__ import annotations

import dataclasses
import signal
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helpers.engine.board import Slot
from helpers.engine.chatter import kept
from helpers.engine.cluster.slurm import names
from helpers.engine.deadlock import State, rank_words, tell, wait_words
from helpers.engine.errors import (
    Deadlock,
    JobCancelled,
    NodeDied,
    RankDied,
    RunError,
    RunTimeout,
    death,
)
from helpers.engine.report import clean, failed, own_code

if TYPE_CHECKING:
    from helpers.engine.cluster.follow import Follower as Run

_LOG_LINES = 12
AT_ONCE = 0.5  # seconds by which a keeper may tell of a death later than its cause


def first(run: Run) -> RunError:
    """What went wrong first: an exception, a death, or a rank that the launcher ended."""
    bad = {rank: each for rank, each in run.outcomes.items() if each.what != "value"}

    def order(rank: int) -> tuple[bool, float]:
        outcome = bad[rank]
        early = AT_ONCE if outcome.what == "died" else 0.0
        return outcome.what == "ended", outcome.time - early

    rank = min(bad, key=order)
    what = bad[rank].what
    if what == "failure":
        failures = {r: run.folder.outcome_value(r, o) for r, o in bad.items() if o.what == what}
        mine = failures.pop(rank)
        error: RunError = failed(run, rank, mine, failures)  # type: ignore[arg-type]
        error.report += f"\nRank {rank} was on {bad[rank].node}."
        error.args = (error.report,)
        return error
    if what == "died":
        return died(run, rank)
    return timed_out(run) if what == "late" else job_ended(run)


def died(run: Run, rank: int) -> RankDied:
    """A rank's process ended without an answer."""
    outcome = run.outcomes[rank]
    how = death(outcome.code) + (" and gave no answer" if outcome.code >= 0 else "")
    report = f"Rank {rank} of {run.plan.size}, on {outcome.node}, {how}. It {past(run, rank)}."
    if outcome.code == -signal.SIGKILL:
        report += " Somebody killed it, or the node ran out of memory."
    report += last_seen(run, rank) + kept(run.stacks[rank], f"rank {rank}")
    return RankDied(report, (rank,))


def node_died(run: Run, ranks: Sequence[int]) -> NodeDied:
    """Nothing comes from a node any more."""
    lost = list(dict.fromkeys(run.nodes.get(rank, "a node") for rank in ranks))
    word, its = ("node", "its") if len(lost) == 1 else ("nodes", "their")
    report = (
        f"The {word} {names(lost)} stopped answering, and {rank_words(sorted(ranks))} of "
        f"{run.plan.size} with it: nothing has been heard of {its} ranks since. "
    )
    if run.state.word == "NODE_FAIL" or run.state.reason.startswith("NodeDown"):
        report += f"SLURM says so too ({run.state.word}). "
    report += f"{run.job.name} is cancelled. A checkpoint is where a next job can go on from."
    return NodeDied(report + states(run, ranks), tuple(sorted(ranks)), tuple(lost))


def job_ended(run: Run) -> RunError:
    """The launcher says that the job has ended, and ranks have not answered."""
    state = run.state
    ranks = [r for r in range(run.plan.size) if r not in run.values]
    words = rank_words(ranks)
    have = "has" if len(ranks) == 1 else "have"
    if state.word.startswith("CANCELLED"):
        report = f"{run.job.name} was cancelled (scancel) before {words} had answered."
        if not run.beats:
            report = f"{run.job.name} was cancelled (scancel) before its ranks began."
        return JobCancelled(report + states(run, ranks), tuple(ranks))
    if state.word in ("TIMEOUT", "DEADLINE"):
        report = (
            f"{run.job.name} reached its time limit in SLURM before {words} had answered: give "
            'time="hh:mm:ss".'
        )
        return RunTimeout(report + states(run, ranks), tuple(ranks))
    if state.word == "NODE_FAIL" and (lost := [r for r in run.unfinished() if r in run.beats]):
        return node_died(run, lost)
    why = f" ({state.word}{', ' + state.reason if state.reason else ''})"
    report = f"{run.job.name} has ended{why}, and {words} of {run.plan.size} {have} not answered."
    kind = JobCancelled if state.word in ("PREEMPTED", "ENDED") and run.beats else RankDied
    return kind(report + states(run, ranks) + launcher_log(run), tuple(ranks))


def not_started(run: Run) -> RunTimeout:
    """Ranks have not come up."""
    late = [r for r in run.unfinished() if now(run, r)[0].doing == "idle"]
    report = (
        f"{rank_words(late).capitalize()} of {run.plan.size} had not started "
        f"{run.plan.start_timeout:g} s after {run.job.name.lower()} began. "
        "start_timeout= gives them longer. Which interface leads to the other nodes? interface= "
        "says so."
    )
    return RunTimeout(report + states(run, late) + launcher_log(run), tuple(late))


def timed_out(run: Run) -> RunTimeout:
    """Ranks have not answered in time; those that compute are at fault before those that wait."""
    ranks = [r for r in range(run.plan.size) if r not in run.values]
    late = sorted(ranks, key=lambda rank: now(run, rank)[0].waits)
    report = (
        f"After {run.plan.timeout:g} s {rank_words(ranks)} of {run.plan.size} had not answered. "
        "A longer run needs helpers.run(..., timeout=seconds)."
    )
    return RunTimeout(report + states(run, ranks), tuple(late))


def deadlocked(run: Run) -> Deadlock:
    """All ranks that have not returned wait, and nothing moves."""
    text, waiting = tell([now(run, rank)[0] for rank in range(run.plan.size)])
    return Deadlock(text + states(run, run.unfinished()), waiting)


def interrupted(run: Run) -> str:
    """The cell was interrupted."""
    left = run.unfinished()
    return f"The run was interrupted, and {run.job.name.lower()} cancelled." + states(run, left)


def states(run: Run, ranks: Sequence[int]) -> str:
    """What ranks were doing when they were last heard of, and where in the code."""
    told = []
    for rank in ranks:
        words = f"Rank {rank}"
        if rank in run.nodes:
            words += f", on {run.nodes[rank]},"
        told.append(f"\n{words} {past(run, rank)}." + last_seen(run, rank))
    return "".join(told)


def past(run: Run, rank: int) -> str:
    """What a rank was doing when it was last heard of."""
    if rank not in run.beats:
        return "had not started"
    state, _ = now(run, rank)
    if state.doing == "idle":
        return "was starting"
    if state.waits:
        others = [now(run, other)[0] for other in range(run.plan.size)]
        return f"was waiting {wait_words(state, others)}"
    return "had returned" if state.doing == "returned" else "was computing"


def now(run: Run, rank: int) -> tuple[State, traceback.StackSummary]:
    """A rank's last note: what it did, and where in the code it was."""
    noted: Any = run.folder.read(rank, "now")
    if noted is None:
        return State(rank, "idle"), traceback.StackSummary()
    main, beside = (Slot(*lane) for lane in noted["lanes"])
    state = State(rank, main.doing or "idle", main.peer, main.nbytes)
    if beside.doing not in (None, "idle", "returned"):
        behind = State(rank, beside.doing or "idle", beside.peer, beside.nbytes)
        state = dataclasses.replace(state, background=behind)
    frames = [traceback.FrameSummary(*frame, lookup_line=False) for frame in noted["frames"]]
    return state, traceback.StackSummary.from_list(frames)


def last_seen(run: Run, rank: int) -> str:
    """Where in its code a rank was at its last note."""
    lines = "".join(clean(own_code(now(run, rank)[1])).format()).rstrip()
    return f"\nTraceback of rank {rank} (most recent call last):\n{lines}" if lines else ""


def launcher_log(run: Run) -> str:
    """The end of what the launcher itself wrote."""
    try:
        lines = run.folder.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    if not lines:
        return ""
    return "\nThe end of the launcher's log:\n" + "\n".join(lines[-_LOG_LINES:])
