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

from helpers.checks.compare import (
    all_close,
    close,
    count,
    describe,
    is_array,
    rounded,
    worlds,
)
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

    `values[rank]`: `{"returned", "at", "pushed", "order", "changed", "open"}`: what it gave, the
    weights that a gradient was asked for at and what it sent, one after the other, how many
    messages had come in before each of these, whether it wrote into the weights that it was given
    (if only for a while), and how many messages it did not wait for. A gradient takes `seconds` of
    its clock.
    """
    at: list[Any] = []
    came, order, irecv = set[int](), list[int](), comm.irecv

    def receive(source: int, into: Any = None) -> Any:
        request = irecv(source, into)
        wait = request.wait

        def waited() -> Any:
            value = wait()
            came.add(id(request))
            return value

        request.wait = waited
        kept.append(request)
        return request

    def note(sent: Any) -> Any:
        order.append(len(came))
        return plain(sent)

    kept: list[Any] = []  # so that no other has its number
    comm.irecv = receive
    requests, before, writes = Requests(comm, note=note), weights.clone(), weights._version

    def gradient(place: Tensor) -> Tensor:
        at.append(plain(place))
        comm.compute(seconds)
        return place - goal

    returned = plain(fn(comm, weights, gradient, steps, rate))
    comm.irecv = irecv
    changed = not torch.equal(before, weights) or weights._version != writes
    seen = {"returned": returned, "at": at, "pushed": requests.told, "order": order}
    return {**seen, "changed": changed, OPEN: requests.end()}


push_and_pull = Ranked(_on_push_and_pull, arguments=5)


def cases(seed: int) -> list[Case]:
    """Seed 0: four steps on 3 ranks, then others on 1, 2 and 5; else other steps and rates."""
    random, made = rng(seed, "05.2"), []
    for ranks, steps in ((3, 4), (1, 3), (2, 1), (5, 3)):
        steps = int(random.integers(3, 7)) if seed and ranks != 2 else steps
        rate = 0.25 if seed == 0 else float(random.uniform(0.1, 0.4))
        weights = random.standard_normal(6)
        goals = random.standard_normal((ranks, 6)) + 2.0
        # On 5 ranks the first two workers are the slowest, and all the same the first in turn.
        took = [1e-3, 2e-3, 4e-3, 1e-3, 1e-3] if ranks == 5 else [1e-3] * ranks
        args = tuple((weights, goals[r], steps, rate, took[r]) for r in range(ranks))
        case = Case(f"On {count(ranks, 'rank')} with {count(steps, 'step')}", args, ranks)
        right = push_and_pull(reference, case)
        facts = {"want": right.values, "seconds": max(right.seconds)}
        made.append(replace(case, facts=facts))
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
        if rank and got["returned"] is not None:
            yield f"rank {rank} returned {describe(got['returned'])}, not None."
    yield from _in_place(case, seen)
    yield not_waited(case, seen)
    yield from _served(case, seen)
    got, right = seen.values[0], want[0]
    if not is_array(got["returned"]):
        yield (
            f"rank 0 returned {describe(got['returned'])}, which is no tensor; the weights after "
            "all pushes were asked for."
        )
    if not close(got["returned"], right["returned"], 1e-9):
        returned, end = describe(got["returned"]), describe(right["returned"])
        why = rounded([got["returned"]], [right["returned"]])
        yield f"rank 0 returned {returned}; the weights after all pushes are {end}{why}."
    for rank, sent in enumerate(seen.bytes):
        most = steps * weights.nbytes * (1 if rank else case.ranks - 1)
        if sent != most:
            yield f"rank {rank} sent {sent} B; it had to send {most} B."


def _served(case: Case, seen: Observation) -> Iterator[str]:
    """What rank 0 sent, in its order, and whether the workers used what came."""
    (_, _, steps, *_), want = case.args[0], case.facts["want"]
    sent = seen.values[0]["pushed"]
    for rank in range(1, case.ranks):
        if seen.sent[0].count(rank) != steps:
            yield (
                f"rank 0 sent rank {rank} {count(seen.sent[0].count(rank), 'message')}; it should "
                f"be {steps}: the first weights and an answer to each push but its last."
            )
    for rank in range(1, case.ranks):
        got, right = seen.values[rank]["at"], want[rank]["at"]
        came = [one for one, to in zip(sent, seen.sent[0], strict=True) if to == rank]
        if not all_close(got, came, 1e-9):
            yield (
                f"rank {rank} asked for gradients at other weights than it was sent: a worker "
                "pulls, computes there and pushes, in this order."
            )
        for nth, (one, other) in enumerate(zip(came, right, strict=True), 1):
            if not close(one, other, 1e-9):
                told = f"{describe(one)}; it should be {describe(other)}"
                why = rounded([one], [other]) or (
                    ": w ← w − rate · g, a push at a time, of workers 1, 2, … in turn"
                )
                yield f"the weights that rank 0 sent rank {rank} as number {nth} are {told}{why}."
    order = seen.values[0]["order"], want[0]["order"]
    for to, came, due in zip(seen.sent[0], *order, strict=True):
        if came != due:
            yield (
                f"rank 0 answered rank {to} when {count(came, 'push', 'pushes')} had come in, not "
                f"{due}: each push is answered before the next is received."
            )
    took, least = max(seen.seconds), case.facts["seconds"]
    if took > 1.2 * least:
        yield (
            f"it took {1e3 * took:.3g} ms of the clock and not {1e3 * least:.3g}: workers stood "
            "idle. Answer each push at once."
        )


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
    words, steps = seen.waiting.get(0, "").rstrip("."), case.args[0][2]
    to = words.rpartition(" ")[2]
    if "to send" in words and to.isdigit() and int(to) not in seen.waiting:
        yield (
            f"rank 0 {words}, which has ended: a worker makes {count(steps, 'push', 'pushes')}, "
            "and after its last push it gets no answer. One of the two is not so."
        )


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
        "receive a gradient, w ← w − rate · g (the given tensor stays as it is), answer with it "
        "unless that was its last push. Rank 0 returns the weights, workers None."
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
