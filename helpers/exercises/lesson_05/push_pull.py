"""Exercise 05.2, push and pull: rank 0 is the server, the others are workers.

`train_with_server(comm, weights, gradient, steps, rate)`: every worker does pull, gradient, push
`steps` times. The server gives all their first weights, then takes the workers in turn: it applies
the gradient at once, w ← w − rate·g, and answers with the new weights. The claim: the weights, and
steps · bytes to and from each worker, no message more.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_servers import push_and_pull
from helpers.exercises.lesson_05 import push_pull_wrong as wrong
from helpers.exercises.lesson_05.recognise import as_known, same, seen_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

KNOWN = {
    "waits for all": wrong.waits_for_all,
    "takes the mean": wrong.takes_the_mean,
    "divides": wrong.divides,
    "answers first": wrong.answers_first,
    "uphill": wrong.uphill,
    "pulls once": wrong.pulls_once,
    "pushes weights": wrong.pushes_weights,
    "worker by worker": wrong.worker_by_worker,
}


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
        known = seen_of(push_and_pull, {"right": wrong.reference, **KNOWN}, case)
        numbers = {"workers": ranks - 1, "steps": steps}
        facts = {"known": known, "numbers": numbers, "steps": steps, "bytes": weights.nbytes}
        made.append(Case(case.name, args, ranks, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Rank 0 has the weights, the others nothing; so many bytes, so many messages."""
    want = case.facts["known"]["right"][1]
    for rank, (got, right) in enumerate(zip(seen.values, want, strict=True)):
        if not same(got["at"], right["at"]):
            return (
                f"{case.name}, rank {rank} asked for {count(len(got['at']), 'gradient')} "
                "at weights that it should not have had then: pull, gradient, push, in this order."
            )
        if rank and got["returned"] is not None:
            return f"{case.name}, rank {rank} returned {describe(got['returned'])}, not None."
    for rank, got in enumerate(seen.values):
        if got["changed"]:
            return f"{case.name}, rank {rank} changed the weights that it was given."
    if not_waited(case, seen):
        return not_waited(case, seen)
    returned = seen.values[0]["returned"]
    if not is_array(returned, want[0]["returned"].shape) or not same(seen.values[0], want[0]):
        return (
            f"{case.name}, rank 0 returned {describe(returned)}; the weights after all pushes are "
            f"{describe(want[0]['returned'])}."
        )
    steps, size = case.facts["steps"], case.facts["bytes"]
    for rank, sent in enumerate(seen.bytes):
        most = steps * size * (1 if rank else case.ranks - 1)
        if sent != most:
            return f"{case.name}, rank {rank} sent {sent} B; it had to send {most} B."
    return None


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
    return (
        f"{case.name}, rank 0 waits for a gradient and the workers wait for weights: the server "
        "begins, by sending each worker its first weights."
    )


def _answers_the_last(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or set(seen.waiting) == set(range(case.ranks)):
        return None
    if "send" not in seen.waiting.get(0, ""):
        return None
    return (
        f"{case.name}, rank 0 {seen.waiting[0]}, which has done its {case.facts['steps']} steps: "
        "after its last push a worker gets no answer."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed on {worlds(cases)}. With {cases[0].ranks - 1} workers and {facts['steps']} steps "
        f"{seen[0].bytes[0]} B left the server and {sum(seen[0].bytes[1:])} B came in: steps · "
        "workers · weights, each way."
    )


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
        Mistake(
            "waits for all",
            as_known(
                "waits for all",
                "every worker pulled the same weights, as if the server had waited for all "
                "{workers} gradients. It answers each push at once, with what the weights are now.",
            ),
        ),
        Mistake(
            "one worker after the other",
            as_known(
                "worker by worker",
                "the server took all {steps} pushes of one worker before it turned to the next: "
                "the outer loop is over the steps, the inner one over the workers.",
            ),
        ),
        Mistake(
            "takes the mean",
            as_known(
                "takes the mean",
                "the server collected the gradients and applied their mean. That is synchronous "
                "training; here each gradient is applied alone, when it comes.",
            ),
        ),
        Mistake(
            "divides by the workers",
            as_known(
                "divides",
                "each gradient was divided by {workers}: nothing is averaged here, every push is "
                "an update of its own with the whole rate.",
            ),
        ),
        Mistake(
            "answers before the update",
            as_known(
                "answers first",
                "the worker was answered with the weights from before its own push: update "
                "first, then send.",
            ),
        ),
        Mistake(
            "goes uphill",
            as_known(
                "uphill",
                "the gradient was added: it points uphill, so w ← w − rate · g.",
            ),
        ),
        Mistake(
            "pulls once",
            as_known(
                "pulls once",
                "the workers pulled once, and all {steps} gradients were computed at the first "
                "weights: pull before each gradient.",
            ),
        ),
        Mistake(
            "pushes weights",
            as_known(
                "pushes weights",
                "weights were pushed and the last push wins over all others: push the gradient, "
                "the server takes the step.",
            ),
        ),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("waits for all", wrong.waits_for_all, hint="as if the server had waited"),
        WrongAnswer("takes the mean", wrong.takes_the_mean, hint="applied their mean"),
        WrongAnswer("divides", wrong.divides, hint="with the whole rate"),
        WrongAnswer("answers first", wrong.answers_first, hint="update first, then send"),
        WrongAnswer("uphill", wrong.uphill, hint="points uphill"),
        WrongAnswer("pulls once", wrong.pulls_once, hint="computed at the first"),
        WrongAnswer("pushes weights", wrong.pushes_weights, hint="wins over all others"),
        WrongAnswer("in place", wrong.in_place, hint="belongs to the caller"),
        WrongAnswer("nobody begins", wrong.nobody_begins, hint="the server begins"),
        WrongAnswer(
            "worker by worker", wrong.worker_by_worker, hint="before it turned to the next"
        ),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("answers the last", wrong.answers_the_last, hint="gets no answer"),
    ),
    figure=0,
)
