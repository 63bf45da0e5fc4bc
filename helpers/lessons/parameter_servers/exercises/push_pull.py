"""Exercise 05.2, push and pull: rank 0 is the server, the others are workers.

The server gives all their first weights, then takes the workers in turn: it applies a gradient at
once, and answers with the new weights. The claim: the weights, and steps · bytes to and from each
worker, no message more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import all_close, close, count, describe, rounded, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests, not_waited
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers


def _on_push_and_pull(
    fn: Function, comm: Any, weights: Tensor, goal: Tensor, steps: int, rate: float, seconds: float
) -> Any:
    """`fn(comm, weights, gradient, steps, rate)`, with the gradient p − goal.

    `values[rank]`: `{"returned", "at", "pushed", "changed", "open"}`: what it gave, the weights
    that a gradient was asked for at and what it sent, one after the other, whether it changed the
    weights that it was given, and how many messages it did not wait for. A gradient takes `seconds`
    of its clock.
    """
    at: list[Any] = []
    requests, before = Requests(comm, note=plain), weights.clone()

    def gradient(place: Tensor) -> Tensor:
        at.append(plain(place))
        comm.compute(seconds)
        return place - goal

    returned = plain(fn(comm, weights, gradient, steps, rate))
    changed, pushed = not torch.equal(before, weights), requests.told
    seen = {"returned": returned, "at": at, "pushed": pushed, "changed": changed}
    return {**seen, OPEN: requests.end()}


push_and_pull = Ranked(_on_push_and_pull, arguments=5)


def cases(seed: int) -> list[Case]:
    """Seed 0: four steps on 3 ranks, then on 1, 2 and 5; else other steps and rates."""
    random, made = rng(seed, "05.2"), []
    for ranks in (3, 1, 2, 5):
        steps = 4 if seed == 0 else int(random.integers(3, 7))
        rate = 0.25 if seed == 0 else float(random.uniform(0.1, 0.4))
        weights = random.standard_normal(6)
        goals = random.standard_normal((ranks, 6)) + 2.0
        args = tuple((weights, goals[r], steps, rate, 1e-3) for r in range(ranks))
        case = Case(f"On {count(ranks, 'rank')} with {steps} steps", args, ranks)
        made.append(replace(case, facts={"want": push_and_pull(reference, case).values}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Rank 0 has the weights, the others nothing; so many bytes, so many messages."""
    (weights, _, steps, *_), want = case.args[0], case.facts["want"]
    for rank, (got, right) in enumerate(zip(seen.values, want, strict=True)):
        asked, wanted = len(got["at"]), len(right["at"])
        if asked != wanted:
            yield f"rank {rank} asked for {count(asked, 'gradient')}; it should be {wanted}."
        gradients = [at - case.args[rank][1] for at in got["at"]]
        if rank and not all_close(got["pushed"], gradients, 1e-9):
            yield f"rank {rank} pushed something else than the gradients it asked for."
        if not all_close(got["at"], right["at"], 1e-9):
            why = rounded(got["at"], right["at"]) or (
                ": a worker pulls, computes and pushes, in this order, and gets the weights as "
                "they are then"
            )
            yield f"rank {rank} asked for gradients at weights that are not those of then{why}."
        if rank and got["returned"] is not None:
            yield f"rank {rank} returned {describe(got['returned'])}, not None."
    yield from _in_place(case, seen)
    yield not_waited(case, seen)
    got, right = seen.values[0], want[0]
    if not close(got["returned"], right["returned"], 1e-9):
        returned, end = describe(got["returned"]), describe(right["returned"])
        yield f"rank 0 returned {returned}; the weights after all pushes are {end}."
    if not all_close(got["pushed"], right["pushed"], 1e-9):
        yield "rank 0 sent something else than the weights as they are then."
    for rank, sent in enumerate(seen.bytes):
        most = steps * weights.nbytes * (1 if rank else case.ranks - 1)
        if sent != most:
            yield f"rank {rank} sent {sent} B; it had to send {most} B."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    return {"workers": case.ranks - 1, "steps": case.args[0][2]}


def _in_place(case: Case, seen: Observation) -> Iterator[str]:
    if any(got["changed"] for got in seen.values):
        yield (
            "the tensor that was given as `weights` was written into, and belongs to the caller. "
            "Make a new one at each push, `weights = weights - rate * g`."
        )


def _nobody_begins(case: Case, seen: Observation) -> Iterator[str]:
    server, *workers = (seen.waiting.get(rank, "").rstrip(".") for rank in range(case.ranks))
    if "receive" in server and all(words.endswith("receive from rank 0") for words in workers):
        yield (
            "all wait to receive: the server begins, with the first weights for all, and owes a "
            "worker an answer after each push but its last."
        )


