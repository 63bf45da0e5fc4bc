"""What code in a sandbox sees of the machine and can reach: nothing that is not its own."""

from __future__ import annotations

import ast
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import in_sandbox
import pytest
from in_sandbox import says

import helpers
from helpers.checks import lessons, of_lesson
from helpers.grade.prune import made
from helpers.grade.sandbox import Sandbox, SandboxError
from helpers.grade.sandbox.command import ENVIRONMENT, inside
from helpers.grade.sandbox.visible import course_files, driver_name

ROOT = Path(helpers.__file__).resolve().parents[1]


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """The shared sandbox, which each test leaves as it was."""
    shared = in_sandbox.shared()
    yield shared
    assert shared.why == ""


@pytest.mark.real
def test_the_course_folder_holds_what_is_listed_and_nothing_else(sandbox: Sandbox) -> None:
    body = """
        import os
        return [os.path.join(f, n) for f, _, names in os.walk("/course") for n in names]
    """
    files = course_files("03")
    assert sorted(says(sandbox, body)) == sorted(f"/course/{name}" for name in files)
    assert "helpers/grade/worker/zygote.py" in files
    assert "helpers/lessons/messages/algorithms/collectives.py" in files
    for secret in ("judge", "data_parallel/algorithms", "bucket", "learning_rate"):
        assert not any(secret in name for name in files)


@pytest.mark.parametrize("lesson", lessons())
def test_of_an_exercise_its_driver_is_there_and_no_case_claim_or_answer(lesson: str) -> None:
    files = {name: text for name, text in course_files(lesson).items() if "/exercises/" in name}
    homes = {driver_name(exercise.drive).partition(":")[0] for exercise in of_lesson(lesson)}
    assert {home.replace(".", "/") + ".py" for home in homes if ".exercises." in home} <= set(files)
    for text in files.values():
        names = {name for one in ast.parse(text).body for name in made(one)}
        secret = {
            "EXERCISE",
            "WRONG",
            "BUILDS",
            "cases",
            "claim",
            "compared",
            "praise",
            "reference",
        }
        assert not names & secret
        exec(compile(text, "cut", "exec"), {"__name__": "cut"})  # names nothing that is gone


@pytest.mark.real
def test_nothing_of_the_repository_is_there(sandbox: Sandbox) -> None:
    names = [p.name for p in ROOT.iterdir()]
    body = f"""
        import os
        root, names = {str(ROOT)!r}, {names!r}
        return [n for n in names if n != ".venv" and os.path.lexists(os.path.join(root, n))]
    """
    assert says(sandbox, body) == []


@pytest.mark.real
def test_the_environment_is_its_own(sandbox: Sandbox) -> None:
    names = set(says(sandbox, "import os; return list(os.environ)"))
    assert names <= {*ENVIRONMENT, "PYTHONPATH", "PWD", "LC_CTYPE"} | {
        # What libraries set themselves when they are loaded.
        n
        for n in names
        if n.startswith(("KMP_", "TORCH", "TF2_", "TF_"))
    }


@pytest.mark.real
def test_no_other_process_is_in_sight_and_the_first_is_out_of_reach(sandbox: Sandbox) -> None:
    body = """
        import os, signal
        seen = sorted(int(n) for n in os.listdir("/proc") if n.isdigit())
        opened = []
        for name in ("mem", "environ", "fd/3", "root", "cwd", "maps"):
            try:
                os.close(os.open(f"/proc/1/{name}", os.O_RDONLY))
                opened.append(name)
            except OSError:
                pass
        for name in ("mem", "oom_score_adj", "comm", "coredump_filter", "timerslack_ns"):
            try:
                os.write(os.open(f"/proc/1/{name}", os.O_WRONLY), b"1")
                opened.append(name)
            except OSError:
                pass
        for number in range(1, 65):
            if number != signal.SIGCHLD:
                os.kill(1, number)
        return [seen == [1, os.getpid()], opened]
    """
    assert says(sandbox, "return 1") == 1
    before = sandbox.pid
    assert says(sandbox, body) == [True, []]
    assert says(sandbox, "return 1") == 1
    assert sandbox.pid == before


@pytest.mark.real
def test_it_has_no_rights_and_can_get_none(sandbox: Sandbox) -> None:
    body = """
        import os
        lines = open("/proc/self/status").read().splitlines()
        rights = [l.split()[1] for l in lines if l.startswith("Cap")]
        new = [l.split()[1] for l in lines if l.startswith("NoNewPrivs")]
        return [os.getuid(), os.getgroups(), sorted(set(rights)), new]
    """
    uid, groups, rights, new = says(sandbox, body)
    assert uid == 1000
    assert groups in ([], [1000], [65534])
    assert rights == ["0" * 16]
    assert new == ["1"]


