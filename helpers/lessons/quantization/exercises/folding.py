"""Exercise 11.5, batch norm folded into the layer before it.

`fold(weight, bias, mean, var, gamma, beta, eps=1e-5) -> (weight, bias)`: weight (out, in) of a
linear layer or (out, in, height, width) of a convolution, bias (out,) or None, all others (out,).
The claim: the new layer does what layer and norm did, w' = w · γ/√(var + eps) and b' = (b − μ) ·
γ/√(var + eps) + β, in the shapes of before, and nothing that was given is written into. Source:
Jacob et al. (2018), section 3.2, equation 14.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from helpers.checks.compare import close, describe, is_array
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.algorithms.folding import fold_batch_norm
from helpers.lessons.quantization.exercises.figures import (
    Claim,
    Found,
    farthest,
    parts,
    single,
    what,
)


def cases(seed: int) -> list[Case]:
    """Seed 0: a square linear layer, one without a bias, a linear layer, convolutions.

    A factor that lies along the wrong dimension fits a square weight, and a kernel as wide as the
    channels are many. Some variances are not much larger than eps.
    """
    random, made = rng(seed, "11.5"), []
    more = int(random.integers(1, 5)) if seed else 0
    settings: list[tuple[str, tuple[int, ...], bool, float | None]] = [
        ("linear layer from {1} to {0}", (5 + more, 5 + more), True, 1e-3),
        ("linear layer from {1} to {0} and no bias", (4, 7 + more), False, None),
        ("convolution from {1} to {0} channels", (3, 3, 3, 3), True, 1e-2),
        ("convolution from {1} to {0} channels and no bias", (6, 2 + more, 3, 2), False, 1e-3),
        ("depthwise convolution of {0} channels", (7 + more, 1, 3, 3), True, None),
    ]
    for name, shape, with_bias, eps in settings:
        out = shape[0]
        sign = random.choice([-1.0, 1.0], (3, out))
        values = (
            random.standard_normal(shape),
            sign[0] * random.uniform(0.5, 2.0, out) if with_bias else None,
            sign[1] * random.uniform(0.7, 3.0, out),  # mean
            np.append(random.uniform(0.02, 0.05), random.uniform(0.1, 1.5, out - 1)),  # variance
            random.uniform(0.3, 2.5, out) * np.resize([1.0, 1.0, -1.0], out),  # gamma
            sign[2] * random.uniform(0.4, 2.0, out),  # beta
        )
        args = tuple(v if v is None else v.astype(np.float32) for v in values)
        held: tuple[Any, ...] = args if eps is None else (*args, eps)
        name = f"With a {name.format(*shape)}" + ("" if eps is None else f", and eps {eps:g}")
        made.append(Case(name, (held,)))
    return made


def _exact(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In doubles, what each channel is multiplied by, and the right weight and bias."""
    weight, bias, *others = case.args[0]
    mean, var, gamma, beta = (each.astype(np.float64) for each in others[:4])
    factor = gamma / np.sqrt(var + (others[4] if len(others) > 4 else 1e-5))
    right = weight.astype(np.float64) * factor.reshape(-1, *[1] * (weight.ndim - 1))
    return factor, right, ((0 if bias is None else bias) - mean) * factor + beta


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """The weight, the bias, and nothing written into: one factor goes into both."""
    (_, right, shift), out, (weight, bias) = _exact(case), returned(seen.values[0]), parts(seen, 2)
    told, of_shape = numbers(case, seen), is_array(weight, right.shape)
    if type(out) not in (tuple, list) or len(out) != 2:
        yield f"you returned {told['returned']}, and no pair.", what(out)
    # Each channel beside its own largest number.
    if not (of_shape and all(map(close, weight, right))):
        mark = single(weight) if of_shape else what(weight)
        yield f"the weight should be w · γ/√(var + eps); {told['weight']}.", {"weight": mark}
    if not close(bias, shift):
        mark = single(bias) if is_array(bias, shift.shape) else what(bias)
        yield f"the weight is right; {told['bias']}.", {"bias": mark}
    place = changed(seen.values[0])
    if place is not None:
        name = ("weight", "bias", "mean", "var", "gamma", "beta")[place]
        words = f"you wrote into `{name}`, which is the trained model's own: make a new tensor."
        yield words, "changed"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what is farthest off, and how the factor should lie."""
    (factor, right, shift), (weight, bias) = _exact(case), parts(seen, 2)
    ones = ", 1" * (right.ndim - 1)
    told = {
        "returned": describe(returned(seen.values[0])),
        "eps": f"the given {case.args[0][6]:g}" if len(case.args[0]) > 6 else "1e-5, its default",
        "new_weight": describe(weight),
        "weight": f"it should have the shape {right.shape}, and you returned {describe(weight)}",
        "bias": f"the bias should have the shape {shift.shape}, and you returned {describe(bias)}",
        "view": f"give the factor the shape (out{ones}) with `factor.view(-1{ones})`",
    }
    if is_array(weight, right.shape):
        rows = len(weight), -1
        new, old = (w.astype(np.float64).reshape(rows) for w in (weight, case.args[0][0]))
        with np.errstate(all="ignore"):
            ratio = (new * old).sum(1) / np.square(old).sum(1)  # the factor that comes nearest
        at, got, wanted = farthest(ratio, factor, np.abs(factor))
        told["weight"] = f"channel {at} is {got} times the old one, not {wanted} times"
    if is_array(bias, shift.shape):
        at, got, wanted = farthest(bias, shift)
        told["bias"] = f"the bias of channel {at} is {got} and should be {wanted}"
    return told


def _none_used(case: Case, seen: Observation) -> Iterator[str]:
    if seen.trouble == "failed" and case.args[0][1] is None and "None" in seen.text:
        yield (
            "you counted with a bias that is not there: `bias` is None here, as with most layers "
            "in front of a batch norm. It counts as 0, and a bias comes out all the same."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    saved = sum(4 * len(case.args[0][2]) for case in cases)
    return (
        "Passed for linear layers and convolutions, with and without a bias: one layer does what "
        f"two did, and {saved} numbers of batch norms need not be kept."
    )


def reference(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    """The course's own, which takes the norm as a module."""
    norm: Any = nn.BatchNorm1d(len(mean), eps=eps)
    norm.running_mean, norm.running_var = mean, var
    norm.weight, norm.bias = nn.Parameter(gamma), nn.Parameter(beta)
    return fold_batch_norm(weight, bias, norm)


