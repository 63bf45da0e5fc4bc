"""Reaching for the machine: its kernel's settings, namespaces, other processes, files.

Each function runs in the sandbox, in a call of `fit`, and returns whether it got through.
"""

from __future__ import annotations

from hostile.submission import Attack, probe


def new_namespaces():
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    for flag in (0x10000000, 0x00020000, 0x40000000, 0x08000000, 0x20000000, 0x02000000, 0x80):
        if libc.unshare(flag) == 0:
            return True
        # clone, x86_64; CLONE_NEWTIME lies where clone has the signal
        pid = libc.syscall(56, flag | 17, 0, 0, 0, 0) if flag > 0x80 else -1
        if pid == 0:
            os._exit(0)
        if pid > 0:
            os.waitpid(pid, 0)
            return True
    return libc.syscall(435, b"\0" * 88, 88) > 0  # clone3


def mounting():
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs("/tmp/here", exist_ok=True)
    tries = [
        libc.mount(b"none", b"/tmp/here", b"tmpfs", 0, None),
        libc.mount(b"proc", b"/tmp/here", b"proc", 0, None),
        libc.mount(b"/", b"/tmp/here", None, 4096, None),
        libc.mount(None, b"/usr", None, 32 | 4096, None),  # writable again
        libc.umount2(b"/usr", 2),
        libc.umount2(b"/tmp", 2),
        libc.chroot(b"/tmp/here"),
        libc.syscall(155, b"/tmp/here", b"/tmp/here"),  # pivot_root
    ]
    tries += [0 if libc.syscall(n, 0, 0, 0, 0, 0) >= 0 else -1 for n in (428, 430, 432)]
    return 0 in tries


def tracing_other_processes():
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    others = {1, os.getppid()}
    tries = [libc.ptrace(request, pid, 0, 0) for request in (16, 0x4206) for pid in others]
    held = ctypes.create_string_buffer(8)
    for pid in others:
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(held), 8)
        there = (ctypes.c_void_p * 2)(0x400000, 8)
        for call in (310, 311):  # process_vm_readv, process_vm_writev
            error = libc.syscall(call, pid, vector, 1, there, 1, 0)
            tries.append(0 if error > 0 or ctypes.get_errno() == 14 else -1)
    return 0 in tries


def more_rights():
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    for change in (
        lambda: os.setuid(0),
        lambda: os.setgid(0),
        lambda: os.setgroups([0]),
        lambda: os.chown("/tmp", 0, 0),
        lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0)),
        lambda: os.nice(-5),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        lambda: __import__("time").clock_settime(0, 0.0),
        lambda: __import__("socket").sethostname("hostile"),
    ):
        try:
            change()
        except OSError:
            continue
        return True
    with open("/proc/self/status") as file:
        status = {line.split(":")[0]: line.split(":")[1].strip() for line in file}
    rights = any(int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"))
    return rights or status["NoNewPrivs"] != "1" or libc.syscall(169, 0, 0, 0) == 0


MACHINE: list[Attack] = [
    probe(attack)
    for attack in (
        new_namespaces,
        mounting,
        tracing_other_processes,
        more_rights,
    )
]
