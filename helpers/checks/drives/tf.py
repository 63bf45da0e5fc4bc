"""What drivers of TensorFlow's functions share: one process whose CPU stands for several devices.

A check has no cluster: its servers would not fit into a sandbox's limits.
"""

from typing import Any

MOST = 6


def cpus(count: int) -> list[str]:
    """The names of so many logical CPUs, at most MOST: "/CPU:0" and so on.

    Call it before TensorFlow computes anything in this process. Raises RuntimeError afterwards.
    """
    split_cpu()
    return [f"/CPU:{index}" for index in range(count)]


def split_cpu() -> None:
    """Split TensorFlow's CPU into MOST logical ones, with one thread an operation.

    It can be done once in a process, before anything is computed; a second time changes nothing.
    """
    import tensorflow as tf

    (cpu, *_) = tf.config.list_physical_devices("CPU")
    if tf.config.get_logical_device_configuration(cpu) is None:
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one] * MOST)
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(2)


def settings(count: int) -> Any:
    """A `tf.compat.v1.ConfigProto` of a direct session with so many CPUs, one thread an op."""
    import tensorflow as tf

    return tf.compat.v1.ConfigProto(
        device_count={"CPU": count}, intra_op_parallelism_threads=1, inter_op_parallelism_threads=2
    )
