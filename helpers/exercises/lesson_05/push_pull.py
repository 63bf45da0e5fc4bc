"""Exercise 05.2, push and pull: rank 0 is the server, the others are workers.

The server gives all their first weights, then takes the workers in turn: it applies a gradient at
once, and answers with the new weights. The claim: the weights, and steps · bytes to and from each
worker, no message more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, rounded, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_servers import push_and_pull
from helpers.exercises.nine_digits import near
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


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
        want = push_and_pull(reference, case).values
        made.append(Case(case.name, args, ranks, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Rank 0 has the weights, the others nothing; so many bytes, so many messages."""
    want = case.facts["want"]
    for rank, (got, right) in enumerate(zip(seen.values, want, strict=True)):
        asked, wanted = len(got["at"]), len(right["at"])
        if asked != wanted:
            asks = f"asked for {count(asked, 'gradient')}; it should be {wanted}"
            return f"{case.name}, rank {rank} {asks}."
        if rank and not _all_near(got["pushed"], [at - case.args[rank][1] for at in got["at"]]):
            return (
                f"{case.name}, rank {rank} pushed something else than the gradients it asked for."
            )
        if not _all_near(got["at"], right["at"]):
            why = rounded(got["at"], right["at"]) or (
                ": a worker pulls, computes and pushes, in this order, and gets the weights as "
                "they are then"
            )
            return (
                f"{case.name}, rank {rank} asked for gradients at weights that are not those of "
                f"then{why}."
            )
        if rank and got["returned"] is not None:
            return f"{case.name}, rank {rank} returned {describe(got['returned'])}, not None."
    for rank, got in enumerate(seen.values):
        if got["changed"]:
            return f"{case.name}, rank {rank} changed the weights that it was given."
    if not_waited(case, seen):
        return not_waited(case, seen)
    returned = seen.values[0]["returned"]
    if not is_array(returned) or not near(returned, want[0]["returned"]):
        return (
            f"{case.name}, rank 0 returned {describe(returned)}; the weights after all pushes are "
            f"{describe(want[0]['returned'])}."
        )
    if not _all_near(seen.values[0]["pushed"], want[0]["pushed"]):
        return f"{case.name}, rank 0 sent something else than the weights as they are then."
    weights, _, steps, _, _ = case.args[0]
    for rank, sent in enumerate(seen.bytes):
        most = steps * weights.nbytes * (1 if rank else case.ranks - 1)
        if sent != most:
            return f"{case.name}, rank {rank} sent {sent} B; it had to send {most} B."
    return None


def _all_near(got: Any, want: Sequence[Any]) -> bool:
    return len(got) == len(want) and all(near(g, w) for g, w in zip(got, want, strict=True))


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    return {"workers": case.ranks - 1, "steps": case.args[0][2]}


def _in_place(case: Case, seen: Observation) -> str | None:
    if not any(got["changed"] for got in seen.values):
        return None
    return (
        f"{case.name}, the tensor that was given as `weights` was written into, and belongs to the "
        "caller. Make a new one at each push, `weights = weights - rate * g`."
    )


