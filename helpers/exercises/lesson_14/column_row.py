"""Exercise 14.1, an MLP whose first matrix is cut by columns and whose second by rows.

`parallel_mlp(comm, x, up, up_bias, down, down_bias) -> Tensor`: the whole matrices in torch's
layout, (outputs, inputs); rank r works with hidden units ⌊r·H/N⌋ to ⌊(r+1)·H/N⌋. The claim: equal
to the dense MLP on every rank to 1e-10; a rank's matrix products are at most its share of the
dense ones; over all ranks no more bytes than one all-reduce of the result, and all of them waited
for; what was handed in stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_tensor_parallel import counting
from helpers.exercises.lesson_14 import column_row_mistakes as look
from helpers.exercises.lesson_14 import column_row_wrong as wrong
from helpers.exercises.lesson_14.cut_mlp import want_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 13 hidden units on 3 ranks first; then 1, 2, 5, and 5 ranks with 3 units."""
    random, made = rng(seed, "14.1"), []
    shapes = [(3, 4, 13, 3), (1, 2, 6, 2), (2, 3, 9, 4), (5, 3, 17, 3), (5, 2, 3, 1)]
    if seed:
        shapes = [
            (n, int(random.integers(1, 5)), int(random.integers(3 * n, 6 * n)) * n + n // 2 + 1, 4)
            for n in (3, 1, 2, 5)
        ] + [(4, 2, int(random.integers(1, 4)), 1)]
    for n, rows, hidden, width in shapes:
        dense = (
            random.standard_normal((rows, width)),
            random.standard_normal((hidden, width)),
            random.standard_normal(hidden),
            random.standard_normal((width, hidden)),
            random.standard_normal(width),
        )
        name = f"On {count(n, 'rank')} with {count(hidden, 'hidden unit')}"
        made.append(Case(name, (dense,) * n, n, facts={"hidden": hidden}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Right on every rank, with each rank's share of the work and one all-reduce."""
    want = want_of(case)
    for rank, value in enumerate(seen.values):
        if not close(value["out"], want, look.TOLERANCE):
            return look.other_values(case, rank, value["out"])
    if case.ranks > 1 and not seen.events:  # which the grader keeps itself
        return f"{case.name}, nothing went from rank to rank, so no rank can have the sum."
    found = look.another_share(case, seen) or look.sends_more(case, seen)
    return found or look.wrote(case, seen) or not_waited(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    products = max(v["products"] for v in seen[0].values)
    x, up, *_ = cases[0].args[0]
    return (
        f"Passed on {worlds(cases)}: the dense MLP's result on every rank, with one all-reduce; "
        f"on {cases[0].ranks} ranks a rank makes {products} of the {2 * x.size * len(up)} "
        "multiplications at most."
    )


EXERCISE = Exercise(
    number="14.1",
    title="A column and a row",
    stars=2,
    minutes=15,
    points=3,
    function="parallel_mlp",
    asks=(
        "rank r multiplies by its own rows of `up` and columns of `down` only, hidden units "
        "⌊r·H/N⌋ to ⌊(r+1)·H/N⌋; one all-reduce sums the terms, `down_bias` is added once, and "
        "every rank returns the whole result."
    ),
    cases=cases,
    drive=counting,
    claim=claim,
    mistakes=(
        Mistake("a rank stays away from the sum", look.stays_away, unfinished=True),
        Mistake("cuts along the wrong side", look.wrong_axis, unfinished=True),
        Mistake("another shape", look.another_shape),
        Mistake("another activation", look.another_activation),
        Mistake("the remainder on the last rank", look.all_on_the_last),
        Mistake("every rank computes everything", look.too_much_work),
        Mistake("changes what it is given", look.wrote),
        Mistake("puts the hidden units together", look.gathered),
        Mistake("messages not waited for", not_waited),
        Mistake("sends more than one all-reduce", look.sends_more),
        Mistake("never sums", look.not_a_sum),
        Mistake("the bias N times", look.bias_many_times),
        Mistake("no first bias", look.up_bias_lost),
        Mistake("no second bias", look.bias_lost),
        Mistake("averages", look.averaged),
        Mistake("loses the remainder", look.remainder),
        Mistake("GELU of a part of a sum", look.part_of_a_sum),
        Mistake("one rank alone has the result", look.for_one_rank),
        Mistake("another cut", look.another_share),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("bias on every rank", wrong.bias_on_every_rank, hint="once from every rank"),
        WrongAnswer("no bias", wrong.no_bias, hint="`down_bias` is missing"),
        WrongAnswer("own term", wrong.own_term, hint="returned its own term"),
        WrongAnswer("averages", wrong.averages, hint="were averaged"),
        WrongAnswer("cuts with H // N", wrong.loses_the_remainder, hint="loses the remainder"),
        WrongAnswer(
            "the rest on the last", wrong.rest_on_the_last, hint="took the whole remainder"
        ),
        WrongAnswer("the rest on the first", wrong.rest_on_the_first, hint="units from 0 up to"),
        WrongAnswer("another activation", wrong.relu, hint="there is ReLU"),
        WrongAnswer("two sums", wrong.two_sums, hint="hidden units stay where they are"),
        WrongAnswer("everything", wrong.everything, hint="computed everything"),
        WrongAnswer("wrong side", wrong.wrong_side, hint="(outputs, inputs)"),
        WrongAnswer("rows first", wrong.rows_first, hint="a part of a sum"),
        WrongAnswer("gathers", wrong.gathers, hint="were put together"),
        WrongAnswer("for rank 0", wrong.for_rank_0, hint="the others have not"),
        WrongAnswer("stays away", wrong.stays_away, hint="did not come to the sum"),
        WrongAnswer("no first bias", wrong.no_up_bias, hint="`up_bias` is missing"),
        WrongAnswer("cuts the inputs", wrong.cuts_the_inputs, hint="was cut by its inputs:"),
        WrongAnswer("clears the bias", wrong.clears_the_bias, hint="wrote into `down_bias`"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
    unseen={"products": "how many multiplications a rank makes"},
)
