"""Wrong answers to exercise 08.3: the reference with one thing wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Work = Callable[..., None]


def _while(goes_on: Callable[[Any, Any, int], bool]) -> Work:
    """What a thread does. goes_on: of session, step and last."""

    def work(session: Any, update: Any, step: Any, last: int, ops: int) -> None:
        while goes_on(session, step, last):
            session.run(update)

    return work


def _times(times: Callable[[Any, Any, int, int], Any]) -> Work:
    """Runs its op for each of `times`: of session, step, last and how many ops there are."""

    def work(session: Any, update: Any, step: Any, last: int, ops: int) -> None:
        for _ in times(session, step, last, ops):
            session.run(update)

    return work


_until_last = _while(lambda session, step, last: session.run(step) < last)


def _threads(
    work: Work = _until_last, args: Callable[..., Any] = lambda *given: given, joins: bool = True
) -> Callable[..., None]:
    """The reference with other work, other arguments for the threads, or without an end."""

    def run_threads(session: Any, updates: Any, step: Any, last: int) -> None:
        threads = [
            threading.Thread(target=work, args=args(session, update, step, last, len(updates)))
            for update in updates
        ]
        for thread in threads:
            thread.start()
        for thread in threads if joins else []:
            thread.join()

    return run_threads


right = _threads()
never_joins = _threads(joins=False)
no_tuple = _threads(args=lambda session, update, *others: update)
one_more = _threads(_while(lambda session, step, last: session.run(step) <= last))
the_variable = _threads(_while(lambda session, step, last: step < last))
once = _threads(_times(lambda session, step, last, ops: [0]))
last_each = _threads(_times(lambda session, step, last, ops: range(last)))
a_share_each = _threads(_times(lambda session, step, last, ops: range(-(-last // ops))))
looks_once = _threads(_times(lambda session, step, last, ops: range(session.run(step), last, ops)))


def no_thread(session: Any, updates: Any, step: Any, last: int) -> None:
    """A loop."""
    while session.run(step) < last:
        for update in updates:
            session.run(update)


def joins_at_once(session: Any, updates: Any, step: Any, last: int) -> None:
    """Starts a thread and waits for it, then the next."""
    for update in updates:
        right(session, [update], step, last)


def late_binding(session: Any, updates: Any, step: Any, last: int) -> None:
    """What a lambda does that looks the loop's variable up when the loop is over."""
    right(session, [updates[-1] for _ in updates], step, last)


def never_starts(session: Any, updates: Any, step: Any, last: int) -> None:
    """Makes threads only."""


def calls_at_once(session: Any, updates: Any, step: Any, last: int) -> None:
    """Calls the work where it should hand it over."""
    for update in updates:
        while session.run(step) < last:
            session.run(update)


def calls_for_a_pool(session: Any, updates: Any, step: Any, last: int) -> None:
    """Hands a pool what the work gives, in place of the work."""
    with ThreadPoolExecutor(len(updates)) as pool:
        for update in updates:
            pool.submit(_until_last(session, update, step, last, len(updates)))  # type: ignore


def rounds(session: Any, updates: Any, step: Any, last: int) -> None:
    """New threads for each round, and a wait for all of them after it."""
    while session.run(step) < last:
        once(session, updates, step, last)


def in_turns(session: Any, updates: Any, step: Any, last: int) -> None:
    """A word goes round, and only who has it looks at the step and runs its op."""
    words = [threading.Semaphore(update == updates[0]) for update in updates]

    def work(session: Any, update: Any, step: Any, last: int, ops: int) -> None:
        mine, below = updates.index(update), True
        while below:
            words[mine].acquire()
            below = session.run(step) < last
            if below:
                session.run(update)
            words[(mine + 1) % ops].release()

    _threads(work)(session, updates, step, last)


def a_barrier(session: Any, updates: Any, step: Any, last: int) -> None:
    """Lets no thread go on before each has had its run."""
    gate = threading.Barrier(len(updates))

    def work(session: Any, update: Any, step: Any, last: int, ops: int) -> None:
        while session.run(step) < last:
            session.run(update)
            gate.wait()

    _threads(work)(session, updates, step, last)
