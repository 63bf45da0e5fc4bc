"""The filter of system calls: read by a small interpreter for both machines, and tried for real."""

from __future__ import annotations

import errno
import platform
import struct

import in_sandbox
import pytest
from in_sandbox import says

from helpers.grade.sandbox import Sandbox, SandboxError, seccomp
from helpers.grade.sandbox.seccomp import REFUSED, SPECIAL

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = "allow", "kill"
# System calls that Python and torch cannot do without.
ORDINARY = {
    "x86_64": {"read": 0, "openat": 257, "mmap": 9, "futex": 202, "execve": 59, "kill": 62},
    "aarch64": {"read": 63, "openat": 56, "mmap": 222, "futex": 98, "execve": 221, "kill": 129},
}


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> str | int:
    """What the filter says to a system call: ALLOW, KILL, or the number of an error."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *padded)
    steps = list(struct.iter_unpack("=HBBI", program))
    at, held = 0, 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("=I", data, operand)[0]
        elif code == 0x06:
            kinds = {0x7FFF0000: ALLOW, 0x80000000: KILL}
            return kinds.get(operand, operand & 0xFFFF)
        else:
            tests = {0x15: held == operand, 0x35: held >= operand, 0x45: bool(held & operand)}
            at += yes if tests[code] else no


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_is_refused_is_refused_and_the_ordinary_goes_on(machine: str) -> None:
    program, architecture = seccomp.program(machine), ARCHITECTURES[machine]
    column = list(ARCHITECTURES).index(machine)
    for name, numbers in REFUSED.items():
        if (number := numbers[column]) is not None:
            assert verdict(program, architecture, number) == errno.EPERM, name
    for name, number in ORDINARY[machine].items():
        assert verdict(program, architecture, number) == ALLOW, name


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_depends_on_the_arguments(machine: str) -> None:
    program, architecture = seccomp.program(machine), ARCHITECTURES[machine]
    column = list(ARCHITECTURES).index(machine)

    def asked(name: str, *arguments: int) -> str | int:
        return verdict(program, architecture, SPECIAL[name][column], *arguments)

    assert asked("clone3") == errno.ENOSYS
    thread = 0x3D0F00  # what the C library asks for
    assert asked("clone", thread) == ALLOW
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert asked("clone", thread | bit) == errno.EPERM
    for family, protocol in ((1, 0), (2, 0), (2, 6), (2, 17), (10, 6), (16, 0)):
        assert asked("socket", family, 1, protocol) == ALLOW
    for family, protocol in ((17, 0), (38, 0), (40, 0), (2, 132), (10, 262), (16, 15)):
        assert asked("socket", family, 1, protocol) == errno.EAFNOSUPPORT
    for name in ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setattr"):
        assert asked(name, 0) == ALLOW
        assert asked(name, 1) == errno.EPERM
    assert asked("setpriority", 0, 0) == asked("ioprio_set", 1, 0) == ALLOW
    for which, who in ((0, 1), (1, 0), (2, 0), (2, 1000)):
        assert asked("setpriority", which, who) == errno.EPERM
        assert asked("ioprio_set", which + 1, who) == errno.EPERM


def test_other_sets_of_numbers_are_refused() -> None:
    program = seccomp.program("x86_64")
    assert verdict(program, ARCHITECTURES["x86_64"], 0x40000000) == errno.ENOSYS
    i386 = 0x40000003
    assert verdict(program, i386, 4) == KILL
    assert verdict(program, ARCHITECTURES["aarch64"], 0) == KILL


def test_an_unknown_machine_is_refused_in_words() -> None:
    with pytest.raises(SandboxError, match="x86_64 and aarch64, not for riscv64"):
        seccomp.program("riscv64")


@pytest.fixture
def sandbox() -> Sandbox:
    """The shared sandbox, which each test leaves as it was."""
    return in_sandbox.shared()


@pytest.mark.real
def test_the_kernel_answers_as_the_filter_says(sandbox: Sandbox) -> None:
    column = list(ARCHITECTURES).index(platform.machine())
    numbers = {name: both[column] for name, both in REFUSED.items() if both[column] is not None}
    body = f"""
        import ctypes
        call, told = ctypes.CDLL(None, use_errno=True).syscall, {{}}
        for name, number in {numbers!r}.items():
            ctypes.set_errno(0)
            told[name] = [call(number, -1, 0, 0, 0, 0, 0), ctypes.get_errno()]
        return told
    """
    told = says(sandbox, body)
    assert told == {name: [-1, errno.EPERM] for name in numbers}
    assert sandbox.why == ""
