"""Code under test for exercise 15.3: a thread for each worker, bound late and bound in time.

Each function is handed over as its text. `thread` is called as `threading.Thread` is.
"""
# ruff: noqa: B023

from __future__ import annotations

import threading
from functools import partial
from typing import Any

HEAD = """\
import threading
from functools import partial
from typing import Any

"""


# --- bound late: the loop is over when a thread looks ---------------------------------------------


def late_lambda(workers: Any, thread: Any = threading.Thread) -> None:
    threads = []
    for worker in workers:
        one = thread(target=lambda: worker())
        one.start()
        threads.append(one)
    for one in threads:
        one.join()


def late_number(workers: Any, thread: Any = threading.Thread) -> None:
    threads = [thread(target=lambda: workers[number]()) for number in range(len(workers))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def late_attribute(workers: Any, thread: Any = threading.Thread) -> None:
    class Starter:
        def work(self) -> None:
            self.worker()

        def begin(self, worker: Any) -> Any:
            self.worker = worker
            one = thread(target=self.work)
            one.start()
            return one

    starter = Starter()
    for one in [starter.begin(worker) for worker in workers]:
        one.join()


def late_function(workers: Any, thread: Any = threading.Thread) -> None:
    threads = []
    for number, worker in enumerate(workers):

        def work() -> None:
            worker()

        threads.append(thread(target=work, name=f"worker {number}"))
        threads[-1].start()
    for one in reversed(threads):
        one.join()


def late_while(workers: Any, thread: Any = threading.Thread) -> None:
    threads: list[Any] = []
    while len(threads) < len(workers):
        threads.append(thread(target=lambda: workers[len(threads) - 1]()))
        threads[-1].start()
    for one in threads:
        one.join()


def late_partial(workers: Any, thread: Any = threading.Thread) -> None:
    def run(held: dict[str, Any]) -> None:
        held["worker"]()

    held: dict[str, Any] = {}
    threads = []
    for worker in workers:
        held["worker"] = worker
        threads.append(thread(target=partial(run, held)))
        threads[-1].start()
    for one in threads:
        one.join()


def late_pairs(workers: Any, thread: Any = threading.Thread) -> None:
    for first in range(0, len(workers), 2):
        threads = []
        for worker in workers[first : first + 2]:
            threads.append(thread(target=lambda: worker(), daemon=True))
            threads[-1].start()
        for one in threads:
            one.join()


def once_more(workers: Any, thread: Any = threading.Thread) -> None:
    threads = [thread(target=worker) for worker in (*workers, *workers[:1])]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def twice_over(workers: Any, thread: Any = threading.Thread) -> None:
    def work(worker: Any) -> None:
        worker()
        worker()

    threads = [thread(target=work, args=(worker,)) for worker in workers]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


# --- sound: each target holds its own worker ------------------------------------------------------


def itself(workers: Any, thread: Any = threading.Thread) -> None:
    threads = []
    for worker in workers:
        one = thread(target=worker)
        one.start()
        threads.append(one)
    for one in threads:
        one.join()


def default_backwards(workers: Any, thread: Any = threading.Thread) -> None:
    threads = [thread(target=lambda worker=worker: worker()) for worker in workers]
    for one in threads:
        one.start()
    for one in reversed(threads):
        one.join()


def by_arguments(workers: Any, thread: Any = threading.Thread) -> None:
    def work(number: int) -> None:
        workers[number]()

    threads = []
    for number in range(len(workers)):
        one = thread(target=work, args=(number,), name=f"worker {number}")
        one.start()
        threads.append(one)
    for one in threads:
        one.join()


def by_factory(workers: Any, thread: Any = threading.Thread) -> None:
    def work_of(worker: Any) -> Any:
        return lambda: worker()

    threads = []
    for worker in reversed(workers):
        threads.append(thread(target=work_of(worker)))
        threads[-1].start()
    while threads:
        threads.pop(0).join()


def by_partial(workers: Any, thread: Any = threading.Thread) -> None:
    def work(worker: Any, times: int) -> None:
        for _ in range(times):
            worker()

    threads = [thread(target=partial(work, times=1), args=(worker,)) for worker in workers]
    for one in threads:
        one.start()
    for one in threads[::-1]:
        one.join()


def by_object(workers: Any, thread: Any = threading.Thread) -> None:
    class Starter:
        def __init__(self, worker: Any) -> None:
            self.worker = worker

        def work(self) -> None:
            self.worker()

    threads = []
    for worker in workers:
        threads.append(thread(target=Starter(worker).work, daemon=True))
        threads[-1].start()
    for one in threads:
        one.join()


def by_iterator(workers: Any, thread: Any = threading.Thread) -> None:
    """Whoever comes first takes the first: each is taken once."""
    waiting, guard = iter(workers), threading.Lock()

    def work() -> None:
        with guard:
            worker = next(waiting)
        worker()

    threads = [thread(target=work) for _ in workers]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
