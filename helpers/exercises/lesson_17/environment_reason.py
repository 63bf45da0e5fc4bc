"""What is not right about the rank that was found in an environment (17.5), in words."""

from __future__ import annotations

from typing import Any

from helpers.exercises.compare import describe, is_array, listing, number
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_17.environment_wrong import NAMES
from helpers.exercises.spec import Case, Observation


def claim(case: Case, seen: Observation) -> str | None:
    """Three whole numbers or None, and the variables as they were."""
    value, want = seen.values[0], case.facts["want"]
    got = returned(value)
    if not (got is None if want is None else _whole(got) and list(map(number, got)) == [*want]):
        asked = f"this is {_place(want)}" if want else "this is no rank of a job: None"
        return f"{case.name}, you say {describe(got)}; {asked}."
    return changes_it(case, seen)


def _place(want: tuple[int, int, int]) -> str:
    rank, size, local = want
    return f"rank {rank} of {size}, number {local} on its node: {want}"


def _whole(got: Any) -> bool:
    """Whether these are three whole numbers."""
    if type(got) not in (tuple, list) or len(got) != 3:
        return False
    return all(type(each) is int or (is_array(each) and each.dtype.kind in "iu") for each in got)


def changes_it(case: Case, seen: Observation) -> str | None:
    """Variables that were set, changed or taken out."""
    if changed(seen.values[0]) is None:
        return None
    names = [each for each in seen.values[0]["names"] if type(each) is str]
    return (
        f"{case.name}, you changed {listing(names)} in `environ`, which may be the environment of "
        "this very process, and of all that it starts. Read it, with `environ.get(name)` or "
        "`name in environ`."
    )


def floats(case: Case, seen: Observation) -> str | None:
    """The right numbers in floats."""
    got, want = returned(seen.values[0]), case.facts["want"]
    if want is None or type(got) not in (tuple, list) or [number(each) for each in got] != [*want]:
        return None
    given = [number(each) for each in got]
    first = next(each for each in given if type(each) is float)
    return (
        f"{case.name}, you say ({', '.join(map(repr, given))}), and {first!r} is no whole number: "
        f"neither `range({first!r})` nor `ranks[{first!r}]` takes it. Make it with `int`."
    )


def no_local(case: Case, seen: Observation) -> str | None:
    """A local rank that nobody has told."""
    want = case.facts["want"]
    got = returned(seen.values[0]) if seen.values else None
    local = NAMES[case.facts["launcher"]].local
    if want is None or local in case.args[0][0]:
        return None
    there_is = "a local rank that is not there is 0: `environ.get(name, 0)`"
    if seen.trouble:
        asked = seen.kind == "KeyError" and seen.text.strip("'\"") == local
        if asked or (seen.kind == "TypeError" and "NoneType" in seen.text):
            return f"{case.name}, you ask for {local} ({seen.kind}); {there_is}."
        return None
    if got is None:
        return f"{case.name}, you say None, and this is {_place(want)}; {there_is}."
    if type(got) in (tuple, list) and [*got[:2]] == [*want[:2]]:
        return f"{case.name}, you say {describe(got)} instead of {want}; {there_is}."
    return None


def not_there(case: Case, seen: Observation) -> str | None:
    """A variable was asked for that another launcher sets."""
    environ = case.args[0][0]
    name = seen.text.strip("'\"")
    if seen.trouble != "failed":
        return None
    if seen.kind == "KeyError" and name in environ:
        return (
            f"{case.name}, you did not find {name} (KeyError), and it is in the argument: read "
            "`environ`, not this process's `os.environ`."
        )
    if seen.kind == "KeyError":
        what = f"there is no {name} (KeyError)"
    elif seen.kind == "TypeError" and "NoneType" in seen.text:
        what = "a variable that you make a number of is not there (TypeError: int of None)"
    else:
        return None
    if case.facts["want"] is None:
        return (
            f"{case.name}, {what}: nobody started this as a rank of a job. Return None where no "
            "launcher's variables are there."
        )
    return (
        f"{case.name}, {what}: each launcher sets its own variables. Ask first which of them are "
        "there, `if name in environ`."
    )
