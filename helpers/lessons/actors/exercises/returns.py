"""Exercise 15.1, n-step returns: what each step was worth.

`n_step_returns(rewards, discounts, bootstrap)`. The claim: R_t = r_t + γ_t·R_{t+1}, with the
bootstrap behind the last step, for each game of its own, of the rewards' type; nothing given is
written into. Source: Mnih et al. (2016), algorithm S3.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from helpers.checks.compare import close, count, describe, is_array, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.algorithms.returns import n_step_returns as reference

Array = np.ndarray


def cases(seed: int) -> list[Case]:
    """Seed 0: 5 steps of 3 games, 1 of 2, 4 of 1, 3 of 5, and 6 of a single one without an axis.

    In the first, third and last some episodes end on the way, at the last step too.
    """
    random, made = rng(seed, "15.1"), []
    shapes: list[tuple[int, ...]] = [(5, 3), (1, 2), (4, 1), (3, 5), (6,)]  # steps, games
    if seed:
        steps, games = (int(n) for n in random.integers(6, 10, 2))
        shapes = [(steps, 3), (1, 1), (steps, games), (4, 2), (steps,)]
    digits = 3 if seed else 1  # a hidden number is none that is shown
    for at, shape in enumerate(shapes):
        rewards = random.uniform(0.2, 2.0, shape) * random.choice([-1, 1], shape)
        rewards = np.round(rewards, digits)
        discounts = np.round(random.uniform(0.5, 0.95, shape), digits + 1)
        if at % 2 == 0:
            flat = discounts.reshape(shape[0], -1)
            flat[shape[0] // 2, 0] = 0.0
            flat[-1, -1] *= flat.shape[1] == 1
        bootstrap = np.asarray(np.round(random.uniform(1.0, 3.0, shape[1:]), digits))
        of = "one game, without an axis for games" if len(shape) < 2 else count(shape[1], "game")
        name = f"Over {count(shape[0], 'step')} of {of}"
        name += "" if at % 2 else ", some ending on the way"
        args = ((rewards, discounts, bootstrap),)
        facts = {"want": call_with_tensors(reference, Case(name, args)).values[0]}
        made.append(Case(name, args, facts=facts))
    return made


def first_off(got: Array, want: Array, tolerance: float) -> tuple[tuple[int, ...], str]:
    """The first wrong number, coming from the end: its place, and in words what it is."""
    places = np.argwhere(~(np.abs(got - want) <= tolerance * np.abs(want).max()))
    place = tuple(places[places[:, 0] == places[-1, 0]][0].tolist())
    which = "".join(f" of game {game}" for game in place[1:])
    one, other = told_apart(float(got[place]) + 0.0, float(want[place]) + 0.0)  # no −0
    return place, f"of step {place[0]}{which} is {one} and should be {other}"


def fault(case: Case, seen: Observation) -> str:
    """What is wrong first, coming from the end, in words; "" where nothing is."""
    got, want = returned(seen.values[0]), case.facts["want"]
    if not is_array(got, want.shape):
        return f"you returned {describe(got)}; wanted is a tensor of shape {want.shape}"
    if close(got, want):
        types = f"are {got.dtype} where the rewards are {want.dtype}"
        how = "`torch.empty_like(rewards)` takes their type"
        return "" if got.dtype == want.dtype else f"the numbers are right, but {types}: {how}"
    place, words = first_off(got, want, 1e-5)
    brought, factor = (f"{given[place]:g}" for given in case.args[0][:2])
    told = f"it brought {brought} and its discount is {factor}"
    return f"the return {words} ({told})".replace("-", "−")


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The returns, and nothing written into."""
    if said := fault(case, seen):
        yield f"{said}."
    yield wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    place = changed(seen.values[0])
    if place is None:
        return None
    name = ("rewards", "discounts", "bootstrap")[place]
    return (
        f"you wrote into `{name}`, which belongs to the caller: put the returns into a tensor of "
        "your own, such as `torch.empty_like(rewards)`. `+=`, `*=` and functions whose names end "
        "in `_` change their tensor."
    )


