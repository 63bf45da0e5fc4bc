"""Exercise 03.3, training replicas that start different.

`train(comm, model, inputs, targets, total, steps, rate) -> None`: inputs and targets are this
rank's rows of `total`. Each rank's model was initialised with a seed of its own. The claim: after
`steps` steps of gradient descent all ranks hold what rank 0's model would hold after training on
all rows alone, in float64 to 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, worlds
from helpers.exercises.drives_training import on_training
from helpers.exercises.lesson_03.replicas import descend, random_weights
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_LAYERS = (4, 6, 2)
_STEPS, _RATE = 4, 0.1


def cases(seed: int) -> list[Case]:
    """Seed 0: uneven shards on 3, 1, 2 and 5 ranks; else other sizes and steps."""
    random, made = rng(seed, "03.3"), []
    shapes = [(7, 3), (4, 1), (5, 2), (13, 5)]
    steps, rate = _STEPS, _RATE
    if seed:
        shapes = [(n * int(random.integers(1, 6)) + max(n - 1, 1), n) for n in (1, 2, 3, 5)]
        steps, rate = int(random.integers(3, 6)), float(random.uniform(0.05, 0.2))
    for rows, n in shapes:
        starts = [random_weights(random, _LAYERS) for _ in range(n)]
        inputs = random.standard_normal((rows, _LAYERS[0]))
        targets = random.standard_normal((rows, _LAYERS[-1]))
        cuts = [slice(r * rows // n, (r + 1) * rows // n) for r in range(n)]
        args = tuple(
            (starts[r], inputs[c], targets[c], rows, steps, rate) for r, c in enumerate(cuts)
        )
        want = descend(starts[0], [(inputs, targets)] * steps, rate)
        made.append(Case(f"On {count(n, 'rank')} with {rows} rows", args, n, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """All ranks equal one big batch, from rank 0's weights."""
    for rank, got in enumerate(seen.values):
        if not all_close(got, case.facts["want"], _TOLERANCE):
            return (
                f"{case.name}, rank {rank}'s weights are not what training on all rows, from rank "
                "0's weights, would give."
            )
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    return {"n": case.ranks}


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or not any("send" in words for words in seen.waiting.values()):
        return None
    first = min(r for r, words in seen.waiting.items() if "send" in words)
    return (
        f"{case.name}, rank {first} {seen.waiting[first]}, which is not there to receive: "
        "a broadcast or an all-reduce is called by every rank, in the same order."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: after {cases[0].args[0][4]} steps all replicas are equal, "
        "and equal to one model trained on all rows."
    )


def _by_rows(rows: int, total: int, ranks: int) -> float:
    return rows / total


def _equally(rows: int, total: int, ranks: int) -> float:
    return 1 / ranks


def _training(
    share: Callable[[int, int, int], float] = _by_rows,
    clear: bool = True,
    broadcast: bool = True,
    average: bool = True,
    at_the_end: bool = False,
) -> Callable[..., None]:
    """The reference with a part exchanged. What is not used is sent all the same, so that its
    weights alone differ.

    share: of a rank, by its rows, the total and the ranks. average: whether the gradients are.
    at_the_end: whether the weights are, in the place of the last gradients.
    """

    def train(
        comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
    ) -> None:
        from helpers.algorithms.data_parallel.data_parallel import (
            average_gradients,
            broadcast_parameters,
        )

        parameters = list(model.parameters())
        own = [parameter.detach().clone() for parameter in parameters]
        broadcast_parameters(model, comm)
        if not broadcast:
            for parameter, mine in zip(parameters, own, strict=True):
                parameter.data = mine
        for step in range(steps):
            if clear:
                model.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            own = [parameter.grad.clone() for parameter in parameters]
            weights = at_the_end and step == steps - 1
            for parameter in parameters if weights else ():
                parameter.grad = parameter.data - rate * parameter.grad
            average_gradients(comm, model, share(len(inputs), total, comm.size), 1)
            for parameter, mine in zip(parameters, own, strict=True):
                if weights:
                    parameter.data = parameter.grad
                else:
                    parameter.data -= rate * (parameter.grad if average else mine)

    return train


reference = _training()
_no_broadcast = _training(broadcast=False)
_not_cleared = _training(clear=False)
_equal_shares = _training(_equally)
_sums = _training(lambda rows, total, ranks: 1.0)
_alone = _training(average=False)
_alone_from_its_own = _training(average=False, broadcast=False)
_mean_at_the_end = _training(_equally, average=False, at_the_end=True)
_by_rows_at_the_end = _training(average=False, at_the_end=True)


def _no_update(*others: Any) -> None:
    reference(*others[:-1], 0.0)


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
    mistakes=(Mistake("not every rank takes part", _some_do_not_come, unfinished=True),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "no update",
            _no_update,
            "no weight has moved from rank 0's start: update each parameter in place, `parameter "
            "-= rate * parameter.grad`, under `torch.no_grad()`.",
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
            "gradients of earlier steps were still there: `backward()` adds to `.grad`. Clear "
            "them before each step: `model.zero_grad()`.",
        ),
        WrongAnswer("every rank trains alone", _alone, _ALONE),
        WrongAnswer("every rank trains alone from its own weights", _alone_from_its_own, _ALONE),
        WrongAnswer("weights averaged once at the end", _mean_at_the_end, _ONCE),
        WrongAnswer("weights averaged by rows at the end", _by_rows_at_the_end, _ONCE),
        WrongAnswer(
            "every rank counts the same",
            _equal_shares,
            "the shards are uneven and every rank counted the same: weigh this rank's gradients "
            "with its rows, len(inputs) / total.",
        ),
        WrongAnswer(
            "summed and not averaged",
            _sums,
            "every step was about {n} times too long: the gradients were summed over the ranks "
            "and not averaged.",
        ),
        WrongAnswer("broadcast on rank 0 alone", _rank_0_alone, hint="not there to receive"),
    ),
)
