"""The driver of exercise 08.5: clients with a SyncReplicasOptimizer in one direct session."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from helpers.engines.own_time import LOOK_SECONDS, of_others_here
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, wrong_signature
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import (
    as_bytes,
    definition_of,
    element_name,
    named,
    shared_name,
)
from helpers.exercises.drives.tf_graphs import Together, hook_parts, together
from helpers.exercises.lesson_08 import graphs
from helpers.exercises.spec import Case, Observation

STUCK = 10  # so many looks in a row at which every thread is asleep, and no step goes on any more
_PARTS = ("update", "init", "tokens", "sync", "close")


def _builds(fn: Function, case: Case) -> Observation:
    """`fn(task, make_variables, batch, loss, optimizer, aggregate, total)`, a graph a client.

    The case's arguments: servers, aggregate, rows, start and rate.
    """
    return wrong_signature(fn, 7) or graphs.guarded(fn, lambda: _built(fn, case))


def _built(fn: Function, case: Case) -> Observation:
    import tensorflow as tf
    from tensorflow.compat import v1

    servers, aggregate, rows, start, rate = case.args[0]
    clients, line, built = len(rows), graphs.Line(start), list[dict[str, Any]]()
    for number in range(clients):
        task = graphs.task_for(number, servers, clients)
        with tf.Graph().as_default() as graph:
            given = fn(
                task,
                line.make,
                graphs.batch_of(number, task.device, *rows[number]),
                line.loss,
                v1.train.GradientDescentOptimizer(rate),
                aggregate,
                clients,
            )
        pair = given if isinstance(given, list | tuple) and len(given) == 2 else (given, None)
        hooked = hasattr(pair[1], "begin") and hasattr(pair[1], "after_create_session")
        parts = hook_parts(pair[1], graph) if hooked else {}
        parts["update"] = pair[0] if graphs.runs_in(graphs.kind_of(pair[0])) else None
        there = {name: element_name(each) for name, each in parts.items() if each is not None}
        told = {"kinds": graphs.kind_of(given), "hooked": hooked, "graph": as_bytes(graph)}
        built.append({**there, **told})
    return Observation(values=[{"clients": built}])


def _looks(case: Case, built: Any) -> Observation:
    """Run the clients with the ops of their hooks, round by round.

    The case's arguments: as above, and for each round the clients that make one step in it, all at
    once. `values[0]` is `{"clients": [{"kinds", "nodes", "made", "hooked", "good", "chief"}],
    "chiefs", "tokens": at the start, "rounds": [{"step", "tokens", "weights", "stuck"}]}`. Where
    clients are stuck no round follows.
    """
    from tensorflow.compat import v1

    servers, _, rows, _, _, rounds = case.args[0]
    definitions, parts, seen = list[Any](), list[dict[str, Any]](), list[dict[str, Any]]()
    for client in built["clients"]:
        definition = definition_of(client["graph"])
        graphs.rows_are(definition, rows)
        mine = {name: client.get(name) for name in _PARTS}
        for each in filter(None, mine.values()):
            named(definition, each)
        made, hooked = graphs.made_in(definition), client["hooked"] is True
        told = {"kinds": client["kinds"], "nodes": graphs.nodes_of(definition), "hooked": hooked}
        told |= {"made": made, "good": bool(hooked and mine["update"] and made)}
        seen.append({**told, "chief": mine["sync"] is not None})
        definitions.append(definition)
        parts.append(mine)
    chiefs = [number for number in range(len(seen)) if seen[number]["chief"]]
    value: dict[str, Any] = {"clients": seen, "chiefs": chiefs, "tokens": None, "rounds": []}
    if len(chiefs) != 1 or len(seen) != len(rows) or not all(each["good"] for each in seen):
        return Observation(values=[value])
    common = together(definitions, graphs.cpus_for(servers, len(rows)))
    for number, mine in enumerate(parts):
        of = {name: each and common.of(number, each) for name, each in mine.items()}
        mine |= {**of, **graphs.state_of(common, number, definitions[number])}
    parts[chiefs[0]]["size"] = _queue_size(common, chiefs[0], definitions[chiefs[0]])
    with v1.Session(graph=common.graph, config=settings(servers + len(rows))) as session:
        return _run(session, parts, chiefs[0], rounds, value)


between_sync = Built(_builds, _looks, told=5)


def _run(
    session: Any,
    parts: Sequence[dict[str, Any]],
    chief: int,
    rounds: Sequence[Sequence[int]],
    value: dict[str, Any],
) -> Observation:
    """Start all clients, then round by round, until they are through or some are stuck."""

    def run(client: int, name: str, **options: Any) -> Any:
        return session.run(parts[client][name], **options)

    order = [chief, *[client for client in range(len(parts)) if client != chief]]
    for client in order:
        if not all(run(client, "there")):
            run(client, "init_all")
        run(client, "init")
        if parts[client]["tokens"] is not None:
            run(client, "tokens")
    value["tokens"] = int(run(chief, "size"))
    updates = threading.Thread(target=_again, args=(lambda: run(chief, "sync"),), daemon=True)
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
    return Observation(values=[value])


def _round(run: Any, clients: Sequence[int]) -> list[int]:
    """One step of each of these clients, all at once; those that do not come to its end.

    Their threads end with the session.
    """
    faults: list[Exception] = []

    def work(client: int) -> None:
        try:
            run(client, "update")
        except Exception as error:
            faults.append(error)

    threads = {
        client: threading.Thread(target=work, args=(client,), daemon=True) for client in clients
    }
    for thread in threads.values():
        thread.start()
    own = None
    while waited := [client for client in clients if threads[client].is_alive()]:
        threads[waited[0]].join(LOOK_SECONDS)
        own = own or of_others_here()
        own.look()
        if own.still >= STUCK:
            break
    if faults:
        raise faults[0]
    return sorted(waited)


def _again(work: Any) -> None:
    """Over and over, until the queue or the session is closed."""
    import tensorflow as tf

    try:
        while True:
            work()
    except (tf.errors.OpError, RuntimeError):
        return


def _queue_size(common: Together, client: int, definition: Any) -> Any:
    """How many tokens are in the queue; None in a graph that has none."""
    import tensorflow as tf
    from tensorflow.compat import v1

    for node in definition.node:
        if node.op == "FIFOQueueV2" and "sync_token_q" in shared_name(node):
            queue = common.of(client, node.name)
            with common.graph.as_default(), v1.colocate_with(queue):
                return tf.raw_ops.QueueSizeV2(handle=queue.outputs[0])
    return None
