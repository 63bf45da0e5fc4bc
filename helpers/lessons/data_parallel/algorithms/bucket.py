"""Buckets: many gradients in one flat buffer, so that one all-reduce serves them all.

A small all-reduce costs mostly latency, so gradients travel together; but a bucket can only start
when its last gradient is there, so not all of them together. Source: Li et al., "PyTorch
Distributed: Experiences on Accelerating Data Parallel Training" (2020), sections 3.2.2 and 3.2.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

MIB = 1024 * 1024


def assign_buckets(
    parameters: Sequence[Parameter], bucket_bytes: int = 25 * MIB, first_bucket_bytes: int = MIB
) -> list[list[Parameter]]:
    """Group parameters, in the order given, into buckets of one type and device each.

    A bucket is closed once it holds `bucket_bytes` bytes or more (the first one:
    `first_bucket_bytes`), so one large parameter makes a bucket of its own that is larger.
    """
    groups: list[list[Parameter]] = []
    held, limit = 0, first_bucket_bytes
    for parameter in parameters:
        last = groups[-1][-1] if groups else None
        alike = last is not None and (last.dtype, last.device) == (
            parameter.dtype,
            parameter.device,
        )
        if not alike or held >= limit:
            limit = bucket_bytes if groups else first_bucket_bytes
            groups.append([])
            held = 0
        groups[-1].append(parameter)
        held += parameter.numel() * parameter.element_size()
    return groups


class Bucket:
    """The gradients of some parameters, one after the other in a flat buffer.

    flat: the buffer. views: for each parameter the part of it that is shaped like the parameter.
    arrived: the parameters whose gradients of this step are in it.
    """

    def __init__(self, parameters: Sequence[Parameter], flat: Tensor) -> None:
        sizes = [parameter.numel() for parameter in parameters]
        if flat.numel() != sum(sizes):
            raise ValueError(
                f"{sum(sizes)} gradients need a buffer of that length, not {len(flat)}."
            )
        self.flat = flat
        self.views = {
            parameter: part.view(parameter.shape)
            for parameter, part in zip(parameters, flat.split(sizes), strict=True)
        }
        self.arrived: set[Parameter] = set()

    @property
    def full(self) -> bool:
        """Whether every gradient is there, so that the bucket can be summed."""
        return len(self.arrived) == len(self.views)

    def add(self, parameter: Parameter, weight: float) -> None:
        """Put a parameter's gradient, times `weight`, into the bucket; `.grad` becomes the view.

        Raises RuntimeError where it is there already.
        """
        if parameter in self.arrived:
            raise RuntimeError(
                f"A gradient of shape {tuple(parameter.shape)} arrived twice: accumulate inside "
                "no_sync(), or call finish() and step before the next backward()."
            )
        view = self.views[parameter]
        torch.mul(parameter.grad, weight, out=view)  # type: ignore[arg-type]
        parameter.grad = view
        self.arrived.add(parameter)

    def fill(self, weight: float) -> list[Parameter]:
        """Add what no hook has added; a missing gradient counts as zero. Returns the missing."""
        missing = []
        for parameter in self.views.keys() - self.arrived:
            if parameter.grad is None:
                missing.append(parameter)
                self.views[parameter].zero_()
                self.arrived.add(parameter)
            else:  # accumulated inside no_sync(), and not part of the last backward
                self.add(parameter, weight)
        return missing
