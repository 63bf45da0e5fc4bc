"""Exercise 11.5, batch norm folded into the layer before it.

`fold(weight, bias, mean, var, gamma, beta, eps=1e-5) -> (weight, bias)`: weight (out, in) of a
linear layer or (out, in, height, width) of a convolution, bias (out,) or None, all others (out,).
The claim: the new layer does what layer and norm did, w' = w · γ/√(var + eps) and
b' = (b − μ) · γ/√(var + eps) + β, in the shapes of before, and nothing that was given is written
into. Source: Jacob et al. (2018), section 3.2, equation 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, listing
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11 import folding_bias as in_bias
from helpers.exercises.lesson_11 import folding_mistakes as look
from helpers.exercises.lesson_11 import folding_ways as ways
from helpers.exercises.lesson_11 import folding_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: a square linear layer, one without a bias, a linear layer, convolutions.

    A factor that lies along the wrong dimension fits a square weight, and a kernel as wide as the
    channels are many. Some variances are not much larger than eps.
    """
    random, made = rng(seed, "11.5"), []
    more = int(random.integers(1, 5)) if seed else 0
    settings: list[tuple[str, tuple[int, ...], bool, float | None]] = [
        ("With a linear layer from {1} to {0}", (5 + more, 5 + more), True, 1e-3),
        ("With a linear layer from {1} to {0} and no bias", (4, 7 + more), False, None),
        ("With a convolution from {1} to {0} channels", (3, 3, 3, 3), True, 1e-2),
        (
            "With a convolution from {1} to {0} channels and no bias",
            (6, 2 + more, 3, 2),
            False,
            1e-3,
        ),
        ("With a depthwise convolution of {0} channels", (7 + more, 1, 3, 3), True, None),
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
        said = name.format(*shape)
        made.append(Case(said if eps is None else f"{said}, and eps {eps:g}", (held,)))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The weight, the bias, and nothing written into."""
    n, pair = ways.numbers(case), ways.pair(seen)
    if pair is None:
        return f"{case.name}, you returned {describe(returned(seen.values[0]))}, and no pair."
    weight, bias = pair
    if not ways.same(weight, n.weight * n.beside(n.factor)):
        worst = ways.weight_at_worst(weight, n)
        return f"{case.name}, the weight should be w · γ/√(var + eps); {worst}."
    if not ways.same(bias, ways.right_bias(n)):
        return f"{case.name}, the weight is right; {ways.bias_at_worst(bias, n)}."
    return look.written_into(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    shapes = dict.fromkeys(len(case.args[0][0].shape) for case in cases)
    kinds = listing({2: "linear layers", 4: "convolutions"}[each] for each in shapes)
    saved = sum(4 * len(case.args[0][2]) for case in cases)
    return (
        f"Passed for {kinds}, with and without a bias: one layer does what two did, and {saved} "
        "numbers of batch norms need not be kept."
    )


EXERCISE = Exercise(
    number="11.5",
    title="Fold a batch norm",
    stars=2,
    minutes=10,
    points=3,
    function="fold",
    asks=(
        "the pair (weight, bias) of one layer that does what the layer and then the batch norm "
        "did: w · γ/√(var + eps) and (b − μ) · γ/√(var + eps) + β."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("a bias that is not there", look.none_used, unfinished=True),
        Mistake("a factor that does not fit", look.does_not_fit, unfinished=True),
        Mistake("no pair", look.no_pair),
        Mistake("bias first", look.bias_first),
        Mistake("for convolutions alone", look.for_convolutions_alone),
        Mistake("along the wrong dimension", look.wrong_dimension),
        *(Mistake(name, look.of_weight(way, text)) for name, way, text in look.FACTORS),
        *(Mistake(name, in_bias.of_bias(way, text)) for name, way, text in in_bias.BIASES),
        Mistake("no bias returned", look.no_bias),
        Mistake("writes into what it is given", look.written_into),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no eps", wrong.no_eps, hint="eps is left out"),
        WrongAnswer("own eps", wrong.own_eps, hint="whatever `eps` says"),
        WrongAnswer("variance", wrong.by_variance, hint="by the variance itself"),
        WrongAnswer("eps outside", wrong.eps_outside, hint="added behind the root"),
        WrongAnswer("times sigma", wrong.times_sigma, hint="multiplied by √"),
        WrongAnswer("gamma twice", wrong.gamma_twice, hint="γ is in it twice"),
        WrongAnswer("no gamma", wrong.no_gamma, hint="γ is left out"),
        WrongAnswer("along the inputs", wrong.along_the_inputs, hint="lies along dimension 1"),
        WrongAnswer("for convolutions alone", wrong.for_convolutions_alone, hint="as many ones as"),
        WrongAnswer("for linear alone", wrong.for_linear_alone, hint="lies along dimension 2"),
        WrongAnswer("no None", wrong.no_none, hint="`bias` is None here"),
        WrongAnswer("no old bias", wrong.no_old_bias, hint="the layer's own bias is left out"),
        WrongAnswer("no mean", wrong.no_mean, hint="the mean is not subtracted"),
        WrongAnswer(
            "mean unscaled", wrong.mean_unscaled, hint="the mean goes through the norm too"
        ),
        WrongAnswer("bias unscaled", wrong.bias_unscaled, hint="The old bias goes through"),
        WrongAnswer("no beta", wrong.no_beta, hint="β is missing"),
        WrongAnswer("beta scaled", wrong.beta_scaled, hint="β comes after the factor"),
        WrongAnswer(
            "gamma twice in the bias", wrong.gamma_twice_in_bias, hint="the bias has γ twice"
        ),
        WrongAnswer("bias left", wrong.bias_left, hint="left as it was"),
        WrongAnswer("in place", wrong.in_place, hint="you wrote into `weight`"),
        WrongAnswer("bias first", wrong.bias_first, hint="the bias comes first"),
        WrongAnswer("weight alone", wrong.weight_alone, hint="Return both"),
    ),
    ranked=False,
)
