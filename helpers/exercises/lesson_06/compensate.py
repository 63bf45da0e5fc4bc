"""Exercise 06.5, delay compensation (DC-ASGD).

`class DelayCompensation(Cure)` with `pull` and `arrive`: the server remembers the weights that each
worker pulled, and hands on g + λ·g⊙g⊙(w now − w pulled). Source: Zheng et al. (2017), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.algorithms.servers.stale_cures import DelayCompensation as reference
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import cures, turns
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_MANY = 17_000


def cases(seed: int) -> list[Case]:
    """Seed 0: λ = 0.5 and 3, 1, 2 and 5 workers; else other orders and other λ.

    And then also one with so many weights that a grader sees from outside how many are kept.
    """
    random, made = rng(seed, "06.5"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        strength = round(float(random.uniform(0.2, 0.9)), 2) if seed else 0.5
        wanted = {0, 1, min(2, workers - 1)} if workers > 1 else {0}
        length = 2 * workers + 6 + (int(random.integers(8, 13)) if seed else 0)
        order = turns.arrivals(random, workers, length, wanted)
        name = turns.named(workers, f" and λ = {strength}")
        made.append(turns.case(name, handing_turns, random, order, workers, (strength,), reference))
    made += cures.around_others(handing_turns, random, (0.5,), reference, "and λ = 0.5")
    if seed:
        name, order = turns.named(2, " and many weights"), [0, 1] * 7
        given = (name, handing_turns, random, order, 2, (0.5,), reference)
        made.append(turns.case(*given, width=_MANY))
    return made


def _pull_gives_nothing(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("TypeError", "ValueError") or "unpack" not in seen.text:
        return None
    gives = "gives the worker nothing" if "None" in seen.text else "does not give two things"
    return (
        f"{case.name}, `pull` {gives}: return the weights and the version that "
        "`self.rule.pull(worker)` gave."
    )


def _no_memory(case: Case, seen: Observation) -> str | None:
    if seen.kind != "KeyError":
        return None
    return (
        f"{case.name}, there is nothing remembered of worker {seen.text}. The server is asked for "
        "weights through `pull`, at the start too: keep there what each worker was given."
    )


def _pair(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "'tuple'" not in seen.text:
        return None
    return (
        f"{case.name}, a tuple stands where weights are needed ({seen.text}): "
        "`self.rule.pull(worker)` gives two things, weights and version. Remember the weights "
        "alone, `weights, version = self.rule.pull(worker)`."
    )


def _no_dot(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("RuntimeError", "TypeError"):
        return None
    if not any(said in seen.text for said in ("dot(", "1D tensors expected", "1D, but got")):
        return None
    return (
        f"{case.name}, a product of torch’s own does not fit here ({seen.kind}). ⊙ takes each "
        "weight for itself, which is what `*` does."
    )


def _memory(case: Case, seen: Observation) -> str | None:
    held, workers = seen.values[0][-1]["held"], len(case.args[0][0])
    if held is None or held <= workers + 1:
        return None
    return (
        f"{case.name}, {held} tensors are kept in the end, and with every version that is pulled "
        f"there is one more: {workers} would do, one for each worker, what it pulled last: "
        "`self.pulled[worker] = weights`."
    )


def claim(case: Case, seen: Observation) -> str | None:
    """The corrected gradient handed on, in every turn, and no more kept than a copy a worker."""
    return turns.fault(case, seen) or _memory(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    ends = describe(seen[0].values[0][-1]["weights"])
    return (
        "Passed with 1, 2, 3 and 5 workers: every gradient is corrected by what moved since its "
        f"worker pulled. With 3 workers the weights end at {ends}."
    )


def _compensating(
    remember: Callable[..., Any] = lambda kept, worker, weights, _: kept.update({worker: weights}),
    moved: Callable[[Any, Push], Any] = lambda cure, push: cure.weights - cure.pulled[push.worker],
    corrected: Callable[..., Any] = lambda g, moved, strength: g + strength * g * g * moved,
) -> type[Cure]:
    """The cure with another part: what `pull` remembers, what moved since then, the correction."""

    class Compensating(Cure):
        def __init__(self, rule: Rule, strength: float) -> None:
            super().__init__(rule)
            self.strength = strength
            self.pulled: dict[int, Any] = {}

        def pull(self, worker: int) -> tuple[Any, int]:
            weights, version = self.rule.pull(worker)
            remember(self.pulled, worker, weights, version)
            return weights, version

        def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
            by = moved(self, self.push(worker, version))
            return self.rule.arrive(worker, corrected(gradient, by, self.strength), version)

    return Compensating


def _since_arrival(cure: Any, push: Push) -> Any:
    old, cure.pulled[push.worker] = cure.pulled[push.worker], cure.weights
    return cure.weights - old


_wrong_sign = _compensating(corrected=lambda g, moved, strength: g - strength * g * g * moved)
_not_squared = _compensating(corrected=lambda g, moved, strength: g + strength * g * moved)
_no_strength = _compensating(corrected=lambda g, moved, strength: g + g * g * moved)
_moves_alone = _compensating(corrected=lambda g, moved, strength: strength * g * g * moved)
_dot = _compensating(corrected=lambda g, moved, strength: g + strength * g.dot(g) * moved)
_dot_with_moved = _compensating(corrected=lambda g, moved, part: g + part * g * g.dot(moved))
_dot_twice = _compensating(corrected=lambda g, moved, strength: g + strength * g.dot(g).dot(moved))
_by_version = _compensating(moved=lambda cure, push: push.staleness)
_one_memory = _compensating(
    lambda kept, worker, weights, _: kept.update(dict.fromkeys([*kept, worker], weights))
)
_from_start = _compensating(lambda kept, worker, weights, _: kept.setdefault(worker, weights))
_at_arrival = _compensating(
    lambda kept, worker, weights, _: kept.setdefault(worker, weights), _since_arrival
)
_key_missing = _compensating(lambda kept, *given: None)
_keeps_pair = _compensating(lambda kept, worker, *pair: kept.update({worker: pair}))
_copy_a_version = _compensating(
    lambda kept, worker, weights, version: kept.update({version: weights}),
    lambda cure, push: cure.weights - cure.pulled[push.version],
)


class _GivesNothing(_compensating()):  # type: ignore[misc]
    def pull(self, worker: int) -> None:
        super().pull(worker)


class _GoesRound(_compensating()):  # type: ignore[misc]
    def pull(self, worker: int) -> tuple[Any, int]:
        self.pulled[worker] = self.weights
        return self.weights, self.version


_in_place = _compensating(corrected=lambda g, moved, strength: g.add_(strength * g * g * moved))
_in_the_pulled = _compensating(moved=lambda c, push: c.pulled[push.worker].neg_().add_(c.weights))
_itself, _anyway, _fresh, _bare, _number, _instead = cures.spoiled(reference, __name__)


_SUMS = (
    "at turn {turn} all weights share a product that is summed over them, as `torch.dot` and `@` "
    "give it: ⊙ is `*`, element by element."
)

_SAYS = {
    "goes round the inner pull": "the gradient at turn {turn} does not count there: the rule "
    "inside remembers who pulled, as yours does, and your `pull` does not ask it, "
    "`self.rule.pull(worker)`.",
    "the wrong sign": "the correction at turn {turn} points backwards: the gradient is to be "
    "carried from the pulled weights to the present ones, so it goes with (now − pulled).",
    "by the version": "the correction at turn {turn} counts updates: it takes the distance in the "
    "weights, `self.weights - self.pulled[worker]`, not the number of updates between them.",
    "one memory for all": "the gradient at turn {turn} is handed on as it came. Correct it; and "
    "remember what each worker pulled for itself: what the last one pulled is always the present "
    "weights.",
    "not squared": "the correction at turn {turn} has one g too few: the slope of the gradient is "
    "taken to be g·g, element by element.",
    "λ is missing": "the correction at turn {turn} counts whole: multiply it by `strength`.",
    "remembers at the arrival": "at turn {turn} worker {worker} is compared with the weights "
    "before its own last update; it pulled after that. Remember in `pull`, not in `arrive`.",
    "remembers the start alone": "at turn {turn} worker {worker} is compared with what it pulled "
    "first: each pull replaces what is remembered.",
    "corrects the weights": "at turn {turn} only the correction is handed on; the gradient itself "
    "belongs to it: g + λ·g·g·(now − pulled).",
    "corrects in place": "at turn {turn} the cure around yours finds another gradient than it "
    "handed on: you wrote into it (`+=`, or a method with `_`). Make a new tensor.",
}
EXERCISE = Exercise(
    number="06.5",
    title="Delay compensation",
    stars=3,
    minutes=20,
    points=4,
    function="DelayCompensation",
    asks=(
        "`pull` remembers the weights that a worker is given; `arrive` hands on g + "
        "λ·g·g·(weights now − weights that this worker pulled)."
    ),
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=(
        *turns.KINDS,
        turns.WRITTEN_INTO,
        Mistake("keeps the pair", _pair, unfinished=True),
        Mistake("a product that does not fit", _no_dot, unfinished=True),
        Mistake("pull gives nothing", _pull_gives_nothing, unfinished=True),
        Mistake("nothing remembered", _no_memory, unfinished=True),
        Mistake("a copy a version", _memory),
    ),
    numbers=turns.numbers,
    compared=turns.without_held,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("goes round the inner pull", _GoesRound, _SAYS["goes round the inner pull"]),
        WrongAnswer("the wrong sign", _wrong_sign, _SAYS["the wrong sign"]),
        WrongAnswer("by the version", _by_version, _SAYS["by the version"]),
        WrongAnswer("one memory for all", _one_memory, _SAYS["one memory for all"]),
        WrongAnswer("not squared", _not_squared, _SAYS["not squared"]),
        WrongAnswer("λ is missing", _no_strength, _SAYS["λ is missing"]),
        WrongAnswer("remembers at the arrival", _at_arrival, _SAYS["remembers at the arrival"]),
        WrongAnswer("remembers the start alone", _from_start, _SAYS["remembers the start alone"]),
        WrongAnswer("corrects the weights", _moves_alone, _SAYS["corrects the weights"]),
        WrongAnswer("corrects in place", _in_place, _SAYS["corrects in place"]),
        WrongAnswer("computes in the pulled weights", _in_the_pulled, hint="written into"),
        WrongAnswer("sums over the weights", _dot, _SUMS),
        WrongAnswer("sums with what moved", _dot_with_moved, _SUMS),
        WrongAnswer("torch.dot twice", _dot_twice, hint="a product of torch’s own"),
        WrongAnswer("the pair", _keeps_pair, hint="a tuple stands where"),
        WrongAnswer("a copy a version", _copy_a_version, hint="there is one more:"),
        WrongAnswer("pull gives nothing", _GivesNothing, hint="gives the worker nothing"),
        WrongAnswer("remembers too late", _key_missing, hint="nothing remembered"),
        WrongAnswer("never handed on", _itself, cures.NOT_HANDED),
        WrongAnswer("decides for itself", _anyway, cures.OWN_DECISION),
        WrongAnswer("called fresh", _fresh, cures.CALLED_FRESH),
        WrongAnswer("another rule inside", _instead, cures.IN_ITS_PLACE),
        WrongAnswer("one push", _bare, hint="a comma makes it one"),
        WrongAnswer("no comma", _number, hint="are tuples"),
    ),
    ranked=False,
    unseen={"inside": "whether a decision is the very one of the rule inside"},
)
