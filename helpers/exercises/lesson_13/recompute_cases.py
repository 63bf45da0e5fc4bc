"""The cases of exercise 13.5: blocks of layers, and what these give."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.spec import Case

Blocks = list[list[np.ndarray]]
_LARGE = 2**11


def cases(seed: int) -> list[Case]:
    """Seed 0: two blocks with dropout, then one without, three, and one of a single layer.

    Other seeds: also a block whose output is so large that a grader sees from outside whether it is
    kept.
    """
    random = rng(seed, "13.5")
    shapes = [([3, 2], 0.25), ([4], 0.0), ([2, 3, 2], 0.5), ([1], 0.0)]
    if seed:
        shapes = [([int(random.integers(2, 5)) for _ in range(n)], 0.0) for n in (1, 2)]
        shapes += [([int(random.integers(2, 5)) for _ in range(n)], 0.3) for n in (2, 3)]
    made = [_case(random, layers, drop) for layers, drop in shapes]
    if seed:
        weights = [random.standard_normal((2, 1)), random.standard_normal((1, _LARGE))]
        name = "With one block of 2 layers and a large output"
        made.append(_made(random, name, random.standard_normal((64, 2)), [weights], 0.0))
    return made


def _case(random: np.random.Generator, layers: list[int], drop: float) -> Case:
    rows, width = int(random.integers(3, 6)), int(random.integers(2, 6))
    start, blocks = random.standard_normal((rows, width)), list[list[np.ndarray]]()
    for number in layers:
        blocks.append([])
        for at in range(number):
            out = int(random.integers(2, 6))
            if len(blocks) == 1 and at == number - 1:
                out = max(out, start.shape[1] + 1)  # the first block's output is wider than x
            blocks[-1].append(0.8 * random.standard_normal((width, out)))
            width = out
    words = f"{count(len(layers), 'block')} of {' and '.join(map(str, layers))} layers"
    if sum(layers) == 1:
        words = "one block of a single layer"
    name = f"With {words}" + (f" that drop {100 * drop:.0f} %" if drop else "")
    return _made(random, name, start, blocks, drop)


def _made(
    random: np.random.Generator, name: str, start: np.ndarray, blocks: Blocks, drop: float
) -> Case:
    gradient = random.standard_normal((len(start), blocks[-1][-1].shape[1]))
    seed = int(random.integers(1, 10**6))
    facts = {
        "right": _right(start, blocks, gradient, drop, seed),
        "inside": sum(len(block) - 1 for block in blocks),
        "blocks": len(blocks),
    }
    return Case(name, ((start, blocks, gradient, drop, seed),), facts=facts)


def _right(
    start: np.ndarray, blocks: Blocks, gradient: np.ndarray, drop: float, seed: int
) -> dict[str, Any]:
    """The output, the input's gradient, and each weight's by blocks, without any recomputation."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    x, *weights = [
        torch.tensor(each, requires_grad=True)
        for each in [start, *(weight for block in blocks for weight in block)]
    ]
    out = torch.tanh(x)
    for weight in weights:
        out = torch.tanh(out @ weight)
        if drop:  # the numbers that torch draws with that seed
            out = out * (torch.rand(out.shape, generator=generator) >= drop) / (1 - drop)
    found = torch.autograd.grad(out, [x, *weights], torch.from_numpy(gradient))
    arrays = iter([each.numpy() for each in found])
    return {
        "out": out.detach().numpy(),
        "input": next(arrays),
        "weights": [[next(arrays) for _ in block] for block in blocks],
    }
