"""Exercise 10.5, a supervisor that takes its workers' mean weights to an outer optimizer.

The claim, push by push: the weights are those of a step of `outer`, of whatever optimizer, with the
gradient (weights − mean), and two supervisors that are given one share nothing of it. Source:
Douillard et al., "DiLoCo" (2023), algorithm 1.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.nine_digits import instead, near
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.fewer_bits.algorithms.diloco import DiLoCo as reference
from helpers.lessons.parameter_servers.algorithms import server_optimizers
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers and an SGD each; one with a rate that falls, and an
    optimizer that is no SGD. Seed 0: the paper's numbers first; else others."""
    random, made = rng(seed, "10.5"), []
    few, most, fall, adam = random.uniform(0.3, 0.9, 4).round(2).tolist() if seed else [0.7] * 4
    first, second = random.uniform(0.3, 0.9, 2).round(2).tolist() if seed else [0.9, 0.9]
    outers = [
        (3, f"Sgd({few}, momentum={first}, nesterov=True)"),
        (1, f"Sgd({few}, momentum={second})"),
        (2, f"Sgd({most})"),
        (5, "Sgd(1.0)"),
        (3, f"Sgd(cosine({fall}, 6), momentum={second})"),
        (2, f"AdamW({round(adam / 10, 3)})"),
    ]
    for workers, outer in outers:
        weights, goals = random.standard_normal(3), random.standard_normal((workers, 3))
        goals += [2.0, -2.0, 1.0]  # some weights go up and some down
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        args = (weights, goals, float(random.uniform(0.2, 0.6)), outer, order)
        name = f"With {count(workers, 'worker')} and {outer}"
        want = outer_turns(reference, Case(name, (args,))).values[0]
        made.append(Case(name, (args,), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Both supervisors' weights, their version and who is released, after each push."""
    for number, (turns, wants) in enumerate(zip(seen.values[0], case.facts["want"], strict=True)):
        begin = "the second supervisor with this `outer`, " if number else ""
        for turn, (got, want) in enumerate(zip(turns, wants, strict=False)):
            for fault in _faults(got, want):
                yield f"{begin}at push {turn + 1} (worker {want['worker']}'s), {fault}."
        if len(turns) != len(wants):
            yield f"{begin}{len(turns)} of {len(wants)} pushes were taken up."


def _faults(got: dict[str, Any], want: dict[str, Any]) -> Iterator[str]:
    if "stuck" in got:
        yield "nobody comes: all wait to be released"
    if "release" not in got:
        yield f"`arrive` returned {describe(got.get('decision'))}"
    if not near(got["weights"], want["weights"]):
        yield f"the weights are {instead(got['weights'], want['weights'])}"
    if got["made"] != want["made"]:
        yield f"the version is {got['made']}; one a round makes it {want['made']}"
    if sorted(got["release"]) != sorted(want["release"]):
        yield f"workers {got['release']} were released; it should be {want['release']}"


def compared(case: Case, seen: Observation) -> Any:
    """The turns; in which order workers were released is no matter."""
    return [[turn | {"release": sorted(turn["release"])} for turn in t] for t in seen.values[0]]


def _not_made(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "AttributeError" and seen.text.endswith(("'workers'", "'held'")):
        yield (
            f"{seen.text}: Averaging's own `__init__` makes it. Call that first, "
            "`super().__init__(weights, workers)`."
        )


_hides_a_method = fails_with(
    "' object is not callable",
    "one of your attributes has the name of a method, such as `start`, `pull` or `arrive`, and "
    "stands before it: give it another name.",
)
_reads_the_optimizer = fails_with(
    "'AdamW' object has no attribute",
    "`outer` has no momentum that you could read. It may be any optimizer: call its "
    "`step(weights, gradient, version)`, and leave to it how that is made.",
)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    end = describe(seen[0].values[0][1][-1]["weights"])
    return (
        "Passed with 1, 2, 3 and 5 workers: with Sgd(1.0) it is lesson 05's supervisor; with "
        f"{cases[0].args[0][3]} two of them end at {end} after three rounds, and share no momentum."
    )


def outer_turns(fn: Function, case: Case) -> Observation:
    """Make `fn(weights, workers, outer)` twice, of the same three, and drive one, then the other.

    The case's arguments: weights, goals (workers, weights), rate, outer, order. outer: one of
    `server_optimizers`, as one writes it. Worker w goes from the weights p that it pulled to
    p − rate·(p − goal) and pushes that. order: workers' numbers; at each turn the next one that has
    pulled and not yet pushed comes. `values[0]` holds both lists of turns. A turn is `{"worker",
    "weights", "made", "release"}`; where all workers wait, the list ends with `{"stuck"}`. It fails
    where weights that a worker had pulled are written into.
    """
    if trouble := wrong_signature(fn, 3):
        return trouble
    weights, goals, rate, outer, order = (tensors(a) for a in case.args[0])
    given = [(weights, weights.clone())]
    try:
        made = eval(outer, vars(server_optimizers))
        rules = [fn(weights, len(goals), made) for _ in range(2)]
        turns = [_turns(rule, goals, rate, order, given) for rule in rules]
        return Observation(values=[plain(turns)])  # here, so that they are what they are by now
    except Exception as error:
        return failed(error, fn)


def _turns(
    rule: Any, goals: Tensor, rate: float, order: Sequence[int], given: list[tuple[Any, Any]]
) -> list[Any]:
    """given: the weights that anybody has pulled, each with what it was then."""
    pulled = {w: rule.pull(w) for w in rule.start()}
    turns, left = list[Any](), list(order)
    while left:
        worker = next((w for w in left if w in pulled), None)
        if worker is None:
            return [*turns, {"stuck": True}]
        left.remove(worker)
        weights, version = pulled.pop(worker)
        given.append((weights, weights.clone()))
        decision = rule.arrive(worker, weights - rate * (weights - goals[worker]), version)
        if not isinstance(decision, Decision):
            return [*turns, {"worker": worker, "decision": decision}]
        if not all(torch.equal(held, before) for held, before in given):
            raise ValueError("weights that a worker had pulled were written into")
        turn = {"worker": worker, "weights": rule.weights, "made": int(rule.version)}
        turns.append({**turn, "release": [int(w) for w in decision.release]})
        pulled |= {int(w): rule.pull(int(w)) for w in decision.release}
    return turns


class RuleAlone(Averaging):
    def __init__(self, weights: Any, workers: Any, outer: Any) -> None:
        Rule.__init__(self, weights, outer, workers)


WRONG = """
writes into weights
    | self.weights = => self.weights[:] =
    weights that workers had pulled were written into (`-=`, or a method with `_`), and somebody may
    hold them still. `step` gives new ones: `self.weights = …`.
Rule's own __init__
    = RuleAlone
    ? Call that first
no optimizer
    | copy.copy(outer) or Sgd(0.7, momentum=0.9, nesterov=True) => None
    | assert self.optimizer is not None =>
    there is None in place of the optimizer: Averaging's `__init__` leaves `self.optimizer` so. Keep
    a copy of `outer` in it, behind that call.
named like a method
    | super().__init__(weights, workers) => super().__init__(weights, workers); self.start = weights
    ? has the name of a method
reads the momentum
    | = self.optimizer.step => = self.optimizer.momentum >= 0 and self.optimizer.step
    ? may be any optimizer
takes the mean over
    | self.optimizer.step(self.weights, self.weights - gradient, self.version) => gradient
    the weights are the workers' mean, as in lesson 05, whatever `outer` is: give its `step` the
    difference `self.weights - mean`, and take over what that returns.
the difference for weights
    | self.optimizer.step(self.weights, self.weights - gradient, self.version)
        => self.weights - gradient
    the weights become the difference itself. `super().apply(…)` is Averaging's, which takes over
    what it is handed: call the optimizer's `step` with the difference.
not kept
    | self.weights = self.optimizer => self.optimizer
    the weights never change: keep what `step` returns.
returned
    | self.weights = => return
    nothing changes: keep what `step` returns, and count.
the wrong way round
    | self.weights - gradient => gradient - self.weights
    the weights run away from the mean. A step goes against its gradient, so the gradient is
    `self.weights - mean`.
the mean as a gradient
    | self.weights - gradient => gradient
    the mean itself went to `step`; the gradient is `self.weights - mean`.
steps from the mean
    | step(self.weights => step(gradient
    the step begins at the mean, where what the workers moved is in already. It begins where they
    began, at `self.weights`.
taken off
    | self.weights = => self.weights = self.weights -
    `step` returns the new weights: do not take them off.
a sum of differences
    | self.weights - gradient => (self.weights - gradient) * len(self.workers)
    the gradient is {workers} times too large: `apply` is handed the mean, so one difference,
    `self.weights - mean`, is the mean of all {workers}.
divided once more
    | self.weights - gradient => (self.weights - gradient) / len(self.workers)
    the gradient is divided by {workers}, but what `apply` is handed is a mean already.
since the start of training
    | super().__init__(weights, workers) => super().__init__(weights, workers); self.first = weights
    | self.weights - gradient => self.first - gradient
    from the second round on, the gradient is the way from the very first weights. It is what moved
    in this round: from `self.weights` as they are now.
the rate alone
    | self.optimizer.step(self.weights, self.weights - gradient, self.version)
        => self.weights + self.optimizer.rate * (gradient - self.weights)
    there is only a rate in your step, and no momentum: call `step`, which has both.
an optimizer of its own
    | copy.copy(outer) or =>
    you step with Sgd(0.7, 0.9, nesterov=True) whatever you are given, here {outer}: keep a copy of
    `outer`.
a new optimizer each round
    | self.optimizer.step => copy.copy(self.optimizer).step
    each round's step begins without momentum: copy `outer` once, in `__init__`.
one optimizer for two
    | copy.copy(outer) => outer
    a second supervisor that is given this `outer` goes on with the momentum of the first: both step
    with one object. Each keeps a copy of its own, `copy.copy(outer)`.
never counts
    | self.version += 1 =>
    the version stays 0: `self.version += 1`.
counts twice
    | self.version += 1 => self.version += 2
    a round counts twice; `Rule.apply` counts too.
counts before the step
    | self.version += 1 =>
    | assert self.optimizer is not None => self.version += 1
    the rate is a round ahead: `step` takes the version before it, so count after.
no version
    | self.version) => 0)
    the rate never falls: give `step` the present version.
"""

EXERCISE = Exercise(
    number="10.5",
    title="A mean that is a gradient",
    size=Size(stars=2, minutes=12, points=3),
    function="DiLoCo",
    asks=(
        "`__init__` keeps a copy of `outer`; `apply`, which is handed the workers' mean weights, "
        "takes a step of it from the present weights with the gradient (weights − mean), and "
        "counts the version."
    ),
    cases=cases,
    drive=outer_turns,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("Averaging is not made", _not_made, unfinished=True),
        Mistake("hides a method", _hides_a_method, unfinished=True),
        Mistake("reads the optimizer", _reads_the_optimizer, unfinished=True),
    ),
    numbers=lambda case, seen: {"workers": len(case.args[0][1]), "outer": case.args[0][3]},
    praise=praise,
    reference=reference,
    wrong=wrong_answers("10.5", WRONG, reference, RuleAlone),
    ranked=False,
)
