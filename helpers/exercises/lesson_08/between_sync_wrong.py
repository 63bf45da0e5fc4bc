"""The reference of exercise 08.5, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.four_ways import between_graph_sync

    return between_graph_sync(task, make_variables, batch, loss, optimizer, aggregate, total)


def in_step(
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
    is_chief: bool,
    num_tokens: int = 0,
) -> Any:
    """All of it, in whatever device there is."""
    from tensorflow.compat import v1

    step, variables = v1.train.get_or_create_global_step(), make_variables()
    optimizer = v1.train.SyncReplicasOptimizer(optimizer, aggregate, total)
    update = optimizer.minimize(loss(batch, variables), step, var_list=variables)
    return update, optimizer.make_session_run_hook(is_chief, num_tokens)


def aggregates_all(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Swaps the two numbers' meaning: every worker's gradient is waited for."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, total, total, task.is_chief)


def too_few_tokens(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Leaves the total at its default, which is `aggregate`."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, aggregate, aggregate, task.is_chief)


def all_chiefs(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Says that each is the chief."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, aggregate, total, True)


def no_chief(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Says that none is."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, aggregate, total, False)


def default_tokens(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Leaves the tokens at their default, −1."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, aggregate, total, task.is_chief, -1)


def plain_update(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Minimises with the optimizer that it was given."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        step, variables = v1.train.get_or_create_global_step(), make_variables()
        together = v1.train.SyncReplicasOptimizer(optimizer, aggregate, total)
        update = optimizer.minimize(loss(batch, variables), step, var_list=variables)
        return update, together.make_session_run_hook(task.is_chief, 0)


def no_step(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Forgets the global step."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        v1.train.get_or_create_global_step()
        variables = make_variables()
        together = v1.train.SyncReplicasOptimizer(optimizer, aggregate, total)
        update = together.minimize(loss(batch, variables), var_list=variables)
        return update, together.make_session_run_hook(task.is_chief, 0)


def no_hook(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Gives the update."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, aggregate, total, task.is_chief)[0]


def on_the_worker(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Everything on the worker's device."""
    from tensorflow.compat import v1

    with v1.device(task.device):
        return in_step(make_variables, batch, loss, optimizer, aggregate, total, task.is_chief)


def loss_outside(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Ends the `with` after the variables."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        step, variables = v1.train.get_or_create_global_step(), make_variables()
    together = v1.train.SyncReplicasOptimizer(optimizer, aggregate, total)
    update = together.minimize(loss(batch, variables), step, var_list=variables)
    return update, together.make_session_run_hook(task.is_chief, 0)


def swapped(
    task: Any,
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    aggregate: int,
    total: int,
) -> Any:
    """Hands the two numbers over in the other order."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return in_step(make_variables, batch, loss, optimizer, total, aggregate, task.is_chief)
