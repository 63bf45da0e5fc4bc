"""Exercise 11.7, a scale for each block: MXFP4, as the Open Compute Project's standard has it.

`mxfp4(x) -> (exponents, elements)`: x (blocks, 32); of each block the exponent of its scale, ⌊log2
of the largest magnitude⌋ − 2 and −127 at least, and each number over 2^exponent as the nearest of
0, ±0.5, ±1, ±1.5, ±2, ±3, ±4, ±6, ties to the even mantissa, cut at 6. The claim: both, exactly.
Source: OCP Microscaling Formats Specification 1.0 (2023), sections 5.3.3 and 6.3.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import describe, listing
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.algorithms.mxfp4 import mxfp4 as reference
from helpers.lessons.quantization.exercises.figures import Claim, Found, parts, said

VALUES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def cases(seed: int) -> list[Case]:
    """Seed 0 and others: blocks of different sizes, in the middle between elements, an outlier and
    a block of zeros, tiny and huge ones, of which one is just below a power of two."""
    random = rng(seed, "11.7")
    powers = 2.0 ** random.integers(-9, 9, 4)
    several = powers[:, None] * random.uniform(-0.99, 0.99, (4, 32))
    several[3] /= 10  # most are far below the largest
    # The largest magnitudes tell ⌊log2⌋ from what rounds otherwise; the first is negative.
    several[:, 5] = powers * np.array([-1.2, 1.94, 1.45, 1.0])
    middles = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    ties = random.choice(middles, (2, 32)) * random.choice([-1.0, 1.0], (2, 32))
    ties[:, 0], ties[0, 1:8] = 4.5, middles
    ties[1] *= 2.0 ** int(random.integers(-4, 5))
    outlier = random.uniform(-1, 1, (3, 32))
    outlier[0, 7], outlier[1] = 300.0, 0.0
    extreme = random.uniform(-0.99, 0.99, (2, 32)) * np.array([[2.0**-110], [2.0**60]])
    extreme[1, 9] = (1 - 2.0**-24) * 2.0**60  # float32's last number before it
    least = random.uniform(-1.6, 1.6, (1, 32)) * 2.0**-126  # its scale would need one below −127
    least[0, 3] = 1.7 * 2.0**-126
    return [
        _case("With blocks of several sizes", several),
        _case("With numbers in the middle of two elements", ties),
        _case("With an outlier and a block of zeros", outlier),
        _case("With tiny and huge numbers", np.append(extreme, least, 0)),
    ]


def _case(name: str, x: np.ndarray) -> Case:
    values = x.astype(np.float32)
    largest = np.abs(values).max(1)
    exponents = np.where(largest > 0, np.frexp(largest)[1] - 3, -127).clip(-127)
    over = values.astype(float) / 2.0 ** exponents[:, None]
    off = np.abs(np.abs(over)[..., None] - VALUES)
    # Of two neighbours that are as near, one has an even code.
    nearest = (2 * (off == off.min(-1, keepdims=True)) + (np.arange(8) % 2 == 0)).argmax(-1)
    elements = np.copysign(VALUES[nearest], over)
    return Case(name, ((values,),), facts={"exponents": exponents, "elements": elements})


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """The exponent of every block, and every element."""
    told, x = numbers(case, seen), case.args[0][0]
    if "got" not in told:
        out = describe(returned(seen.values[0]))
        yield (
            f"x is {x.shape}, and `mxfp4` gave {out}: return two things, an exponent for each "
            "block and elements of the shape of x.",
            out,
        )
    exponents, elements = told["given"]
    if not np.array_equal(exponents, case.facts["exponents"]):
        asked = f"⌊log2⌋ of that, less 2, is {told['want']}"
        if told["want"] == "−127":
            asked = f"{told['want']} was asked for, the smallest that there is"
        yield f"{told['whose']} has the exponent {told['got']}; {asked}.", exponents
    kind = np.asarray(parts(seen, 2)[0]).dtype
    if kind.kind not in "iu":
        words = f"the exponents are right and stand there as {kind}: make whole numbers, `.int()`."
        yield words, "no whole numbers"
    if not np.array_equal(elements, case.facts["elements"]):
        words = f"{told['which']} is {told['element']}; the nearest element is {told['right']}."
        yield words, elements
    if changed(seen.values[0]) is not None:
        yield "`mxfp4` wrote into `x`: whoever called it may need it still."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first block and the first number that are not right."""
    x, facts = case.args[0][0], case.facts
    wanted = [facts["exponents"], facts["elements"]]
    try:  # whatever holds them
        given = [np.array(part, float) for part in parts(seen, 2)]
    except (TypeError, ValueError, OverflowError):
        given = []
    if [each.shape for each in given] != [each.shape for each in wanted]:
        return {"rows": len(x)}
    exponents, elements = given
    off, differs = exponents != facts["exponents"], elements != facts["elements"]
    block = int(np.argmax(off if off.any() else differs.any(1)))
    at = int(np.argmax(differs[block]))
    largest = said(float(np.abs(x[block]).max()))
    whose = f", whose largest magnitude is {largest}," if largest != "0" else " of zeros"
    told = {
        "given": given,
        "block": f"block {block}",
        "whose": f"block {block}{whose}",
        "largest": largest,
        "got": said(exponents[block]),
        "want": said(float(facts["exponents"][block])),
        "element": said(elements[block, at] + 0.0),
        "right": said(facts["elements"][block, at] + 0.0),
    }
    over = said(float(x[block, at]) / 2.0 ** int(facts["exponents"][block]))
    told["which"] = f"number {at}, {over} over the scale, of block {block}"
    told["power"] = f"block {block} has the exponent {told['got']}"
    told["number"] = f"{told['which']} is {told['element']} instead of {told['right']}"
    return told


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    outlier = np.abs(cases[2].args[0][0]).max()
    exponents = listing(said(float(e)) for e in cases[2].facts["exponents"])
    return (
        f"Passed: beside an outlier of {outlier:g} the other blocks keep scales of their own: "
        f"their exponents are {exponents}."
    )