def listed(case: Case, seen: Observation) -> str | None:
    """A list of tensors, a row each, in the place of one tensor."""
    got, rows = returned(seen.values[0]), len(case.args[0][0])
    if not isinstance(got, list | tuple) or not all(map(is_array, got)) or len(got) != rows:
        return None
    return (
        f"you returned a list of {count(rows, 'tensor')}. Make one tensor of them, with the steps "
        "in front: `torch.stack(found)`."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    want = cases[0].facts["want"][:, 0]
    ended = len(want) // 2
    return (
        f"Passed on {len(cases)} sets of games. In the first, game 0 ends with step {ended}: the "
        f"returns up to there are {describe(np.round(want[: ended + 1], 3))}, whatever came after."
    )


WRONG = """
across an end
    | checked(rewards, discounts, bootstrap)
        => discounts = discounts.masked_fill(discounts == 0, float(discounts.max()))
    {fault}. Where an episode ended, its discount is 0, so that nothing of the next episode counts:
    multiply by `discounts[t]` there, too.
one discount for all
    | checked(rewards, discounts, bootstrap) => discounts = discounts[:1].expand_as(discounts)
    {fault}. The first step's discount was taken for all. Each step has its own, and it is 0 where
    an episode ended.
no bootstrap
    | empty_like(rewards), bootstrap => empty_like(rewards), torch.zeros_like(bootstrap)
    {fault}. Behind the last step you began with 0, as if every game ended there. Begin with
    `bootstrap`: it stands for all that was not played.
bootstrap not discounted
    | discounts[step] * after => (discounts[step] if step < len(rewards) - 1 else 1) * after
    {fault}. The bootstrap was added whole. It is what comes one step later, so the last step's
    discount goes with it, like any other's.
from the first step on
    | reversed(range(len(rewards))) => range(len(rewards))
    {fault}. You went from the first step to the last. What a step is worth hangs on what comes
    after it: begin at the last one, `for t in reversed(range(len(rewards)))`.
the next step's discount
    | checked(rewards, discounts, bootstrap)
        => discounts = torch.cat([discounts[1:], discounts[-1:]])
    {fault}. The discount of the step after it was taken. γ_t belongs to step t: it says what
    becomes of all that follows it, and is 0 where step t itself ended the episode.
the next step's discount, none for the bootstrap
    | checked(rewards, discounts, bootstrap)
        => discounts = torch.cat([discounts[1:], torch.ones_like(discounts[-1:])])
    ! the next step's discount
the next step's discount, and no bootstrap
    | checked(rewards, discounts, bootstrap)
        => discounts = torch.cat([discounts[1:], torch.zeros_like(discounts[-1:])])
    ! the next step's discount
the bootstrap in the last row
    | discounts[step] * after => discounts[step] * after if step < len(rewards) - 1 else bootstrap
    {fault}. The bootstrap stands in the last row. It is what comes after the last step, which has a
    reward and a discount of its own: begin with `after = bootstrap`, and go through all rows.
in reverse order
    | return returns => return returns.flip(0)
    {fault}. The numbers are right and stand in reverse: the first row is the last step's. Turn the
    list round before you stack it, or write each one into its own place.
one step each
    | discounts[step] * after => discounts[step] * bootstrap
    {fault}. Every step was followed by the bootstrap at once. That comes after the last step alone;
    before, what comes next is the next step's return.
the first return alone
    | return returns => return after
    {fault}. That is the return of the first step alone. Each step needs its own: keep every one as
    you come to it.
the reward discounted too
    | rewards[step] + discounts[step] * after => discounts[step] * (rewards[step] + after)
    {fault}. The reward was multiplied by the discount, too. It comes with the step and counts
    whole; only what follows is discounted.
no reward at an end
    | rewards[step] + discounts[step] * after
        => (rewards[step] + discounts[step] * after) * (discounts[step] > 0)
    {fault}. Where an episode ends you leave out the reward as well, which in many games is the only
    one. A discount of 0 takes away what follows; the reward stays.
not discounted
    | discounts[step] * after => (discounts[step] > 0) * after
    {fault}. What follows was added whole: multiply it by the discount.
one tensor for all steps
    | return returns => return after.expand_as(returns)
    {fault}. All steps have one and the same return, the first one's: the list holds one tensor many
    times, and `*=`, `+=` or `mul_` went on changing it. Make a new one for each step.
one row more
    | return returns => return torch.cat([returns, bootstrap[None]])
    {fault}. There is a row too many, the bootstrap's: it is what comes after the last step, and no
    step's return. Leave it out.
one row late
    | return returns => return torch.cat([returns[1:], bootstrap[None]])
    {fault}. Each row holds the return of the step after it, and the last one the bootstrap. Of all
    returns and the bootstrap leave out the bootstrap, `[:-1]`, and not the first return.
the largest discount
    | checked(rewards, discounts, bootstrap)
        => discounts = discounts.max().expand_as(discounts)
    {fault}. One discount was taken for all, the largest. Each step has its own, `discounts[t]`, and
    it is 0 where an episode ended.
one number for a discount
    | checked(rewards, discounts, bootstrap)
        => discounts = discounts.flatten()[0].expand_as(discounts)
    {fault}. One discount was taken for all, that of the first step of game 0. Each step of each
    game has its own, `discounts[t]`, and it is 0 where an episode ended.
a list
    | return returns => return list(returns)
    ? `torch.stack(found)`
into the rewards
    | torch.empty_like(rewards) => rewards
    ? wrote into `rewards`
into the bootstrap
    | after = rewards[step] + discounts[step] * after
        => after.mul_(discounts[step]).add_(rewards[step])
    ? wrote into `bootstrap`
"""

EXERCISE = Exercise(
    number="15.1",
    title="What a step was worth",
    size=Size(stars=1, minutes=8, points=2),
    function="n_step_returns",
    asks=(
        "R_t = r_t + γ_t · R_{t+1} for every step of every game, with the bootstrap as what comes "
        "after the last step; rewards, discounts and bootstrap stay as they are."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("writes into what it is given", wrote),
        Mistake("a list of tensors", listed),
    ),
    praise=praise,
    reference=reference,
    numbers=lambda case, seen: {"fault": fault(case, seen)},
    compared=lambda case, seen: returned(seen.values[0]),
    wrong=wrong_answers("15.1", WRONG, reference),
    ranked=False,
)
