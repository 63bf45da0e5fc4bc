"""Words for answers that did not return: deadlocks, exceptions, time-outs, wrong signatures."""

import linecache

from helpers.checks.spec import Case, Exercise, Observation, Place


def explain(exercise: Exercise, case: Case, seen: Observation) -> tuple[str, str]:
    """A mistake's name and its hint, by how the answer ended; two empty texts where it returned."""
    where = place(seen.place)
    if seen.trouble == "deadlock":
        return "deadlock", (
            f"{case.name}, nobody moves any more: {waits(seen)}. "
            "Each send needs a receive on the other side, and each receive a send."
        )
    if seen.trouble == "timeout":
        did = f" It {seen.text}." if seen.text else ""
        return "no end", f"{case.name}, `{exercise.function}` did not come to an end{where}.{did}"
    if seen.trouble == "died":
        what = f"the process that ran `{exercise.function}` ended"
        return "crash", f"{case.name}, {what}: {seen.text}"
    if seen.trouble == "signature":
        return "signature", f"`{exercise.function}` {seen.text}"
    if seen.trouble == "failed":
        who = "" if seen.rank is None else f"rank {seen.rank} raised "
        text = f"{case.name}, {who}{seen.kind}{where}: {seen.text}"
        return "exception", text.rstrip() + ("" if text.rstrip()[-1:] in ".!?" else ".")
    return "", ""


def waits(seen: Observation) -> str:
    """Who waits for what, such as "rank 0 waits to receive from rank 1"."""
    said = [f"rank {rank} {words}" for rank, words in sorted(seen.waiting.items())]
    return "; ".join(said) if said else "every rank waits"


def place(where: Place | None) -> str:
    """Where it was, such as " at line 4, `while True:`"; nothing where that is not known."""
    if where is None:
        return ""
    source = linecache.getline(where.file, where.line).strip()
    return f" at line {where.line}" + (f", `{source}`" if source else "")
