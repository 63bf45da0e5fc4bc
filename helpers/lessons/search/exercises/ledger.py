"""Exercise 16.4, a ledger around any search: no trial lost, none counted twice.

The claim, step by step: a job whose worker is gone goes to the next who asks, before all others,
the one lost first before later ones; the first report of a running job goes to the search inside;
a report, or a loss, of a job that does not run is refused by a ValueError and changes nothing. The
file is long because the search inside, the workers' story and the ledger itself are all here.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe, short
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.exercises.turns import spelled

_TOLD = (  # 3 workers and 4 trials: each of the ways in which one may be lost or counted twice
    *(("next", 0), ("next", 1), ("next", 2), ("gone", 1, -1), ("report", 0, -1)),
    *(("next", 0), ("report", 1, -1), ("report", 0, -1), ("gone", 0, -1), ("next", 0)),
    *(("report", 2, -1), ("report", 2, -1), ("gone", 0, -1), ("report", 0, -1), ("gone", 0, -1)),
    *(("next", 1), ("report", 1, -1), ("next", 2), ("report", 0, 0), ("next", 0), ("next", 1)),
    *(("gone", 0, -1), ("gone", 2, -1), ("next", 1), ("next", 0), ("report", 0, -1), ("next", 2)),
    *(("gone", 1, -1), ("next", 2), ("report", 2, -1), ("next", 0)),
    *(("stray", 0, "report"), ("stray", 0, "gone")),
)


class InTurn:
    """A search that gives its trials out one after the other, and each once more on the next rung
    when the losses of the rung before are there. It notes what it was told.

    It believes everything it is told, as searches do that know nothing of lost workers.
    """

    def __init__(self, trials: int) -> None:
        self.waiting = [Job(trial, 0, 1) for trial in range(trials)]
        self.trials, self.given, self.resources = trials, 0, [1, 3]
        self.told: list[Any] = []
        self.losses: list[dict[int, float]] = [{}, {}]

    def next(self) -> Job | None:
        """What a free worker is to do, or None."""
        if not self.waiting:
            return None
        self.given += 1
        return self.waiting.pop(0)

    def report(self, job: Job, loss: float) -> None:
        """A job's loss."""
        self.told.append([spelled(job), plain(loss)])
        first = [told for told, _ in self.told if told[1] == 0]
        if len(first) == self.trials and first[-1] == spelled(job):
            self.waiting += [Job(trial, 1, 3) for trial in range(0, self.trials, 2)]

    def done(self) -> bool:
        """Whether nothing waits and everything given was told of."""
        return not self.waiting and len(self.told) >= self.given


def ledger_turns(fn: Function, case: Case) -> Observation:
    """Drive `fn(search)` around an `InTurn`, with workers that come and go; `values[0]` is a list.

    A case's arguments: trials, script. The script's steps: ("next", w): worker w asks, ("report",
    w, n, loss): it reports the n-th job that it had, ("gone", w, n): this is given up; ("stray", w,
    "report", loss) and ("stray", w, "gone") are of a job that nobody was given. A step of an n-th
    job that it never had is left out. An item of the list is `[step, job, answer, told, done]`:
    the step's job; what came of it, "refused" for a ValueError, "wordless" for one without text;
    what the search inside has been told so far; and what `done()` says.
    """
    trouble = wrong_signature(fn, 1)
    if trouble:
        return trouble
    trials, script = case.args[0]
    search, turns = InTurn(trials), []
    had: dict[int, list[Any]] = {}
    try:
        ledger = fn(search)
        for step in script:
            kind, worker, *more = step
            jobs = had.setdefault(worker, [])
            if kind == "next":
                job = answer = ledger.next()
                jobs += [] if job is None else [job]
            elif kind == "stray" or -len(jobs) <= more[0] < len(jobs):
                job = Job(trials + 1, 0, 1) if kind == "stray" else jobs[more[0]]
                try:
                    answer = None
                    (ledger.report if more[1:] else ledger.give_up)(job, *more[1:])
                except ValueError as error:
                    answer = "refused" if str(error).strip() else "wordless"
            else:
                continue
            done = plain(ledger.done())
            turns.append([list(step), spelled(job), spelled(answer), list(search.told), done])
            if job is not None and type(spelled(job)) is not tuple:
                break
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[turns])


