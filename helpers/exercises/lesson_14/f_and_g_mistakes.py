"""The mistakes of exercise 14.2, by what f and g did forward and backward."""

from __future__ import annotations

from helpers.exercises.compare import listing
from helpers.exercises.lesson_14.residual_net import Ways, fits, recognise, run
from helpers.exercises.spec import Case, Observation

LAYERS = 2


def limit(case: Case) -> int:
    """Bytes of the all-reduces that are needed, over all ranks, with room for padding."""
    n, size = case.ranks, case.args[0][0].size
    return 2 * LAYERS * 2 * (n - 1) * n * -(-size // n) * 8


def no_pair(case: Case, seen: Observation) -> str | None:
    """No two functions."""
    if seen.trouble or all(v["pair"] == "functions" for v in seen.values):
        return None
    if any(v["pair"] == "classes" for v in seen.values):
        return (
            f"{case.name}, `make_f_g` returned classes: what is called on a tensor is their "
            "`apply`, so return `F.apply, G.apply`."
        )
    return f"{case.name}, `make_f_g` did not return two functions: return the pair `f, g`."


def no_gradient(case: Case, seen: Observation) -> str | None:
    """Matrices that got no gradient."""
    lost = [r for r, v in enumerate(seen.values) if any(part is None for part in v["parts"])]
    if not lost:
        return None
    return (
        f"{case.name}, rank {lost[0]}'s matrices have no gradient: autograd did not see what f or "
        "g did. Write each as a `torch.autograd.Function` with a forward and a backward, and call "
        "its `apply`."
    )


def swapped(case: Case, seen: Observation) -> str | None:
    """g and f."""
    if recognise(case, seen) != ("sum", "keep", "keep", "sum"):
        return None
    return (
        f"{case.name}, f and g are the wrong way round: f is x forward and sums backward, g sums "
        "forward. Return `f, g` in this order."
    )


def _is(case: Case, seen: Observation, place: int, *hows: str) -> bool:
    """Whether the four words are known, and this one of them is one of these."""
    ways: Ways | None = recognise(case, seen)
    return ways is not None and ways[place] in hows


def averages(case: Case, seen: Observation) -> str | None:
    """A mean for a sum."""
    ways = recognise(case, seen)
    if ways is None or "mean" not in (ways[1], ways[2]) or ways[0] != "keep":
        return None
    where = "g takes the mean" if ways[2] == "mean" else "f's backward takes the mean"
    return (
        f"{case.name}, {where}: each rank has a term of a sum here, not another batch, so do not "
        f"divide by {case.ranks}."
    )


def f_sums_forward(case: Case, seen: Observation) -> str | None:
    """f sums what is the same everywhere."""
    if not _is(case, seen, 0, "sum", "mean"):
        return None
    return (
        f"{case.name}, f sums in the forward pass: every rank has the same x already, and the sum "
        f"is {case.ranks} times it. Forward, f gives x as it is."
    )


def f_keeps(case: Case, seen: Observation) -> str | None:
    """f passes the gradient on as it is."""
    if not _is(case, seen, 1, "keep"):
        return None
    return (
        f"{case.name}, the output is right, but the gradient of x on each rank is only the part "
        "that came through its own columns: f's backward sums the gradient over the ranks."
    )


def g_keeps(case: Case, seen: Observation) -> str | None:
    """g passes its own term on."""
    if not _is(case, seen, 2, "keep"):
        return None
    return f"{case.name}, g does not sum: every rank goes on with its own term."


def g_sums_backward(case: Case, seen: Observation) -> str | None:
    """g sums what is whole."""
    if not _is(case, seen, 3, "sum"):
        return None
    return (
        f"{case.name}, g's backward sums as well, and gradients of the cut matrices come out "
        f"{case.ranks} times too large or more: after the sum all ranks go on alike, so the "
        "gradient is whole already. g's backward gives it as it is."
    )


def in_place(case: Case, seen: Observation) -> str | None:
    """Something that was given has changed."""
    if seen.trouble:
        return None
    if any(v["input"] for v in seen.values):
        return (
            f"{case.name}, g changed the tensor that it was given: the all-reduce works in place, "
            "so give it a copy, `.clone(memory_format=torch.contiguous_format)`."
        )
    if any(v["f"] for v in seen.values):
        return (
            f"{case.name}, f's backward changed the gradient that it was given, which autograd may "
            "hand to others too: sum a copy, `.clone(memory_format=torch.contiguous_format)`."
        )
    if any(v["g"] for v in seen.values):
        return (
            f"{case.name}, g's backward changed the gradient that it was given, which others are "
            "handed too: it gives the gradient as it is, without a sum."
        )
    return None


def nothing_through_f(case: Case, seen: Observation) -> str | None:
    """No gradient comes through f."""
    if not _is(case, seen, 1, "none"):
        return None
    return (
        f"{case.name}, no gradient comes back through f, only past it: its forward gives x itself, "
        "not `x.detach()`, and its backward returns the sum."
    )


def sends_in_vain(case: Case, seen: Observation) -> str | None:
    """Right, with more bytes than needed."""
    if seen.trouble or not fits(seen, run(case)) or sum(seen.bytes) <= limit(case):
        return None
    return (
        f"{case.name}, all numbers are right, but {sum(seen.bytes)} B were sent where "
        f"{limit(case)} B are enough: f sends nothing forward and g nothing backward, since what "
        "they pass on is the same on every rank."
    )


def some_do_not_come(case: Case, seen: Observation) -> str | None:
    """Ranks that stay away."""
    if not seen.waiting or len(seen.waiting) == case.ranks:
        return None
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    return (
        f"{case.name}, {'rank' if len(away) == 1 else 'ranks'} {listing(away)} did not come to a "
        "sum, and the others wait: f's backward and g's forward are called on every rank, and "
        "every rank sums."
    )


def sums_the_rest(case: Case, seen: Observation) -> str | None:
    """A hook on the tensor that f was given."""
    if case.ranks == 1 or not _is(case, seen, 1, "all"):
        return None
    return (
        f"{case.name}, the gradient of x is too large: all of it was summed over the ranks, also "
        "what goes past f on the residual path, y = x + g(…f(x)…), which is whole already. A hook "
        "on x itself sees both; f needs a tensor of its own, such as that of a "
        "`torch.autograd.Function`."
    )


def g_divides(case: Case, seen: Observation) -> str | None:
    """g's backward shares the gradient out."""
    if case.ranks == 1 or not _is(case, seen, 3, "part"):
        return None
    return (
        f"{case.name}, g's backward divides the gradient by {case.ranks}: each rank's term enters "
        "the sum with factor 1, so its gradient is that of the sum, as it is."
    )


def another_form(case: Case, seen: Observation) -> str | None:
    """An exception for a tensor of three dimensions, or for a slice of a wider one."""
    x, *_, gaps = case.args[0]
    if seen.trouble != "failed" or (x.ndim == 2 and not gaps):
        return None
    said = seen.text.splitlines()[0].rstrip(".") if seen.text else seen.kind
    slices = ", and slices of wider tensors too" if gaps else ""
    return (
        f"{case.name}, rank {seen.rank} raised {seen.kind} ({said}): f and g take tensors of any "
        f"shape{slices}. They need not know it: `x.clone(memory_format=torch.contiguous_format)` "
        "and a sum work for all."
    )


def turned_copy(case: Case, seen: Observation) -> str | None:
    """A plain copy of a transposed tensor."""
    *_, gaps = case.args[0]
    if seen.trouble != "failed" or not gaps or "lie in one row" not in seen.text:
        return None
    return (
        f"{case.name}, and with a transposed one, the ring refused a copy on rank {seen.rank}: a "
        "plain `clone()` of a transposed tensor is transposed as well. "
        "`clone(memory_format=torch.contiguous_format)` lies in one row."
    )
