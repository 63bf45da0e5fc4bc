"""Following a job from the notebook: its state, rank 0's log, beats, and how its ranks ended."""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

from helpers.engine.board import Board, RankOutput, show_output
from helpers.engine.cluster import report
from helpers.engine.cluster.folder import Outcome, RunFolder
from helpers.engine.cluster.jobs import Job, State
from helpers.engine.errors import RunError, RunInterrupted
from helpers.engine.trace import Event, RankStats, Results, Stats, Trace, with_computing
from helpers.engine.wire import anonymous_file

LOOK = 0.1  # seconds between two looks into the folder
ASK = 1.0  # between two questions to the launcher
SILENT = 20.0  # seconds without a beat after which a node is dead; a keeper beats every second
MOST = 0.5  # seconds that one look adds at most to the time in which nothing was heard
STILL = 16.0  # seconds in which nothing moves, after which ranks that all wait are deadlocked
BUSY = 0.15  # seconds of a rank's processor time meanwhile: a message is on its way
FRESH = 5.0  # seconds: a beat that is older says nothing of now
SETTLE = 2.0  # for a last word to arrive, once the launcher says that the job has ended


class Follower:
    """One run, followed until it has ended."""

    def __init__(self, folder: RunFolder, job: Job, show: bool) -> None:
        self.folder, self.job, self.show = folder, job, show
        self.plan = folder.plan()
        size = self.plan.size
        self.outcomes: dict[int, Outcome] = {}
        self.values: dict[int, Any] = {}
        self.notes: dict[int, Any] = {}  # the last of each rank, and when it was new here
        self.heard: dict[int, float] = {}
        self.board = Board(anonymous_file(Board.bytes(size)), size)  # what these say
        self.outputs = [
            RankOutput(f"rank {r}", os.open(folder.file(r, "log"), os.O_RDONLY), show and r == 0)
            for r in range(size)
        ]
        self.stacks = [os.open(folder.file(r, "stack"), os.O_RDONLY) for r in range(size)]
        self.state, self.told = State("unknown"), ""
        # All is counted on a clock that runs only while we look: where this machine stands still,
        # as on a laptop that wakes up, the others' beats have not been missed.
        self.clock, self.looked, self.asked = 0.0, time.monotonic(), 0.0
        self.suspect: float | None = None  # when the first rank was found to have ended badly
        self.runs_since: float | None = None
        self.begun: float | None = None
        self.ended: float | None = None
        self.still: tuple[Any, list[float], float] = (None, [], 0.0)  # lanes, times, since when

    def results(self) -> Results:
        """Wait for every rank. Raises RunError or RunInterrupted as soon as one goes wrong."""
        verdict = self.folder.get("verdict")
        try:
            if verdict is not None:
                raise pickle.loads(verdict)
            while True:
                self.look()
                if len(self.values) == self.plan.size:
                    return self.collect()
                if time.monotonic() - self.asked >= ASK:
                    self.ask()
                self.judge()
                time.sleep(LOOK)
        except RunError as error:
            self.folder.put("verdict", pickle.dumps(error))  # for whoever attaches
            raise
        except KeyboardInterrupt:
            raise RunInterrupted(report.interrupted(self)) from None
        finally:
            self.finish(verdict is not None or len(self.values) == self.plan.size)

    def finish(self, well: bool) -> None:
        """End what is left of the job, and show what the other ranks have printed."""
        try:
            self.job.end(well)
            self.folder.note(ended=True)
        finally:
            for output in self.outputs:
                output.finish()
                output.close()
            for stack in self.stacks:
                os.close(stack)
        if self.show:
            show_output(["", *(output.text for output in self.outputs[1:])])

    def look(self) -> None:
        """Take what the ranks have written."""
        now = time.monotonic()
        self.clock += min(now - self.looked, MOST)
        self.looked = now
        for rank in self.unfinished():
            outcome, note = self.folder.outcome(rank), self.folder.now(rank)
            if note is not None and note != self.notes.get(rank):
                self.notes[rank], self.heard[rank] = note, self.clock
                for lane, slot in enumerate(note["lanes"]):
                    self.board.write(rank, lane, *slot)
            if rank in self.notes and outcome is not None:
                self.take(rank, outcome)
        self.outputs[0].read()

    def take(self, rank: int, outcome: Outcome) -> None:
        """A rank has ended."""
        self.outcomes[rank] = outcome
        if outcome.what != "value":
            self.suspect = self.clock if self.suspect is None else self.suspect
            return
        self.board.write(rank, 0, "returned", None, 0, 0)
        try:
            self.values[rank] = self.folder.value(f"rank-{rank}")
        except Exception as error:
            raise RunError(
                f"What rank {rank} returned cannot be taken out of its pickle here: "
                f"{type(error).__name__}: {error}. Return numbers, tensors, or containers of them.",
                (rank,),
            ) from error

    def ask(self) -> None:
        """Ask the launcher where the job stands, and say what has changed."""
        state = self.job.state()
        self.asked = time.monotonic()
        if state.stage == "unknown":
            return
        self.state = state
        if state.stage == "waits":
            self.tell(f"{self.job.name} waits in the queue: {state.reason or state.word}.")
        elif state.stage == "runs" and state.nodes:
            self.tell(f"{self.job.name} runs on {state.nodes}.")
        if state.stage != "waits" and self.runs_since is None:
            self.runs_since = self.clock
        if state.stage == "ended" and self.ended is None:
            self.ended = self.clock

    def tell(self, words: str) -> None:
        """Say something once."""
        if self.show and words != self.told:
            print(words, flush=True)
        self.told = words

    def judge(self) -> None:
        """Raise what has gone wrong, once it is clear which of several things came first."""
        if gone := self.gone():
            raise report.node_died(self, gone)
        if self.state.stage == "never":
            raise report.never_starts(self)
        over = self.ended is not None and self.clock - self.ended > SETTLE
        if self.suspect is not None:
            # What a lost peer makes a rank raise is not the cause: hear of every other rank first.
            # Of ranks that the launcher has ended it is about to say why.
            unsure = any(self.heard.get(rank, 0) <= self.suspect for rank in self.unfinished())
            unsure |= all(each.what in ("value", "ended") for each in self.outcomes.values())
            unsure |= self.state.word == "NODE_FAIL"
            if over or not unsure or self.clock - self.suspect > SILENT:
                raise report.first(self)
        elif over:
            raise report.job_ended(self)
        else:
            self.judge_waiting()
            self.judge_time()

    def gone(self) -> list[int]:
        """Ranks whose whole node has not been heard of for too long.

        All at once is rather a shared disk that stands still: the time-out tells of that.
        """
        since = self.clock - SILENT
        quiet = [r for r in self.unfinished() if self.heard.get(r, self.clock) < since]
        there = {self.node(r) for r in self.unfinished() if r not in quiet}
        there |= {each.node for each in self.outcomes.values() if each.what != "value"}
        quiet = [] if len(quiet) == self.plan.size else quiet
        return [rank for rank in quiet if self.node(rank) not in there]

    def node(self, rank: int) -> str:
        """Where a rank is; "" where it has not begun."""
        return str(self.notes[rank]["node"]) if rank in self.notes else ""

    def judge_waiting(self) -> None:
        """Raise Deadlock where all ranks wait for each other, and nothing has moved for a while."""
        left = self.unfinished()
        lanes = [self.notes[rank]["lanes"] for rank in left if rank in self.notes]
        used = [self.notes[rank]["cpu"] for rank in left if rank in self.notes]
        moved = lanes != self.still[0] or any(
            now - before > BUSY for now, before in zip(used, self.still[1], strict=True)
        )
        # Of a rank that does not beat nobody knows whether it still waits.
        moved |= any(self.clock - self.heard.get(rank, -FRESH) > FRESH for rank in left)
        if moved or not all(self.board.read(rank).waits for rank in left):
            self.still = lanes, used, self.clock
        elif self.clock - self.still[2] > STILL:
            raise report.deadlocked(self)

    def judge_time(self) -> None:
        """Raise RunTimeout where the ranks do not start, or do not end."""
        if self.begun is None and self.runs_since is not None:
            if all(self.board.read(rank).doing for rank in self.unfinished()):
                # Whoever attaches counts from when the ranks began, not from when it came.
                wall = self.folder.noted().get("begun") or time.time()
                self.folder.note(begun=wall)
                self.begun = self.clock - max(0.0, time.time() - wall)
            elif self.clock - self.runs_since > self.plan.start_timeout:
                raise report.not_started(self)
        if self.begun is not None and self.clock - self.begun > self.plan.timeout:
            raise report.timed_out(self)

    def unfinished(self) -> list[int]:
        """The ranks that have not ended."""
        return [rank for rank in range(self.plan.size) if rank not in self.outcomes]

    def collect(self) -> Results:
        """Put the ranks' answers together."""
        order = range(self.plan.size)
        events, stats, spans, sent = [], [], [], []
        for rank in order:
            recorded, sent_to, messages, (start, end) = self.outcomes[rank].account
            spans.append((start, end))
            stats.append(RankStats(sum(sent_to.values()), messages, end - start))
            sent.append(sent_to)
            events += [Event(*each) for each in recorded]
        for output in self.outputs:
            output.read()
        names = list(dict.fromkeys(self.outcomes[rank].node for rank in order))
        hosts = [names.index(self.outcomes[rank].node) for rank in order]
        trace = Trace(with_computing(events, spans), self.plan.size)
        texts = [output.text for output in self.outputs]
        values, job = [self.values[r] for r in order], str(self.folder.noted().get("job", ""))
        return Results(values, trace, Stats(stats, sent, hosts), texts, job)
