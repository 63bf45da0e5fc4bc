"""Exercise 06.1, the asynchronous rule: every gradient is applied when it comes.

`class Asynchronous(Rule)` with `arrive(self, worker, gradient, version) -> Decision`. The
claim: at every arrival one update, of this gradient; its worker alone is released; the decision
notes how many updates late it was. Source: Dean et al. (2012), section 4.1.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.common import WORLDS
from helpers.checks.drives.calling import Function
from helpers.checks.drives.rules import drive
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.rule import Decision, Push, Rule, mean
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous as reference


def own_rule_turns(fn: Function, case: Case) -> Observation:
    """As `drive`, and in a turn "arrive": the class of the course's whose method that is, or ""."""

    def whose(rule: Any, _: Decision) -> dict[str, Any]:
        method = type(rule).arrive
        of_ours = ".algorithms." in str(method.__module__)
        return {"arrive": str(method.__qualname__).partition(".")[0] if of_ours else ""}

    return drive(fn, case, more=whose)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 workers that arrive in a mixed order; else other numbers and orders."""
    random, made = rng(seed, "06.1"), []
    sizes = [*WORLDS, int(random.integers(6, 12))] if seed else list(WORLDS)
    for workers in sizes:
        late = {0, 1} if workers > 1 else {0}
        order = turns.arrivals(random, seed, workers, 3 * workers + 5, late)
        if workers == 3 and not seed:
            order = [0, 2, 2, 1, 0, 1, 2, 0, 0, 1, 2, 1]
        made.append(turns.case("", own_rule_turns, random, order, workers, (), reference))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """One update an arrival, of this gradient, and its worker released; by its own `arrive`."""
    yield turns.fault(case, seen)
    names = {turn["arrive"] or "" for turn in seen.values[0]}
    for whose in sorted(names - {"", EXERCISE.function}):
        yield (
            f"all is as it should be, but it is the `arrive` of `{whose}`, a rule of the course's "
            "that can do more: `arrive` is what is to be written here."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    found = turns.late(seen[0].values[0])
    return (
        "Passed with 1, 2, 3 and 5 workers: one update an arrival, nobody waits. With 3 workers "
        f"the gradients were {', '.join(map(str, found))} updates late."
    )


class Plain(Rule):
    """The course's own, but of this module: a turn says where its `arrive` comes from, and that of
    a learner does not come from a room's algorithms."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        push = self.push(worker, version)
        self.apply(gradient)
        return Decision(release=(worker,), applied=(push,))


class WaitsForAll(Rule):
    held: tuple[tuple[Any, Push], ...] = ()

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held += ((gradient, self.push(worker, version)),)
        if len(self.held) < len(self.workers):
            return Decision()
        (gradients, pushes), self.held = zip(*self.held, strict=True), ()
        self.apply(mean(gradients))
        return Decision(self.start(), pushes)


WRONG = """
counts its own update
    | push = self.push(worker, version) self.apply(gradient)
        => self.apply(gradient); push = self.push(worker, version)
    worker {worker}’s gradient was {late} late at turn {turn}, and you noted one more: `self.apply`
    counts the version up, so take `self.push(...)` before it.
never applied
    | self.apply(gradient) => pass
    the weights are still those of the start after turn {turn}: a decision only says what happened.
    Make the update itself, `self.apply(gradient)`.
version not counted
    | self.apply(gradient) => self.apply(gradient); self.version -= 1
    the weights move at turn {turn}, but the version stays at 0, so that nobody can tell how late a
    gradient is: `self.apply(gradient)` takes the step and counts.
nobody released
    | release=(worker,), =>
    you release nobody at turn {turn}: each worker gives one gradient and then waits for ever. Its
    worker may go on at once: `release=(worker,)`.
everybody released
    | release=(worker,) => release=self.start()
    you release {released} at turn {turn}, though only worker {worker} has given a gradient: the
    others still compute. Release those who wait, `release=(worker,)`.
waits for all
    = WaitsForAll
    there is no update at turn {turn}: you wait until every worker has come. That is the synchronous
    rule; here each gradient is applied when it comes.
drops what is late
    | self.apply(gradient) => push.staleness or self.apply(gradient)
    | return => return self.discard(worker, version) if push.staleness else
    worker {worker}’s gradient at turn {turn} is {late} late and you drop it. The plain rule applies
    every gradient, however old; dropping is the cure of 06.3.
the server's version
    | self.push(worker, version) => self.push(worker, self.version)
    you note that worker {worker}’s gradient at turn {turn} is not late, and it is {late} late: give
    `self.push` the `version` that the worker computed on.
divided by the workers
    | self.apply(gradient) => self.apply(gradient / len(self.workers))
    a gradient counts one N-th at turn {turn}, for N workers. The synchronous rule makes one update
    of N, by their mean; here each is an update of its own and counts whole.
changes the weights in place
    | self.apply(gradient)
        => held = self.weights; self.apply(gradient); self.weights = held.copy_(self.weights)
    ? were written into
no comma
    | release=(worker,), applied=(push,) => worker, push
    ? are tuples
number for a push
    | (push,) => (push.staleness,)
    ? where a Push belongs
tuple for a push
    | (push,) => (tuple(push),)
    ? by its name
one push
    | (push,) => push
    ? a comma makes it one
steps by hand
    | self.apply(gradient)
        => self.weights = self.weights - self.optimizer.rate * gradient; self.version += 1
    at turn {turn} you take the optimizer's `rate` and step yourself: what else the optimizer does,
    such as a momentum or a factor that lowers the rate, is left out. `self.apply(gradient)` asks it
    for the step.
"""

EXERCISE = Exercise(
    number="06.1",
    title="Nobody waits",
    size=Size(stars=1, minutes=8, points=2),
    function="Asynchronous",
    asks=(
        "each gradient is applied when it comes, its worker alone is released, and the decision "
        "holds its push: worker, version, and the number of updates made since that version."
    ),
    cases=cases,
    drive=own_rule_turns,
    claim=claim,
    mistakes=(*turns.KINDS, turns.WRITTEN_INTO),
    numbers=turns.numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.1", WRONG, Plain, WaitsForAll),
    ranked=False,
)
