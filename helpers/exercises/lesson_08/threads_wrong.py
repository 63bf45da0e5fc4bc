"""The reference of exercise 08.3, and answers with one thing wrong."""

from __future__ import annotations

import threading
from typing import Any


def reference(session: Any, updates: Any, step: Any, last: int) -> None:
    """The course's own."""
    from helpers.algorithms.devices.four_ways import run_threads

    run_threads(session, updates, step, last)


def no_thread(session: Any, updates: Any, step: Any, last: int) -> None:
    """A loop."""
    while session.run(step) < last:
        for update in updates:
            session.run(update)


def work(session: Any, update: Any, step: Any, last: int) -> None:
    """What a thread does."""
    while session.run(step) < last:
        session.run(update)


def joins_at_once(session: Any, updates: Any, step: Any, last: int) -> None:
    """Starts a thread and waits for it, then the next."""
    for update in updates:
        thread = threading.Thread(target=work, args=(session, update, step, last))
        thread.start()
        thread.join()


def never_joins(session: Any, updates: Any, step: Any, last: int) -> None:
    """Starts them and returns."""
    for update in updates:
        threading.Thread(target=work, args=(session, update, step, last)).start()


def late_binding(session: Any, updates: Any, step: Any, last: int) -> None:
    """A lambda that sees the loop's variable as it is later."""
    threads = []
    for update in updates:
        threads.append(threading.Thread(target=lambda: work(session, update, step, last)))  # noqa: B023
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def together(target: Any, updates: Any) -> None:
    """A thread an op, and the end of all."""
    threads = [threading.Thread(target=target, args=(update,)) for update in updates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def once(session: Any, updates: Any, step: Any, last: int) -> None:
    """No loop."""
    together(session.run, updates)


def one_more(session: Any, updates: Any, step: Any, last: int) -> None:
    """Goes on at `last`."""

    def more(update: Any) -> None:
        while session.run(step) <= last:
            session.run(update)

    together(more, updates)


def last_each(session: Any, updates: Any, step: Any, last: int) -> None:
    """Each thread makes as many updates as all should."""

    def often(update: Any) -> None:
        for _ in range(last):
            session.run(update)

    together(often, updates)


def never_starts(session: Any, updates: Any, step: Any, last: int) -> None:
    """Makes threads only."""
    for update in updates:
        threading.Thread(target=work, args=(session, update, step, last))


def calls_at_once(session: Any, updates: Any, step: Any, last: int) -> None:
    """Calls the work where it should hand it over."""
    for update in updates:
        nothing: Any = work(session, update, step, last)  # type: ignore[func-returns-value]
        threading.Thread(target=nothing).start()


def rounds(session: Any, updates: Any, step: Any, last: int) -> None:
    """New threads for each round, and a wait for all of them after it."""
    while session.run(step) < last:
        together(session.run, updates)


def a_share_each(session: Any, updates: Any, step: Any, last: int) -> None:
    """Gives each op as many runs, whoever is quick."""

    def share(update: Any) -> None:
        for _ in range(-(-last // len(updates))):
            session.run(update)

    together(share, updates)


def looks_once(session: Any, updates: Any, step: Any, last: int) -> None:
    """Reads the step at the start, and counts from there."""

    def share(update: Any) -> None:
        for _ in range(session.run(step), last, len(updates)):
            session.run(update)

    together(share, updates)


def no_tuple(session: Any, updates: Any, step: Any, last: int) -> None:
    """Forgets the comma."""

    def more(update: Any) -> None:
        work(session, update, step, last)

    threads = [threading.Thread(target=more, args=(update)) for update in updates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def the_variable(session: Any, updates: Any, step: Any, last: int) -> None:
    """Compares the variable instead of its number."""

    def more(update: Any) -> None:
        while step < last:
            session.run(update)

    together(more, updates)


def waits_for_the_others(session: Any, updates: Any, step: Any, last: int) -> None:
    """Lets no thread go on before each has had its run."""
    gate = threading.Barrier(len(updates))

    def in_step(update: Any) -> None:
        while session.run(step) < last:
            session.run(update)
            gate.wait()

    together(in_step, updates)
