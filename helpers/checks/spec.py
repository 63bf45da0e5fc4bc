"""What an exercise is: cases, a driver, a claim, the known mistakes, and wrong answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from helpers.engine.trace import Event

Status = Literal["passed", "wrong", "not attempted", "not judged"]
Trouble = Literal[
    "", "not done", "signature", "failed", "deadlock", "timeout", "died", "not judged"
]
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
    seconds: on each rank's own clock. events: the trace.
    links: for each host, the bytes that left it and those that came in, on the virtual clock.
    trouble: how it ended, "" where it returned, "not judged" where the machine was too busy to
    tell. kind, text: of the exception, or what it did until its time was over. rank: the one at
    fault. waiting: for each rank that waits, in words, "waits to receive from rank 1". place: the
    line it was at. written: the place of an argument that an ordinary function changed, which
    belongs to whoever called it.
    """

    values: list[Any] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    links: list[tuple[int, int]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    trouble: Trouble = ""
    kind: str = ""
    text: str = ""
    rank: int | None = None
    waiting: dict[int, str] = field(default_factory=dict)
    place: Place | None = None
    written: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What the judge says. mistake: its name, free of the case's numbers; hint: with them."""

    status: Status
    hint: str = ""
    mistake: str = ""


# What is wrong, if anything; or one thing after the other, of which the first decides.
Said = str | None | Iterator[str | None]
Look = Callable[[Case, Observation], Said]
Driver = Callable[[Callable[..., Any], Case], Observation]


def first_said(look: Look, case: Case, seen: Observation) -> str | None:
    """The first thing that a look finds to say, behind the case's name ("On 3 ranks, …"), or for
    itself where it begins with a capital letter, or with that name ("17 elements from 5 ranks …").
    """
    said = look(case, seen)
    if isinstance(said, Iterator):
        said = next(filter(None, said), None)
    return behind(case, said) if said else None


def behind(case: Case, said: str) -> str:
    """A sentence behind the case's name, unless it stands for itself."""
    alone = said[0].isupper() or said.startswith(f"{case.name}, ")
    return said if alone else f"{case.name}, {said}"


@dataclass(frozen=True)
class Mistake:
    """A mistake that is recognised by what the answer did. look: the hint, or nothing.

    unfinished: whether it shows in answers that did not return, which have no values to look at.
    """

    name: str
    look: Look
    unfinished: bool = False


class Size(NamedTuple):
    """How much an exercise is. stars: how hard, 1 to 3; minutes: how long it takes; points."""

    stars: int
    minutes: int
    points: int


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that people really write, and what is said to it.

    says: the hint, where an answer that does just what this one does is recognised by that
    (`helpers.checks.known`). A text stands behind the case's name ("On 3 ranks, …"), or for
    itself where it begins with a capital letter; {words} in braces are the exercise's `numbers`,
    and {case} is the case's name. A function makes the hint of the case and the observation.
    hint: where one of the `mistakes`, a family, recognises it: a piece of what that must say.
    """

    name: str
    function: Callable[..., Any]
    says: str | Look = ""
    hint: str = ""


def _no_numbers(case: Case, seen: Observation) -> Mapping[str, Any]:
    return {}


def _values(case: Case, seen: Observation) -> Any:
    return seen.values


@dataclass(frozen=True)
class Exercise:
    """One exercise. `number` is "02.1", `function` the name that the learner's cell defines.

    asks: what was asked for, in one sentence. mistakes: families of wrong answers that no single
    function stands for, asked in order. numbers: what the hints of `wrong` may name. compared: what
    of an observation's values tells one answer from another; without what depends on the clock.
    praise: what a right answer is told; "{worlds}" in it are the world sizes. figure: the index
    of the case whose timeline is shown then, None for no timeline. ranked: whether it runs on
    ranks; otherwise it is an ordinary function, and there is one value. builds_on: the numbers of
    exercises whose functions an answer calls. framework: what must be loaded where it runs.
    """

    number: str
    title: str
    size: Size
    function: str
    asks: str
    cases: Callable[[int], list[Case]]
    drive: Driver
    claim: Look
    praise: str | Callable[[Sequence[Case], Sequence[Observation]], str]
    reference: Callable[..., Any]
    wrong: tuple[WrongAnswer, ...]
    mistakes: tuple[Mistake, ...] = ()
    numbers: Callable[[Case, Observation], Mapping[str, Any]] = _no_numbers
    compared: Callable[[Case, Observation], Any] = _values
    figure: int | None = None
    ranked: bool = True
    builds_on: tuple[str, ...] = ()
    framework: Framework = "torch"

    @property
    def lesson(self) -> str:
        """The lesson's number, such as "02"."""
        return self.number[:2]

    @property
    def points(self) -> int:
        """What it is worth."""
        return self.size.points

    @property
    def stub(self) -> str:
        """The line that an exercise holds until it is done."""
        return f'raise NotImplementedError("Exercise {self.number} is not done yet")'


def rng(seed: int, number: str) -> np.random.Generator:
    """Random numbers for one exercise's cases, the same on every machine."""
    return np.random.default_rng([seed, *map(int, number.split("."))])
