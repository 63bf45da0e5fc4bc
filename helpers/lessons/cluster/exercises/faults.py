"""What is wrong with how a file was written (17.3), of what a crash left and a call did."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from helpers.checks.compare import count, listing
from helpers.checks.spec import Case
from helpers.lessons.cluster.exercises.crashes import ticks, writing

Files = dict[str, str]
Seen = dict[str, Any]
_RETURNED = "once your function has returned"


class Fault(NamedTuple):
    """One thing that is wrong. words: what was seen. key: what of it is alike in all cases."""

    words: str
    key: str


def faults(case: Case, seen: Seen) -> list[Fault]:
    """What is wrong, of the most telling kind alone; none where all is right.

    seen: what the driver gives.
    """
    for look in (_crashes, _others, _left, _again, _shared, _reads, _writes):
        found = list(look(case, seen))
        if found:
            return found
    return []


# --- what a crash leaves --------------------------------------------------------------------------


def after_crashes(seen: Seen) -> list[tuple[int, str, Files]]:
    """The tick, the outcome and the files after each crash."""
    return [(at, outcome, dict(found)) for at, outcome, found in seen["found"]]


def state(found: Files, name: str, old: str | None, new: str) -> str:
    """What became of a file: "old", "new", "missing", "empty", "cut", "zeros" or "other"."""
    if name not in found:
        return "old" if old is None else "missing"
    text = found[name]
    if text in (new, old):
        return "new" if text == new else "old"
    if new.startswith(text):
        return "cut" if text else "empty"
    return "other" if text.strip("\0") else "zeros"


def moment(seen: Seen, at: int) -> str:
    """When a crash came, in words: "right after `rename`"."""
    if at >= seen["found"][-1][0]:
        return _RETURNED
    passed = 0
    for operation in writing(seen["done"]):
        if passed < at < passed + ticks(operation):
            return "in the middle of `write`"
        passed += ticks(operation)
        if at == passed:
            return f"right after `{operation[0]}`"
    return "before your function did anything"


def _crashes(case: Case, seen: Seen) -> Iterator[Fault]:
    files, name, data = case.args[0][:3]
    old, last = files.get(name), seen["found"][-1][0]
    bad = []
    for at, outcome, found in after_crashes(seen):
        its = state(found, name, old, data)
        if its != "new" and (at == last or its != "old"):
            bad.append((moment(seen, at), outcome, its, found.get(name)))
    # Of the first moment, and of a kill where one is enough; of many bytes, those in the middle.
    bad = [each for each in bad if each[0] == bad[0][0]]
    bad = [each for each in bad if each[1] == "killed"] or bad
    first = [each for each in bad if each[1] == bad[0][1]]
    for when, outcome, its, text in (*first[len(first) // 2 :][:1], *bad):
        crash = "a kill" if outcome == "killed" else "a power cut"
        after = when if (when, outcome) == (_RETURNED, "killed") else f"after {crash} {when}"
        late = " in the end" if when == _RETURNED else ""
        yield Fault(f"{after}, {_became(name, its, old, data, text)}", f"{outcome} {its}{late}")


def _became(name: str, its: str, old: str | None, new: str, text: str | None) -> str:
    if its == "missing" or (its == "old" and old is None):
        return f"there is no `{name}`"
    return f"`{name}` " + {
        "old": "is the old one",
        "zeros": f"has {count(len(text or ''), 'byte')}, all of them zeros",
        "other": "is neither the old file nor the new one",
    }.get(its, f"has {len(text or '')} of {count(len(new), 'byte')}")


# --- what the folder holds afterwards -------------------------------------------------------------


def _others(case: Case, seen: Seen) -> Iterator[Fault]:
    files, name = case.args[0][:2]
    for at, outcome, found in after_crashes(seen):
        for each, text in files.items():
            if each != name and outcome == "killed" and found.get(each) != text:
                did = "has other bytes" if each in found else "is gone"
                words = f"{moment(seen, at)}, `{each}` {did}, which is another rank's file"
                yield Fault(words, "others")


def ended(seen: Seen) -> Files:
    """The files when the function has returned."""
    return [found for _, outcome, found in after_crashes(seen) if outcome == "killed"][-1]


def _extra(found: Files, case: Case) -> str:
    files, name = case.args[0][:2]
    return listing(f"`{each}`" for each in found if each != name and each not in files)


def _left(case: Case, seen: Seen) -> Iterator[Fault]:
    extra = _extra(ended(seen), case)
    if extra:
        yield Fault(f"your function leaves {extra} in the folder", "left")


def _again(case: Case, seen: Seen) -> Iterator[Fault]:
    _, name, _, later, _ = case.args[0]
    last = seen["found"][-1][0]
    before = {at: its for at, outcome, its in after_crashes(seen) if outcome == "killed"}
    for at, told in seen["again"]:
        when = "the next call" if at == last else f"after a kill {moment(seen, at)}, the next call"
        if type(told) is str:
            yield Fault(f"{when} raises {told.rstrip('.')}", "again raised")
            continue
        found = dict(told)
        if found.get(name) != later:
            as_it_was = found.get(name) == before[at].get(name)
            how = "as it was" if as_it_was else "with other bytes than it was given"
            yield Fault(f"{when} leaves `{name}` {how}", f"again {how}")
        elif _extra(found, case):
            yield Fault(f"{when} leaves {_extra(found, case)} in the folder", "again left")


# --- what was done --------------------------------------------------------------------------------


def used(done: list[list[str]]) -> set[str]:
    """The names of the files that some operations change."""
    return {
        name for what, *texts in writing(done) for name in (texts[:1] if what == "write" else texts)
    }


def _shared(case: Case, seen: Seen) -> Iterator[Fault]:
    name, other = case.args[0][1], case.args[0][4]
    both = sorted(used(seen["done"]) & used(seen["beside"]))
    if both:
        words = f"`{both[0]}` is used for `{name}` and for `{other}`, which another rank may write"
        yield Fault(f"{words} at the same time", "shared")


def _reads(case: Case, seen: Seen) -> Iterator[Fault]:
    names = [operation[1] for operation in seen["done"] if operation[0] == "read"]
    if names:
        yield Fault(f"you read `{names[0]}`, and nothing has to be read to write a file", "read")


def _writes(case: Case, seen: Seen) -> Iterator[Fault]:
    data = case.args[0][2]
    wrote = sum(len(operation[2]) for operation in seen["done"] if operation[0] == "write")
    if wrote > len(data):
        yield Fault(f"you write {wrote} bytes for a file of {len(data)}", "written")
