"""Exercise 14.8, tokens that go to experts on other ranks and come back to their places.

`to_experts(comm, x, choice, capacity, expert) -> rows`: x (tokens, width) are this rank's tokens,
choice (tokens) the rank of each token's expert, capacity how many a rank may send to one expert,
expert this rank's own: (rows, width) to (rows, width). The claim: the result is what the chosen
experts make of the tokens, each in its place, and 0 for those over the capacity, the last in order;
the gradients of x and of the experts' weights are those of one rank; nothing but kept tokens that
chose another rank travels, and back; nothing that was handed in is written into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_sequence import on_tokens
from helpers.exercises.lesson_14 import expert_families as family
from helpers.exercises.lesson_14 import expert_wrong as wrong
from helpers.exercises.lesson_14.expert_families import right_results
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

WIDTH = 4


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 8, 7 and 9 tokens and a capacity of 2, one that nobody reaches on 2
    ranks, a rank without tokens, all for one expert, one rank alone, 5 ranks."""
    random, made = rng(seed, "14.8"), []
    settings = [
        (3, (8, 7, 9), 2, ""),
        (2, (5, 4), 9, ""),
        (3, (6, 0, 5), 2, ", one without tokens"),
        (3, (4, 5, 3), 3, ", all for one expert"),
        (1, (5,), 3, ""),
        (5, (4, 7, 5, 3, 6), 2, ""),
    ]
    for n, tokens, capacity, what in [*settings, (2, (3, 4), 0, "")] if seed else settings:
        more = int(random.integers(0, 4)) if seed else 0
        held = [t + more if t else 0 for t in tokens]
        args = []
        for rank, here in enumerate(held):
            # The own expert and the next one's are chosen by more than go, where there are tokens.
            others = np.resize((np.arange(n) + rank + 2) % n, max(here - 6, 0))
            crowded = np.repeat([rank, (rank + 1) % n], 3)[:here]
            choice = random.permutation(np.concatenate([crowded, others]))
            if "one expert" in what:
                choice[:] = n - 1
            arrays = (random.standard_normal(shape) for shape in [(here, WIDTH), (WIDTH, WIDTH)])
            x, weight = arrays
            above = random.standard_normal((here, WIDTH))
            args.append((x, choice, capacity, weight, above))
        name = f"On {count(n, 'rank')} with a capacity of {capacity}{what}"
        made.append(Case(name, tuple(args), n))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Each token's result in its place, few bytes, gradients, nothing changed."""
    return (
        family.wrong_rows(case, seen)
        or family.changed(case, seen)
        or family.bytes_sent(case, seen)
        or family.no_way_back(case, seen)
        or family.wrong_gradients(case, seen)
        or family.more_rows(case, seen)
        or not_waited(case, seen)
    )


def compared(case: Case, seen: Observation) -> Any:
    """The results; where all are right, the gradients."""
    if not right_results(case, seen):
        return [value["out"] for value in seen.values]
    return [(value["x"], value["weights"], value["forward"]) for value in seen.values]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    return {"n": case.ranks, "capacity": case.args[0][2]}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, most = max(zip(cases, seen, strict=True), key=lambda pair: pair[0].ranks)
    tokens = sum(len(args[0]) for args in case.args)
    kept = sum(int(family.kept_of(args[1], args[2], case.ranks).sum()) for args in case.args)
    return (
        f"Passed on {worlds(cases)}, gradients as well. On {case.ranks} ranks {kept} of {tokens} "
        f"tokens were kept, and {sum(v['forward'] for v in most.values)} B travelled in forward: "
        "the tokens that chose another rank, there and back."
    )


