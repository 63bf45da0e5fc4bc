"""What code in a sandbox may take, and what is done about one that takes more or leaves a thing."""

from __future__ import annotations

import time
from collections.abc import Iterator

import in_sandbox
import pytest
from in_sandbox import SECONDS, Person, gone, says

from helpers.grade.sandbox import Limits, Sandbox
from helpers.grade.sandbox.limits import inside
from helpers.grade.worker.frames import Closed

pytestmark = [pytest.mark.real, pytest.mark.slow]

SMALL = Limits(memory=1024 * 2**20, tmp=8 * 2**20, names=3000, shm=32 * 2**20)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One sandbox for the tests of this file."""
    in_sandbox.needs_sandbox()
    made = Sandbox(in_sandbox.NUMBER + 2, "02", limits=SMALL)
    yield made
    made.stop()


def test_the_resource_limits_hold_and_cannot_be_raised(sandbox: Sandbox) -> None:
    body = """
        import resource
        names = ("NPROC", "DATA", "FSIZE", "NOFILE", "CORE", "CPU")
        told = []
        for name in names:
            number = getattr(resource, "RLIMIT_" + name)
            soft, hard = resource.getrlimit(number)
            told.append([soft, hard])
            try:
                resource.setrlimit(number, (hard + 1, hard + 1))
                told[-1].append("raised")
            except ValueError:
                pass
        return told
    """
    limits = (64, 2**30, 64 * 2**20, 256, 0, 120)
    assert says(sandbox, body) == [[n, n] for n in limits]
    assert sandbox.why == ""


def test_processes_together_get_no_more_memory_than_that(sandbox: Sandbox) -> None:
    child = sandbox.fork()
    body = """
        import os, time
        for _ in range(3):
            if os.fork() == 0:
                held = bytearray(b"x") * (600 * 2**20)
                time.sleep(600)
        time.sleep(600)
    """
    person = Person(child)
    person.starts(body)
    with pytest.raises(Closed):
        person.said()
    sandbox.end(child)
    assert sandbox.why == "too much memory"
    assert says(sandbox, "return 1") == 1
    assert sandbox.why == ""


@pytest.mark.thorough
def test_scratch_folders_are_as_big_as_that(sandbox: Sandbox) -> None:
    body = """
        import os
        told = []
        for folder in ("/tmp", "/dev/shm"):
            path = os.path.join(folder, "big")
            try:
                with open(path, "wb", buffering=0) as file:
                    for _ in range(100):
                        file.write(bytes(2**20))
            except OSError as error:
                told.append(error.strerror)
            told.append(os.path.getsize(path) >> 20)
            os.unlink(path)
        return told
    """
    full = "No space left on device"
    assert says(sandbox, body) == [full, 8, full, 32]
    assert sandbox.why == ""


@pytest.mark.thorough
def test_too_many_files_end_the_sandbox(sandbox: Sandbox) -> None:
    child = sandbox.fork()
    person = Person(child)
    person.starts("""
        import os, time
        for number in range(5000):
            os.mkdir(f"/tmp/{number}")
        time.sleep(600)
    """)
    with pytest.raises(Closed):
        person.said()
    sandbox.end(child)
    assert sandbox.why == "too many files"


@pytest.mark.thorough
def test_a_fork_bomb_stays_small_and_ends(sandbox: Sandbox) -> None:
    child = sandbox.fork()
    person = Person(child)
    person.starts("""
        import os, signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            try:
                os.fork()
            except OSError:
                pass
    """)
    limit = time.monotonic() + SECONDS
    while len(inside(sandbox)) < 40 and time.monotonic() < limit:
        time.sleep(0.01)
    pids = inside(sandbox)
    assert 40 <= len(pids) <= SMALL.processes + 1
    sandbox.end(child)
    assert sandbox.why == "a process is left"
    assert gone(pids)
    assert says(sandbox, "return 1") == 1


LEAVES = [
    (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        time.sleep(600)\n    os._exit(0)",
        "a process is left",
    ),
    ("import os; os.mkdir('/dev/shm/left')", "a file is left"),
    ("import os; os.chmod('/tmp', 0o500)", "a folder is changed"),
]


@pytest.mark.parametrize(
    ("body", "why"),
    [LEAVES[0], *(pytest.param(*one, marks=pytest.mark.thorough) for one in LEAVES[1:])],
)
def test_what_leaves_something_behind_costs_its_sandbox(
    sandbox: Sandbox, body: str, why: str
) -> None:
    says(sandbox, "return 1")
    before = sandbox.pid
    says(sandbox, body)
    assert sandbox.why == why
    assert says(sandbox, "import os; return os.listdir('/tmp') + os.listdir('/dev/shm')") == []
    assert sandbox.pid != before


def test_a_well_behaved_child_costs_nothing(sandbox: Sandbox) -> None:
    body = """
        import os, tempfile
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"1")
        if (pid := os.fork()) == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        os.nice(5)
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    """
    says(sandbox, "return 1")
    before = sandbox.pid
    for _ in range(3):
        says(sandbox, body)
    assert sandbox.pid == before


def test_two_children_at_a_time(sandbox: Sandbox) -> None:
    one, two = sandbox.fork(), sandbox.fork()
    assert Person(one).says("open('/tmp/ours', 'w').close()") is None
    sandbox.end(one)
    assert sandbox.why == ""
    body = "import os; os.unlink('/tmp/ours'); return os.listdir('/tmp')"
    assert Person(two).says(body) == []
    sandbox.end(two)
    assert sandbox.why == ""
