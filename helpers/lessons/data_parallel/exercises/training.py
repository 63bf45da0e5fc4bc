"""Exercise 03.3, training replicas that start different.

The claim: all ranks end with what rank 0's model would hold after training on all rows alone, in
float64 to 1e-10; and weights travel once.
"""

from collections.abc import Iterator
from copy import deepcopy  # noqa: F401, for wrong answers
from typing import Any

from torch import Tensor, nn

from helpers.checks.common import random_weights
from helpers.checks.compare import all_close, count, rounded, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.training import network
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.data_parallel.algorithms.data_parallel import (
    average_gradients,
    broadcast_parameters,
)
from helpers.lessons.data_parallel.exercises import replicas as nets

_TOLERANCE = 1e-10
_LAYERS = (4, 6, 2)


def _on_training(fn: Function, comm: Any, weights: list[Tensor], *others: Any) -> Any:
    """Call `fn(comm, model, inputs, targets, total, steps, rate)`; `values[rank]` are the weights.

    A rank's arguments: weights, then what follows `model`.
    """
    model = network(weights)
    fn(comm, model, *others)
    return list(model.parameters())


on_training = Ranked(_on_training, arguments=7)


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven shards on 3, 1, 2 and 5 ranks; else other sizes and steps. At last a rate of
    0, with which gradients move no weight, while weights that are averaged are rounded."""
    random, made = rng(seed, "03.3"), list[Case]()
    shapes, most, rate = nets.UNEVEN, 4, 0.1
    if seed:
        shapes = nets.uneven(random, (3, 1, 2, 5))
        most, rate = int(random.integers(3, 6)), float(random.uniform(0.05, 0.2))
    settings = [(*shape, most - (shape[1] == 5), rate) for shape in shapes]
    for rows, n, steps, rate in [*settings, (7, 3, most, 0.0)]:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        inputs, targets, cuts = nets.shared_out(random, rows, n, _LAYERS)
        pairs = zip(starts, cuts, strict=True)
        args = tuple((w, inputs[cut], targets[cut], rows, steps, rate) for w, cut in pairs)
        want = nets.descend(starts[0], [(inputs, targets)] * steps, rate)
        name = f"On {count(n, 'rank')} with {rows} rows{' and a rate of 0' * (not rate)}"
        made.append(Case(name, args, n, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """All ranks equal one big batch, from rank 0's weights, which travel once."""
    want = case.facts["want"]
    right = [all_close(got, want, _TOLERANCE) for got in seen.values]
    if not all(right):
        alike = all(all_close(got, seen.values[0], _TOLERANCE) for got in seen.values)
        whose = "the replicas are equal, and their" if alike else f"rank {right.index(False)}'s"
        yield (
            f"{whose} weights are not what steps on all rows, from rank 0's weights, would give"
            f"{rounded(seen.values[0], want)}."
        )
    yield _weights_travel(case, seen)
    yield _weights_averaged(case, seen)


def _weights_travel(case: Case, seen: Observation) -> str | None:
    """More bytes than a broadcast and a sum in every step. On two ranks each sum sends as much,
    however it is made; one tensor of each parameter more is let pass."""
    weights, *_, steps, _ = case.args[0]
    sent, enough = sum(seen.bytes) / sum(each.nbytes for each in weights), 1 + 2 * steps
    if case.ranks != 2 or sent <= enough + 1:
        return None
    often = "Equal steps keep equal replicas equal: broadcast before the first step alone."
    return (
        f"{sent:.3g} times the parameters' bytes were sent in {steps} steps, and {enough} are "
        "enough: rank 0's parameters once, then the gradients there and back in every step. "
        f"{often if sent > enough + steps - 1.5 else 'Count what else is sent.'}"
    )


def _weights_averaged(case: Case, seen: Observation) -> str | None:
    """Weights that a rate of 0 has moved by a rounding error: plain sums do not tell otherwise."""
    want = case.facts["want"]
    moved = any(not all_close(got, want, 0.0) for got in seen.values)
    if case.args[0][-1] or not moved or not all_close(seen.values[0], want, _TOLERANCE):
        return None
    return (
        "where no weight may move, weights change in their last digit, as they do when they are "
        "averaged in every step and rounded. Average the gradients: weights travel once, before "
        "the first step."
    )


