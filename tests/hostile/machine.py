"""Reaching for the machine: its kernel's settings, namespaces, other processes, files.

Each function runs in the sandbox, in a call of `fit`, and returns whether it got through.
"""

from __future__ import annotations

from hostile.submission import Attack, probe


def kernel_settings():
    import glob

    for path in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/fs/file-max",
        "/proc/sysrq-trigger",
        "/proc/1/oom_score_adj",
        *glob.glob("/sys/kernel/*"),
        *glob.glob("/sys/fs/cgroup/*"),
        *glob.glob("/proc/sys/user/*"),
        *glob.glob("/proc/sys/net/ipv4/ip_*"),
    ):
        try:
            with open(path, "r+") as file:
                held = file.read(100)
                file.seek(0)
                file.write(held)
        except (OSError, ValueError):
            continue
        return True
    return False


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


def joining_namespaces():
    import ctypes
    import glob
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    for path in glob.glob("/proc/*/ns/*"):
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        if libc.setns(fd, 0) == 0:
            return True
    return False


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


def programs_with_more_rights():
    import subprocess

    for command in (
        ["su", "-c", "id"],
        ["sudo", "-n", "id"],
        ["mount", "-t", "tmpfs", "x", "/tmp"],
    ):
        try:
            done = subprocess.run(command, capture_output=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return True
    return False


def rare_system_calls():
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    calls = {
        "keyctl": (250, 0, -3, 1),
        "add_key": (248, b"user", b"hostile", b"x", 1, -3),
        "request_key": (249, b"user", b"hostile", 0, -3),
        "bpf": (321, 0, 0, 0),
        "perf_event_open": (298, 0, 0, -1, -1, 0),
        "userfaultfd": (323, 0),
        "io_uring_setup": (425, 8, b"\0" * 120),
        "kexec_load": (246, 0, 0, 0, 0),
        "init_module": (175, b"", 0, b""),
        "reboot": (169, 0, 0, 0, 0),
        "swapon": (167, b"/tmp/x", 0),
        "shmget": (29, 0x48535431, 4096, 0o1666),
        "semget": (64, 0x48535431, 1, 0o1666),
        "msgget": (68, 0x48535431, 0o1666),
        "memfd_create": (319, b"x", 0),
        "open_by_handle_at": (304, 0, 0, 0),
        "fanotify_init": (300, 0, 0),
        "quotactl": (179, 0, 0, 0, 0),
        "acct": (163, b"/tmp/x"),
    }
    return any(libc.syscall(*words) >= 0 for words in calls.values())


def message_queues():
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(240, b"hostile", 0o102, 0o666, None) >= 0


def the_terminal():
    import fcntl
    import os
    import termios

    for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0", "/proc/1/fd/0"):
        try:
            fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(fd, termios.TIOCSTI, b"x")
        except OSError:
            continue
        return True
    return False


def devices():
    import os
    import stat

    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
    for folder, _, files in os.walk("/dev"):
        for name in files:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and name not in allowed):
                return True
    return False


MACHINE: list[Attack] = [
    probe(attack)
    for attack in (
        kernel_settings,
        new_namespaces,
        joining_namespaces,
        mounting,
        tracing_other_processes,
        more_rights,
        programs_with_more_rights,
        rare_system_calls,
        message_queues,
        the_terminal,
        devices,
    )
]