@pytest.mark.thorough
@pytest.mark.real
def test_only_the_two_scratch_folders_can_be_written_to(sandbox: Sandbox) -> None:
    body = """
        import os
        found = []
        for folder, folders, files in os.walk("/"):
            if folder == "/":
                folders.remove("proc")
            for name in (folder, *(os.path.join(folder, f) for f in files)):
                if os.access(name, os.W_OK) and not os.path.islink(name):
                    found.append(name)
        return sorted(found)
    """
    devices = [f"/dev/{name}" for name in ("full", "null", "random", "urandom", "zero")]
    assert says(sandbox, body) == [*devices[:2], devices[2], "/dev/shm", *devices[3:], "/tmp"]


@pytest.mark.real
def test_kernel_settings_cannot_be_written(sandbox: Sandbox) -> None:
    body = """
        import os
        found = []
        for folder, _, files in os.walk("/proc/sys"):
            for name in files:
                try:
                    with open(os.path.join(folder, name), "rb+", buffering=0) as file:
                        file.write(file.read(4096))
                    found.append(os.path.join(folder, name))
                except OSError:
                    pass
        for name in ("/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg"):
            try:
                os.close(os.open(name, os.O_RDWR))
                found.append(name)
            except OSError:
                pass
        return found
    """
    assert says(sandbox, body) == []


@pytest.mark.real
def test_there_is_no_network_but_loopback(sandbox: Sandbox) -> None:
    name = f"distributed-course-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0{name}")
        unix.listen()
        body = f"""
            import socket
            told = [sorted(name for _, name in socket.if_nameindex())]
            for address in (("198.51.100.1", 80), ("127.0.0.1", {listener.getsockname()[1]})):
                try:
                    socket.create_connection(address, timeout=5)
                    told.append("connected")
                except OSError as error:
                    told.append(type(error).__name__)
            try:
                told.append(socket.gethostbyname("example.org"))
            except OSError as error:
                told.append(type(error).__name__)
            told.append(socket.gethostbyname("localhost"))
            with socket.create_server(("127.0.0.1", 0)) as own:
                socket.create_connection(own.getsockname()).close()
            try:
                socket.socket(socket.AF_UNIX).connect("\\0{name}")
                told.append("connected")
            except OSError as error:
                told.append(type(error).__name__)
            return told
        """
        interfaces, outside, host, found, local, abstract = says(sandbox, body)
    assert interfaces == ["lo"]
    assert (outside, host, found) == ("OSError", "ConnectionRefusedError", "gaierror")
    assert abstract == "ConnectionRefusedError"
    assert local == "127.0.0.1"


@pytest.mark.real
def test_a_child_has_one_descriptor_beside_the_empty_ones(sandbox: Sandbox) -> None:
    body = """
        import os
        fds = [int(n) for n in os.listdir("/proc/self/fd")]
        return [os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in sorted(fds)[:4]], len(fds)
    """
    links, count = says(sandbox, body)
    assert links == ["/dev/null"] * 3 + ["socket"]
    assert count == 5  # and the folder that it is reading


@pytest.mark.real
def test_children_begin_with_the_same_random_numbers(sandbox: Sandbox) -> None:
    body = """
        import random, numpy, torch
        return [random.random(), float(numpy.random.rand()), float(torch.rand(())), hash("a")]
    """
    first = says(sandbox, body)
    sandbox.stop()
    assert says(sandbox, body) == first


def test_a_python_where_submissions_write_is_shown_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "prefix", "/tmp/course/.venv")
    python = Path("/tmp/course/.venv/bin/python")
    assert inside(python) == Path("/elsewhere/tmp/course/.venv/bin/python")
    assert inside(Path("/opt/python")) == Path("/opt/python")
    monkeypatch.setattr(sys, "base_prefix", "/tmp/python")
    with pytest.raises(SandboxError, match="install Python elsewhere"):
        inside(Path("/tmp/python"))


@pytest.mark.thorough
@pytest.mark.real
def test_without_a_sandbox_children_answer_as_well() -> None:
    bare = Sandbox(in_sandbox.NUMBER + 1, "03", "none")
    try:
        body = "import helpers, os; return [os.path.dirname(helpers.__file__), os.getcwd()]"
        package, folder = says(bare, body)
        assert not Path(package).is_relative_to(ROOT)
        assert Path(package).exists() and Path(folder).exists()
        assert says(bare, "import helpers.grade.judge")[0] == "ModuleNotFoundError"
        assert bare.why == ""
    finally:
        bare.stop()
    assert not Path(package).exists()
    assert not Path(folder).exists()
