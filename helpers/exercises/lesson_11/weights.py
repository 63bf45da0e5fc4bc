"""Exercise 11.2, a weight with one scale for each of its channels.

`quantize_weight(weight, bits=8) -> (codes, scale)`: channels lie along dimension 0, of a linear
layer's weight (out, in) and of a convolution's (out, in, kh, kw). A channel's scale is its largest
magnitude over 2^(bits−1) − 1, and the codes lie around 0. The claim: scales (out,) are these and
every weight has the nearest code, as int8; a channel of zeros has the codes 0 and a scale that is
finite and above 0. Source: Jacob et al. (2018), 2.1; Krishnamoorthi (2018), 3.1.2, for channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11 import weights_mistakes as look
from helpers.exercises.lesson_11 import weights_wrong as wrong
from helpers.exercises.lesson_11.figures import Array, alike, said
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """A linear layer's weight, one with an empty channel, convolutions, 8 and 4 bits.

    The last leaves the bits to their default. Channels differ in size up to twenty times, those of
    odd number have their largest magnitude below 0, and no weight is half-way between two codes.
    """
    random = rng(seed, "11.2")
    settings: list[tuple[tuple[int, ...], int, int | None]] = [
        ((6, 10), 8, None),
        ((5, 8), 4, 2),
        ((4, 3, 3, 3), 8, None),
        ((5, 1, 3, 3), 4, None),
        ((1, 7), 8, None),
    ]
    if seed:
        more = [int(n) for n in random.integers(0, 4, 6)]
        settings = [
            ((5 + more[0], 9 + more[1]), 8, None),
            ((5 + more[2], 9 + more[3]), 4, 1 + more[2]),
            ((4 + more[4], 3, 2, 3), 8, 1),
            ((6 + more[5], 1, 3, 3), 6, None),
            ((8, 8), 8, None),
        ]
    made = []
    for number, (shape, bits, empty) in enumerate(settings):
        weight = _weight(random, shape, bits, empty)
        name = f"With a weight of shape {shape} and {bits} bits"
        args: tuple[Any, ...] = (weight,) if number == 4 else (weight, bits)
        made.append(Case(name, (args,), facts=_facts(weight.astype(np.float64), bits, empty)))
    return made


def _weight(
    random: np.random.Generator, shape: tuple[int, ...], bits: int, empty: int | None
) -> Array:
    """Codes of a bell's shape, moved by up to 0.4 steps, one of each channel at its end."""
    highest, size = 2 ** (bits - 1) - 1, int(np.prod(shape[1:]))
    steps = np.round(random.normal(0, highest / 3, (shape[0], size)))
    steps = np.clip(steps, 1 - highest, highest - 1)
    steps += np.resize(np.linspace(-0.4, 0.4, 9), steps.shape) * random.choice([-1, 1], steps.shape)
    ends = highest * (-1.0) ** np.arange(shape[0])
    steps[np.arange(shape[0]), random.integers(0, size, shape[0])] = ends
    largest = 10 ** random.permutation(np.linspace(-1.3, 0, shape[0]))
    if empty is not None:
        largest[empty] = 0
    weight = (steps * (largest / highest)[:, None]).reshape(shape)
    return (weight + 0.0).astype(np.float32)  # + 0: no −0


def _facts(weight: Array, bits: int, empty: int | None) -> dict[str, Any]:
    """What is right, and the scales and codes of answers with one thing wrong."""
    highest, flat = 2 ** (bits - 1) - 1, weight.reshape(len(weight), -1)
    largest = np.abs(flat).max(1)
    scale = largest / highest
    full = largest > 0
    beside = np.where(full, scale, 1.0).reshape(-1, *[1] * (weight.ndim - 1))
    exact = weight / beside
    scales = {
        "one for all": [np.full_like(scale, largest.max() / highest)],
        "without abs": [flat.max(1) / highest],
        "one code too many": [largest / 2 ** (bits - 1)],
        "half a code": [2 * largest / (2**bits - 1)],
        "all codes": [largest / (2**bits - 1), largest / 2**bits],
        "8 bits": [largest / 127],
        "from end to end": [(flat.max(1) - flat.min(1)) / (2**bits - 1)],
        "upside down": [highest / np.where(full, largest, 1.0)],
        "other dimension": [],
    }
    if weight.ndim == 2 and weight.shape[0] == weight.shape[1]:
        scales["other dimension"] = [np.abs(weight).max(0) / highest]
    want = np.round(exact)
    codes = {
        "cut": [np.trunc(exact)],
        "downwards": [np.floor(exact)],
        "from 0 on": [want + highest, want + highest + 1],
    }
    return {
        "codes": want.astype(np.int8),
        "scale": scale,
        "weight": weight,
        "bits": bits,
        "full": full,
        "whole": np.abs(exact - want) < 1e-3,
        "other scales": {
            name: [other for other in others if not look.same(other, scale, full)]
            for name, others in scales.items()
        },
        "other codes": {k: [v for v in vs if not alike(v, want)] for k, vs in codes.items()},
    }


