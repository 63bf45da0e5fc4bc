"""Exercise 06.5, delay compensation (DC-ASGD).

`class DelayCompensation(Cure)` with `pull` and `arrive`: the server remembers the weights that each
worker pulled, and hands on g + λ·g⊙g⊙(w now − w pulled). Source: Zheng et al. (2017), section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import turns
from helpers.exercises.lesson_06.turns import applies_itself, decides_itself, no_comma, one_push
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
    made.append(turns.around_pairs(handing_turns, random, (0.5,), reference))
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


def reference(rule: Rule, strength: float) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import DelayCompensation

    return DelayCompensation(rule, strength)


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
_dot_with_moved = _compensating(
    corrected=lambda g, moved, strength: g + strength * g * g.dot(moved)
)
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


def _spoiled(spoil: Callable[[Any], Rule]) -> Callable[..., Rule]:
    return lambda rule, strength: spoil(reference(rule, strength))


_one_push = _spoiled(one_push)
_no_comma = _spoiled(no_comma)
_applies_itself = _spoiled(applies_itself)
_decides_itself = _spoiled(decides_itself)


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
        WrongAnswer(
            "sums over the weights",
            _dot,
            "at turn {turn} all weights share one number, a product summed over them, as "
            "`torch.dot` and `@` give it: multiply element by element, with `*`.",
        ),
        WrongAnswer(
            "sums with what moved",
            _dot_with_moved,
            "at turn {turn} g·moved is summed over the weights, as `torch.dot` and `@` do: ⊙ is "
            "`*`, element by element.",
        ),
        WrongAnswer(
            "the wrong sign",
            _wrong_sign,
            "the correction at turn {turn} points backwards: the gradient is to be carried from "
            "the pulled weights to the present ones, so it goes with (now − pulled).",
        ),
        WrongAnswer(
            "by the version",
            _by_version,
            "the correction at turn {turn} counts updates: it takes the distance in the weights, "
            "`self.weights - self.pulled[worker]`, not the number of versions between them.",
        ),
        WrongAnswer(
            "one memory for all",
            _one_memory,
            "nothing is corrected: at turn {turn} the gradient is handed on as it came. Hand on "
            "the corrected one; and remember what each worker pulled, `self.pulled[worker]`: what "
            "the last one pulled is always the present weights.",
        ),
        WrongAnswer(
            "not squared",
            _not_squared,
            "the correction at turn {turn} has one g too few: the slope of the gradient is taken "
            "to be g·g, element by element.",
        ),
        WrongAnswer(
            "λ is missing",
            _no_strength,
            "the correction at turn {turn} counts whole: multiply it by `strength`.",
        ),
        WrongAnswer(
            "remembers at the arrival",
            _at_arrival,
            "at turn {turn} worker {worker} is compared with the weights before its own last "
            "update; it pulled after that. Remember in `pull`, not in `arrive`.",
        ),
        WrongAnswer(
            "remembers the start alone",
            _from_start,
            "at turn {turn} worker {worker} is compared with what it pulled first: each pull "
            "replaces what is remembered.",
        ),
        WrongAnswer(
            "corrects the weights",
            _moves_alone,
            "at turn {turn} only the correction is handed on; the gradient itself belongs to it: "
            "g + λ·g·g·(now − pulled).",
        ),
        WrongAnswer("never handed on", _applies_itself, turns.NOT_HANDED),
        WrongAnswer("decides for itself", _decides_itself, turns.OWN_DECISION),
        WrongAnswer("torch.dot twice", _dot_twice, hint="a product of torch’s own"),
        WrongAnswer("the pair", _keeps_pair, hint="a tuple stands where"),
        WrongAnswer("a copy a version", _copy_a_version, hint="there is one more:"),
        WrongAnswer("pull gives nothing", _GivesNothing, hint="gives the worker nothing"),
        WrongAnswer("remembers too late", _key_missing, hint="nothing remembered"),
        WrongAnswer("one push", _one_push, hint="a comma makes it one"),
        WrongAnswer("no comma", _no_comma, hint="are tuples"),
    ),
    ranked=False,
    unseen={"inside": "whether a decision is the very one of the rule inside"},
)
