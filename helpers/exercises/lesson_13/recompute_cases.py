"""The cases of exercise 13.5: blocks of layers, and the gradients by hand."""

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
        shapes += [([int(random.integers(2, 5)) for _ in range(n)], 0.3) for n in (1, 3)]
    made = [_case(random, layers, drop) for layers, drop in shapes]
    if seed:
        weights = [random.standard_normal((2, 1)), random.standard_normal((1, _LARGE))]
        name = "With one block of 2 layers and a large output"
        made.append(_made(random, name, random.standard_normal((64, 2)), [weights], 0.0))
    return made


def _case(random: np.random.Generator, layers: list[int], drop: float) -> Case:
    rows, widths = int(random.integers(3, 6)), iter(random.integers(2, 6, sum(layers)).tolist())
    width = int(random.integers(2, 6))
    start = random.standard_normal((rows, width))
    blocks: Blocks = []
    for number in layers:
        block: list[np.ndarray] = []
        for _ in range(number):
            out = int(next(widths))
            if not blocks and len(block) == number - 1:
                out = max(out, start.shape[1] + 1)  # the first block's output is wider than x
            block.append(0.8 * random.standard_normal((width, out)))
            width = out
        blocks.append(block)
    words = f"{count(len(layers), 'block')} of {' and '.join(map(str, layers))} layers"
    if sum(layers) == 1:
        words = "one block of a single layer"
    name = f"With {words}" + (f" that drop {100 * drop:.0f} %" if drop else "")
    return _made(random, name, start, blocks, drop)


def _made(
    random: np.random.Generator, name: str, start: np.ndarray, blocks: Blocks, drop: float
) -> Case:
    rows = len(start)
    gradient = random.standard_normal((rows, blocks[-1][-1].shape[1]))
    seed = int(random.integers(1, 10**6))
    facts = {
        "right": _by_hand(start, blocks, gradient, _masks(blocks, rows, drop, seed)),
        "inside": sum(len(block) - 1 for block in blocks),
        "blocks": len(blocks),
    }
    return Case(name, ((start, blocks, gradient, drop, seed),), facts=facts)


def _masks(blocks: Blocks, rows: int, drop: float, seed: int) -> list[np.ndarray]:
    """What dropout multiplies each layer's output by: the numbers that torch draws with a seed."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    masks = []
    for weight in [weight for block in blocks for weight in block]:
        shape = (rows, weight.shape[1])
        if drop:
            kept = torch.rand(shape, generator=generator).numpy() >= drop
            masks.append(kept / (1 - drop))
        else:
            masks.append(np.ones(shape))
    return masks


def _by_hand(
    start: np.ndarray, blocks: Blocks, gradient: np.ndarray, masks: list[np.ndarray]
) -> dict[str, Any]:
    """The output, the input's gradient, and each weight's by blocks."""
    weights = [weight for block in blocks for weight in block]
    ins, straight = [np.tanh(start)], []
    for weight, mask in zip(weights, masks, strict=True):
        straight.append(np.tanh(ins[-1] @ weight))
        ins.append(straight[-1] * mask)
    found: list[np.ndarray] = []
    for at in reversed(range(len(weights))):
        inner = gradient * masks[at] * (1 - straight[at] ** 2)
        found.insert(0, ins[at].T @ inner)
        gradient = inner @ weights[at].T
    left = iter(found)
    return {
        "out": ins[-1],
        "input": gradient * (1 - ins[0] ** 2),
        "weights": [[next(left) for _ in block] for block in blocks],
    }