def claim(case: Case, seen: Observation) -> str | None:
    """One scale a channel, the nearest codes, and nothing odd for a channel of zeros."""
    facts = case.facts
    codes, scale = look.parts(seen)
    if not is_array(codes, facts["codes"].shape) or not is_array(scale, facts["scale"].shape):
        return (
            f"{case.name}, `quantize_weight` gave {describe(returned(seen.values[0]))}: "
            "return codes of the weight's shape, and a scale for each channel."
        )
    if scale.dtype.kind not in "fiu":
        return f"{case.name}, the scales are of the type {scale.dtype.name}."
    if not look.same(scale, facts["scale"], facts["full"]):
        off = ~look.close_to(scale, facts["scale"]) & facts["full"]
        at = int(np.argmax(off))
        return (
            f"{case.name}, channel {at} has the scale {said(float(scale[at]))}; it should be "
            f"{said(float(facts['scale'][at]))}."
        )
    return (
        look.empty_channel(case, seen)
        or look.first_wrong(case, codes)
        or look.other_type(case, seen)
        or look.written(case, seen)
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    own, shared = facts["scale"], float(facts["scale"].max())
    weight = facts["weight"]
    worst = int(np.argmin(own))
    kept = len(np.unique(np.round(weight[worst] / own[worst])))
    left = len(np.unique(np.round(weight[worst] / shared)))
    return (
        f"Passed: the scales go from {said(float(own.min()))} to {said(shared)}. Channel {worst} "
        f"has {kept} different codes of {weight[worst].size}; with one scale for all it would have "
        f"{left}."
    )


def reference(weight: Any, bits: int = 8) -> Any:
    """The course's own."""
    import torch

    scale = weight.abs().flatten(1).amax(1) / (2 ** (bits - 1) - 1)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    codes = torch.round(weight / scale.view(-1, *[1] * (weight.dim() - 1)))
    return codes.to(torch.int8), scale


EXERCISE = Exercise(
    number="11.2",
    title="A scale for each channel",
    stars=2,
    minutes=10,
    points=3,
    function="quantize_weight",
    asks=(
        "codes (int8, the weight's shape) and one scale for each channel along dimension 0: its "
        "largest magnitude / (2^(bits−1) − 1). A channel of zeros has the codes 0 and any finite "
        "scale above 0."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("for convolutions alone", look.for_convolutions_alone, unfinished=True),
        Mistake("the weight written into", look.written),
        Mistake("one scale for all", look.one_for_all),
        Mistake("codes and scales", look.no_pair),
        Mistake("scales with kept dimensions", look.kept_dimensions),
        Mistake("largest over some dimensions only", look.some_dimensions),
        Mistake("channels along another dimension", look.other_dimension),
        Mistake("codes of another shape", look.other_shape),
        *look.OF_SCALE,
        Mistake("a channel of zeros", look.empty_channel),
        Mistake("weights instead of codes", look.weights_back),
        *look.OF_CODES,
        Mistake("codes of another type", look.other_type),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("for convolutions alone", wrong.for_convolutions_alone, hint="layer's has two"),
        WrongAnswer("one scale for all", wrong.one_for_all, hint="one scale for all"),
        WrongAnswer("maximum without abs", wrong.without_abs, hint="largest value and not"),
        WrongAnswer("divides by 2^(bits−1)", wrong.one_code_too_many, hint="the code 128"),
        WrongAnswer("another dimension", wrong.other_dimension, hint="along dimension 0"),
        WrongAnswer("an empty channel", wrong.by_zero, hint="nothing but zeros"),
        WrongAnswer("kept dimensions", wrong.kept_dimensions, hint="kept their dimensions"),
        WrongAnswer("codes as floats", wrong.floats, hint="as torch.float32"),
        WrongAnswer("codes cut", wrong.cut, hint="cuts off what comes after the point"),
        WrongAnswer(
            "one dimension of a convolution", wrong.one_dimension, hint="all dimensions but"
        ),
        WrongAnswer("always 8 bits", wrong.eight_bits, hint="whatever the bits are"),
        WrongAnswer("all codes on one side", wrong.all_codes, hint="on both sides of 0"),
        WrongAnswer(
            "from end to end", wrong.from_end_to_end, hint="smallest to the largest weight"
        ),
        WrongAnswer("weights given back", wrong.weights_back, hint="not the codes themselves"),
        WrongAnswer("divides in place", wrong.in_place, hint="wrote into `weight`"),
    ),
    ranked=False,
)