def reference(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Ranks' tokens by a mask and a running count; the expert sees each rank's rows apart."""
    import torch

    from helpers.algorithms.messages.all_to_all import all_to_all, all_to_all_direct

    chosen = choice[:, None] == torch.arange(comm.size)
    place = (chosen.cumsum(0) - 1)[torch.arange(len(x)), choice]
    rows = [
        torch.nonzero(chosen[:, rank] & (place < capacity)).flatten() for rank in range(comm.size)
    ]
    arrived = all_to_all(comm, [x.index_select(0, held) for held in rows], all_to_all_direct)
    answers = all_to_all(comm, [expert(part) for part in arrived], all_to_all_direct)
    result = torch.zeros_like(x)
    for held, answer in zip(rows, answers, strict=True):
        result = result.index_add(0, held, answer)
    return result


EXERCISE = Exercise(
    number="14.8",
    title="To the experts and back",
    stars=3,
    minutes=20,
    points=4,
    function="to_experts",
    asks=(
        "what the chosen expert makes of each token, in the token's place, and 0 for tokens over "
        "the capacity; nothing but tokens that chose another rank travels."
    ),
    cases=cases,
    drive=on_tokens,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("stays away", family.stays_away, unfinished=True),
        Mistake("a part for itself", family.sends_itself, unfinished=True),
        Mistake("other rows", family.shapes),
        Mistake("changes what it is given", family.changed),
        Mistake("more than the tokens", family.bytes_sent),
        Mistake("no way back", family.no_way_back),
        Mistake("more rows", family.more_rows),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "in the order of arrival",
            wrong.as_they_come,
            "the results stand one behind the other, those of rank 0's expert first, and not in "
            "their tokens' places: keep which rows went where, and put each answer back there.",
        ),
        WrongAnswer(
            "the last are kept",
            wrong.keeps_last,
            "of the tokens for one expert the last {capacity} went: the first in order go, and "
            "those that come later are dropped.",
        ),
        WrongAnswer(
            "one too many",
            wrong.one_too_many,
            "{capacity} tokens may go to one expert, and one more went.",
        ),
        WrongAnswer(
            "one too few",
            wrong.one_too_few,
            "{capacity} tokens may go to one expert, and only {capacity} − 1 went.",
        ),
        WrongAnswer(
            "a capacity for all experts together",
            wrong.in_total,
            "a rank kept {capacity} tokens in all: the capacity holds for each expert by itself.",
        ),
        WrongAnswer(
            "the expert drops",
            wrong.receiver_drops,
            "the capacity was kept where tokens arrive: it is how many this rank may send to an "
            "expert, each rank for itself, and the others stay at home.",
        ),
        WrongAnswer(
            "no capacity",
            wrong.no_capacity,
            "no token was dropped: of those for one expert the first {capacity} go.",
        ),
        WrongAnswer(
            "the dropped stay as they are",
            wrong.dropped_stay,
            "dropped tokens came back as they were: their result is 0. A block adds its input "
            "anyway.",
        ),
        WrongAnswer(
            "the own without its expert",
            wrong.own_untouched,
            "tokens that chose the rank that they are on were given back as they were: they do not "
            "travel, but the expert works on them too.",
        ),
        WrongAnswer(
            "the own for free",
            wrong.own_for_free,
            "tokens that chose the rank that they are on were not counted: the capacity holds for "
            "the own expert as for any other.",
        ),
        WrongAnswer(
            "nobody travels",
            wrong.stays_home,
            "every token was worked on by the expert of its own rank: send it to the rank that it "
            "chose.",
        ),
        WrongAnswer(
            "no expert",
            wrong.no_expert,
            "tokens went and came back, but no expert worked on them.",
        ),
        WrongAnswer(
            "the expert twice",
            wrong.twice,
            "the expert worked on the answers once more when they were back, and it is another "
            "one: the chosen expert has done all there is to do.",
        ),
        WrongAnswer(
            "kept tokens alone", wrong.kept_alone, hint="gives as many rows as it is given"
        ),
        WrongAnswer(
            "padded to the capacity",
            wrong.padded,
            "every part was filled up to {capacity} rows, and the filling travels too: send the "
            "tokens that there are, which may be none; a message tells how many.",
        ),
        WrongAnswer(
            "everything to everybody",
            wrong.to_everybody,
            "every token went to every rank, and back: send it to the one that it chose.",
        ),
        WrongAnswer(
            "choices travel too",
            wrong.with_choices,
            "a column more travels with the tokens: who gets one knows that it chose this rank, "
            "and who sent it knows its place.",
        ),
        WrongAnswer(
            "by hand",
            wrong.by_hand,
            "the results are right, but gradients come back only from a rank's own expert: a "
            "message that you send yourself is unknown to autograd. Let `all_to_all` carry the "
            "tokens, which brings their gradients back the same way.",
        ),
        WrongAnswer("counts travel too", wrong.with_counts, hint="nothing else has to travel"),
        WrongAnswer("detached", wrong.detached, hint="outside of autograd"),
        WrongAnswer("filled up at the expert", wrong.filled_up, hint="give it no others"),
        WrongAnswer("in place", wrong.in_place, hint="was written into"),
        WrongAnswer("without tokens it returns", wrong.returns_early, hint="nothing to send"),
        WrongAnswer("to itself as well", wrong.to_itself, hint="its own part"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
