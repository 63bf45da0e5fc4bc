"""What exercise 03.5 says of an answer that fails on its way, or waits for ever."""

from __future__ import annotations

from helpers.exercises.spec import Case, Observation


def too_early(case: Case, seen: Observation) -> str | None:
    """A gradient that is not there yet."""
    if seen.trouble != "failed" or "NoneType" not in seen.text or "callable" in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} used a gradient that is not there yet (None): a bucket is "
        "full when the hook of each of its parameters has been called, not of the first one. "
        "(`register_hook` calls before `.grad` is there, `register_post_accumulate_grad_hook` "
        "after. And a hook that reads a loop variable sees its last value: make each hook with a "
        "function.)"
    )


def not_callable(case: Case, seen: Observation) -> str | None:
    """A call where a function belongs."""
    if seen.trouble != "failed" or "not callable" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank}: {seen.text}. `comm.background(reduce, flat)` takes the "
        "function itself and not its call, and a function that makes a hook has to return it."
    )


def no_request(case: Case, seen: Observation) -> str | None:
    """Waits for what `reduce` gave."""
    if seen.trouble != "failed" or "no attribute 'wait'" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} waits for something that is no request: `reduce(comm, "
        "flat)` sums at once, on the rank's own thread. `comm.background(reduce, flat)` starts it "
        "on the communication thread and gives the request."
    )


def some_do_not_come(case: Case, seen: Observation) -> str | None:
    """Sums that only some ranks start."""
    if not seen.waiting:
        return None
    waits = "; ".join(f"rank {r} {words}" for r, words in sorted(seen.waiting.items()))
    return (
        f"{case.name}, the buckets never meet: {waits}. Every rank starts every bucket, in the "
        "same order."
    )
