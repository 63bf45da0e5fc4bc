"""The reference of exercise 08.4, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.four_ways import between_graph_async

    return between_graph_async(task, container, make_variables, batch, loss, optimizer)


def versions(
    make_variables: Any,
    batch: Any,
    loss: Any,
    optimizer: Any,
    ahead: bool = True,
    wait: bool = True,
) -> Any:
    """All of it, in whatever device and container there is."""
    import tensorflow as tf
    from tensorflow.compat import v1

    step, variables = v1.train.get_or_create_global_step(), make_variables()
    before = step.read_value()
    with tf.control_dependencies([before] if ahead else []):
        mine = loss(batch, variables)
    update = optimizer.minimize(mine, step, var_list=variables)
    with tf.control_dependencies([update] if wait else []):
        return before, update, step.read_value()


def no_container(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Leaves it at the default."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        return versions(make_variables, batch, loss, optimizer)


def own_container(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """A name of its own for each worker."""
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(f"{container}_{task.index}"):
        return versions(make_variables, batch, loss, optimizer)


def step_outside(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Makes the step before the container is open."""
    from tensorflow.compat import v1

    with v1.device(task.placement()):
        v1.train.get_or_create_global_step()
        with v1.container(container):
            return versions(make_variables, batch, loss, optimizer)


def on_the_worker(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Everything on the worker's device."""
    from tensorflow.compat import v1

    with v1.device(task.device), v1.container(container):
        return versions(make_variables, batch, loss, optimizer)


def one_server(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Variables on the first server, whatever others there are."""
    import tensorflow as tf
    from tensorflow.compat import v1

    with v1.container(container):
        with v1.device("/job:ps/task:0"):
            variables, step = make_variables(), v1.train.get_or_create_global_step()
        with v1.device(task.device):
            before = step.read_value()
            with tf.control_dependencies([before]):
                mine = loss(batch, variables)
            update = optimizer.minimize(mine, step, var_list=variables)
            with tf.control_dependencies([update]):
                return before, update, step.read_value()


def loss_outside(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Ends the `with` after the variables."""
    import tensorflow as tf
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        variables, step = make_variables(), v1.train.get_or_create_global_step()
    before = step.read_value()
    with tf.control_dependencies([before]):
        mine = loss(batch, variables)
    update = optimizer.minimize(mine, step, var_list=variables)
    with tf.control_dependencies([update]):
        return before, update, step.read_value()


def before_any_time(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """No dependency of the loss on the version."""
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        return versions(make_variables, batch, loss, optimizer, ahead=False)


def counts_itself(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Takes one more than before for the version after."""
    import tensorflow as tf
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        before, update, _ = versions(make_variables, batch, loss, optimizer)
        with tf.control_dependencies([update]):
            return before, update, before + 1


def after_any_time(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """No dependency of the version on the update."""
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        return versions(make_variables, batch, loss, optimizer, wait=False)


def no_step(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Forgets to count."""
    import tensorflow as tf
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        step, variables = v1.train.get_or_create_global_step(), make_variables()
        before = step.read_value()
        with tf.control_dependencies([before]):
            mine = loss(batch, variables)
        update = optimizer.minimize(mine, var_list=variables)
        with tf.control_dependencies([update]):
            return before, update, step.read_value()


def reads_once(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Gives the first reading twice."""
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        before, update, _ = versions(make_variables, batch, loss, optimizer)
        return before, update, before


def update_alone(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """Gives the update."""
    from tensorflow.compat import v1

    with v1.device(task.placement()), v1.container(container):
        return versions(make_variables, batch, loss, optimizer)[1]


def update_first(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """The right three in another order."""
    found = reference(task, container, make_variables, batch, loss, optimizer)
    return found[1], found[0], found[2]


def names_alone(
    task: Any, container: str, make_variables: Any, batch: Any, loss: Any, optimizer: Any
) -> Any:
    """The device of TensorFlow 2."""
    import tensorflow as tf
    from tensorflow.compat import v1

    with tf.device(task.placement()), v1.container(container):
        return versions(make_variables, batch, loss, optimizer)
