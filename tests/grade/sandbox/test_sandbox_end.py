"""How sandboxes end: everything in them with them, whatever happens to the one who started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import in_sandbox
import pytest
from in_sandbox import Person, gone, says

from helpers.engine.own_time import descendants
from helpers.grade.sandbox import Sandbox, SandboxError, missing, probe
from helpers.grade.sandbox.limits import FIRST_UID, user_of

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="It looks into /proc.")

DAEMONS = """
    import os, signal, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(3):
        if (pid := os.fork()) == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.waitpid(pid, 0)
    return 1
"""
STARTER = """
import sys, time
sys.path.insert(0, "tests")
from helpers.grade.sandbox import Sandbox
from helpers.engine.own_time import descendants
from helpers.grade.sandbox.limits import FIRST_UID, user_of
from in_sandbox import Person
sandbox = Sandbox({number}, "02", {mode!r})
child = sandbox.fork()
assert Person(child).says({body!r}) == 1
print(*descendants(sandbox.pid), flush=True)
time.sleep(600)
"""


def started(number: int, mode: str, body: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that has a sandbox with something in it, and the sandbox's processes."""
    script = STARTER.format(number=number, mode=mode, body=body)
    root = str(Path(__file__).resolve().parents[3])
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def end(process: subprocess.Popen[str], *signals: int) -> None:
    """Signal it, and wait for its end."""
    for number in signals:
        process.send_signal(number)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.real
@pytest.mark.slow
def test_nothing_is_left_after_its_starter_was_killed() -> None:
    in_sandbox.needs_sandbox()
    process, pids = started(in_sandbox.NUMBER + 5, "bubblewrap", DAEMONS)
    end(process, signal.SIGKILL)
    assert len(pids) == 6
    assert gone(pids)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.thorough
@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_without_a_sandbox_what_is_tame_ends_too(number: int) -> None:
    body = "import os; return 1"
    process, pids = started(in_sandbox.NUMBER + 6, "none", body)
    assert len(pids) == 2
    end(process, number)
    assert gone(pids)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.thorough
@linux_only
def test_without_a_sandbox_daemons_end_with_stop() -> None:
    bare = Sandbox(in_sandbox.NUMBER + 6, "02", "none")
    child = bare.fork()
    assert Person(child).says(DAEMONS) == 1
    assert bare.pid is not None
    pids = descendants(bare.pid)
    bare.end(child)
    assert bare.why == "a process is left"
    assert len(pids) == 5
    assert gone(pids)


@pytest.mark.real
@pytest.mark.slow
def test_one_that_was_ended_from_outside_starts_again() -> None:
    in_sandbox.needs_sandbox()
    sandbox = Sandbox(in_sandbox.NUMBER + 4, "02")
    try:
        child = sandbox.fork()
        assert sandbox.pid is not None
        os.kill(sandbox.pid, signal.SIGKILL)
        os.waitid(os.P_PID, sandbox.pid, os.WEXITED | os.WNOWAIT)  # a signal takes a moment
        sandbox.end(child)
        assert sandbox.why == "it is gone"
        assert says(sandbox, "return 1") == 1
        assert sandbox.why == ""
        os.kill(sandbox.pid, signal.SIGKILL)
        os.waitid(os.P_PID, sandbox.pid, os.WEXITED | os.WNOWAIT)
        assert says(sandbox, "return 1") == 1
    finally:
        sandbox.stop()


@pytest.mark.real
@pytest.mark.slow
def test_a_sandbox_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    in_sandbox.needs_sandbox()
    monkeypatch.setattr("helpers.grade.sandbox.sandbox.course_files", lambda lesson: {})
    sandbox = Sandbox(in_sandbox.NUMBER + 4, "02")
    with pytest.raises(SandboxError, match="No module named 'helpers"):
        sandbox.fork()
    assert sandbox.pid is None


def test_what_is_missing_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "missing_sandbox_tools", lambda: ["bubblewrap"])
    monkeypatch.setattr(probe.platform, "system", lambda: "Linux")
    assert "bubblewrap" in str(missing())
    monkeypatch.setattr(probe.platform, "system", lambda: "Darwin")
    assert str(missing()) == "Sandboxes need Linux. Grade on a Linux machine, or in a virtual one."


def test_what_bubblewrap_says_becomes_advice() -> None:
    cases: Sequence[tuple[str, str]] = [
        ("bwrap: setting up uid map: Permission denied", "apparmor"),
        ("bwrap: No permissions to create a new namespace", "sysctl"),
        ("bwrap: Unknown option --disable-userns", "older than 0.8"),
    ]
    for said, cure in cases:
        text = probe.explained(said)
        assert said in text
        assert cure in text
    assert probe.explained("") == "A sandbox does not start: it says nothing."


def test_where_root_grades_each_number_has_a_user_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert [user_of(n, "bubblewrap") for n in (0, 1, 699)] == [FIRST_UID + n for n in (0, 1, 699)]
    assert user_of(3, "none") == 0  # without a sandbox there is nothing to tell apart
