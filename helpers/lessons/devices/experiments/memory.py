"""Memory of a device: what a training step takes, and what happens where a device is full.

A machine without a GPU has a device with a limit as well: the operating system lets a process have
only so much address space, where it is told to (`RLIMIT_AS`). Frameworks then raise the same errors
as on a full GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

MIB = 2**20
# Networks of the lesson: layers with tanh between them.
WIDTHS = (64, 512, 512, 10)


def limit_memory(mebibytes: float) -> bool:
    """Let this process have only so much memory more than it has now; False where that cannot be.

    Only processes that end soon should be limited: the limit cannot be raised again.
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as pages:
            now = int(pages.read().split()[0]) * resource.getpagesize()
        most = now + int(mebibytes * MIB)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):
        return False
    return True


def network(widths: Sequence[int] = WIDTHS, device: Any = "cpu") -> Any:
    """Linear layers of these widths with tanh between them, in torch, float32."""
    import torch

    layers: list[Any] = []
    for inside, outside in pairwise(widths):
        layers += [torch.nn.Linear(inside, outside, device=device), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def until_full(
    sizes: Sequence[int], fill: Callable[[int], object], full: type[BaseException]
) -> dict[str, Any]:
    """Call `fill` with one size after the other until it raises `full`, as memory does.

    Returns: {"fit": the sizes that did, "batch": the one that did not or None, "error": its kind,
    "text": the first line of what it says, without the place where it was noticed}.
    """
    found: dict[str, Any] = {"fit": [], "batch": None, "error": "", "text": ""}
    for size in sizes:
        try:
            fill(size)
        except full as error:
            text = str(error).splitlines()[0].split("DefaultCPUAllocator: ")[-1]
            text = text.split("}} ")[-1].split(" [Op:")[0]
            return found | {"batch": size, "error": type(error).__name__, "text": text}
        found["fit"].append(size)
    return found


def train_until_full(comm: Any, mebibytes: float, batches: Sequence[int]) -> dict[str, Any]:
    """Train steps with larger and larger batches in so much memory, until one does not fit.

    Returns what `until_full` does, "after": whether a small batch still trains then, and
    "limited": whether this system can limit a process at all.
    """
    import torch

    torch.manual_seed(0)
    model = network()
    step(model, 32)  # what a first step takes once and for all
    limited = limit_memory(mebibytes)
    # On a GPU it would be torch.cuda.OutOfMemoryError, which is a RuntimeError too.
    found = until_full(batches if limited else (), lambda rows: step(model, rows), RuntimeError)
    model.zero_grad()
    step(model, 32)
    return found | {"after": True, "limited": limited}


def step(model: Any, batch: int) -> None:
    """The forward and the backward pass on a random batch."""
    import torch

    first = next(model.parameters())
    inputs = torch.randn(batch, first.shape[1], device=first.device)
    model(inputs).sum().backward()


def fill_tensorflow(comm: Any, mebibytes: float, sizes: Sequence[int]) -> dict[str, Any]:
    """Make TensorFlow tensors of so many MiB, one after the other, until one does not fit.

    Returns what `train_until_full` does, with "fit" in MiB.
    """
    import tensorflow as tf

    tf.linalg.matmul(tf.ones((8, 8)), tf.ones((8, 8)))
    tf.random.uniform((4, 4))
    limited = limit_memory(mebibytes)
    found = until_full(
        sizes if limited else (),
        lambda size: tf.random.uniform((size, MIB // 4)),
        tf.errors.ResourceExhaustedError,
    )
    after = float(tf.reduce_sum(tf.ones(8))) == 8.0
    return found | {"after": after, "limited": limited}


def measured_step(
    comm: Any, widths: Sequence[int], batch: int, slots: int, device: Any = "cpu"
) -> dict[str, int]:
    """Bytes that a real step of torch holds: counted from its tensors, each memory once.

    slots: numbers that the optimizer keeps for each parameter; 0 is plain SGD, 1 momentum, 2 Adam.
    Activations are what the forward pass keeps for the backward pass, without the parameters.
    """
    import torch

    model = network(widths, device)
    optimizer: Any = {
        0: lambda p: torch.optim.SGD(p, lr=0.1),
        1: lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        2: lambda p: torch.optim.Adam(p, foreach=False, fused=False),
    }[slots](model.parameters())
    kept: dict[int, int] = {}

    def keep(tensor: Any) -> Any:
        memory = tensor.untyped_storage()
        kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    inputs = torch.randn(batch, widths[0], device=device)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model(inputs).sum()
    parameters = {p.untyped_storage().data_ptr() for p in model.parameters()}
    activations = sum(size for pointer, size in kept.items() if pointer not in parameters)
    loss.backward()
    optimizer.step()
    state = [v for each in optimizer.state.values() for v in each.values()]
    return {
        "parameters": sum(p.nbytes for p in model.parameters()),
        "gradients": sum(p.grad.nbytes for p in model.parameters()),
        "optimizer": sum(v.nbytes for v in state if torch.is_tensor(v) and v.dim()),
        "activations": activations,
    }
