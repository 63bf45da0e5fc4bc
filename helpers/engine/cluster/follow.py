"""Following a job from the notebook: its state, rank 0's log, beats, and how its ranks ended."""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

from helpers.engine.board import RankOutput, show_output
from helpers.engine.cluster import report
from helpers.engine.cluster.bar import Bar
from helpers.engine.cluster.folder import Outcome, RunFolder
from helpers.engine.cluster.launchers import Job
from helpers.engine.cluster.slurm import State
from helpers.engine.errors import RunError, RunInterrupted
from helpers.engine.trace import Event, RankStats, Results, Stats, Trace, with_computing

LOOK = 0.1  # seconds between two looks into the folder
ASK = 1.0  # between two questions to the launcher
SILENT = 20.0  # seconds without a beat after which a node is dead; a keeper beats every second
ALL_SILENT = 3  # times as long, where no node is heard of at all
MOST = 0.5  # seconds that one look adds at most to the time in which nothing was heard
STILL = 16.0  # seconds in which nothing moves, after which ranks that all wait are deadlocked
BUSY = 0.15  # seconds of processor time meanwhile that mean that a message is on its way
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
        self.beats: dict[int, tuple[Any, float]] = {}  # the last beat, and when it was new here
        self.nodes: dict[int, str] = {}
        self.outputs = [
            RankOutput(f"rank {r}", os.open(folder.file(r, "log"), os.O_RDONLY), show and r == 0)
            for r in range(size)
        ]
        self.stacks = [os.open(folder.file(r, "stack"), os.O_RDONLY) for r in range(size)]
        self.still: tuple[Any, float, float] = (None, 0.0, 0.0)
        self.state = State("unknown")
        self.told = ""
        # All is counted on a clock that runs only while we look: where this machine stands still,
        # as on a laptop that wakes up, the others' beats have not been missed.
        self.clock, self.looked = 0.0, time.monotonic()
        self.suspect: float | None = None  # when the first rank was found to have ended badly
        self.asked = 0.0
        self.ended: float | None = None
        self.runs_since: float | None = None
        self.begun: float | None = None
        self.bar = Bar(2 * size, show)

    def results(self) -> Results:
        """Wait for every rank. Raises RunError or RunInterrupted as soon as one goes wrong."""
        if (verdict := self.folder.get("verdict")) is not None:
            self.values = dict.fromkeys(range(self.plan.size))  # nothing is left to end
            self.finish()
            raise pickle.loads(verdict)
        try:
            self.follow()
            return self.collect()
        except RunError as error:
            self.folder.put("verdict", pickle.dumps(error))  # for whoever attaches
            raise
        except KeyboardInterrupt:
            told = report.interrupted(self)
            self.job.end()
            raise RunInterrupted(told) from None
        finally:
            self.finish()

    def finish(self) -> None:
        """End what is left of the job, and show what the other ranks have printed."""
        self.bar.close()
        try:
            if len(self.values) < self.plan.size:
                self.job.end()
            else:
                self.job.leave()
            self.folder.note(ended=time.time())
        finally:
            for output in self.outputs:
                output.finish()
                output.close()
            for stack in self.stacks:
                os.close(stack)
        if self.show:
            show_output(["", *(output.text for output in self.outputs[1:])])

    def follow(self) -> None:
        """Look until every rank has returned a value."""
        while True:
            self.look()
            if len(self.values) == self.plan.size:
                return
            if time.monotonic() - self.asked >= ASK:
                self.ask()
            self.judge()
            time.sleep(LOOK)

    def look(self) -> None:
        """Take what the ranks have written."""
        now = time.monotonic()
        self.clock += min(now - self.looked, MOST)
        self.looked = now
        for rank in range(self.plan.size):
            if rank in self.outcomes:
                continue
            beat = self.folder.read(rank, "beat")
            if beat is not None and beat != self.beats.get(rank, (None, 0))[0]:
                self.beats[rank] = beat, self.clock
                self.nodes[rank] = beat["node"]
            if rank in self.beats and (outcome := self.folder.outcome(rank)) is not None:
                self.take(rank, outcome)
        self.outputs[0].read()
        self.bar.show(len(self.beats) + len(self.values))

    def take(self, rank: int, outcome: Outcome) -> None:
        """A rank has ended."""
        self.outcomes[rank] = outcome
        if outcome.what == "value":
            try:
                self.values[rank] = self.folder.outcome_value(rank, outcome)
            except Exception as error:
                raise RunError(
                    f"What rank {rank} returned cannot be taken out of its pickle here: "
                    f"{type(error).__name__}: {error}. Return numbers, tensors, or containers of "
                    "them.",
                    (rank,),
                ) from error
        elif self.suspect is None:
            self.suspect = self.clock

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
        if words != self.told:
            self.told = words
            self.bar.say(words)

    def judge(self) -> None:
        """Raise what has gone wrong, once it is clear which of several things came first."""
        silent = self.silent()
        if self.suspect is not None:
            waited = self.clock - self.suspect
            # What a lost peer makes a rank raise is not the cause: hear of every other rank first.
            unsure = [r for r in self.unfinished() if self.beats.get(r, (0, 0))[1] <= self.suspect]
            fallen = self.state.word == "NODE_FAIL"
            if unsure and not silent and not fallen and waited < SILENT:
                return
            if silent or (unsure and self.whole_nodes(unsure)):
                raise report.node_died(self, silent or unsure)
            only_ended = all(each.what in ("value", "ended") for each in self.outcomes.values())
            if only_ended and self.state.stage != "ended" and waited < SILENT:
                return  # the launcher has ended ranks, and is about to say why
            raise report.first(self)
        if silent and self.state.stage == "runs" and self.state.word != "SUSPENDED":
            raise report.node_died(self, silent)
        if self.ended is not None and self.clock - self.ended > SETTLE:
            raise report.job_ended(self)
        self.judge_waiting()
        self.judge_time()

    def judge_waiting(self) -> None:
        """Raise Deadlock where all ranks wait for each other, and nothing has moved for a while."""
        notes = {rank: self.folder.read(rank, "now") for rank in self.unfinished()}
        lanes = [note["lanes"] if note else [] for note in notes.values()]
        used = sum(self.beats[rank][0]["cpu"] for rank in notes if rank in self.beats)
        moved = lanes != self.still[0] or used - self.still[1] > BUSY
        # Of a rank that does not beat nobody knows whether it still waits.
        moved |= any(self.clock - self.beats.get(r, (0, -FRESH))[1] > FRESH for r in notes)
        if moved or not all(report.now(self, rank)[0].waits for rank in notes):
            self.still = lanes, used, self.clock
        elif self.clock - self.still[2] > STILL:
            raise report.deadlocked(self)

    def judge_time(self) -> None:
        """Raise RunTimeout where the ranks do not start, or do not end."""
        if self.begun is None and self.runs_since is not None:
            doing = [report.now(self, rank)[0] for rank in self.unfinished()]
            if all(state.doing != "idle" for state in doing):
                # Whoever attaches counts from when the ranks began, not from when it came.
                wall = self.folder.noted().get("begun") or time.time()
                self.folder.note(begun=wall)
                self.begun = self.clock - max(0.0, time.time() - wall)
            elif self.clock - self.runs_since > self.plan.start_timeout:
                raise report.not_started(self)
        if self.begun is not None and self.clock - self.begun > self.plan.timeout:
            raise report.timed_out(self)

    def silent(self) -> list[int]:
        """Ranks whose node had not been heard of for too long at the last look."""
        since = self.clock - SILENT
        quiet = [r for r in self.unfinished() if r in self.beats and self.beats[r][1] < since]
        # All at once is rather a shared disk that stands still: give it time.
        last = max((self.beats[r][1] for r in quiet), default=0.0)
        if len(quiet) == self.plan.size and self.clock - last < ALL_SILENT * SILENT:
            return []
        return quiet if self.whole_nodes(quiet) else []

    def whole_nodes(self, ranks: list[int]) -> bool:
        """Whether these are all the ranks of their nodes that had not ended."""
        lost = {self.nodes.get(rank) for rank in ranks}
        there = [r for r in self.unfinished() if self.nodes.get(r) in lost]
        ended = [r for r in self.outcomes if self.nodes.get(r) in lost]
        told = [r for r in ended if self.outcomes[r].what != "value"]
        return bool(ranks) and sorted(there) == sorted(ranks) and not told

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
