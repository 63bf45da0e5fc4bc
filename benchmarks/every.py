"""`./course bench all`: what is missing is measured, then the table of what the parts must reach.

Each benchmark runs in a process of its own, one after the other, with a time limit; one that fails
is told, and the others go on. What is kept is not measured again, so that an interrupted run goes
on where it was.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import kept, page, table
from benchmarks.kept import Store
from benchmarks.report import from_json, in_words, machine
from benchmarks.run import MOST, NAMES, Benchmark, others
from helpers.course.setup.places import ROOT

GRACE = 10  # seconds that a benchmark has to end what it started


class Outcome(NamedTuple):
    """How one benchmark went. word: "measured", "left out", "failed". said: a sentence."""

    word: str
    said: str


@dataclass(frozen=True)
class Wish:
    """What to do. again: measure what is kept, too. only_table: measure nothing.

    save: with the figures in the repository, in place of the user's own. readme: write the README's
    and docs/benchmarks.md's tables and figures from those in the repository, which it then means.
    """

    again: bool = False
    only_table: bool = False
    as_json: bool = False
    save: bool = False
    readme: bool = False


def main(wish: Wish, names: Mapping[str, Benchmark] = NAMES) -> int:
    """All of it. Returns 0, 1 where a benchmark failed, 130 where it was interrupted."""
    store = kept.store(wish.save or wish.readme)
    outcomes: dict[str, Outcome] = {}
    interrupted = False
    if not wish.only_table:
        for name in names if wish.again else ():
            store.path(name).unlink(missing_ok=True)
        interrupted = not measure_missing(store, names, outcomes)
    why = {name: outcome.said for name, outcome in outcomes.items() if outcome.word != "measured"}
    found = table.evaluate(store, why)
    if wish.as_json:
        print(json.dumps(table.as_dict(found, store), indent=1, ensure_ascii=False))
    else:
        met = [one.met for one in found]
        table.show(
            f"## What the course's parts must reach\n\n{table.where(store)}\n\n"
            f"{table.of_goals(found)}\n\n{met.count(True)} of {len(met)} goals are met, "
            f"{met.count(False)} are not met, {met.count(None)} are not measured here."
        )
    if wish.readme and not interrupted:
        if store.machine != kept.SHOWN:
            say(
                f"The pages show the figures of {kept.SHOWN}; this machine is {store.machine}. "
                "Which one they show says SHOWN in benchmarks/kept.py."
            )
        for path in page.write_all():
            say(f"{path.relative_to(ROOT)} is written from the figures of {kept.SHOWN}.")
    if interrupted:
        return 130
    return 1 if any(outcome.word == "failed" for outcome in outcomes.values()) else 0


def say(text: str) -> None:
    """Print beside what a script reads."""
    print(text, file=sys.stderr, flush=True)


def measure_missing(
    store: Store, names: Mapping[str, Benchmark], outcomes: dict[str, Outcome]
) -> bool:
    """Measure what is missing, and put how it went into `outcomes`. False where interrupted."""
    missing = store.missing(names)
    if len(missing) < len(names):
        say(
            f"{len(names) - len(missing)} of {len(names)} benchmarks are kept under "
            f"{store.folder / store.machine}; --again measures them, too."
        )
    busy = others() if missing else 0
    if busy > MOST:
        say(
            f"Other programs use {busy:.0f} % of this machine's cores, so figures come out worse "
            "than they are. Interrupt this, end the programs, and start it again."
        )
    try:
        with interrupted_once():
            for number, name in enumerate(missing, 1):
                title = f"[{number}/{len(missing)}] {name}"
                say(f"{title}: {names[name].beside}")
                outcomes[name] = outcome = one(store, name, names[name])
                say(f"{title}: {outcome.word}. {outcome.said}")
    except KeyboardInterrupt:
        say("Interrupted. The same command without --again goes on with what is missing.")
        return False
    return True


def one(store: Store, name: str, which: Benchmark) -> Outcome:
    """Measure one benchmark in a process of its own, and keep what it found."""
    if name == "gpu" and not machine()["gpus"]:
        return Outcome("left out", "torch sees no GPU on this machine.")
    log = kept.own() / store.machine / "logs" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "found.json"
        start = time.monotonic()
        with log.open("wb") as output:
            # In a group of its own: an interrupt from the keyboard reaches it once, through us.
            process = subprocess.Popen(
                command(name, into),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,
            )
            try:
                code = process.wait(60 * which.minutes)
            except subprocess.TimeoutExpired:
                return Outcome(
                    "failed", f"It had not ended after {which.minutes:g} min. See {log}."
                )
            finally:
                end(process)
        seconds = in_words(time.monotonic() - start)
        if code or not into.exists():
            said = log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "")
            return Outcome("failed", f"After {seconds}: {last[:300]} See {log}.")
        text = into.read_text(encoding="utf-8")
    found = from_json(text)
    if not (found.rows or found.points or found.claims):
        return Outcome("left out", " ".join(found.notes) or "It found nothing to measure.")
    kept.write(store.path(name), text)
    met = sum(claim.met for claim in found.claims)
    return Outcome("measured", f"In {seconds}; {met} of {len(found.claims)} targets are met.")


def command(name: str, into: Path) -> list[str]:
    """What measures a benchmark and writes its report into a file."""
    return [sys.executable, "-m", "benchmarks.run", name, "--into", str(into)]


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and all that it started: by asking, then by force."""
    import psutil

    if process.poll() is not None:
        return
    family = []
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let SIGTERM and a closed terminal unwind as an interrupt does: nothing is left running.

    Whoever interrupts twice does not interrupt the ending.
    """

    def interrupt(*_: Any) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.getsignal(each) for each in signals}
    for each in signals:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
