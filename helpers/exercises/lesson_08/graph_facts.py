"""What can be read off a graph that an answer built: what depends on what, and where it lies.

A graph is `{name: [kind of op, task, inputs, container]}`, as the driver gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Nodes = dict[str, list[Any]]
_ROWS = re.compile(r"rows_of_(\d+)(_\d+)?$")


def needs(nodes: Nodes, name: str, waits: bool = True) -> set[str]:
    """All that an op needs, itself too. waits: also what it only waits for."""
    found, left = set[str](), [name]
    while left:
        each = left.pop()
        if each in found or each not in nodes:
            continue
        found.add(each)
        inputs = nodes[each][2]
        left += [i.lstrip("^").split(":")[0] for i in inputs if waits or not i.startswith("^")]
    return found


def replicas_in(nodes: Nodes, names: Iterable[str]) -> set[int]:
    """The replicas whose rows are among some ops."""
    found = (_ROWS.search(name) for name in names if name in nodes and nodes[name][0] == "Const")
    return {int(match.group(1)) for match in found if match}


def products(nodes: Nodes) -> list[tuple[int, str, bool]]:
    """The matrix products that belong to one replica: (replica, task, whether in its gradient).

    The model has one in the loss and one in the gradient, and no other op that costs time.
    """
    found = []
    for name, (kind, task, *_) in nodes.items():
        if kind != "MatMul":
            continue
        above = needs(nodes, name, waits=False)
        replicas = replicas_in(nodes, above)
        if len(replicas) == 1:
            backward = any(nodes[other][0] == "MatMul" for other in above - {name})
            found.append((next(iter(replicas)), task, backward))
    return found


def misplaced(nodes: Nodes, replica: int, task: str) -> tuple[str, bool] | None:
    """Where a replica's products lie that are not on its task, and whether only its gradient does.

    None where all are on its task.
    """
    mine = [(where, backward) for r, where, backward in products(nodes) if r == replica]
    wrong = [(where, backward) for where, backward in mine if where != task]
    if not wrong:
        return None
    return wrong[0][0], all(backward for _, backward in wrong)


def placed_hint(nodes: Nodes, replica: int, task: str) -> str | None:
    """The hint for a replica that does not compute on its own task."""
    found = misplaced(nodes, replica, task)
    if found is None:
        return None
    where = f"on `{found[0]}`" if found[0] else "on no device that you named"
    if found[1]:
        return (
            f"the loss of replica {replica} is computed on its own device, but its gradient lies "
            f"{where}. The gradient's ops are made where you ask for the gradient: ask within the "
            "same `with`."
        )
    return (
        f"replica {replica} computes {where}, and should on `{task}`. Build its loss and its "
        "gradients within `with tf.device(...)` of its own device."
    )


def mixed(nodes: Nodes) -> list[tuple[str, str]]:
    """The ops that bring several replicas' rows together: (kind, task)."""
    found = []
    for name, (kind, task, *_) in nodes.items():
        replicas = replicas_in(nodes, needs(nodes, name, waits=False))
        if len(replicas) > 1 and kind not in ("NoOp", "Identity"):
            found.append((kind, task))
    return found


def applied(nodes: Nodes, names: Iterable[str]) -> set[int]:
    """The replicas whose gradients are in the updates of variables among some ops."""
    found = set[int]()
    for name in names:
        if "Apply" in nodes[name][0]:
            found |= replicas_in(nodes, needs(nodes, name, waits=False))
    return found


def variables(nodes: Nodes) -> dict[str, tuple[str, str]]:
    """Each variable's (task, container), by name."""
    return {
        name: (task, container)
        for name, (kind, task, _, container) in nodes.items()
        if kind == "VarHandleOp"
    }
