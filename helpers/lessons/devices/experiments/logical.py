"""One device as several: logical devices, what is visible, and what a GPU's memory shows."""

from __future__ import annotations

from typing import Any

from helpers.lessons.devices.experiments.memory import network, step, until_full


def split_cpu(comm: Any, parts: int) -> dict[str, Any]:
    """Split the CPU into logical ones; what TensorFlow lists then, and what it refuses.

    Returns {"physical", "logical": names, "devices": of the parts of a sum over all of them,
    "too late": what it says to a second split, now that the devices are in use}.
    """
    import tensorflow as tf

    (cpu, *_) = tf.config.list_physical_devices("CPU")
    part = tf.config.LogicalDeviceConfiguration
    tf.config.set_logical_device_configuration(cpu, [part() for _ in range(parts)])
    logical = [device.name for device in tf.config.list_logical_devices("CPU")]
    squares = []
    for number, name in enumerate(logical):
        with tf.device(name):
            squares.append(tf.square(tf.fill([2], float(number))))
    try:
        tf.config.set_logical_device_configuration(cpu, [part()])
        late = ""
    except RuntimeError as error:
        late = str(error)
    return {
        "physical": [device.name for device in tf.config.list_physical_devices("CPU")],
        "logical": logical,
        "devices": [square.device.rsplit("/", 1)[-1].removeprefix("device:") for square in squares],
        "too late": late,
    }


def limit_of_cpu(comm: Any, mebibytes: int) -> str:
    """What TensorFlow says where a logical CPU is to have a limit of memory; "" if nothing."""
    import tensorflow as tf

    (cpu, *_) = tf.config.list_physical_devices("CPU")
    limited = tf.config.LogicalDeviceConfiguration(memory_limit=mebibytes)
    try:
        tf.config.set_logical_device_configuration(cpu, [limited])
    except ValueError as error:
        return str(error)
    return ""


def gpus_of_tensorflow(comm: Any) -> int:
    """How many GPUs TensorFlow sees in a process of its own."""
    import tensorflow as tf

    return len(tf.config.list_physical_devices("GPU"))


def memory_taken(comm: Any, grow: bool) -> int:
    """MiB of GPU 0 in use, by all processes, once TensorFlow has made one small tensor there."""
    import tensorflow as tf
    import torch

    gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.experimental.set_memory_growth(gpu, grow)
    with tf.device("/GPU:0"):
        small = tf.ones(4) + 1.0
    float(small[0])
    free, total = torch.cuda.mem_get_info(0)  # as the driver says
    return (total - free) // 2**20


def fill_logical_gpu(comm: Any, mebibytes: int) -> dict[str, Any]:
    """Split GPU 0 into two logical ones of so many MiB, and make larger and larger tensors.

    Returns what `until_full` does, sizes in MiB, and "logical": the names.
    """
    import tensorflow as tf

    gpu = tf.config.list_physical_devices("GPU")[0]
    part = tf.config.LogicalDeviceConfiguration(memory_limit=mebibytes)
    tf.config.set_logical_device_configuration(gpu, [part, part])
    logical = [device.name for device in tf.config.list_logical_devices("GPU")]
    sizes = (mebibytes // 8, mebibytes // 4, mebibytes // 2, 2 * mebibytes)
    with tf.device("/GPU:1"):
        found = until_full(
            sizes, lambda size: tf.zeros((size, 2**18)), tf.errors.ResourceExhaustedError
        )
    return found | {"logical": logical}


def hidden(comm: Any) -> list[str]:
    """The logical GPUs of a process that hides all GPUs from TensorFlow."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
    return [device.name for device in tf.config.list_logical_devices("GPU")]


def fill_torch_gpu(comm: Any, share: float) -> dict[str, Any]:
    """Let torch have a share of GPU 0 and train larger and larger batches until one does not fit.

    Returns what `until_full` does, "limit": MiB, "taken": MiB of tensors at the peak of the last
    one that did, and "reserved": MiB that torch keeps from the driver meanwhile.
    """
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(share, 0)
    model = network(device="cuda:0")
    seen = {"limit": int(total * share) // 2**20, "taken": 0, "reserved": 0}

    def train(batch: int) -> None:
        step(model, batch)
        seen["taken"] = torch.cuda.max_memory_allocated(0) // 2**20
        seen["reserved"] = torch.cuda.memory_reserved(0) // 2**20

    sizes = [4**power for power in range(4, 16)]
    return until_full(sizes, train, torch.cuda.OutOfMemoryError) | seen