def _answers_the_last(case: Case, seen: Observation) -> Iterator[str]:
    if "send" in seen.waiting.get(0, "") and len(seen.waiting) < case.ranks:
        yield f"rank 0 {seen.waiting[0]}: after its last push a worker gets no answer."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = cases[0].args[0][2]
    return (
        f"Passed on {worlds(cases)}. With {cases[0].ranks - 1} workers and {steps} steps "
        f"{seen[0].bytes[0]} B left the server and {sum(seen[0].bytes[1:])} B came in: steps · "
        "workers · weights, each way."
    )


def reference(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """The course's own."""
    if comm.rank:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return None
    for other in range(1, comm.size):
        comm.send(weights, other)
    for step in range(steps):
        for worker in range(1, comm.size):
            weights = weights - rate * comm.recv(worker)
            if step < steps - 1:
                comm.send(weights, worker)
    return weights


WRONG = """
in place
    | weights - rate * comm.recv(worker) => weights.sub_(rate * comm.recv(worker))
    ? belongs to the caller
never waits
    | comm.send(gradient => comm.isend(gradient
    ? returned without waiting for
nobody begins
    | comm.send(weights, other) => pass
    ? the server begins
answers the last
    | step < steps - 1 => True
    ? gets no answer
waits for all
    | step < steps - 1 => step < steps - 1 and worker == comm.size - 1
    | comm.send(weights, worker) => [comm.send(weights, other) for other in range(1, comm.size)]
    every worker pulled the same weights, as if the server had waited for all {workers} gradients.
    It answers each push at once, with what the weights are now.
one worker after the other
    | for step in range(steps) => for worker in range(comm.size)[1:]
    | for worker in range(1, comm.size) => for step in range(steps)
    the server took all {steps} pushes of one worker before it turned to the next: the outer loop is
    over the steps, the inner one over the workers.
takes the mean
    | rate * comm.recv(worker) => rate / (comm.size - 1) * comm.recv(worker)
    | step < steps - 1 => step < steps - 1 and worker == comm.size - 1
    | comm.send(weights, worker) => [comm.send(weights, other) for other in range(1, comm.size)]
    the server collected the gradients and applied their mean. That is synchronous training; here
    each gradient is applied alone, when it comes.
divides by the workers
    | rate * comm.recv(worker) => rate / (comm.size - 1) * comm.recv(worker)
    each gradient was divided by {workers}: nothing is averaged here, every push is an update of its
    own with the whole rate.
early
    | weights = weights - rate => old, weights = weights, weights - rate
    | comm.send(weights, worker) => comm.send(old, worker)
    a worker gets the weights before its push: update first.
goes uphill
    | weights - rate => weights + rate
    the gradient was added: it points uphill, so w ← w − rate · g.
pulls once
    | for _ in range(steps): comm.send(gradient(comm.recv(0)), 0)
        => pulled = comm.recv(0); [comm.send(gradient(pulled), 0) for _ in range(steps)]
    | step < steps - 1 => False
    the workers pulled once, and all {steps} gradients were computed at the first weights: pull
    before each gradient.
pushes steps
    | gradient(comm.recv(0)) => rate * gradient(comm.recv(0))
    | rate * comm.recv(worker) => comm.recv(worker)
    rate · g was pushed: push the gradient itself. The step is the server's business, which may
    change the rate, or its rule, without a word to the workers.
weights
    | comm.send(gradient(comm.recv(0)), 0)
        => pulled = comm.recv(0); comm.send(pulled - rate * gradient(pulled), 0)
    | weights - rate * comm.recv(worker) => comm.recv(worker)
    weights were pushed, and the last win: push the gradient.
"""

EXERCISE = Exercise(
    number="05.2",
    title="Push and pull",
    size=Size(stars=2, minutes=15, points=3),
    function="train_with_server",
    asks=(
        "rank 0 sends every worker the weights, then takes the workers in turn, `steps` times: "
        "receive a gradient, w ← w − rate · g as a new tensor, answer with it unless that was its "
        "last push. Rank 0 returns the weights, workers None."
    ),
    cases=cases,
    drive=push_and_pull,
    claim=claim,
    mistakes=(
        Mistake("in place", _in_place),
        Mistake("messages not waited for", not_waited),
        Mistake("nobody begins", _nobody_begins, unfinished=True),
        Mistake("answers the last push", _answers_the_last, unfinished=True),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("05.2", WRONG, reference),
    figure=0,
)
