"""What an exercise is: cases, a driver, a claim, the known mistakes, and wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from helpers.engines.trace import Event

Status = Literal["passed", "wrong", "not attempted"]
Trouble = Literal["", "not done", "signature", "failed", "deadlock", "timeout", "died"]
Framework = Literal["torch", "tensorflow"]


@dataclass(frozen=True)
class Case:
    """One call of the learner's function, in plain values and numpy arrays.

    name: how a hint begins, such as "On 3 ranks with 5 rows". args: for each rank, the arguments
    after `comm`; for a plain function, one tuple. ranks: the world size. options: of the virtual
    clock (`latency`, `bandwidth`) or of the driver. facts: what only the judge needs; they are
    never sent to where the learner's function runs.
    """

    name: str
    args: tuple[tuple[Any, ...], ...]
    ranks: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A line of the learner's code."""

    file: str
    line: int


@dataclass
class Observation:
    """What the learner's function did in one case: plain values, nothing with behaviour.

    values: what each rank gave, numpy arrays for tensors (one value for a plain function).
    bytes, messages: sent by each rank. sent: for each rank, to whom, in order, by its own thread.
    seconds: on each rank's own clock. events: the trace. writes: where the grader looked, for each
    rank the elements of shared memory that it changed, turn by turn, counted through all buffers.
    trouble: how it ended, "" where it returned. kind, text: of the exception. rank: the one
    at fault. waiting: for each rank that waits, in words, "waits to receive from rank 1". place:
    the line it was at.
    """

    values: list[Any] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    writes: list[list[list[int]]] = field(default_factory=list)
    trouble: Trouble = ""
    kind: str = ""
    text: str = ""
    rank: int | None = None
    waiting: dict[int, str] = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True)
class Verdict:
    """What the judge says. mistake: its name, free of the case's numbers; hint: with them."""

    status: Status
    hint: str = ""
    mistake: str = ""


Look = Callable[[Case, Observation], "str | None"]
Driver = Callable[[Callable[..., Any], Case], Observation]


@dataclass(frozen=True)
class Mistake:
    """A mistake that is recognised by what the answer did. look: the hint, or None.

    unfinished: whether it shows in answers that did not return, which have no values to look at.
    """

    name: str
    look: Look
    unfinished: bool = False


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that people really write. hint: a piece of what the check must say to it."""

    name: str
    function: Callable[..., Any]
    hint: str


@dataclass(frozen=True)
class Exercise:
    """One exercise. `number` is "02.1", `function` the name that the learner's cell defines.

    asks: what was asked for, in one sentence. praise: what a right answer is told. figure: the
    index of the case whose timeline is shown then, None for no timeline. ranked: whether it runs on
    ranks; otherwise it is an ordinary function, and there is one value. builds_on: the numbers of
    exercises whose functions an answer calls. framework: what must be loaded where it runs.
    unseen: what a learner's check sees and the grader cannot, for only the learner's process could
    say it: in words, by its key in the values, which is None for the grader. It decides no points.
    """

    number: str
    title: str
    stars: int
    minutes: int
    points: int
    function: str
    asks: str
    cases: Callable[[int], list[Case]]
    drive: Driver
    claim: Look
    mistakes: tuple[Mistake, ...]
    praise: Callable[[Sequence[Case], Sequence[Observation]], str]
    reference: Callable[..., Any]
    wrong: tuple[WrongAnswer, ...]
    figure: int | None = None
    ranked: bool = True
    builds_on: tuple[str, ...] = ()
    framework: Framework = "torch"
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def lesson(self) -> str:
        """The lesson's number, such as "02"."""
        return self.number[:2]

    @property
    def stub(self) -> str:
        """The line that an exercise holds until it is done."""
        return f'raise NotImplementedError("Exercise {self.number} is not done yet")'

    def judge(self, case: Case, seen: Observation) -> Verdict:
        """Judge one observation: the claim decides, the mistakes find the hint."""
        from helpers.exercises.trouble import explain

        if seen.trouble == "not done":
            return Verdict("not attempted", f"Exercise {self.number} is not done yet.")
        if not seen.trouble and not self.whole(case, seen):
            return Verdict("wrong", f"{case.name}, the answer is incomplete.", "incomplete")
        fault = None if seen.trouble else self._look(self.claim, case, seen, strict=True)
        if not seen.trouble and fault is None:
            return Verdict("passed")
        for mistake in self.mistakes:
            if seen.trouble and not mistake.unfinished:
                continue
            hint = self._look(mistake.look, case, seen)
            if hint:
                return Verdict("wrong", hint, mistake.name)
        name, common = explain(self, case, seen)
        return Verdict("wrong", common or fault or "The answer is wrong.", name)

    def whole(self, case: Case, seen: Observation) -> bool:
        """Whether an observation holds something for every rank: it may come from a stranger."""
        if not self.ranked:
            return len(seen.values) == 1
        lists = (seen.values, seen.bytes, seen.messages, seen.sent, seen.seconds)
        return all(len(each) == case.ranks for each in lists)

    def judge_all(self, cases: Sequence[Case], seen: Sequence[Observation]) -> Verdict:
        """Judge a whole check: the first case that is not right decides."""
        for case, observation in zip(cases, seen, strict=False):
            verdict = self.judge(case, observation)
            if verdict.status != "passed":
                return verdict
        if len(seen) < len(cases):
            return Verdict("wrong", f"{cases[len(seen)].name}, there was no answer.", "no answer")
        return Verdict("passed", self.praise(cases, seen))

    def _look(self, look: Look, case: Case, seen: Observation, strict: bool = False) -> str | None:
        """Ask one question about an answer of any shape: what cannot be asked does not hold."""
        try:
            return look(case, seen)
        except Exception:  # the answer may be anything at all
            from helpers.exercises.compare import describe  # brings numpy

            values = ", ".join(describe(v) for v in seen.values[:3])
            what = f"{case.name}, your function gave {values}, which is not what was asked for."
            return what if strict else None