def _do_not_fit(case: Case, seen: Observation) -> str | None:
    if "it is to be received into" not in seen.text:
        return None
    return (
        f"two ranks do not fit together: {seen.text.partition('. ')[0].rstrip('.')}. Every rank "
        "calls every broadcast and every all-reduce, in the same order; what stands under `if "
        "comm.rank == 0` only rank 0 calls."
    )


def reference(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """The course's own."""
    broadcast_parameters(model, comm)
    for _ in range(steps):
        model.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        average_gradients(comm, model, len(inputs), total)
        for parameter in model.parameters():
            parameter.data -= rate * parameter.grad


WRONG = """
no update
    | rate * parameter.grad => 0 * parameter.grad
    no weight has moved from rank 0's start: update each in place, `parameter -= rate *
    parameter.grad`.
uphill
    | -= => +=
    weights go up the gradient: `parameter -= rate * …`.
late
    | broadcast_parameters(model, comm) =>
    | len(inputs), total) => len(inputs), total); _ or broadcast_parameters(model, comm)
    the first gradients are of different weights: broadcast before.
no initial broadcast
    | broadcast_parameters(model, => broadcast_parameters(deepcopy(model),
    the replicas started from different weights and stayed apart, though each took the same steps.
    Give every rank rank 0's parameters once, before the first step.
gradients not cleared
    | model.zero_grad() =>
    gradients of earlier steps were still there, and `backward()` adds to them: call
    `model.zero_grad()` before it.
every rank trains alone
    | average_gradients(comm, model, => average_gradients(comm, deepcopy(model),
    every rank trained on its own rows alone, and the replicas drifted apart. Average the gradients
    in every step, after backward and before the update.
every rank trains alone from its own weights
    | broadcast_parameters(model, => broadcast_parameters(deepcopy(model),
    | average_gradients(comm, model, => average_gradients(comm, deepcopy(model),
    ! every rank trains alone
# Before the last step as much is sent, and not used.
weights averaged once at the end
    | average_gradients(comm, model, len(inputs), total)
        => [setattr(p, "grad", p.data - rate * p.grad) for p in model.parameters()];
        average_gradients(comm, model if _ == steps - 1 else deepcopy(model), 1, comm.size)
    | -= rate * parameter.grad => = parameter.grad
    the weights were averaged once, at the end. That is another algorithm (local SGD); here the
    gradients are averaged in every step.
weights averaged by rows at the end
    | average_gradients(comm, model,
        => [setattr(p, "grad", p.data - rate * p.grad) for p in model.parameters()];
        average_gradients(comm, model if _ == steps - 1 else deepcopy(model),
    | -= rate * parameter.grad => = parameter.grad
    ! weights averaged once at the end
every rank counts the same
    | len(inputs), total) => 1, comm.size)
    the shards are uneven and every rank counted the same: weigh by len(inputs) / total.
summed
    | len(inputs), total) => 1, 1)
    every step was about {n} times too long: average.
outputs summed
    | nn.functional.mse_loss(model(inputs), targets)
        => (model(inputs) - targets).square().sum().div(len(inputs))
    gradients were {outputs} times too large, as where the squared errors of a row's {outputs}
    outputs are summed: `mse_loss` takes the mean over rows and outputs.
update on rank 0 alone
    | model.parameters() => model.parameters() if comm.rank == 0 else ()
    rank 0 alone took the steps: every replica takes them, by the same gradients.
all on rank 0 alone
    | broadcast_parameters( => comm.rank or broadcast_parameters(
    | range(steps) => range(steps if comm.rank == 0 else 0)
    ? did not come
broadcast on rank 0 alone
    | broadcast_parameters( => comm.rank or broadcast_parameters(
    ? do not fit together
weights for gradients
    | average_gradients(comm,
        => [setattr(p, "grad", p.data - rate * p.grad) for p in model.parameters()];
        average_gradients(comm,
    | -= rate * parameter.grad => = parameter.grad
    ? in their last digit
broadcast in every step
    | broadcast_parameters(model, comm) =>
    | model.zero_grad() => broadcast_parameters(model, comm); model.zero_grad()
    ? before the first step alone
"""

EXERCISE = Exercise(
    number="03.3",
    title="Train",
    size=Size(stars=2, minutes=12, points=3),
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
        nets.SOME_DO_NOT_COME,
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
    wrong=wrong_answers("03.3", WRONG, reference),
)