def _nobody_begins(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or len(seen.waiting) != case.ranks:
        return None
    if not all("receive" in words for words in seen.waiting.values()):
        return None
    if any(seen.waiting[rank].split()[-1].rstrip(".") != "0" for rank in range(1, case.ranks)):
        return None
    return f"{case.name}, all wait to receive: the server begins, with the first weights for all."


def _answers_the_last(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or set(seen.waiting) == set(range(case.ranks)):
        return None
    if "send" not in seen.waiting.get(0, ""):
        return None
    return f"{case.name}, rank 0 {seen.waiting[0]}: after its last push a worker gets no answer."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    steps = cases[0].args[0][2]
    return (
        f"Passed on {worlds(cases)}. With {cases[0].ranks - 1} workers and {steps} steps "
        f"{seen[0].bytes[0]} B left the server and {sum(seen[0].bytes[1:])} B came in: steps · "
        "workers · weights, each way."
    )


def _exchanged(
    update: Callable[..., Any] = lambda weights, pushed, rate: weights - rate * pushed,
    push: Callable[..., Any] = lambda pulled, gradient, rate: gradient(pulled),
    pulls: Callable[[int], int] = lambda steps: steps,
    begins: bool = True,
    answers_first: bool = False,
    worker_by_worker: bool = False,
) -> Callable[..., Any]:
    """The course's own, or one with a part exchanged. pulls: how often weights go to a worker."""

    def train_with_server(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
        if comm.rank:
            for step in range(steps):
                if step < pulls(steps):
                    pulled = comm.recv(0)
                comm.send(push(pulled, gradient, rate), 0)
            return None
        others = range(1, comm.size)
        for worker in others if begins else ():
            comm.send(weights, worker)
        turns = [(step, worker) for step in range(steps) for worker in others]
        if worker_by_worker:
            turns.sort(key=lambda turn: turn[1])
        for step, worker in turns:
            pushed, old = comm.recv(worker), weights
            weights = update(weights, pushed, rate)
            if step + begins < pulls(steps):
                comm.send(old if answers_first else weights, worker)
        return weights

    return train_with_server


reference = _exchanged()
_answers_first = _exchanged(answers_first=True)
_uphill = _exchanged(update=lambda weights, pushed, rate: weights + rate * pushed)
_pulls_once = _exchanged(pulls=lambda steps: 1)
_pushes_weights = _exchanged(
    push=lambda pulled, gradient, rate: pulled - rate * gradient(pulled),
    update=lambda weights, pushed, rate: pushed,
)
_pushes_steps = _exchanged(
    push=lambda pulled, gradient, rate: rate * gradient(pulled),
    update=lambda weights, pushed, rate: weights - pushed,
)
_worker_by_worker = _exchanged(worker_by_worker=True)
_written_into = _exchanged(update=lambda weights, pushed, rate: weights.sub_(rate * pushed))
_never_begins = _exchanged(begins=False)
_answers_too_often = _exchanged(pulls=lambda steps: steps + 1)


def _divides(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    return reference(comm, weights, gradient, steps, rate / max(comm.size - 1, 1))


def _never_waits(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    if not comm.rank:
        return reference(comm, weights, gradient, steps, rate)
    for _ in range(steps):
        comm.isend(gradient(comm.recv(0)), 0)
    return None


def _synchronous(share: Callable[[int], float]) -> Callable[..., Any]:
    """Applies all gradients before it answers anybody. share: of a gradient, of the workers."""

    def train_with_server(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
        if comm.rank:
            return reference(comm, weights, gradient, steps, rate)
        others = range(1, comm.size)
        for _ in range(steps):
            for worker in others:
                comm.send(weights, worker)
            for worker in others:
                weights = weights - rate * share(len(others)) * comm.recv(worker)
        return weights

    return train_with_server


_waits_for_all = _synchronous(lambda workers: 1.0)
_takes_the_mean = _synchronous(lambda workers: 1 / workers)


EXERCISE = Exercise(
    number="05.2",
    title="Push and pull",
    stars=2,
    minutes=15,
    points=3,
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
    wrong=(
        WrongAnswer("in place", _written_into, hint="belongs to the caller"),
        WrongAnswer("never waits", _never_waits, hint="returned without waiting for"),
        WrongAnswer("nobody begins", _never_begins, hint="the server begins"),
        WrongAnswer("answers the last", _answers_too_often, hint="gets no answer"),
        WrongAnswer(
            "waits for all",
            _waits_for_all,
            "every worker pulled the same weights, as if the server had waited for all {workers} "
            "gradients. It answers each push at once, with what the weights are now.",
        ),
        WrongAnswer(
            "one worker after the other",
            _worker_by_worker,
            "the server took all {steps} pushes of one worker before it turned to the next: the "
            "outer loop is over the steps, the inner one over the workers.",
        ),
        WrongAnswer(
            "takes the mean",
            _takes_the_mean,
            "the server collected the gradients and applied their mean. That is synchronous "
            "training; here each gradient is applied alone, when it comes.",
        ),
        WrongAnswer(
            "divides by the workers",
            _divides,
            "each gradient was divided by {workers}: nothing is averaged here, every push is an "
            "update of its own with the whole rate.",
        ),
        WrongAnswer(
            "early", _answers_first, "a worker gets the weights before its push: update first."
        ),
        WrongAnswer(
            "goes uphill", _uphill, "the gradient was added: it points uphill, so w ← w − rate · g."
        ),
        WrongAnswer(
            "pulls once",
            _pulls_once,
            "the workers pulled once, and all {steps} gradients were computed at the first "
            "weights: pull before each gradient.",
        ),
        WrongAnswer(
            "pushes steps",
            _pushes_steps,
            "rate · g was pushed: push the gradient itself. The step is the server's business, "
            "which may change the rate, or its rule, without a word to the workers.",
        ),
        WrongAnswer(
            "weights", _pushes_weights, "weights were pushed, and the last win: push the gradient."
        ),
    ),
    figure=0,
)
