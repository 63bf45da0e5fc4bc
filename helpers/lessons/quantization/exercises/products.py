"""Exercise 11.3, a linear layer on codes.

`integer_linear(x, x_scale, x_zero, weight, w_scale, bias)`: x (rows, in) and weight (out, in) are
int8 codes, w_scale (out,) and bias (out,) floats; the output is floats, (rows, out). The claim:
x_scale · w_scale · (Σ q_w q_x − x_zero Σ q_w) + bias, exact but for the bias, which may be rounded
to whole steps; whole numbers were multiplied, and no argument was written into. Source: Jacob et
al. (2018), section 2.3. What makes this file long are 39 wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import describe, is_array
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.algorithms.integer_layers import integer_linear as reference
from helpers.lessons.quantization.exercises.figures import Claim, Found, farthest, single, what
from helpers.lessons.quantization.exercises.float_products import multiplied


def cases(seed: int) -> list[Case]:
    """Seed 0: a square layer, where sums leave 16 bits; three sizes; long sums; a single row.

    A square layer is the most telling one: there a vector lies along either dimension.
    """
    random, made = rng(seed, "11.3"), []
    n, far = (8, 0) if not seed else (int(random.integers(8, 14)), int(random.integers(1, 40)))
    x = random.integers(-20, 128, (n, n))
    x[0] = random.integers(100, 128, n)
    weight = random.integers(-127, 128, (n, n))
    weight[::2] = random.integers(40, 128, weight[::2].shape)
    made.append((f"With {n} rows, {n} inputs and {n} outputs", x, -37 - far // 2, weight))
    inputs = 300 + far
    x, weight = random.integers(-128, 128, (5, inputs)), random.integers(-127, 128, (3, inputs))
    made.append((f"With 5 rows, {inputs} inputs and 3 outputs", x, 21 + far, weight))
    # What a ReLU leaves: most codes are that of 0, the lowest one. The sums of products are large
    # and nearly all of it is taken away again.
    inputs = 4096 + far
    x = np.full((4, inputs), -128)
    for row in x:
        row[random.choice(inputs, 6, replace=False)] += random.integers(1, 90, 6)
    weight = random.integers(60, 128, (6, inputs)) * np.resize([1, -1], 6)[:, None]
    made.append((f"With {inputs} inputs, nearly all of them the zero point −128", x, -128, weight))

    x, weight = random.integers(-128, 128, (1, 20)), random.integers(-127, 128, (4, 20))
    made.append(("With one row, and 0 as the zero point", x, 0, weight))
    found = []
    for name, x, zero, weight in made:
        x_scale = round(float(random.uniform(0.04, 0.08)), 6)
        w_scale = random.uniform(0.004, 0.02, len(weight)).astype(np.float32)
        step = x_scale * w_scale.astype(np.float64)
        sign = random.choice([-1.0, 1.0], len(weight))
        # A bias of four to twelve, which never is a whole step.
        steps = np.floor(random.uniform(4, 12, len(weight)) / step) + 0.85
        bias = (sign * steps * step).astype(np.float32)
        args = (x.astype(np.int8), x_scale, zero, weight.astype(np.int8), w_scale, bias)
        found.append(Case(name, (args,)))
    return found


class Layer:
    """A case in whole numbers of 64 bits and in doubles, and what an answer gave.

    step: what one whole number of the sums stands for, for each output. sums: Σ q_w q_x, and right:
    the output as it should be, both (rows, out). out: what was returned; fits: whether it has this
    shape; worst: in words, the number that is farthest off, and by how many steps. kind: of the
    floats that were multiplied, or "".
    """

    def __init__(self, case: Case, seen: Observation) -> None:
        x, x_scale, zero, weight, w_scale, bias = case.args[0]
        self.bias: np.ndarray = bias.astype(np.float64)
        self.step: np.ndarray = x_scale * w_scale.astype(np.float64)
        self.sums: np.ndarray = x.astype(np.int64) @ weight.T.astype(np.int64)
        self.right: np.ndarray = self.step * (self.sums - zero * weight.sum(1)) + self.bias
        value = returned(seen.values[0])
        self.out, self.kind = value["out"], value["floats"] or ""
        self.fits = is_array(self.out, self.right.shape)
        self.worst, self.steps = "", 0.0
        if self.fits:
            at, got, wanted = farthest(self.out, self.right, self.step)
            row, column = divmod(at, len(weight))
            self.worst = f"output [{row}, {column}] is {got} and should be {wanted}"
            self.steps = abs(float(self.out.flat[at]) - self.right.flat[at]) / self.step[column]


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """The values, nothing written into, and that no floats were multiplied."""
    n, place = Layer(case, seen), changed(seen.values[0])
    if not n.fits or n.out.dtype.kind != "f":
        words = f"you returned {describe(n.out)}; wanted is a tensor of floats, {n.right.shape}."
        yield words, "whole numbers" if n.fits else what(n.out)
    # Half a step for a rounded bias, and what float32 rounds.
    slack = 0.5001 * n.step + 1e-6 * (np.abs(n.right).max(0) + np.abs(n.bias))
    if not np.all(np.abs(n.out - n.right) <= slack):
        yield f"{n.worst}.", single(n.out / n.step)  # so many that a rounded bias hides
    if place is not None:
        name = ("x", "x_scale", "x_zero", "weight", "w_scale", "bias")[place]
        words = f"you wrote into `{name}`: whoever holds it uses it again. Work on a new tensor."
        yield words, "changed"
    if n.kind:
        yield f"matrices were multiplied in {n.kind}."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the worst output, and the type of all."""
    n = Layer(case, seen)
    return {"worst": n.worst, "type": n.out.dtype} if n.fits else {}


