"""One device as several: logical devices, what is visible, and what a GPU's memory shows."""

from __future__ import annotations

from typing import Any


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

    gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.experimental.set_memory_growth(gpu, grow)
    with tf.device("/GPU:0"):
        small = tf.ones(4) + 1.0
    float(small[0])
    return used_memory()


def used_memory() -> int:
    """MiB of GPU 0 in use, as the driver says."""
    import torch

    free, total = torch.cuda.mem_get_info(0)
    return (total - free) // 2**20


def fill_logical_gpu(comm: Any, mebibytes: int) -> dict[str, Any]:
    """Split GPU 0 into two logical ones of so many MiB, and make larger and larger tensors.

    Returns {"logical": names, "fit": sizes in MiB that did, "text": what it says of the first that
    did not, "hidden": how many GPUs there were if they had been hidden}.
    """
    import tensorflow as tf

    gpu = tf.config.list_physical_devices("GPU")[0]
    part = tf.config.LogicalDeviceConfiguration(memory_limit=mebibytes)
    tf.config.set_logical_device_configuration(gpu, [part, part])
    found: dict[str, Any] = {"fit": [], "text": ""}
    found["logical"] = [device.name for device in tf.config.list_logical_devices("GPU")]
    for size in (mebibytes // 8, mebibytes // 4, mebibytes // 2, 2 * mebibytes):
        try:
            with tf.device("/GPU:1"):
                tensor = tf.zeros((size, 2**18))
        except tf.errors.ResourceExhaustedError as error:
            found["text"] = error.message.split(" [Op:")[0]
            break
        found["fit"].append(size)
        del tensor
    return found


def hidden(comm: Any) -> list[str]:
    """The logical GPUs of a process that hides all GPUs from TensorFlow."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
    return [device.name for device in tf.config.list_logical_devices("GPU")]


def fill_torch_gpu(comm: Any, share: float) -> dict[str, Any]:
    """Let torch have a share of GPU 0 and train larger and larger batches until one does not fit.

    Returns {"limit": MiB, "fit": batches, "batch": the first that did not, "text", "taken": MiB
    of tensors at the peak before, "reserved": MiB that torch keeps from the driver meanwhile}.
    """
    import torch

    from helpers.lessons.devices.experiments.memory import first_line, network, step

    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(share, 0)
    model = network(device="cuda:0")
    found: dict[str, Any] = {"limit": int(total * share) // 2**20, "fit": [], "batch": None}
    found |= {"text": "", "taken": 0, "reserved": 0}
    for batch in [4**power for power in range(4, 16)]:
        try:
            step(model, batch)
        except torch.cuda.OutOfMemoryError as error:
            found |= {"batch": batch, "text": first_line(error)}
            break
        found["fit"].append(batch)
        found["taken"] = torch.cuda.max_memory_allocated(0) // 2**20
        found["reserved"] = torch.cuda.memory_reserved(0) // 2**20
    return found
