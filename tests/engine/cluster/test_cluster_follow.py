"""Following a run, from what lies in its folder: every ending, without a launcher."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import helpers
from helpers.engine.cluster import follow
from helpers.engine.cluster.folder import Outcome, Plan, RunFolder
from helpers.engine.cluster.follow import Follower
from helpers.engine.cluster.jobs import State
from helpers.engine.errors import (
    Deadlock,
    JobCancelled,
    NodeDied,
    RankDied,
    RankFailed,
    RunError,
    RunInterrupted,
    RunTimeout,
)
from helpers.engine.rank import describe_failure
from helpers.engine.real import Recorder
from helpers.engine.wire import pack_value

NODES = ("n1", "n1", "n2", "n2")


class FakeJob:
    """A launcher that says what it is told to say."""

    name = "Job 12"

    def __init__(self, *states: State) -> None:
        self.states, self.ended = list(states) or [State("runs", "RUNNING", "", "n[1-2]")], 0

    def state(self) -> State:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def end(self, well: bool) -> None:
        self.ended += not well


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions and limits of a tenth of a second or two."""
    short = {"LOOK": 0.01, "ASK": 0.02, "SILENT": 0.5, "SETTLE": 0.1, "STILL": 0.2, "MOST": 0.1}
    for name, seconds in short.items():
        monkeypatch.setattr(follow, name, seconds)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    plan = Plan(
        4, "torch", "slurm", None, 1, 30.0, 30.0, "", [], str(tmp_path), "a run", {}
    )  # fmt: skip
    made = RunFolder.new(tmp_path / "run", plan, pack_value(1))
    made.note(launcher="slurm", job="12")
    return made


def note(
    folder: RunFolder, rank: int, doing: Any = None, peer: int | None = None, number: int = 0
) -> None:
    """What a rank's keeper says of it."""
    lanes = [(doing, peer, 0, 1), ("idle", None, 0, 1)]
    frames = [(__file__, 1, "train")] if doing else []
    told = {"beat": number, "node": NODES[rank], "cpu": 1.0, "lanes": lanes, "frames": frames}
    folder.write_now(rank, told)


def begin(folder: RunFolder) -> None:
    for rank in range(4):
        note(folder, rank)


def value(folder: RunFolder, rank: int, what: Any = None) -> None:
    account = ([(rank, "sending", 0.1, 0.2, "send", 0, 8, 0)], {0: 8}, 1, (0.0, 0.5))
    outcome = Outcome("value", NODES[rank], time.time(), account=account)
    folder.put_outcome(rank, outcome, pack_value(rank if what is None else what))


def failure(folder: RunFolder, rank: int, words: str, later: float = 0.0) -> None:
    try:
        raise ValueError(words)
    except ValueError as error:
        parcel = pack_value(describe_failure(error, Recorder(rank)))
    folder.put_outcome(rank, Outcome("failure", NODES[rank], time.time() + later), parcel)


def ended(folder: RunFolder, rank: int, what: str, code: int = -9, later: float = 0.0) -> None:
    folder.put_outcome(rank, Outcome(what, NODES[rank], time.time() + later, code=code))


def wrong(folder: RunFolder, kind: type[RunError], *states: State) -> Any:
    """The error with which a run ends; its job has been ended."""
    job = FakeJob(*states)
    with pytest.raises(kind) as caught:
        Follower(folder, job, show=False).results()
    assert job.ended >= 1
    return caught.value