class Ledger:
    """Who has which job of a search: what is lost is done again, and each job counts once."""

    def __init__(self, search: Any) -> None:
        self.search, self.losses, self.resources = search, search.losses, search.resources
        self.running: set[Any] = set()
        self.waiting: list[Any] = []  # jobs whose worker is gone

    def next(self) -> Any:
        """What a free worker is to do, or None."""
        job = self.waiting.pop(0) if self.waiting else self.search.next()
        if job is not None:
            self.running.add(job)
        return job

    def report(self, job: Any, loss: float) -> None:
        """A job's loss. Raises ValueError where the job does not run."""
        self._end(job)
        self.search.report(job, loss)

    def give_up(self, job: Any) -> None:
        """Its worker is gone. Raises ValueError where the job does not run."""
        self._end(job)
        self.waiting.append(job)

    def done(self) -> bool:
        """Whether no job runs, and none is left."""
        return not self.running and not self.waiting and bool(self.search.done())

    def _end(self, job: Any) -> None:
        if job not in self.running:
            raise ValueError(f"{job} does not run.")
        self.running.remove(job)


def cases(seed: int) -> list[Case]:
    """The ways one by one with 3 workers; then at random with 1, 2 and 5 of them."""
    random = rng(seed, "16.4")
    turn = random.permutation(3).tolist() if seed else [0, 1, 2]
    # Whoever asks first has the first trial, so that the story is the same for every order.
    script = [(kind, turn[worker], *more) for kind, worker, *more in _TOLD]
    made = []
    for workers, trials in ((3, 4), (2, 5), (1, 3), (5, 9)):
        if workers != 3:
            kinds = random.choice(["next", "report", "gone"], 25 * trials, p=[0.5, 0.25, 0.25])
            script = []
            for kind in kinds.tolist():
                worker, late = int(random.integers(workers)), -1 - int(random.random() < 0.15)
                script.append((kind, worker) if kind == "next" else (kind, worker, late))
            script += [step for _ in range(2 * trials) for w in range(workers)
                       for step in (("report", w, -1), ("next", w))]  # fmt: skip
        told = [
            (*step, round(float(random.uniform(0.1, 2.0)), 2)) if "report" in step else step
            for step in script
        ]
        name = f"With {count(workers, 'worker')} and {count(trials, 'trial')}"
        want = ledger_turns(Ledger, Case(name, ((trials, told),))).values[0]
        made.append(Case(name, ((trials, told),), facts={"want": want}))
    return made


def _apart(case: Case, seen: Observation) -> tuple[Any, Any] | None:
    """The first turn that is not as it should be, and what it should be."""
    pairs = zip_longest(seen.values[0], case.facts["want"])
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Every step, as it should be."""
    found = _apart(case, seen)
    if found is None:
        return
    got, want = found
    if got[2] != want[2]:
        yield f"{_when(want)}: {_came(got)}; it should be that {_came(want)}."
    if got[3] != want[3]:
        told, should = (count(len(turn[3]), "loss", "losses") for turn in (got, want))
        if told == should:
            pairs = zip(got[3], want[3], strict=True)
            told, should = map(_heard, next(pair for pair in pairs if pair[0] != pair[1]))
        yield f"{_when(want)}: the search inside has been told {told}; it should be {should}."
    yield f"{_when(want)}: `done()` is {got[4]}; it should be {want[4]}."


def _heard(told: Any) -> str:
    """What the search inside was told, in words."""
    job, loss = told
    return f"{short(loss)} for {f'Job{job}' if type(job) is tuple else describe(job)}"


def _when(turn: Any) -> str:
    """A step in words."""
    (kind, worker, *more), job = turn[0], turn[1]
    if kind == "next":
        return f"worker {worker} asks"
    its = f"trial {job[0]} on rung {job[1]}" if type(job) is tuple and len(job) == 3 else "its job"
    its += ", which nobody was given" if kind == "stray" else ""
    said = f"reports {short(more[1])} for" if more[1:] else "is gone with"
    return f"worker {worker} {said} {its}"


def _came(turn: Any) -> str:
    """What came of a step."""
    kind, answer = turn[0][0], turn[2]
    if kind == "next":
        is_job = type(answer) is tuple and len(answer) == 3
        return f"it gets {f'Job{answer}' if is_job else describe(answer)}"
    refused = {"refused": "it is refused", "wordless": "it is refused without a word"}
    return refused.get(answer, "no ValueError comes")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first wrong step."""
    found = _apart(case, seen)
    assert found is not None, "Nothing is said to a right one."
    got, want = found
    trial, rung, _ = want[1] if type(want[1]) is tuple else (0, 0, 0)
    when, came = _when(want), _came(got)
    amiss = f"{when}: {came}; it should be that {_came(want)}"
    return {"when": when, "got": came, "amiss": amiss, "trial": trial, "rung": rung}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = [turn for one in seen for turn in one.values[0]]
    gone = sum(turn[0][0] == "gone" and turn[2] != "refused" for turn in steps)
    refused = sum(turn[2] == "refused" for turn in steps)
    return (
        f"Passed with 1, 2, 3 and 5 workers: {count(gone, 'job')} were lost and done again, and "
        f"{count(refused, 'report')} of jobs that did not run were refused."
    )


