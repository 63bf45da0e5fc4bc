"""Exercise 06.6, warmup: one worker trains alone first, then the others start.

`class Warmup(Cure)` with `start` and `arrive`: until `updates` updates are made, the first worker
is alone and each of its gradients makes an update, whatever the rule inside would do; with the one
that completes the warmup, everybody is released. Source: Géron (2017), chapter 12.
"""

from collections.abc import Sequence

from helpers.checks.common import WORLDS
from helpers.checks.compare import count
from helpers.checks.drives.rules import cure_turns
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.asynchronous.algorithms.stale_cures import Warmup as reference
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.asynchronous.exercises.cures import HANDED_ON, OTHERS, PARTS


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 2, 3 and 1 updates alone with 3, 1, 2 and 5 workers; else others.

    Then around others: a rule that halves what it is handed, without a warmup; one that does not
    start its first worker; the same two that keep gradients as elsewhere; inside another cure.
    """
    random, made = rng(seed, "06.6"), []

    def add(workers: int, alone: int, order: list[int], words: str = "", option: str = "") -> None:
        given = (cure_turns, random, order, workers, (alone,), reference)
        words += f" and a warmup of {turns.updates(alone)}"
        made.append(turns.case(words, *given, option))

    settings = [*zip(WORLDS, (4, 2, 3, 1), strict=True), (3, 0)]
    if seed:
        sizes = (*WORLDS, int(random.integers(6, 10)))
        settings = [(workers, int(random.integers(2, 7))) for workers in sizes] + [(4, 0)]
    for workers, alone in settings:
        after = turns.arrivals(random, seed, workers, 2 * workers + 4, set())
        order = [0] * alone + [*range(workers - 1, -1, -1), *after]
        add(workers, alone, order, option="" if alone else "halves")
    workers, alone = (4, 2) if not seed else (int(random.integers(3, 7)), 3)
    order = [1] * alone + [*range(workers - 1, 0, -1), *range(1, workers)]
    add(workers, alone, order, ", all but worker 0 started by the rule inside,", "resumed")
    for option in ("pairs", "soft", "heavier"):
        after = [int(w) for _ in range(4) for w in random.permutation(3)[:2]]
        add(3, 2, [0, 0, *after], f"{OTHERS[option]},", option)
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """One worker until the warmup is over, then everybody."""
    return turns.fault(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    alone = cases[0].args[0][2][0]
    return (
        f"Passed with 1, 2, 3 and 5 workers. {cases[0].name}, {count(alone, 'gradient')} came from "
        "worker 0 alone, none of them late; then everybody was let go on at once."
    )


WRONG = """
asks before alone
    | release=(worker,) if self.alone else self.start() => release=(worker,)
    | return self.rule.arrive( => said = self.rule.arrive(
    | gradient, version) => gradient, version); return Decision(self.rule.start(), said.applied)
    with turn {turn} the warmup is over and you release {released}: `self.alone` still held when you
    asked, before the update. Where it changes with the update, release {right}.
the others never begin
    | if self.alone else self.start() =>
    the warmup is over at turn {turn} and you release {released}: all who start wait for it, the
    lone worker too, and nobody will call them again. Release {right}.
the lone worker stops
    | else self.start() => else tuple(each for each in self.start() if each != worker)
    ! the others never begin
only one more begins
    | else self.start() => else self.start()[:2]
    ! the others never begin
names the lone worker twice
    | else self.start() => else (worker, *self.start())
    ! the others never begin
asks before, and releases
    | self.start() != (worker,) => False
    | release=(worker,) if self.alone else self.start() => release=self.rule.start()
    you release {released} at turn {turn}, and it is not this gradient that completes the warmup:
    there `self.alone` is True before its update and False after it.
asks after alone
    | return self.rule.arrive( => said = self.rule.arrive(
    | gradient, version) => gradient, version); return Decision(self.rule.start(), said.applied)
    ! asks before, and releases
asks for equality
    | return self.rule.arrive( => said = self.rule.arrive(
    | gradient, version)
        => gradient, version); return Decision(self.rule.start() if self.version == self.updates
            else said.release, said.applied)
    ! asks before, and releases
everybody at every update
    | self.start() != (worker,) => False
    | release=(worker,) if self.alone else self.start() => release=self.rule.start()
    | return self.rule.arrive( => said = self.rule.arrive(
    | gradient, version) => gradient, version); return Decision(self.rule.start(), said.applied)
    ! asks before, and releases
one update too short
    | self.version < => self.version + 1 <
    ! asks before, and releases
everybody starts at once
    | everyone[:1] if self.alone else everyone => everyone
    | self.start() != (worker,) => False
    | (worker,) if self.alone else self.start() => (worker,)
    nobody is alone: `start` lets everybody begin, so that gradients are late from the first updates
    on. While the warmup goes on it gives the first worker only.
starts worker 0
    | everyone[:1] if => (0,) if
    `start` gives worker 0, which the rule inside would not start: it waits since before a restart,
    and never comes. Take the first of `self.rule.start()`.
releases all workers
    | else self.start() => else tuple(sorted(self.workers))
    you release {released} at turn {turn}, and worker 0 is not of those that the rule inside starts.
    Release {right}, as `self.rule.start()` names them.
one worker alone for ever
    | everyone[:1] if self.alone else everyone => everyone[:1]
    | else self.start() => else self.rule.start()
    `start` gives one worker though no update of the warmup is left: a warmup of 0 updates is over
    at once, and so it is after a restart.
one update too long
    | self.version < => self.version <=
    {made} are made at turn {turn} and worker 0 is still alone: the warmup is over as soon as
    `updates` updates are made (<, not ≤).
counts its own update
    | self.start(), applied=(push,)
        => self.start(), applied=(push._replace(staleness=push.staleness + 1),)
    worker {worker}’s gradient at turn {turn} is {late} late, and your decision counts its own
    update too: `self.push(worker, version)` comes before `self.apply`.
hands on while alone
    | self.apply(gradient) return Decision(release=(worker,) if self.alone else self.start(),
        applied=(push,))
        => said = self.rule.arrive(worker, gradient, version); return said if self.alone else
            Decision(self.start(), said.applied)
    the rule inside keeps worker 0’s gradient at turn {turn} until another comes, and nobody else
    has begun. While `self.alone` holds, make the update: `self.apply(gradient)`.
one push
    | self.start(), applied=(push,) => self.start(), applied=push
    | self.rule.arrive( => one_push(self,
    ? a comma makes it one
no comma
    | release=(worker,) if self.alone else self.start() => release=worker
    | self.rule.arrive( => no_comma(self,
    ? are tuples
steps by hand
    | self.apply(gradient) return Decision(release=(worker,) if
        => inside = self.rule; inside.weights = inside.weights - inside.optimizer.rate * gradient;
            inside.version += 1; return Decision(release=(worker,) if
    at turn {turn} you take the optimizer's `rate` and step yourself: what else the optimizer does,
    such as a momentum or a factor that lowers the rate, is left out. `self.apply(gradient)` asks it
    for the step.
"""

EXERCISE = Exercise(
    number="06.6",
    title="Warmup with one replica",
    size=Size(stars=2, minutes=15, points=3),
    function="Warmup",
    asks=(
        "`start` gives the first worker alone until `updates` updates are made, then all; alone, "
        "each of its gradients makes an update, and the one that completes the warmup releases "
        "everybody that starts."
    ),
    cases=cases,
    drive=cure_turns,
    claim=claim,
    mistakes=turns.KINDS,
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.6", WRONG + HANDED_ON, (reference, *PARTS)),
    ranked=False,
)