def test_values_trace_statistics_and_output_come_back(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(folder)
    for rank in range(4):
        folder.file(rank, "log").write_text(f"I am {rank}\n")
        value(folder, rank, [rank] * 2)
    results = Follower(folder, FakeJob(), show=True).results()
    assert list(results) == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert results.stats.bytes == [8] * 4 and results.stats.sent[2] == {0: 8}
    # Ranks 2 and 3 are on the other node: their 16 bytes crossed its link.
    assert results.stats.links[1].out == 16
    assert results.trace.of(3, "sending")[0].peer == 0
    assert results.output[2] == "I am 2\n"
    assert "rank 0 | I am 0\nrank 1 | I am 1\n" in capsys.readouterr().out


def test_a_waiting_job_says_so_and_uses_up_no_time(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    class Waits(FakeJob):
        def state(self) -> State:
            found = super().state()
            if found.stage == "runs":
                for rank in range(4):
                    value(folder, rank)
            return found

    waits = State("waits", "PENDING", "Resources")
    folder.put("plan", pickle.dumps(folder.plan()._replace(timeout=0.05)))
    begin(folder)
    job = Waits(*[waits] * 20, State("runs", "RUNNING", "", "n[1-2]"))
    assert list(Follower(folder, job, show=True).results()) == [0, 1, 2, 3]
    told = capsys.readouterr().out
    assert told.count("Job 12 waits in the queue: Resources.") == 1
    assert "Job 12 runs on n[1-2]." in told


# --- endings --------------------------------------------------------------------------------------


def an_exception(folder: RunFolder) -> None:
    failure(folder, 1, "the cause")
    failure(folder, 2, "Connection closed by peer", later=1.0)
    ended(folder, 0, "ended", later=2.0)
    ended(folder, 3, "ended", later=2.0)


def a_death(folder: RunFolder) -> None:
    note(folder, 3, "receiving", 0)
    failure(folder, 1, "Connection closed by peer")
    ended(folder, 3, "died", later=0.2)
    ended(folder, 0, "ended")
    ended(folder, 2, "ended")


def a_silent_node(folder: RunFolder) -> None:
    note(folder, 2, "computing")
    failure(folder, 0, "Connection closed by peer", later=0.5)
    ended(folder, 1, "ended")


def a_node_that_slurm_tells_of_first(folder: RunFolder) -> None:
    for rank in (0, 1):
        ended(folder, rank, "ended")


def a_cancelled_job(folder: RunFolder) -> None:
    note(folder, 1, "computing")
    for rank in range(4):
        ended(folder, rank, "ended")


def too_long(folder: RunFolder) -> None:
    folder.put("plan", pickle.dumps(folder.plan()._replace(timeout=0.1)))
    for rank in range(3):
        note(folder, rank, "receiving", 3)
    note(folder, 3, "computing")


def all_wait(folder: RunFolder, number: int = 0) -> None:
    for rank in range(4):
        note(folder, rank, "receiving", (rank + 1) % 4, number)


@pytest.mark.parametrize(
    ("happens", "states", "kind", "ranks", "words"),
    [
        (an_exception, (), RankFailed, (1,), ("raise ValueError(words)", "on n1")),
        (a_death, (), RankDied, (3,),
         ("Rank 3 of 4, on n2, was killed by signal 9 (SIGKILL)",
          "was waiting to receive from rank 0", "Traceback of rank 3")),
        (a_silent_node, (), NodeDied, (2, 3),
         ("node n2 stopped answering, and ranks 2 and 3 of 4", "Rank 2, on n2, was computing.")),
        (a_node_that_slurm_tells_of_first, (State("ended", "NODE_FAIL", "NodeDown"),), NodeDied,
         (2, 3), ("node n2",)),
        (a_cancelled_job, (State("ended", "CANCELLED"),), JobCancelled, (0, 1, 2, 3),
         ("Job 12 was cancelled (scancel) before ranks 0 to 3 of 4 had answered", "of rank 1")),
        (too_long, (), RunTimeout, (3, 0, 1, 2),
         ("Rank 0, on n1, was waiting to receive from rank 3",)),
        (all_wait, (), Deadlock, (0, 1, 2, 3),
         ("Rank 3, on n2, was waiting to receive from rank 0.",)),
    ],
)  # fmt: skip
def test_each_ending_names_the_ranks_at_fault_and_what_they_did(
    folder: RunFolder,
    happens: Callable[[RunFolder], None],
    states: tuple[State, ...],
    kind: type[RunError],
    ranks: tuple[int, ...],
    words: tuple[str, ...],
) -> None:
    begin(folder)
    happens(folder)
    error = wrong(folder, kind, *states)
    assert error.ranks == ranks
    assert all(each in error.report for each in words), error.report


def test_a_job_cancelled_in_the_queue(folder: RunFolder) -> None:
    states = State("waits", "PENDING", "Resources"), State("ended", "CANCELLED")
    report = wrong(folder, JobCancelled, *states).report
    assert "was cancelled (scancel)" in report and "Rank 0 had not started." in report


def test_a_job_that_fails_to_start_shows_the_launchers_log(folder: RunFolder) -> None:
    folder.put("job.log", b"srun: error: no such python\n")
    error = wrong(folder, RankDied, State("ended", "FAILED", "NonZeroExitCode"))
    assert "Job 12 ended (FAILED, NonZeroExitCode) before ranks" in error.report
    assert "no such python" in error.report


def test_a_minute_in_which_nobody_looked_is_nobodys_time(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(follow.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(follow, "FRESH", 0.15)
    all_wait(folder)
    follower = Follower(folder, FakeJob(), show=False)
    follower.ask()

    def looks(count: int, step: float, beats: int = 0) -> None:
        for turn in range(count):
            now[0] += step
            if beats:
                all_wait(folder, beats + turn)
            follower.look()
            follower.judge()

    looks(3, 60.0)  # neither a time-out of 30 s, nor a silent node, nor a deadlock
    looks(3, 0.1)  # of ranks that do not beat nobody knows whether they still wait
    with pytest.raises(Deadlock):
        looks(5, 0.1, beats=1)
    follower.finish(well=True)


def test_whoever_attaches_later_gets_the_same(folder: RunFolder) -> None:
    begin(folder)
    an_exception(folder)
    first = wrong(folder, RankFailed)
    with pytest.raises(RankFailed) as again:
        helpers.attach("12", folder=folder.path.parent, show=False)
    assert again.value.report == first.report and again.value.ranks == first.ranks
    with pytest.raises(ValueError, match="There is no run nothing"):
        helpers.attach("nothing", folder=folder.path.parent)


def test_an_interrupt_cancels_the_job(folder: RunFolder) -> None:
    class Interrupts(FakeJob):
        def state(self) -> State:
            raise KeyboardInterrupt

    begin(folder)
    job = Interrupts()
    with pytest.raises(RunInterrupted, match="interrupted, and job 12 cancelled"):
        Follower(folder, job, show=False).results()
    assert job.ended


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"launcher": "mpirun"}, "no launcher 'mpirun'"),
        ({"nodes": 0}, "nodes is a whole number"),
        ({"ranks": 3}, "ranks=3 is not 2 nodes of 2"),
        ({"launcher": "torchrun", "partition": "rtx"}, "no option 'partition'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        helpers.run(print, engine="cluster", **options)
