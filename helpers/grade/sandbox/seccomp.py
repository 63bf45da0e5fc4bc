"""The filter of system calls in a sandbox, in the kernel's own small language.

It refuses what a rank never needs, so that a fault in a rarely used part of the kernel is out of
reach, and what could change another process of the same user or outlive the caller. Everything
else is allowed: the namespaces hold the rest, and what needs a right, such as mounting, nobody in a
sandbox may. Calls have numbers, as (x86_64, aarch64), None where
there is no such call; source: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct

from helpers.grade.sandbox.command import SandboxError

# linux/bpf_common.h and linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data

# linux/audit.h; the column of the tables below
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000  # x86_64's other set of numbers, which nothing here uses
_NEW_NAMESPACES = 0x7E020000  # all CLONE_NEW flags that clone takes
_PRIO_PROCESS, _IOPRIO_PROCESS = 0, 1

# Refused whatever the arguments: ways into other processes, memory and objects that outlive a
# process or are not counted, new namespaces, the kernel's rarely used corners.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "unshare": (272, 97),
    "setns": (308, 268),
    "syslog": (103, 116),
    "modify_ldt": (154, None),
    "name_to_handle_at": (303, 264),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "uselib": (134, None),
}

# Refused with some arguments only, or with an answer of their own.
SPECIAL: dict[str, tuple[int, int]] = {
    "clone3": (435, 435),
    "clone": (56, 220),
    "socket": (41, 198),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}

# An instruction: code, operand, and where to go on: where a test holds, and where it does not.
_Step = tuple[int, int, str, str]
_ENDS = {
    "allow": _ALLOW,
    "kill": _KILL,
    "refuse": _ERRNO | errno.EPERM,
    "unknown": _ERRNO | errno.ENOSYS,
    "no family": _ERRNO | errno.EAFNOSUPPORT,
}


def program(machine: str = "") -> bytes:
    """The filter as the kernel takes it, an array of struct sock_filter.

    machine: "x86_64" or "aarch64"; this one where it is not given. Raises SandboxError for others.
    """
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        known = " and ".join(_MACHINES)
        raise SandboxError(f"Sandboxes are known for {known}, not for {machine}: grade elsewhere.")
    architecture, column = _MACHINES[machine]
    steps: list[_Step | str] = [
        (_LOAD, _ARCHITECTURE, "", ""),
        (_EQUAL, architecture, "", "kill"),
        (_LOAD, _NUMBER, "", ""),
    ]
    if machine == "x86_64":
        steps.append((_AT_LEAST, _X32, "unknown", ""))
    for numbers in REFUSED.values():
        if (number := numbers[column]) is not None:
            steps.append((_EQUAL, number, "refuse", ""))
    steps += [(_EQUAL, numbers[column], name, "") for name, numbers in SPECIAL.items()]
    steps.append((_RETURN, _ALLOW, "", ""))
    return _assembled([*steps, *_special()])


def _special() -> list[_Step | str]:
    """What depends on the arguments. A text is a label: where a system call's tests begin."""
    steps: list[_Step | str] = [
        # Its flags are out of a filter's sight: without it, everybody takes clone.
        *("clone3", (_RETURN, _ENDS["unknown"], "", "")),
        *("clone", _argument(0), (_ANY_BIT, _NEW_NAMESPACES, "refuse", "allow")),
        *("socket", _argument(0)),
        (_EQUAL, socket.AF_UNIX, "allow", ""),
        (_EQUAL, socket.AF_INET, "internet", ""),
        (_EQUAL, socket.AF_INET6, "internet", ""),
        (_EQUAL, socket.AF_NETLINK, "netlink", "no family"),
        *("internet", _argument(2)),
        (_EQUAL, 0, "allow", ""),
        (_EQUAL, socket.IPPROTO_TCP, "allow", ""),
        (_EQUAL, socket.IPPROTO_UDP, "allow", "no family"),
        # Routes only, for the list of network interfaces.
        *("netlink", _argument(2), (_EQUAL, 0, "allow", "no family")),
        *("setpriority", _argument(0), (_EQUAL, _PRIO_PROCESS, "second is self", "refuse")),
        *("ioprio_set", _argument(0), (_EQUAL, _IOPRIO_PROCESS, "second is self", "refuse")),
        *("second is self", _argument(1), (_EQUAL, 0, "allow", "refuse")),
    ]
    for name in SPECIAL:
        if name.startswith("sched_") or name == "prlimit64":
            steps += [name, _argument(0), (_EQUAL, 0, "allow", "refuse")]
    return steps


def _argument(index: int) -> _Step:
    """Load an argument's low half, which is all that the kernel looks at in an int."""
    return (_LOAD, _ARGUMENTS + 8 * index, "", "")


def _assembled(steps: list[_Step | str]) -> bytes:
    """Put distances in the place of labels."""
    for name, answer in _ENDS.items():
        steps += [name, (_RETURN, answer, "", "")]
    places: dict[str, int] = {}
    code: list[_Step] = []
    for step in steps:
        if isinstance(step, str):
            places[step] = len(code)
        else:
            code.append(step)
    words = []
    for here, (operation, operand, yes, no) in enumerate(code, start=1):
        jumps = [places[label] - here if label else 0 for label in (yes, no)]
        words.append(struct.pack("=HBBI", operation, *jumps, operand))
    return b"".join(words)
