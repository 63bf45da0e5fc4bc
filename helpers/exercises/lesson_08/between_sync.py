"""Exercise 08.5, between-graph synchronous training.

`between_graph_sync(task, make_variables, batch, loss, optimizer, aggregate, total)` to write; it
gives `(update, hook)`. The claim, round by round: the mean of `aggregate` gradients makes a step,
a late gradient is dropped, everybody who has given one takes a token and none is at the start;
one client, worker 0, is the chief.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.algorithms.devices.four_ways import between_graph_sync
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import line
from helpers.exercises.lesson_08.rounds import between_sync
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, first_said
from helpers.exercises.table import wrong_answers

# aggregate, workers, servers, and for each round the workers that make a step in it. A round is
# either `aggregate` workers on the current version, or one worker that comes too late.
_SHAPES = (
    (2, 3, 1, ((0, 2), (1,), (1, 2), (0,))),
    (1, 1, 1, ((0,), (0,))),
    (2, 2, 2, ((0, 1), (0, 1))),
    (3, 5, 1, ((0, 2, 4), (1,), (3,), (1, 3, 4))),
)
_HIDDEN = (
    (2, 3, 2, ((1, 2), (0,), (0, 1), (2,))),
    (1, 2, 1, ((1,), (0,), (0,), (1,))),
    (3, 4, 1, ((0, 1, 3), (2,), (1, 2, 3))),
)


def cases(seed: int) -> list[Case]:
    """2 of 3 workers first, then 1 of 1, 2 of 2 and 3 of 5. Hidden: one of three others."""
    random = rng(seed, "08.5")
    made = []
    for aggregate, workers, servers, rounds in _SHAPES if not seed else (_HIDDEN[seed % 3],):
        rows, start, rate = line.world(random, workers)
        want = _after_each(rows, start, rate, aggregate, rounds)
        spare = f", {workers - aggregate} spare" if workers > aggregate else ""
        name = f"With {aggregate} of {count(workers, 'worker')}{spare}"
        args = (servers, aggregate, rows, start, rate, [list(r) for r in rounds])
        told = {"aggregate": aggregate, "workers": workers, "want": want}
        made.append(Case(name, (args,), facts=told))
    return made


def _after_each(
    rows: line.Rows,
    start: line.Weights,
    rate: float,
    aggregate: int,
    rounds: Sequence[Sequence[int]],
) -> list[dict[str, Any]]:
    """The state after each round: a worker's step is that of the token that it took last."""
    weights, step, queue = start, 0, list[int]()
    mine = [0] * len(rows)
    want = []
    for workers in rounds:
        fresh = [w for w in workers if mine[w] == step]
        if len(fresh) == aggregate:
            each = [line.gradient(rows[w], weights) for w in fresh]
            weights, step = line.step(weights, each, rate, 1 / aggregate), step + 1
            queue += [step] * len(rows)
        for worker in workers:
            mine[worker] = queue.pop(0)
        late = len(workers) - len(fresh)
        want.append({"step": step, "tokens": len(queue), "weights": weights, "late": late})
    return want


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """One chief, no token at the start, and every round as it should be, all in its place."""
    got = seen.values[0]
    if got["chiefs"] != [0]:
        yield f"the chiefs are {describe(got['chiefs'])}; worker 0 should be."
    for look in (_shape, facts.client_misplaced, _server):
        yield from look(case, seen)
    if got["tokens"] != 0:
        yield f"{describe(got['tokens'])} tokens are there at the start."
    rounds, want = got["rounds"], case.facts["want"]
    if rounds and rounds[-1]["stuck"]:
        yield "{stuck} wait{s} for ever.".format(**numbers(case, seen))
    if len(rounds) != len(want):
        yield f"there are {len(rounds)} rounds instead of {len(want)}."
    for workers, run, right in zip(case.args[0][5], rounds, want, strict=True):
        who = f"after a step of worker{'s' * (len(workers) > 1)} {listing(workers)}"
        if (run["step"], run["tokens"]) != (right["step"], right["tokens"]):
            yield (
                f"{who} the step is {run['step']} and {run['tokens']} tokens are left, not step "
                f"{right['step']} and {right['tokens']}."
            )
        if not line.same(run["weights"], right["weights"]):
            yield f"{who} the weights are not what they should be."


def _shape(case: Case, seen: Observation) -> Iterator[str]:
    client = seen.values[0]["clients"][0]
    kinds = client["kinds"]
    if not isinstance(kinds, list) or len(kinds) != 2:
        what = "one op" if kinds in ("operation", "tensor", "variable") else f"a {describe(kinds)}"
        yield f"it gave {what}. Give both: `update, hook`."
    if not client["good"]:
        yield (
            f"it gave {describe(kinds)}. The second of the two is a hook: `make_session_run_hook` "
            "of the SyncReplicasOptimizer."
        )


