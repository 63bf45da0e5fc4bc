"""Exercise 07.5, the chief and the queue of tokens.

`class Chief` with `start(num_tokens)` and `turn() -> bool` to write. The claim: `start` puts
num_tokens tokens into the queue, as many as an update takes for −1; a turn in which the
accumulator has a mean makes one update, raises the global step, and puts max(total, aggregate)
tokens of the new step into the queue; any other turn does nothing. A long file, for it holds the
course's own chief as well, and 26 wrong ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe, rounded
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.spare_replicas.exercises.accumulator import same
from helpers.lessons.spare_replicas.exercises.chief_turns import LEFT, chief_turns

Turn = dict[str, Any]


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 of 5 with the default, 2 of 3 with none, 1 of 1, 5 of 2, 2 of 5; else others.

    In the last one many tokens are left, means are a hundred times as large, the first is 0,
    and the last is infinite.
    """
    random, made = rng(seed, "07.5"), []
    shapes = [(3, 5, -1), (2, 3, 0), (1, 1, -1), (5, 2, 3), (2, 5, 4)]
    if seed:
        shapes = [(n - 2, n, -1) for n in (5, 6)] + [(1, 1, 0), (1, 2, 0), (3, 3, -1)]
        some = int(random.integers(3, 8))
        shapes += [(some, 2, some - 2), (3, 5, int(random.integers(1, 6)))]
    for number, (aggregate, total, num_tokens) in enumerate(shapes, 1):
        turns = int(random.integers(4, 8))
        ready = [turn in (1, 3) or random.random() < 0.3 for turn in range(turns)]
        ready[0] = False
        means = [np.round(random.uniform(1, 9, 2), 2) if each else None for each in ready]
        if number == len(shapes):
            means = [None if each is None else 100 * each for each in means]
            means[1], means[-1] = np.zeros(2), np.array([np.inf, 1.0])
        weights = np.round(random.uniform(-9, 9, 2), 2)
        left = 8 if number == len(shapes) else 1
        name = f"With {aggregate} of {count(total, 'worker')} and num_tokens={num_tokens}"
        case = Case(name, ((weights, 0.3, aggregate, total, num_tokens, means, left),))
        made.append(replace(case, facts={"want": chief_turns(Chief, case).values[0]}))
    return made


def _first(case: Case, seen: Observation) -> tuple[str, str, Turn, Turn] | None:
    """The first turn that is not as it should be: in words, what of it is wrong, what it was,
    should be."""
    pairs = zip(seen.values[0]["turns"], case.facts["want"]["turns"], strict=True)
    for number, (got, want) in enumerate(pairs, 1):
        if fault := _fault(got, want):
            what = "a mean is there" if want["gave"] else "too few gradients are there"
            return f"turn {number} ({what})", fault, got, want
    return None


def _fault(got: Turn, want: Turn) -> str:
    if list(got["asked"]) != want["asked"]:
        return "asked"
    if got["step"] != want["step"]:
        return "step"
    if not same(got["weights"], want["weights"]):
        return "weights"
    if _new(got) != _new(want):
        return "tokens"
    if list(got["tokens"]) != want["tokens"]:
        return "left"
    if got["found"] is not None and not same(got["found"], want["weights"]):
        return "found"
    return "" if got["gave"] is want["gave"] else "gave"


def _new(turn: Turn) -> list[Any]:
    """The tokens of a turn, without those that were there before."""
    return _without_left(turn["tokens"])


def _without_left(tokens: Sequence[Any]) -> list[Any]:
    return [token for token in tokens if describe(token) != str(LEFT)]


