"""Wrong answers to 08.4 and 08.5, each client with a graph of its own: one thing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np


def _asynchronous(
    device: Callable[[Any], Any] = lambda task: task.placement(),
    container: Callable[[Any, str], str] = lambda task, name: name,
    make_step: Callable[[Any], Any] = lambda v1: v1.train.get_or_create_global_step(),
    step_outside: bool = False,
    loss_outside: bool = False,
    ahead: bool = True,
    behind: bool = True,
    counts: bool = True,
    gives: Callable[[Any, Any, Any], Any] = lambda *three: three,
) -> Callable[..., Any]:
    """The reference of 08.4 with one thing changed.

    device, container: what the graph is made in. ahead, behind: whether the loss waits for the
    version before, and the version after for the update. counts: whether `minimize` gets the step.
    """

    def between_graph_async(
        task: Any, name: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
    ) -> Any:
        import tensorflow as tf
        from tensorflow.compat import v1

        with ExitStack() as within:
            within.enter_context(v1.device(device(task)))
            if step_outside:
                make_step(v1)
            within.enter_context(v1.container(container(task, name)))
            step, variables = make_step(v1), make_variables()
            if loss_outside:
                within.close()
            before = step.read_value()
            with tf.control_dependencies([before] if ahead else []):
                mine = loss(batch, variables)
            update = optimizer.minimize(mine, step if counts else None, var_list=variables)
            with tf.control_dependencies([update] if behind else []):
                return gives(before, update, step.read_value())

    return between_graph_async


no_container = _asynchronous(container=lambda task, name: "")
own_container = _asynchronous(container=lambda task, name: f"{name}_{task.index}")
steps_of_its_own = _asynchronous(
    make_step=lambda v1: v1.get_variable("steps", initializer=np.int64(0))
)
step_outside = _asynchronous(step_outside=True)
one_server = _asynchronous(
    device=lambda task: lambda op: "/job:ps/task:0" if op.type == "VarHandleOp" else task.device
)
on_the_worker = _asynchronous(device=lambda task: task.device)
loss_outside = _asynchronous(loss_outside=True)
before_any_time = _asynchronous(ahead=False)
after_any_time = _asynchronous(behind=False)
counts_itself = _asynchronous(gives=lambda before, update, after: (before, update, before + 1))
no_step = _asynchronous(counts=False)
reads_once = _asynchronous(gives=lambda before, update, after: (before, update, before))
update_alone = _asynchronous(gives=lambda before, update, after: update)
update_first = _asynchronous(gives=lambda before, update, after: (update, before, after))


def names_alone(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """The device of TensorFlow 2."""
    import tensorflow as tf

    with tf.device(task.placement()):
        return no_step(task, container, make_variables, batch, loss, optimizer)


def _synchronous(
    aggregate: Callable[[int, int], tuple[int, int]] = lambda aggregate, total: (aggregate, total),
    chief: Callable[[Any], bool] = lambda task: task.is_chief,
    tokens: int = 0,
    device: Callable[[Any], Any] = lambda task: task.placement(),
    loss_outside: bool = False,
    counts: bool = True,
    by: Callable[[Any, Any], Any] = lambda together, plain: together,
    gives: Callable[[Any, Any], Any] = lambda update, hook: (update, hook),
) -> Callable[..., Any]:
    """The reference of 08.5 with one thing changed.

    aggregate: the two numbers. chief: who is. counts: whether `minimize` gets the step. by: whose
    `minimize` it is.
    """

    def between_graph_sync(
        task: Any, make_variables: Any, batch: Any, loss: Any, plain: Any, *how_many: int
    ) -> Any:
        from tensorflow.compat import v1

        with ExitStack() as within:
            within.enter_context(v1.device(device(task)))
            step, variables = v1.train.get_or_create_global_step(), make_variables()
            if loss_outside:
                within.close()
            together = v1.train.SyncReplicasOptimizer(plain, *aggregate(*how_many))
            mine, counted = loss(batch, variables), step if counts else None
            update = by(together, plain).minimize(mine, counted, var_list=variables)
            return gives(update, together.make_session_run_hook(chief(task), tokens))

    return between_graph_sync


sync_aggregates_all = _synchronous(lambda aggregate, total: (total, total))
sync_too_few_tokens = _synchronous(lambda aggregate, total: (aggregate, aggregate))
sync_swapped = _synchronous(lambda aggregate, total: (total, aggregate))
sync_all_chiefs = _synchronous(chief=lambda task: True)
sync_no_chief = _synchronous(chief=lambda task: False)
sync_default_tokens = _synchronous(tokens=-1)
sync_on_the_worker = _synchronous(device=lambda task: task.device)
sync_loss_outside = _synchronous(loss_outside=True)
sync_no_step = _synchronous(counts=False)
sync_plain_update = _synchronous(by=lambda together, plain: plain)
sync_no_hook = _synchronous(gives=lambda update, hook: update)
sync_no_real_hook = _synchronous(gives=lambda update, hook: (update, update))
