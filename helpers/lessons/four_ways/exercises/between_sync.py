"""Exercise 08.5, between-graph synchronous training.

`between_graph_sync(task, make_variables, batch, loss, optimizer, aggregate, total)` to write; it
gives `(update, hook)`. The claim, round by round: the mean of `aggregate` gradients makes a step,
a late gradient is dropped, everybody who has given one takes a token and none is at the start;
one client, worker 0, is the chief. What makes this file long is the driver, which runs the clients
in threads.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from helpers.checks.compare import count, describe, listing
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function
from helpers.checks.drives.tf_given import as_bytes, element_name, shared_name
from helpers.checks.drives.tf_graphs import hook_parts
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.engine.own_time import LOOK_SECONDS, of_others_here
from helpers.lessons.four_ways.algorithms.four_ways import between_graph_sync
from helpers.lessons.four_ways.exercises import facts, graphs, line

STUCK = 10  # so many looks in a row at which every thread is asleep, and no step goes on any more


@graphs.builds(arguments=7)
def _builds(fn: Function, servers: int, aggregate: int, rows: Any, start: Any, rate: float) -> Any:
    """`fn(task, make_variables, batch, loss, optimizer, aggregate, total)`, a graph a client."""
    import tensorflow as tf
    from tensorflow.compat import v1

    total, built = len(rows), list[dict[str, Any]]()
    make, loss = graphs.model(start)
    for number in range(total):
        task = graphs.task_for(number, servers, total)
        with tf.Graph().as_default() as graph:
            batch = graphs.batch_of(number, task.device, *rows[number])
            optimizer = v1.train.GradientDescentOptimizer(rate)
            given = fn(task, make, batch, loss, optimizer, aggregate, total)
        is_pair = isinstance(given, list | tuple) and len(given) == 2
        update, hook = given if is_pair else (given, None)
        hooked = hasattr(hook, "begin") and hasattr(hook, "after_create_session")
        parts = hook_parts(hook, graph) if hooked else {}
        parts["update"] = update if graphs.kind_of(update) in graphs.OPS else None
        there = {name: element_name(each) for name, each in parts.items() if each is not None}
        told = {"kinds": graphs.kind_of(given), "hooked": hooked, "graph": as_bytes(graph)}
        built.append({**there, **told})
    return {"clients": built}


def _looks(case: Case, built: Any) -> Observation:
    """Run the clients with the ops of their hooks, round by round.

    The case's arguments: as above, and for each round the clients that make one step in it, all at
    once. `values[0]` is `{"clients": [{"kinds", "nodes", "made", "hooked", "good"}], "chiefs",
    "tokens": at the start, "rounds": [{"step", "tokens", "weights", "stuck"}]}`. Where clients are
    stuck no round follows.
    """
    from tensorflow.compat import v1

    servers, _, rows, _, _, rounds = case.args[0]
    definitions, parts, seen = list[Any](), list[dict[str, Any]](), list[dict[str, Any]]()
    for client in built["clients"]:
        definition, nodes = graphs.opened(client["graph"], rows)
        names = ("update", "init", "tokens", "sync", "close")
        mine = {name: client[name] for name in names if client.get(name)}
        made, hooked = graphs.made_in(definition), client["hooked"] is True
        told = {"kinds": client["kinds"], "nodes": nodes, "made": made, "hooked": hooked}
        seen.append({**told, "good": bool(hooked and "update" in mine and made)})
        definitions.append(definition)
        parts.append(mine)
    chiefs = [number for number, mine in enumerate(parts) if "sync" in mine]
    value: dict[str, Any] = {"clients": seen, "chiefs": chiefs, "tokens": None, "rounds": []}
    if len(chiefs) != 1 or len(seen) != len(rows) or not all(each["good"] for each in seen):
        return Observation(values=[value])
    common, config = graphs.cluster(definitions, servers, len(rows))
    for number, mine in enumerate(parts):
        of = {name: common.of(number, each) for name, each in mine.items()}
        mine |= {**of, **graphs.state_of(common, number, definitions[number])}
    (chief,) = chiefs
    for node in definitions[chief].node:
        if node.op == "FIFOQueueV2" and "sync_token_q" in shared_name(node):
            parts[chief]["size"] = graphs.beside(common, chief, node.name, "QueueSizeV2")
    with v1.Session(graph=common.graph, config=config) as session:
        _run(session, parts, chief, rounds, value)
    return Observation(values=[value])


between_sync = Built(_builds, _looks, told=5)


def _run(session: Any, parts: Any, chief: int, rounds: Any, value: dict[str, Any]) -> None:
    """Start all clients, then round by round, until they are through or some are stuck."""
    import tensorflow as tf

    def run(client: int, name: str) -> Any:
        return session.run(parts[client][name])

    for client in sorted(range(len(parts)), key=lambda client: client != chief):
        if not all(run(client, "there")):
            run(client, "init_all")
        run(client, "init")
        if "tokens" in parts[client]:
            run(client, "tokens")
    value["tokens"] = int(run(chief, "size"))

    def again() -> None:
        with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the queue is closed
            while True:
                run(chief, "sync")

    updates = threading.Thread(target=again, daemon=True)
    updates.start()
    for clients in rounds:
        stuck = _round(run, clients)
        *weights, now = run(chief, "state")
        told = {"step": int(now), "tokens": int(run(chief, "size")), "stuck": stuck}
        value["rounds"].append({**told, "weights": weights})
        if stuck:
            break
    run(chief, "close")
    session.close()  # a mean that waits for gradients ends with the session alone
    updates.join(1.0)


def _round(run: Callable[[int, str], Any], clients: Sequence[int]) -> list[int]:
    """One step of each of these clients, all at once; those that do not come to its end.

    Their threads end with the session.
    """
    faults: list[Exception] = []

    def work(client: int) -> None:
        try:
            run(client, "update")
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in clients]
    for thread in threads:
        thread.start()
    own = None
    while waited := [thread for thread in threads if thread.is_alive()]:
        waited[0].join(LOOK_SECONDS)
        own = own or of_others_here()
        own.look()
        if own.still >= STUCK:
            break
    if faults:
        raise faults[0]
    return sorted(each for each, thread in zip(clients, threads, strict=True) if thread in waited)


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
        spare = f", {workers - aggregate} spare" if workers > aggregate else ""
        name = f"With {aggregate} of {count(workers, 'worker')}{spare}"
        args = (servers, aggregate, rows, start, rate, [list(r) for r in rounds])
        # A worker's step is that of the token that it took last.
        weights, step, tokens, own, want = start, 0, list[int](), [0] * workers, []
        for some in rounds:
            fresh = [w for w in some if own[w] == step]
            if len(fresh) == aggregate:
                weights, step = line.step(weights, [rows[w] for w in fresh], rate), step + 1
                tokens += [step] * workers
            for worker in some:
                own[worker] = tokens.pop(0)
            told = {"step": step, "tokens": len(tokens), "late": len(some) - len(fresh)}
            want.append({**told, "weights": weights})
        made.append(Case(name, (args,), facts={"want": want}))
    return made


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
        who = f"after a step of {_workers(workers)}"
        if (run["step"], run["tokens"]) != (right["step"], right["tokens"]):
            yield (
                f"{who} the step is {run['step']} and {run['tokens']} tokens are left, not step "
                f"{right['step']} and {right['tokens']}."
            )
        if not line.same(run["weights"], right["weights"]):
            yield f"{who} the weights are not what they should be."


def _workers(some: list[int]) -> str:
    return f"worker{'s' * (len(some) > 1)} {listing(some)}"


def _shape(case: Case, seen: Observation) -> Iterator[str]:
    client = seen.values[0]["clients"][0]
    kinds = client["kinds"]
    if not isinstance(kinds, list) or len(kinds) != 2:
        what = "one op" if kinds in graphs.OPS else f"a {describe(kinds)}"
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
        return ("no chief", "another chief", "several chiefs")[min(len(got["chiefs"]), 2)]
    if got["tokens"]:
        return "tokens at the start"
    rounds = [[run["step"], run["tokens"], len(run["stuck"])] for run in got["rounds"]]
    looks = (facts.client_misplaced, _server)
    return [rounds, *(first_said(look, case, seen) for look in looks)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name; of an answer that did not return only what it was given."""
    told = {"aggregate": case.args[0][1], "total": len(case.args[0][2])}
    if seen.trouble:
        return told
    got = seen.values[0]
    stuck = got["rounds"][-1]["stuck"] if got["rounds"] else []
    told |= {"chiefs": listing(got["chiefs"]), "tokens": count(got["tokens"] or 0, "token")}
    return told | {"stuck": _workers(stuck), "s": "s" * (len(stuck) == 1)}


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
    the queue holds {tokens} of step 0 before anybody has computed, as it does without
    `num_tokens`. A quick worker takes one and gives a second gradient for the same step.
    `make_session_run_hook(…, num_tokens=0)`.
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
    size=Size(stars=2, minutes=15, points=4),
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