def _server(case: Case, seen: Observation) -> Iterator[str]:
    for number, client in enumerate(seen.values[0]["clients"]):
        for name in client["made"]:
            where = client["nodes"][name][1]
            if not where.startswith("/job:ps"):
                yield (
                    f"`{name}` of worker {number} lies on `{where or 'no device'}`, where no other "
                    "client sees it: `v1.device(task.placement())`."
                )


def compared(case: Case, seen: Observation) -> Any:
    """What is in its place, and where it gets stuck, if so; who is stuck then is a race."""
    got = seen.values[0]
    if not all(client["hooked"] for client in got["clients"]):
        return "no hook"
    if got["chiefs"] != [0]:
        return "several chiefs" if got["chiefs"] else "no chief"
    if got["tokens"]:
        return "tokens at the start"
    rounds = [[run["step"], run["tokens"], len(run["stuck"])] for run in got["rounds"]]
    looks = (facts.client_misplaced, _server)
    return [rounds, *(first_said(look, case, seen) for look in looks)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name; of an answer that did not return only what it was given."""
    told = {"aggregate": case.facts["aggregate"], "total": case.facts["workers"]}
    if seen.trouble:
        return told
    got = seen.values[0]
    stuck = got["rounds"][-1]["stuck"] if got["rounds"] else []
    return told | {
        "chiefs": listing(got["chiefs"]),
        "tokens": count(got["tokens"] or 0, "token"),
        "stuck": f"worker{'s' * (len(stuck) > 1)} {listing(stuck)}",
        "s": "s" * (len(stuck) == 1),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late = sum(each["late"] for case in cases for each in case.facts["want"])
    steps = sum(case.facts["want"][-1]["step"] for case in cases)
    return (
        f"Passed with 1, 2, 3 and 5 workers: {count(steps, 'step')}, each the mean of exactly as "
        f"many gradients as asked for; {count(late, 'late gradient')} dropped, nobody left waiting."
    )


def reference(task: Any, variables: Any, batch: Any, loss: Any, optimizer: Any, *many: int) -> Any:
    """The course's own."""
    return between_graph_sync(task, variables, batch, loss, optimizer, *many)


WRONG = """
waits for all
    | (optimizer, aggregate, total) => (optimizer, total, total)
    {aggregate} gradients of this step are there, and {stuck} still wait{s} for more.
    `replicas_to_aggregate` is how many make a step, {aggregate}; all {total} are
    `total_num_replicas`.
too few tokens
    | (optimizer, aggregate, total) => (optimizer, aggregate, aggregate)
    the step is made, but {stuck} get{s} no token: there are too few. `total_num_replicas` says how
    many each step makes, and has to be {total}.
everybody is chief
    | task.is_chief => True
    workers {chiefs} are all chiefs, and take each other's gradients. There is one:
    `make_session_run_hook(task.is_chief, …)`.
nobody is chief
    | task.is_chief => False
    nobody is chief: nobody takes the mean or makes a token, and all wait for ever.
    `make_session_run_hook(task.is_chief, …)`.
tokens at the start
    | , num_tokens=0 =>
    {tokens} of step 0 are there before anybody has computed, as without `num_tokens`. A quick
    worker takes one and gives a second gradient for the same step. `make_session_run_hook(…,
    num_tokens=0)`.
minimises with the plain optimizer
    | together.apply_gradients => optimizer.apply_gradients
    the hook belongs to an optimizer that applies nothing: the update is the plain optimizer's. Call
    `minimize` of the SyncReplicasOptimizer.
no global step
    | , global_step=step =>
    the SyncReplicasOptimizer was given no global step, by which it tells late gradients from those
    in time: `minimize(…, global_step=step)`.
more gradients than workers
    | (optimizer, aggregate, total) => (optimizer, total, aggregate)
    more gradients are to make a step than there are workers. The first of the two numbers is how
    many make a step, {aggregate}, the second all workers, {total}.
no hook
    | return update, => return update;
    ? Give both
no real hook
    | together.make_session_run_hook(task.is_chief, num_tokens=0) => update
    ? second of the two is a hook
on a worker
    | task.placement() => task.device
    ? no other client sees it
loss outside
    | gradients = together => with v1.device(None): gradients = together
    ? computes on no device
"""

EXERCISE = Exercise(
    number="08.5",
    title="Clients in step",
    stars=2,
    minutes=15,
    points=4,
    function="between_graph_sync",
    asks=(
        "`(update, hook)` of a SyncReplicasOptimizer: `aggregate` of `total` gradients make a "
        "step, worker 0 is the chief, and no token is there at the start."
    ),
    cases=cases,
    drive=between_sync,
    claim=claim,
    mistakes=(
        Mistake("not an update and a hook", _shape),
        Mistake("variables in the wrong place", _server),
        Mistake("computes elsewhere", facts.client_misplaced),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("08.5", WRONG, between_graph_sync),
    ranked=False,
    framework="tensorflow",
)
