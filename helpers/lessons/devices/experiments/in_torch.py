"""Devices in torch: nothing is placed for you, and a tensor's device is its own."""

from __future__ import annotations

from typing import Any


def on_meta(comm: Any, width: int = 40_000) -> dict[str, Any]:
    """A layer on the device "meta": shapes and no memory.

    Returns {"bytes": of its parameters, "shape": of its output for 8 rows, "grown": bytes by which
    this process grew, roughly, "value": what it says where a value is asked for, "filled": the
    device after `to_empty`}.
    """
    import torch

    torch.nn.Linear(3, 3, device="meta")(torch.empty(1, 3, device="meta"))  # loads what it needs
    before = resident()
    layer = torch.nn.Linear(width, width, device="meta")
    output = layer(torch.empty(8, width, device="meta"))
    grown = resident() - before
    small = torch.nn.Linear(3, 3, device="meta").to_empty(device="cpu")
    return {
        "bytes": sum(p.nbytes for p in layer.parameters()),
        "shape": tuple(output.shape),
        "grown": grown,
        "value": refused(lambda: output.sum().item()),
        "filled": str(small.weight.device),
    }


def resident() -> int:
    """Bytes of memory that this process has in use."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def mixed(comm: Any) -> dict[str, str]:
    """What torch says where devices do not fit together, or are not there."""
    import torch

    here, nowhere = torch.ones(2, 2), torch.ones(2, 2, device="meta")
    return {
        "tensors on two devices": refused(lambda: here + nowhere),
        "a parameter on another device": refused(
            lambda: torch.nn.Linear(2, 2, device="meta").to("cpu")
        ),
        "an op without a kernel": refused(lambda: torch.nonzero(nowhere)),
        "pinned memory without a GPU": refused(here.pin_memory),
    }


def refused(call: Any) -> str:
    """The first sentence of what a call raises; "" where it raises nothing."""
    try:
        call()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        return str(error).splitlines()[0].split(". ")[0].split("; ")[0]
    return ""