def plain(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    """The same in a few lines, without a module."""
    old = torch.zeros_like(mean) if bias is None else bias
    factor = gamma / (var + eps).sqrt()
    by = factor.view(-1, *[1] * (weight.dim() - 1))
    shift = (old - mean) * factor + beta
    return weight * by, shift


WRONG = """
no eps
    | (var + eps) => var
    {weight}: eps is left out: the root is that of var + eps, as in training.
an eps of its own
    | + eps) => + 1e-5)
    {weight}: another eps is in it than {eps}.
an eps of its own, 0.001
    | + eps) => + 1e-3)
    ! an eps of its own
divided by the variance
    | .sqrt() =>
    {weight}: you divided by the variance itself, and not by its root, √(var + eps).
divided by it, without eps
    | (var + eps).sqrt() => var
    ! divided by the variance
eps behind the root
    | (var + eps).sqrt() => (var.sqrt() + eps)
    {weight}: eps was added behind the root. It belongs inside: √(var + eps).
multiplied by the root
    | .sqrt() => .rsqrt()
    {weight}: the weight was multiplied by √(var + eps), or divided by its inverse: the factor is
    γ/√(var + eps). Note that `torch.rsqrt` is 1/√ already.
γ twice
    | gamma / => gamma**2 /
    {weight}: γ is in it twice: the factor is γ/√(var + eps).
no γ
    | gamma / => 1 /
    {weight}: γ is left out: the factor is γ/√(var + eps).
weight left
    | weight * by => weight
    {weight}: it is the old one: each channel is to be taken times γ/√(var + eps).
along dimension 1
    | weight.dim() - 1 => weight.dim() - 2
    the factor lies along dimension 1 of the weight, which happens to fit; out is 0: {view}.
along dimension 2
    | *[1] * (weight.dim() - 1) => 1
    the factor lies along dimension 2 of the weight, which happens to fit; out is 0: {view}.
along dimension 3
    | weight.dim() - 1 => weight.dim() == 2
    the factor lies along dimension 3 of the weight, which happens to fit; out is 0: {view}.
for convolutions alone
    | *[1] * (weight.dim() - 1) => 1, 1, 1
    the weight has come to have four dimensions, {new_weight}: a linear layer's has two. The factor
    needs as many ones as the weight has dimensions behind the first: `factor.view(-1, *[1] *
    (weight.dim() - 1))`.
bias left
    | (old - mean) * factor + beta => old
    {bias}: it was left as it was. The norm moves it: (b − μ) · factor + β.
β alone
    | (old - mean) * factor + beta => beta
    {bias}: neither mean nor factor is in it: (b − μ) · factor + β.
β added to the bias
    | (old - mean) * factor + beta => old + beta
    ! β alone
no mean
    | (old - mean) => old
    {bias}: the mean is not subtracted: the norm takes μ from what the layer gives.
mean added
    | old - mean => old + mean
    {bias}: the mean was added; the norm takes it away: b − μ.
no old bias
    | (old - mean) => -mean
    {bias}: the layer's bias is left out; the norm came after it: (b − μ) · factor + β.
mean not scaled
    | (old - mean) * factor => old * factor - mean
    {bias}: the mean goes through the norm too: take all of b − μ times the factor.
mean not scaled by γ
    | old - mean => old - mean / gamma
    {bias}: the mean goes through the norm too: take all of b − μ times the factor.
mean scaled by γ alone
    | (old - mean) * factor => old * factor - mean * gamma
    {bias}: the mean goes through the norm too: take all of b − μ times the factor.
old bias not scaled
    | (old - mean) * factor => old - mean * factor
    {bias}: only the mean was multiplied: all of b − μ is taken times the factor.
nothing scaled
    | * factor + beta => + beta
    {bias}: the factor is missing: (b − μ) · factor + β.
no β
    | + beta =>
    {bias}: β is missing: the norm adds it at its end.
β scaled
    | (old - mean) * factor + beta => (old - mean + beta) * factor
    {bias}: β comes after the factor, and is not multiplied by it: (b − μ) · factor + β.
γ twice in the bias
    | * factor + beta => * factor * gamma + beta
    {bias}: γ is in it twice: (b − μ) · factor + β, with the factor of the weight.
no γ in the bias
    | * factor + beta => * factor / gamma + beta
    {bias}: the bias lacks γ: (b − μ) · factor + β.
no bias returned
    | by, shift => by, None if bias is None else shift
    you returned None for the bias. The layer may have had none, but what the norm subtracts and
    adds has to go somewhere: −μ · γ/√(var + eps) + β.
writes into what it is given
    | weight * by => weight.mul_(by)
    ! claim
bias first
    | weight * by, shift => shift, weight * by
    the bias comes first in what you returned: the pair is (weight, bias).
no pair
    | weight * by, shift => weight * by
    you returned {returned}. Return both: the pair (weight, bias).
no None
    | torch.zeros_like(mean) if bias is None else bias => bias
    ? `bias` is None here
"""

EXERCISE = Exercise(
    number="11.5",
    title="Fold a batch norm",
    size=Size(stars=2, minutes=10, points=3),
    function="fold",
    asks=(
        "the pair (weight, bias) of one layer that does what the layer and then the batch norm "
        "did: w · γ/√(var + eps) and (b − μ) · γ/√(var + eps) + β."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(Mistake("a bias that is not there", _none_used, unfinished=True),),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.5", WRONG, plain, claim),
    ranked=False,
)