WRONG = """
the top exponent not taken off
    | power - TOP => power
    {power}: that is ⌊log2⌋ of its largest magnitude. The largest element, 6, has an exponent of its
    own, 2: take it off, {want}.
frexp as it is
    | .exponent - 1 => .exponent
    {power}, one too many: `torch.frexp` gives mantissas below 1, so that its exponent is ⌊log2⌋ +
    1. It is {want}.
log2 rounded
    | torch.frexp(largest).exponent - 1 => torch.round(largest.log2()).int()
    {power}: log2 was rounded to the nearest whole number. It is rounded down, so that the largest
    magnitude over the scale is 4 or more: {want}.
log2 rounded up
    | torch.frexp(largest).exponent - 1 => torch.ceil(largest.log2()).int()
    {power}: log2 was rounded up. Rounded down it is {want}, and nothing is lost but what is cut at
    6.
the largest fits
    | power - TOP => torch.ceil((largest / 6).log2()).int()
    {power}: the smallest with which its largest magnitude is 6 at most. The standard takes ⌊log2⌋ −
    2, {want}, and cuts what is beyond 6.
over 6, rounded
    | power - TOP => torch.round((largest / 6).log2()).int()
    {block} has the exponent {got}: 6 was divided by before the logarithm was rounded. The
    exponent of 6, which is 2, is taken off afterwards: {want}.
over 6, rounded down
    | power - TOP => torch.floor((largest / 6).log2()).int()
    {power}: 6 was divided by before the logarithm was rounded. The exponent of 6, which is 2, is
    taken off afterwards: {want}.
not rounded
    | torch.frexp(largest).exponent - 1 => largest.log2()
    {power}: a scale is a power of two, and of log2 only the whole part counts, rounded down:
    {want}.
natural logarithm
    | torch.frexp(largest).exponent - 1 => torch.floor(largest.log()).int()
    {power}: that is of the natural logarithm. Take the one to the base 2: {want}.
log2 in float32
    | torch.frexp(largest).exponent - 1 => torch.floor(largest.log2()).int()
    {power}: its largest magnitude lies just below a power of two, and float32 rounded the logarithm
    up to a whole number before you rounded it down. `torch.frexp` takes the number itself apart:
    {want}.
the mean
    | amax(1) => mean(1)
    {power}: that is of the mean magnitude. The largest decides, or all that is far above the mean
    is cut: {want}.
one scale for all
    | amax(1) => amax().expand(len(x))
    {power}, as all blocks do: that of the largest magnitude of all. Each block has a scale of its
    own: {want}.
the largest with its sign
    | .abs().amax => .amax
    {power}: its largest number decided, and a negative one is larger in magnitude. Take `abs`
    first: {want}.
zeros
    | torch.where(largest > 0, power - TOP, LEAST) => (power - TOP)
    {block} holds zeros alone, and has the exponent {got}. log2 of 0 says nothing: take the
    smallest, −127, as was asked for.
below the smallest
    | .clamp(min=LEAST) =>
    {power}: a scale's 8 bits can say no exponent below −127. Take that where ⌊log2⌋ − 2 is less.
codes for exponents
    | return exponents, => return exponents + 127,
    {power}: that is the code that it is held as, 127 more. Give the exponent itself, {want}.
a column
    | return exponents, => return exponents[:, None],
    the exponents came as a column, ({rows}, 1): give one number a block, ({rows},).
floats for exponents
    | return exponents, => return exponents.float(),
    ! claim
scales for exponents
    | return exponents, => return torch.ldexp(torch.ones(len(x)), exponents),
    you gave scales: give their exponents, whole numbers, which is what a block holds.
elements times the scale
    | / step) * step, over) => / step) * step, over).ldexp(exponents[:, None])
    {number}: these are the elements times the scale. Give the elements alone, between −6 and 6.
times the scale
    | -exponents[:, None] => exponents[:, None]
    {number}: it was multiplied by the scale. Divide by 2^exponent: `torch.ldexp(x, -exponents[:,
    None])`.
codes for elements
    | torch.copysign(torch.round(magnitude / step) * step, over)
        => (torch.round(magnitude / step) + 2 * (magnitude >= 2) + 2 * (magnitude >= 4)
            + 8 * torch.signbit(over))
    {number}: these are codes of 4 bits. Give the numbers that they stand for.
the lower of two
    | torch.round(magnitude / step) => torch.ceil(magnitude / step - 0.5)
    {number}: over the scale it lies in the middle between two elements. Of these the one with an
    even mantissa counts: 0, 1, 2 and 4.
the larger of two
    | torch.round(magnitude / step) => torch.floor(magnitude / step + 0.5)
    ! the lower of two
towards 0
    | torch.round => torch.floor
    {number}: it was rounded towards 0. Take the nearest element.
whole numbers
    | 0.5 + 0.5 * (magnitude >= 2) + (magnitude >= 4) => 1
    {number}: you rounded to whole numbers. Elements are 0, 0.5, 1, 1.5, 2, 3, 4 and 6: steps of 0.5
    up to 2, of 1 up to 4, then of 2.
halves everywhere
    | + 0.5 * (magnitude >= 2) + (magnitude >= 4) =>
    {number}: there is no such element. Steps are 0.5 up to 2, then 1 up to 4, then 2: two bits of
    exponent and one of mantissa.
not cut
    | .clamp(max=6.0) =>
    {number}: beyond 6 there is no element, and what is beyond becomes 6.
no 0.5
    | torch.round(magnitude / step) => torch.round(magnitude / step) * (magnitude >= 0.75)
    {number}: below 1 there is one element more, 0.5, which has no leading 1 in its mantissa.
no sign
    | * step, over) => * step, magnitude)
    {number}: the sign is gone.
written into
    | torch.ldexp(x.detach().double(), -exponents[:, None])
        => x.ldexp_(-exponents[:, None]).double()
    ! claim
the other order
    | return exponents, torch.copysign => return torch.copysign
    | .to(x.dtype) => .to(x.dtype), exponents
    the order is another: `exponents, elements` was asked for.
"""

EXERCISE = Exercise(
    number="11.7",
    title="A scale for each block",
    size=Size(stars=2, minutes=15, points=3),
    function="mxfp4",
    asks=(
        "exponents and elements: for each block ⌊log2 of its largest magnitude⌋ − 2, −127 for "
        "zeros alone and where it would be less; for each number over 2^exponent the nearest of 0, "
        "0.5, 1, 1.5, 2, 3, 4 and 6 with its sign, of two equally near ones that with the even "
        "mantissa (0, 1, 2, 4), and 6 for what is beyond."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.7", WRONG, reference, claim),
    ranked=False,
)