key_error = fails_with(
    "",
    "`remove` of a set raises a KeyError where the job does not run. Look first whether it does, "
    "and raise a ValueError with a sentence where it does not.",
    kind="KeyError",
)
WRONG = """
forgets what is lost
    | self.waiting.append(job) => pass
    {when}, and {got}: the job whose worker is gone is never done. `give_up` keeps it in
    `self.waiting`, and `next` gives it out again.
what is lost comes last
    | self.waiting.pop(0) if self.waiting else self.search.next()
        => self.search.next() or (self.waiting.pop(0) if self.waiting else None)
    {amiss}. Jobs whose worker is gone come before those of the search, which may wait for them.
the last one lost first
    | pop(0) => pop()
    {amiss}. Of two lost jobs the one lost first goes first: the end of `self.waiting` is where new
    ones come to, and its front where they leave.
never taken out
    | self.waiting.pop(0) if => self.waiting[0] if
    {amiss}. A lost job that somebody does again is still in `self.waiting`, from where the next one
    gets it as well. Take it out.
a lost one counts as failed
    | self.waiting.append(job) => self.search.report(job, float("inf"))
    {when}, and you tell the search a loss for it: the trial is lost for good, though only its
    worker failed. Keep the job for the next who asks.
believes every report
    | self._end(job) self.search => self.running.discard(job); self.search
    {when} once more: somebody reported this job before, and you hand the loss on a second time.
    Only a job in `self.running` counts, and then it runs no more.
reported jobs run on
    | self.search.report( => self.running.add(job); self.search.report(
    {amiss}. A job that was reported stays in `self.running`, so that it may be reported again. Take
    it out.
given-up jobs run on
    | self.waiting.append( => self.running.add(job); self.waiting.append(
    {amiss}. A job that is given up stays in `self.running`, though nobody does it now. Take it out.
not noted again
    | job = self.waiting.pop => again = bool(self.waiting); job = self.waiting.pop
    | self.running.add( => again or self.running.add(
    {amiss}. A lost job that is given out again runs again: it belongs in `self.running`, like any
    other.
lost though it was done
    | self._end(job) self.waiting => self.running.discard(job); self.waiting
    {amiss}. Trial {trial} was reported on rung {rung} before its worker was gone: done again, it
    would count twice.
silent
    | self._end(job) self.search => if job in self.running: self._end(job); self.search
    | self._end(job) self.waiting => if job in self.running: self._end(job); self.waiting
    {when}: no ValueError came. Nothing is changed, which is right, but nobody hears of it: `raise
    ValueError(…)`, with a sentence, where you return.
without a sentence
    | ValueError(f"{job} does not run.") => ValueError
    {when}: it is refused, which is right, but the ValueError says nothing. Give it a sentence:
    `raise ValueError(f"{{job}} does not run.")`.
only what is over or lost
    | self.running: set => self.over: set[Any] = set(); self.running: set
    | job not in self.running: => job in self.over or job in self.waiting:
    | self.running.remove => self.running.discard
    | self.search.report( => self.over.add(job); self.search.report(
    {when}: no ValueError came. You ask whether the job was reported before or waits, and this one
    was never given out. Ask whether it is in `self.running`.
by trials
    | self.running.add(job) => self.running.add(job[0])
    | job not in => job[0] not in
    | self.running.remove(job) => self.running.remove(job[0])
    {amiss}. Trial {trial} runs on another rung by now: what runs is a job, trial and rung.
None runs
    | if job is not None: => if True:
    when nothing is left, the search gives None, and you note that as a running job: `done()` never
    comes true. Note jobs alone.
KeyError
    | self._end(job) self.search => self.running.remove(job); self.search
    ? `remove` of a set raises
"""

EXERCISE = Exercise(
    number="16.4",
    title="Lost workers",
    size=Size(stars=2, minutes=12, points=3),
    function="Ledger",
    asks=(
        "`next` gives jobs whose worker is gone before those of the search; `report` hands the "
        "loss of a running job on, once; `give_up` keeps a running job for the next who asks; both "
        "raise ValueError for a job that does not run."
    ),
    cases=cases,
    drive=ledger_turns,
    claim=claim,
    numbers=numbers,
    praise=praise,
    reference=Ledger,
    wrong=wrong_answers("16.4", WRONG, Ledger),
    mistakes=(Mistake("KeyError", key_error, unfinished=True),),
    ranked=False,
)
