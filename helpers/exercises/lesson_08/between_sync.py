"""Exercise 08.5, between-graph synchronous training.

`between_graph_sync(task, make_variables, batch, loss, optimizer, aggregate, total)` to write; it
gives `(update, hook)`. The claim, round by round: the mean of `aggregate` gradients makes a step,
a late gradient is dropped, everybody who has given one takes a token and none is at the start;
one client, worker 0, is the chief.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives_four_ways_sync import between_sync
from helpers.exercises.lesson_08 import between_sync_wrong as wrong
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import line
from helpers.exercises.lesson_08.between_sync_cases import cases
from helpers.exercises.lesson_08.in_graph_sync import task
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def claim(case: Case, seen: Observation) -> str | None:
    """One chief, no token at the start, and every round as it should be, all in its place."""
    got = seen.values[0]
    if got["chiefs"] != [0]:
        return f"{case.name}, the chiefs are {describe(got['chiefs'])}; worker 0 should be."
    for look in (_shape, _placed, _server):
        hint = look(case, seen)
        if hint:
            return hint
    if got["tokens"] != 0:
        return f"{case.name}, {describe(got['tokens'])} tokens are there at the start."
    rounds, want = got["rounds"], case.facts["want"]
    if len(rounds) != len(want) or rounds[-1]["stuck"]:
        return f"{case.name}, there are {len(rounds)} rounds instead of {len(want)}."
    for number, (run, right) in enumerate(zip(rounds, want, strict=True)):
        who = _who(case, number)
        if (run["step"], run["tokens"]) != (right["step"], right["tokens"]):
            return (
                f"{who} the step is {run['step']} and {run['tokens']} tokens are left, not step "
                f"{right['step']} and {right['tokens']}."
            )
        if not line.same(run["weights"], right["weights"]):
            return f"{who} the weights are not what they should be."
    return None


def _who(case: Case, number: int) -> str:
    workers = case.facts["rounds"][number]
    return f"{case.name}, after a step of worker{'s' * (len(workers) > 1)} {listing(workers)}"


def _shape(case: Case, seen: Observation) -> str | None:
    client = seen.values[0]["clients"][0]
    kinds = client["kinds"]
    if isinstance(kinds, list) and len(kinds) == 2:
        if client["good"]:
            return None
        return (
            f"{case.name}, it gave {describe(kinds)}. The second of the two is a hook: "
            "`make_session_run_hook` of the SyncReplicasOptimizer."
        )
    what = "one op" if kinds in ("operation", "tensor", "variable") else f"a {describe(kinds)}"
    return f"{case.name}, it gave {what}. Give both: `update, hook`."


def _chiefs(case: Case, seen: Observation) -> str | None:
    chiefs = seen.values[0]["chiefs"]
    if chiefs == [0] or not all(each["hooked"] for each in seen.values[0]["clients"]):
        return None
    if not chiefs:
        return (
            f"{case.name}, nobody is chief: nobody takes the mean or makes a token, and all wait "
            "for ever. `make_session_run_hook(task.is_chief, …)`."
        )
    return (
        f"{case.name}, workers {listing(chiefs)} are all chiefs, and take each other's gradients. "
        "There is one: `make_session_run_hook(task.is_chief, …)`."
    )


def _accumulates(seen: Observation) -> bool:
    """Whether the first client's update hands its gradients to accumulators."""
    nodes = seen.values[0]["clients"][0]["nodes"]
    return any("AccumulatorApplyGradient" in node[0] for node in nodes.values())


def _not_wrapped(case: Case, seen: Observation) -> str | None:
    if seen.trouble == "failed" and "before using the hook" in seen.text:
        return (
            f"{case.name}, the hook belongs to an optimizer that applies nothing: the update is "
            "the plain optimizer's. Call `minimize` of the SyncReplicasOptimizer."
        )
    return None


def _no_step(case: Case, seen: Observation) -> str | None:
    if seen.trouble == "failed" and "Global step is required" in seen.text:
        return (
            f"{case.name}, the SyncReplicasOptimizer was given no global step, by which it tells "
            "late gradients from those in time: `minimize(…, global_step=step)`."
        )
    return None