def _in_words(tokens: Sequence[Any]) -> str:
    if not tokens:
        return "no token"
    if any(token != tokens[0] for token in tokens):
        return f"the tokens {describe(list(tokens))}"
    if isinstance(tokens[0], str):
        return f"{count(len(tokens), 'text')} {tokens[0]!r}"
    return f"{count(len(tokens), 'token')} of step {describe(tokens[0])}"


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The tokens at the start, and every turn."""
    start, right = list(seen.values[0]["start"]), case.facts["want"]["start"]
    if _without_left(start) != _without_left(right):
        new, wanted = map(_in_words, map(_without_left, (start, right)))
        yield f"`start` put {new} in, not {wanted}."
    if start != right:
        yield "`start`: a token that lay in the queue before is gone, or is not the first any more."
    found = _first(case, seen)
    if found is None:
        yield from beside(case, seen)
        return
    begin, fault, got, want = found
    if fault == "asked":
        asked = ", ".join(describe(each) for each in got["asked"]) or "never"
        (need,) = want["asked"]
        yield f"{begin}: `take_grad` was asked for {asked}; ask once a turn, for {need}."
    if fault == "tokens":
        came = _in_words(_new(got))
        yield f"{begin}: {came} came into the queue, not {_in_words(_new(want))}."
    if fault == "left":
        yield f"{begin}: the oldest token does not stand first in the queue any more."
    if fault == "found":
        yield from _too_early(case, seen)
    should = f"{describe(want[fault])}{rounded([got[fault]], [want[fault]])}"
    name = "global_step" if fault == "step" else fault
    yield f"{begin}: `{name}` is {describe(got[fault])}; it should be {should}."


def beside(case: Case, seen: Observation) -> Iterator[str]:
    """What is said where every turn is as it should be: floats count as well as whole numbers."""
    value = seen.values[0]
    if value["changed"]:
        yield (
            "the weights that the chief was given are other ones now: `-=` writes into a tensor "
            "that others still hold. Make a new one: `self.weights = self.weights - …`."
        )
    counted = [*value["start"], *(one for t in value["turns"] for one in (t["step"], *t["tokens"]))]
    odd = next((one for one in counted if type(one) is not int), None)
    if odd is not None:
        kind = "tensor" if isinstance(odd, np.ndarray) else type(odd).__name__
        yield (
            f"{case.name}, {odd} is a {kind} where steps are counted: a token and `global_step` "
            "are whole numbers, of type int."
        )


_asks_for_more = fails_with(
    "'Scripted' object has no attribute",
    "the chief uses something of the accumulator that it does not have: `take_grad` is "
    "enough. It says by `None` that there is no mean yet.",
)


def _no_word(case: Case, seen: Observation) -> Iterator[str]:
    begin, fault, got, want = _first(case, seen) or ("", "", {}, {})
    if fault == "gave":
        gave = describe(got["gave"])
        yield f"{begin}: `turn` gave {gave}; say whether an update was made, {want['gave']}."


def _too_early(case: Case, seen: Observation) -> Iterator[str]:
    begin, fault, _, _ = _first(case, seen) or ("", "", {}, {})
    if fault == "found":
        yield (
            f"{begin}: new tokens are in the queue while the weights are still the old ones. A "
            "worker that takes one at once computes on these: update the weights first."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the tokens at the start, and the first turn that is wrong."""
    if seen.trouble:
        return {}
    _, _, aggregate, total, *_ = case.args[0]
    put = _in_words(_without_left(seen.values[0]["start"]))
    said = {"put": put, "aggregate": aggregate, "total": total}
    found = _first(case, seen)
    if found is None:
        return said
    begin, _, got, want = found
    said |= {"turn": begin, "asked": len(got["asked"]), "old": want["step"] - 1}
    return said | {"new": count(len(_new(got)), "token"), "wanted": len(_new(want))}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    _, _, aggregate, total, *_ = cases[0].args[0]
    put = len(_without_left(seen[0].values[0]["start"]))
    return (
        f"Passed: with {aggregate} of {total} workers, {put} tokens at the start by default and "
        f"{total} an update."
    )


class Chief:
    """The course's own: it works on one accumulator and a queue that it is given."""

    def __init__(
        self, accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
    ) -> None:
        self.accumulator, self.queue = accumulator, queue
        self.weights, self.rate = weights, rate
        self.aggregate, self.total = aggregate, total
        self.global_step = 0

    def start(self, num_tokens: int) -> None:
        """The tokens with which training starts."""
        self.queue.extend([0] * (self.aggregate if num_tokens == -1 else num_tokens))

    def turn(self) -> bool:
        """Make an update if there is a mean for it."""
        mean = self.accumulator.take_grad(self.aggregate)
        if mean is None:
            return False
        self.weights = self.weights - self.rate * mean
        self.global_step += 1
        self.queue.extend([self.global_step] * max(self.total, self.aggregate))
        return True


