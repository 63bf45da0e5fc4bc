"""Exercise 03.3, training replicas that start different.

The claim: all ranks end with what rank 0's model would hold after training on all rows alone, in
float64 to 1e-10; and weights travel once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from torch import nn

from helpers.exercises.common import random_weights, rng
from helpers.exercises.compare import all_close, count, rounded, worlds
from helpers.exercises.drives_training import on_training
from helpers.exercises.lesson_03 import replicas as nets
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_LAYERS = (4, 6, 2)


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven shards on 3, 1, 2 and 5 ranks; else other sizes and steps. At last a rate of
    0, with which gradients move no weight, while weights that are averaged are rounded."""
    random, made = rng(seed, "03.3"), list[Case]()
    shapes, steps, rate = nets.UNEVEN, 4, 0.1
    if seed:
        shapes = nets.uneven(random, (1, 2, 3, 5))
        steps, rate = int(random.integers(3, 6)), float(random.uniform(0.05, 0.2))
    for rows, n, rate in [*((*shape, rate) for shape in shapes), (7, 3, 0.0)]:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        inputs, targets, cuts = nets.shared_out(random, rows, n, _LAYERS)
        pairs = zip(starts, cuts, strict=True)
        args = tuple((w, inputs[cut], targets[cut], rows, steps, rate) for w, cut in pairs)
        want = nets.descend(starts[0], [(inputs, targets)] * steps, rate)
        name = f"On {count(n, 'rank')} with {rows} rows{' and a rate of 0' * (not rate)}"
        made.append(Case(name, args, n, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """All ranks equal one big batch, from rank 0's weights, which travel once."""
    right = [all_close(got, case.facts["want"], _TOLERANCE) for got in seen.values]
    if all(right):
        return _weights_travel(case, seen) or _weights_averaged(case, seen)
    alike = all(all_close(got, seen.values[0], _TOLERANCE) for got in seen.values)
    whose = "the replicas are equal, and their" if alike else f"rank {right.index(False)}'s"
    return (
        f"{case.name}, {whose} weights are not what steps on all rows, from rank 0's weights, "
        f"would give{rounded(seen.values[0], case.facts['want'])}."
    )


def _weights_travel(case: Case, seen: Observation) -> str | None:
    """More bytes than a broadcast and a sum in every step. On two ranks each sum sends as much,
    however it is made; one tensor of each parameter more is let pass."""
    weights, *_, steps, _ = case.args[0]
    sent, enough = sum(seen.bytes) / sum(each.nbytes for each in weights), 1 + 2 * steps
    if case.ranks != 2 or sent <= enough + 1:
        return None
    return (
        f"{case.name}, {sent:.3g} times the parameters' bytes were sent in {steps} steps, and "
        f"{enough} are enough: rank 0's parameters once, then the gradients there and back in "
        "every step. Equal steps keep equal replicas equal: broadcast before the first step alone."
    )


def _weights_averaged(case: Case, seen: Observation) -> str | None:
    """Weights that a rate of 0 has moved by a rounding error: plain sums do not tell otherwise."""
    want, moved = (
        case.facts["want"],
        (not all_close(got, case.facts["want"], 0.0) for got in seen.values),
    )
    if case.args[0][-1] or not all_close(seen.values[0], want, _TOLERANCE) or not any(moved):
        return None
    return (
        f"{case.name}, where no weight may move, weights change in their last digit, as they do "
        "when they are averaged in every step and rounded. Average the gradients: weights travel "
        "once, before the first step."
    )


def _do_not_fit(case: Case, seen: Observation) -> str | None:
    if "it is to be received into" not in seen.text:
        return None
    return (
        f"{case.name}, two ranks do not fit together: {seen.text.partition('. ')[0].rstrip('.')}. "
        "Every rank calls every broadcast and every all-reduce, in the same order; what stands "
        "under `if comm.rank == 0` only rank 0 calls."
    )


Share = Callable[[int, int, int], float]


def _give(comm: Any, model: Any) -> None:
    from helpers.algorithms.data_parallel.data_parallel import broadcast_parameters

    broadcast_parameters(model, comm)


def _give_in_vain(comm: Any, model: Any) -> None:
    _give(comm, deepcopy(model))


def _give_on_rank_0(comm: Any, model: Any) -> None:
    if comm.rank == 0:
        _give(comm, model)


_EQUAL: Share = lambda rows, total, ranks: 1 / ranks  # noqa: E731


def _training(
    share: Share = lambda rows, total, ranks: rows / total,
    clear: bool = True,
    start: Callable[[Any, Any], None] = _give,
    every_step: bool = False,
    late: bool = False,
    average: bool = True,
    at_the_end: bool = False,
    weights: bool = False,
    updates: Callable[[int], bool] = lambda rank: True,
    loss: Callable[..., Any] = nn.functional.mse_loss,
) -> Callable[..., None]:
    """The reference with a part exchanged; what is not used is sent all the same. share: of a rank,
    by its rows, the total and the ranks. start: gives all the same weights, also in every_step,
    or late, after the first gradients.
    average: whether the gradients are. at_the_end, weights: whether the weights are, in the place
    of the last gradients or of all. updates: the ranks that take steps.
    loss: of outputs and targets."""

    def train(
        comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
    ) -> None:
        from helpers.algorithms.data_parallel.data_parallel import average_gradients

        for step in range(steps):
            last = weights or (at_the_end and step == steps - 1)
            if every_step or (step == 0 and not late):
                start(comm, model)
            if clear:
                model.zero_grad()
            loss(model(inputs), targets).backward()
            for parameter in model.parameters() if last else ():
                parameter.grad = parameter.data - rate * parameter.grad
            summed = model if average or last else deepcopy(model)
            average_gradients(comm, summed, share(len(inputs), total, comm.size), 1)
            if late and step == 0:
                start(comm, model)
            for parameter in model.parameters() if updates(comm.rank) else ():
                parameter.data = parameter.grad if last else parameter - rate * parameter.grad

    return train


reference = _training()
_no_broadcast = _training(start=_give_in_vain)
_broadcast_on_rank_0 = _training(start=_give_on_rank_0)
_every_step = _training(every_step=True)
_late = _training(late=True)
_not_cleared = _training(clear=False)
_equal_shares = _training(_EQUAL)
_sums = _training(lambda rows, total, ranks: 1.0)
_alone = _training(average=False)
_alone_from_its_own = _training(average=False, start=_give_in_vain)
_mean_at_the_end = _training(_EQUAL, average=False, at_the_end=True)
_by_rows_at_the_end = _training(average=False, at_the_end=True)
_weights_each_step = _training(weights=True)
_rank_0_updates = _training(updates=lambda rank: rank == 0)
_outputs_summed = _training(loss=lambda got, want: (got - want).square().sum() / len(got))


def _no_update(*others: Any) -> None:
    reference(*others[:-1], 0.0)


def _uphill(*others: Any) -> None:
    reference(*others[:-1], -others[-1])


def _rank_0_alone(comm: Any, *others: Any) -> None:
    if comm.rank == 0:
        reference(comm, *others)


_ALONE = (
    "every rank trained on its own rows alone, and the replicas drifted apart. Average "
    "the gradients in every step, after backward and before the update."
)
_ONCE = (
    "the weights were averaged once, at the end. That is another algorithm (local SGD); "
    "here the gradients are averaged in every step."
)

EXERCISE = Exercise(
    number="03.3",
    title="Train",
    stars=2,
    minutes=12,
    points=3,
    function="train",
    asks=(
        "all ranks start from rank 0's parameters; in each of `steps` steps every rank does "
        "backward on its rows, the gradients are averaged, and every parameter goes down by "
        "rate · gradient."
    ),
    cases=cases,
    drive=on_training,
    builds_on=("03.2",),
    claim=claim,
    mistakes=(
        Mistake("not every rank takes part", nets.some_do_not_come, unfinished=True),
        Mistake("ranks in different calls", _do_not_fit, unfinished=True),
        Mistake("weights travel in every step", _weights_travel),
        Mistake("weights are averaged in every step", _weights_averaged),
    ),
    numbers=lambda case, seen: {"n": case.ranks, "outputs": case.args[0][2].shape[1]},
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: after {cases[0].args[0][4]} steps all replicas are equal, and "
        "equal to one model trained on all rows."
    ),
    reference=reference,
    wrong=(
        WrongAnswer(
            "no update",
            _no_update,
            "no weight has moved from rank 0's start: update each in place, `parameter -= rate * "
            "parameter.grad`.",
        ),
        WrongAnswer("uphill", _uphill, "weights go up the gradient: `parameter -= rate * …`."),
        WrongAnswer(
            "late", _late, "the first gradients are of different weights: broadcast before."
        ),
        WrongAnswer(
            "no initial broadcast",
            _no_broadcast,
            "the replicas started from different weights and stayed apart, though each took the "
            "same steps. Give every rank rank 0's parameters once, before the first step.",
        ),
        WrongAnswer(
            "gradients not cleared",
            _not_cleared,
            "gradients of earlier steps were still there, and `backward()` adds to them: call "
            "`model.zero_grad()` before it.",
        ),
        WrongAnswer("every rank trains alone", _alone, _ALONE),
        WrongAnswer("every rank trains alone from its own weights", _alone_from_its_own, _ALONE),
        WrongAnswer("weights averaged once at the end", _mean_at_the_end, _ONCE),
        WrongAnswer("weights averaged by rows at the end", _by_rows_at_the_end, _ONCE),
        WrongAnswer(
            "every rank counts the same",
            _equal_shares,
            "the shards are uneven and every rank counted the same: weigh by len(inputs) / total.",
        ),
        WrongAnswer("summed", _sums, "every step was about {n} times too long: average."),
        WrongAnswer(
            "outputs summed",
            _outputs_summed,
            "gradients were {outputs} times too large, as where the squared errors of a row's "
            "{outputs} outputs are summed: `mse_loss` takes the mean over rows and outputs.",
        ),
        WrongAnswer(
            "update on rank 0 alone",
            _rank_0_updates,
            "rank 0 alone took the steps: every replica takes them, by the same gradients.",
        ),
        WrongAnswer("all on rank 0 alone", _rank_0_alone, hint="did not come"),
        WrongAnswer("broadcast on rank 0 alone", _broadcast_on_rank_0, hint="do not fit together"),
        WrongAnswer("weights for gradients", _weights_each_step, hint="in their last digit"),
        WrongAnswer("broadcast in every step", _every_step, hint="before the first step alone"),
    ),
)
