"""Submissions that wait for a slot while others arrive, each as it was when it was whole."""

from __future__ import annotations

import shutil
from collections import deque
from pathlib import Path

from helpers.instructor.grading.discover import SUFFIX, Submission
from helpers.instructor.grading.files import write
from helpers.instructor.grading.slots import Answer, GradingJob


class Pending:
    """Jobs on copies of the notebooks, which may change meanwhile.

    waiting: for a slot. again: came to nothing once, and are tried once more, alone, when nothing
    else waits. open: ids of submissions whose grade is still to come.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: deque[GradingJob] = deque()
        self.again: deque[GradingJob] = deque()
        self.open: set[str] = set()
        self._wanted: dict[str, str] = {}
        self._digests: dict[GradingJob, str] = {}
        self._tried: dict[GradingJob, Answer] = {}

    @property
    def settled(self) -> int:
        """How many submissions have the result that is wanted of them."""
        return len(self._wanted) - len(self.open)

    def is_wanted(self, identity: str, digest: str) -> bool:
        """Whether a submission's result is to have this digest."""
        return self._wanted.get(identity) == digest

    def want(self, identity: str, digest: str) -> None:
        """Its result is to have this digest from now on: what waits of it is of no use."""
        self.forget(identity)
        self._wanted[identity] = digest

    def forget(self, identity: str) -> None:
        """It is gone; what a slot still makes of it will be of no use."""
        self._wanted.pop(identity, None)
        self.open.discard(identity)
        for jobs in (self.waiting, self.again):
            for job in [job for job in jobs if job.id == identity]:
                jobs.remove(job)
                self._take_off(job)

    def add(self, one: Submission, seed: int, data: bytes | None) -> None:
        """Let it be graded. data: what it held; None where only the judge may be able to read it.

        Raises OSError where it cannot be copied.
        """
        assert one.path is not None
        digest, path = self._wanted[one.id], one.path
        if data is not None:
            path = self.folder / f"{one.id}-{digest[:8]}{SUFFIX}"
        job = GradingJob(one.id, one.name, path, seed)
        self.open.add(one.id)
        if job in self._digests:
            return  # it was handed in, changed, and is again what a slot has
        if data is not None:
            write(path, data)
        self._digests[job] = digest
        self.waiting.append(job)

    def settle(self, answer: Answer) -> Answer | None:
        """What counts of its job; None where there is to be a second try."""
        if answer.is_whole:
            return answer
        first = self._tried.get(answer.job)
        if first is not None:
            return answer.or_else(first)
        self._tried[answer.job] = answer
        self.again.append(answer.job)
        return None

    def done(self, job: GradingJob) -> str | None:
        """The digest of its result; None where that is of no use any more."""
        digest = self._take_off(job)
        if not self.is_wanted(job.id, digest):
            return None
        self.open.discard(job.id)
        return digest

    def clear(self) -> None:
        """Remove all copies, those that a killed run has left too."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_off(self, job: GradingJob) -> str:
        self._tried.pop(job, None)
        if job.path.parent == self.folder:
            job.path.unlink(missing_ok=True)
        return self._digests.pop(job)