_EXACT = {  # up to where whole numbers are, and how soon sums come there
    "float32": "2^24 only; 1024 products can reach that",
    "float16": "2^11 only, and 65504 is the largest number; one product can be more",
    "bfloat16": "2^8 only; one product can be more",
}


def _values_multiplied(case: Case, seen: Observation) -> Iterator[str]:
    kind = Layer(case, seen).kind
    if kind and not returned(seen.values[0])["whole"]:
        yield (
            f"codes were turned into values first, and these multiplied in {kind}: a layer as it "
            "always was, and nothing is gained. Multiply the codes with `int_matmul`, scales come "
            "behind."
        )


def _codes_as_floats(case: Case, seen: Observation) -> Iterator[str]:
    kind = Layer(case, seen).kind
    if kind in _EXACT:
        yield (
            f"codes were multiplied in {kind}, where whole numbers are exact up to {_EXACT[kind]}. "
            "Multiply them with `int_matmul`, which sums up in 32 bits."
        )
    elif kind:
        yield (
            f"codes were multiplied in {kind}. That is exact, and takes eight bytes where a code "
            "has one, and none of the instructions for bytes: multiply them with `int_matmul`."
        )


def _corrected_in_floats(case: Case, seen: Observation) -> Iterator[str]:
    """Large sums that were rounded before the correction left a small difference."""
    n = Layer(case, seen)
    most = int(np.abs(n.sums).max())
    if 0.5 < n.steps <= most / 2**20 and most >= 2**24 and not n.kind and n.out.dtype.kind == "f":
        yield (
            f"{n.worst}, which is {n.steps:.2g} steps off: the sums reach {most:,}, where float32 "
            "has no room for every whole number, and nearly all of it is taken away again. Take "
            "x_zero · Σ q_w away from Σ q_w q_x while both are whole, and multiply by the scales "
            "afterwards."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    most, depth = np.abs(Layer(cases[2], seen[2]).sums).max(), cases[2].args[0][0].shape[1]
    return (
        f"Passed: whole numbers were multiplied, up to {depth} of them in a sum, and sums as large "
        f"as {most:,} came out to the step."
    )


WRONG = """
no zero point
    | - x_zero * weight.sum(1) =>
    {worst}: the zero point is left out. A code stands for x_scale · (q − x_zero), so x_zero · Σ q_w
    is to be taken away from each sum.
correction added
    | - x_zero * => + x_zero *
    {worst}: x_zero · Σ q_w is taken away, not added: Σ q_w (q_x − x_zero).
weights summed along the outputs
    | weight.sum(1) => weight.sum(0)
    {worst}: you summed each input's weights. The correction has one number for each output: sum
    each row of `weight`, along dimension 1.
codes of the inputs summed
    | weight.sum(1) => x.sum(1, keepdim=True)
    {worst}: you summed the inputs' codes in place of the weights': the weights' zero point is 0, so
    Σ q_x is not needed; x's zero point goes with Σ q_w.
codes of the inputs as a row
    | weight.sum(1) => x.sum(1)
    ! codes of the inputs summed
correction along the rows
    | weight.sum(1) => weight.sum(1)[:, None]
    {worst}: x_zero · Σ q_w was taken away row by row; an output is a column.
zero point taken away once
    | x_zero * weight.sum(1) => x_zero
    {worst}: x_zero was taken away once, without the weights. It is in every product of the sum: q_w
    (q_x − x_zero) summed up is Σ q_w q_x − x_zero · Σ q_w.
zero point once for each input
    | weight.sum(1) => x.shape[1]
    ! zero point taken away once
no bias
    | values + bias => values
    {worst}: the bias is missing.
bias multiplied by scales
    | values + bias => x_scale * w_scale * (sums + bias)
    {worst}: the bias was multiplied by a scale. The bias is a value already: add it behind the
    scales, or divide it by x_scale · w_scale first.
bias multiplied by x_scale
    | values + bias => (sums * w_scale + bias) * x_scale
    {worst}: the bias was multiplied by a scale. The bias is a value already: add it behind the
    scales, or divide it by x_scale · w_scale first.
bias multiplied by w_scale
    | values + bias => (sums * x_scale + bias) * w_scale
    {worst}: the bias was multiplied by a scale. The bias is a value already: add it behind the
    scales, or divide it by x_scale · w_scale first.
bias cut off
    | values + bias => (sums + (bias / (x_scale * w_scale)).int()) * (x_scale * w_scale)
    {worst}: the bias in steps was cut off instead of rounded, which is up to a whole step off: use
    `torch.round` in front of the conversion.
scales along the rows
    | x_scale * w_scale => x_scale * w_scale[:, None]
    {worst}: a scale or a bias was used row by row. There is one for each output, and so a column:
    `w_scale` and `bias` fit the last dimension as they are.
bias along the rows
    | values + bias => values + bias[:, None]
    ! scales along the rows
scales and bias along the rows
    | x_scale * w_scale => x_scale * w_scale[:, None]
    | values + bias => values + bias[:, None]
    ! scales along the rows
no x_scale
    | x_scale * w_scale => w_scale
    {worst}: `x_scale` is left out: a step is x_scale · w_scale.
no w_scale
    | x_scale * w_scale => x_scale
    {worst}: `w_scale` is left out: a step is x_scale · w_scale.
no scales
    | sums * (x_scale * w_scale) => sums
    {worst}: both scales are left out: a step is x_scale · w_scale.
w_scale twice
    | x_scale * w_scale => x_scale * w_scale**2
    {worst}: the sums were taken times `w_scale` twice: a step is x_scale · w_scale.
one scale for all, the mean
    | x_scale * w_scale => x_scale * w_scale.mean()
    {worst}: there is one scale for all outputs, such as the mean; each has its own.
one scale for all, the largest
    | x_scale * w_scale => x_scale * w_scale.max()
    ! one scale for all, the mean
one scale for all, the first
    | x_scale * w_scale => x_scale * w_scale[0]
    ! one scale for all, the mean
correction not scaled
    | - x_zero * weight.sum(1) =>
    | values + bias => values - x_zero * weight.sum(1) + bias
    {worst}: x_zero · Σ q_w counts in steps too: take it from the sums.
correction by x_scale alone
    | - x_zero * weight.sum(1) =>
    | values + bias => values - x_scale * (x_zero * weight.sum(1)) + bias
    ! correction not scaled
correction by w_scale alone
    | - x_zero * weight.sum(1) =>
    | values + bias => values - w_scale * (x_zero * weight.sum(1)) + bias
    ! correction not scaled
codes wrapped round
    | int_matmul(x, weight.t()) - x_zero * weight.sum(1) => int_matmul(x - x_zero, weight.t())
    {worst}: x − x_zero has nine bits and wrapped round in int8: take x_zero · Σ q_w away from the
    sums instead.
codes cut off
    | - x_zero * weight.sum(1) =>
    | int_matmul(x, => int_matmul((x.int() - x_zero).clamp(-128, 127).to(torch.int8),
    {worst}: x − x_zero has nine bits and was cut off in int8: take x_zero · Σ q_w away from the
    sums instead.
sums in 8 bits
    | int_matmul(x, weight.t()) => x @ weight.t()
    {worst}: only 8 bits were kept of the sums, and they wrapped round. A product of two codes takes
    15 bits and a sign, a sum more: sum in 32, by `int_matmul`.
sums in 8 bits, corrected
    | sums * => sums.to(torch.int8) *
    {worst}: only 8 bits were kept of the sums, and they wrapped round. A product of two codes
    takes 15 bits and a sign, a sum more: sum in 32, by `int_matmul`.
sums in 16 bits
    | int_matmul(x, weight.t()) - x_zero * weight.sum(1)
        => (x.short() - x_zero) @ weight.short().t()
    {worst}: only 16 bits were kept of the sums, and they wrapped round. A product of two codes
    takes 15 bits and a sign, a sum more: sum in 32, by `int_matmul`.
sums in 16 bits, corrected
    | int_matmul(x, weight.t()) => x.short() @ weight.short().t()
    ! sums in 16 bits
weights summed in few bits
    | weight.sum(1) => weight.sum(1, dtype=torch.int8).int()
    {worst}: the sum of the weights' codes, or x_zero times it, wrapped round: it is no code and
    takes 32 bits. Try `weight.sum(1, dtype=torch.int32)`.
weights summed in 16 bits
    | weight.sum(1) => weight.sum(1, dtype=torch.int16)
    ! weights summed in few bits
correction in few bits
    | x_zero * weight.sum(1) => (x_zero * weight.sum(1)).to(torch.int8)
    ! weights summed in few bits
transposed
    | int_matmul(x, weight.t()) => int_matmul(weight, x.t())
    {worst}: rows and outputs have changed places: x is (rows, in) and weight (out, in), so the
    product is x times `weight.t()`.
transposed at the end
    | sums * => sums.t() *
    ! transposed
weight not transposed
    | weight.t() => weight
    {worst}: the weight was used as if it were (in, out): multiply by `weight.t()`.
nor its sums transposed
    | weight.t() => weight
    | weight.sum(1) => weight.sum(0)
    ! weight not transposed
left as whole numbers
    | values + bias => sums + (bias / (x_scale * w_scale)).round().int()
    you returned whole numbers ({type}). These are still steps, or values cut off: times x_scale ·
    w_scale they become values, which are floats.
writes into what it is given
    | x_scale * w_scale => w_scale.mul_(x_scale)
    ! claim
dequantized
    | sums * (x_scale * w_scale) => x_scale * (x.float() - x_zero) @ (weight * w_scale[:, None]).t()
    ? turned into values first
float32
    | int_matmul(x, weight.t()) => x.float() @ weight.float().t()
    ? up to 2^24 only
float16
    | int_matmul(x, weight.t()) => (x.half() @ weight.half().t()).float()
    ? up to 2^11 only
float64
    | int_matmul(x, weight.t()) => x.double() @ weight.double().t()
    ? eight bytes where a code has one
late
    | - x_zero * weight.sum(1) =>
    | values + bias => values - x_scale * w_scale * (x_zero * weight.sum(1)) + bias
    ? while both are whole
"""

EXERCISE = Exercise(
    number="11.3",
    title="A layer on codes",
    size=Size(stars=3, minutes=15, points=4),
    function="integer_linear",
    asks=(
        "x_scale · w_scale · (Σ q_w q_x − x_zero · Σ q_w) + bias as floats, (rows, out), with the "
        "matrices multiplied as whole numbers."
    ),
    cases=cases,
    drive=multiplied,
    claim=claim,
    mistakes=(
        Mistake("values multiplied", _values_multiplied),
        Mistake("codes multiplied as floats", _codes_as_floats),
        Mistake("corrected in floats", _corrected_in_floats),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.3", WRONG, reference, claim),
    ranked=False,
)