def _more_than_all(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "Too few tokens" not in seen.text:
        return None
    return (
        f"{case.name}, more gradients are to make a step than there are workers. The first of the "
        f"two numbers is how many make a step, {case.facts['aggregate']}, the second all workers, "
        f"{case.facts['workers']}."
    )


def _tokens(case: Case, seen: Observation) -> str | None:
    tokens = seen.values[0]["tokens"]
    if not tokens:
        return None
    return (
        f"{case.name}, {count(tokens, 'token')} of step 0 are there before anybody has computed: "
        "TensorFlow's default. A quick worker takes one and gives a second gradient for the same "
        "step. `make_session_run_hook(…, num_tokens=0)`."
    )


def _stuck(case: Case, seen: Observation) -> str | None:
    rounds = seen.values[0]["rounds"]
    n, total = case.facts["aggregate"], case.facts["workers"]
    if not rounds or not rounds[-1]["stuck"]:
        return None
    run, want = rounds[-1], case.facts["want"][len(rounds) - 1]
    s = "s" if len(run["stuck"]) == 1 else ""
    who = f"worker{'' if s else 's'} {listing(run['stuck'])}"
    if run["step"] < want["step"] and total > n:
        return (
            f"{case.name}, {n} gradients of this step are there, and {who} still wait{s} for more. "
            f"`replicas_to_aggregate` is how many make a step, {n}; all {total} are "
            "`total_num_replicas`."
        )
    if run["step"] == want["step"]:
        return (
            f"{case.name}, the step is made, but {who} get{s} no token: there "
            f"are too few. `total_num_replicas` says how many each step makes, and is {total}."
        )
    return f"{case.name}, {who} wait{s} for ever."


def _clients(case: Case, seen: Observation) -> Any:
    return enumerate(seen.values[0]["clients"])


def _placed(case: Case, seen: Observation) -> str | None:
    for number, client in _clients(case, seen):
        found = facts.misplaced(client["nodes"], number, task(number))
        if found:
            where = f"on `{found[0]}`" if found[0] else "on no device that you named"
            return (
                f"{case.name}, worker {number} computes {where}. With `v1.device(task.placement())`"
                " all but the variables is on the worker itself, its loss too."
            )
    return None


def _server(case: Case, seen: Observation) -> str | None:
    for number, client in _clients(case, seen):
        for name in client["made"]:
            where = client["nodes"][name][1]
            if not where.startswith("/job:ps"):
                return (
                    f"{case.name}, `{name}` of worker {number} lies on `{where or 'no device'}`, "
                    "where no other client sees it: `v1.device(task.placement())`."
                )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late = sum(each["late"] for case in cases for each in case.facts["want"])
    steps = sum(case.facts["want"][-1]["step"] for case in cases)
    return (
        f"Passed with 1, 2, 3 and 5 workers: {count(steps, 'step')}, each the mean of exactly as "
        f"many gradients as asked for; {count(late, 'late gradient')} dropped, nobody left waiting."
    )


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
        Mistake("minimises with the plain optimizer", _not_wrapped, unfinished=True),
        Mistake("no global step", _no_step, unfinished=True),
        Mistake("more gradients than workers", _more_than_all, unfinished=True),
        Mistake("not an update and a hook", _shape),
        Mistake("not one chief", _chiefs),
        Mistake("variables in the wrong place", _server),
        Mistake("computes elsewhere", _placed),
        Mistake("tokens at the start", _tokens),
        Mistake("somebody waits for ever", _stuck),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("waits for all", wrong.aggregates_all, hint="for more. `replicas"),
        WrongAnswer("total is aggregate", wrong.too_few_tokens, hint="too few"),
        WrongAnswer("everybody is chief", wrong.all_chiefs, hint="are all chiefs"),
        WrongAnswer("nobody is chief", wrong.no_chief, hint="nobody is chief"),
        WrongAnswer("tokens at the start", wrong.default_tokens, hint="TensorFlow's default"),
        WrongAnswer(
            "the plain optimizer's update", wrong.plain_update, hint="the plain optimizer's"
        ),
        WrongAnswer("no step", wrong.no_step, hint="was given no global step"),
        WrongAnswer("the two numbers swapped", wrong.swapped, hint="than there are workers"),
        WrongAnswer("no hook", wrong.no_hook, hint="Give both"),
        WrongAnswer("all on the worker", wrong.on_the_worker, hint="where no other client sees it"),
        WrongAnswer("loss outside", wrong.loss_outside, hint="computes on no device"),
    ),
    ranked=False,
    framework="tensorflow",
)