WRONG = """
a list as a token at the start
    | extend([0] => append([0]
    `start` put the whole list in as one token. `append` puts in one thing, `extend` each of a list.
nothing at the start by default
    | self.aggregate if num_tokens == -1 else num_tokens => num_tokens
    `start` put {put} in: the default, −1, stands for as many as an update takes, {aggregate}.
a token for each worker at the start
    | self.aggregate if num_tokens => self.total if num_tokens
    `start` put {put} in: at the start there are as many as an update takes, {aggregate}, or
    num_tokens.
num_tokens is not looked at
    | self.aggregate if num_tokens == -1 else num_tokens => self.aggregate
    `start` put {put} in: num_tokens says how many; only −1 stands for {aggregate}.
asks for all workers' gradients
    | take_grad(self.aggregate) => take_grad(self.total)
    {turn}: the chief asked for {total} gradients, all workers', so that no worker is spare. Ask for
    {aggregate}.
asks twice
    | mean = self.accumulator.take_grad(self.aggregate)
        => ask = self.accumulator.take_grad; mean = None if ask(self.aggregate) is None else
            ask(self.aggregate)
    {turn}: `take_grad` was called {asked} times. Each call empties the accumulator: call it once a
    turn and keep what it gives.
a mean as a condition
    | mean is None => not mean
    a mean is a tensor of many numbers, which is neither true nor false. Ask whether there is one:
    `if mean is None`.
a list as a token
    | extend([self.global_step] => append([self.global_step]
    {turn}: the whole list came into the queue as one token. `append` puts in one thing, `extend`
    each of a list.
tokens of the old step
    | [self.global_step] => [self.global_step - 1]
    {turn}: the tokens are of step {old}, which is over: whatever is computed with them will be
    dropped. Raise the step before the tokens are made.
a queue of its own
    | self.queue.extend([self.global_step] => self.queue = ([self.global_step]
    {turn}: no new token is in the queue, {wanted} should be. Put them into the queue that you were
    given, `self.queue.extend(…)`: workers look into no other.
a token for each gradient
    | max(self.total, self.aggregate) => self.aggregate
    {turn}: {new} for {total} workers. Each worker takes a token, whether its gradient counted or
    not: put in {total}, whatever lies there already.
a token for each worker
    | max(self.total, self.aggregate) => self.total
    {turn}: {new} for {aggregate} gradients: {total} workers have to give several each, and need a
    token for every one. Take the larger number.
tokens for nothing
    | return False
        => self.queue.extend([self.global_step] * max(self.total, self.aggregate)); return False
    {turn}: tokens without an update.
the step stays
    | return True => self.global_step -= 1; return True
    {turn}: raise `global_step` by one.
a step for nothing
    | return False => self.global_step += 1; return False
    {turn}: a step without a mean.
no rate
    | self.rate * mean => mean
    {turn}: the mean was subtracted without the rate.
uphill
    | - self.rate => + self.rate
    {turn}: the weights went up: subtract rate · mean.
no step
    | - self.rate * mean =>
    {turn}: the weights stay: subtract rate · mean.
divides again
    | self.rate * mean => self.rate * mean / self.aggregate
    {turn}: the mean is divided already.
empties the queue
    | self.global_step += 1 => self.global_step += 1; self.queue.clear()
    {turn}: a token that nobody has taken yet is gone. The chief puts tokens in and takes none out:
    `extend` what is there.
not put in on the right
    | extend([self.global_step] => extendleft([self.global_step]
    {turn}: the new tokens stand ahead of one that was there before. They go in on the right,
    `extend`, and workers take on the left.
tokens before the weights
    | self.weights = self.weights - self.rate * mean => pass
    | return True => self.weights = self.weights - self.rate * mean; return True
    ? update the weights first
writes into the given weights
    | = self.weights - => -=
    ! beside
floats for tokens
    | [self.global_step] => [float(self.global_step)]
    ! beside
counts first
    | = self.accumulator.take_grad
        => = self.accumulator.count >= self.aggregate and self.accumulator.take_grad
    ? `take_grad` is enough
no word
    | return False => return
    | return True => return
    ? say whether an update was made
"""

EXERCISE = Exercise(
    number="07.5",
    title="The chief and its tokens",
    size=Size(stars=2, minutes=15, points=3),
    function="Chief",
    asks=(
        "`start` puts num_tokens tokens of step 0 into the queue (−1: as many as an update "
        "takes); `turn` makes an update where there is a mean, raises the step, and puts in "
        "max(total, aggregate) tokens of the new step."
    ),
    cases=cases,
    drive=chief_turns,
    claim=claim,
    mistakes=(
        Mistake("asks the accumulator for more", _asks_for_more, unfinished=True),
        Mistake("does not say whether it updated", _no_word),
        Mistake("tokens too early", _too_early),
    ),
    numbers=numbers,
    praise=praise,
    reference=Chief,
    wrong=wrong_answers("07.5", WRONG, Chief, beside),
    ranked=False,
)
