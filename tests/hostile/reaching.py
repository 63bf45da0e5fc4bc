"""Looking for what is secret, and reaching for more: solutions, specs, hidden inputs, rights.

Each function runs in the sandbox, in a call of `fit`. It returns whether it found something that
it should not have, or got through.
"""

from __future__ import annotations

from hostile.submission import Attack, probe


def reading_solutions():
    import os

    words = ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "def claim(", "wrong_answers(")
    skip = ("/proc", "/sys", "/usr")
    for folder, folders, files in os.walk("/"):
        if folder.startswith(skip) or "site-packages" in folder or "/lib/python3" in folder:
            folders.clear()
            continue
        for name in files:
            try:
                with open(os.path.join(folder, name), errors="replace") as file:
                    text = file.read(1_000_000)
            except OSError:
                continue
            if any(word in text for word in words):
                # The drivers' own package says how a spec is written; that is no spec.
                if not folder.endswith("/helpers/checks"):
                    return True
            if name.endswith((".ipynb", "grades.json", "grades.csv", "grading.key")):
                return True
    return False


def looking_through_memory():
    import gc
    import sys

    suspicious = ("claim", "reference", "cases", "WrongAnswer", "facts", "seed")
    for thing in gc.get_objects():
        try:
            kind = type(thing).__name__
            if kind in ("Exercise", "WrongAnswer", "Mistake"):
                return True
            if kind == "Case" and (thing.facts or thing.name):
                return True
            spec = ".exercises." in getattr(thing, "__module__", "")
            if kind == "function" and spec and thing.__name__ in suspicious:  # and no driver
                return True
        except Exception:
            continue
    frame = sys._getframe()
    while frame is not None:
        names = set(frame.f_locals) | set(frame.f_globals)
        if "exercise" in names or ("cases" in frame.f_locals and "seed" in frame.f_locals):
            return True
        frame = frame.f_back
    ours = [module for name, module in sys.modules.items() if name.startswith("helpers.")]
    return any(hasattr(module, "EXERCISE") for module in ours)


def looking_at_the_callers_frames():
    import sys

    frame = sys._getframe()
    while frame is not None:
        case = frame.f_locals.get("case")
        if case is not None and (case.facts or case.name or len(case.args) != 1):
            return True
        message = frame.f_locals.get("message")
        if isinstance(message, dict) and set(message) & {"seed", "want", "facts", "expected"}:
            return True
        frame = frame.f_back
    return False


def keys_and_configuration():
    import os

    home = os.path.expanduser("~")
    for path in (
        "/etc/shadow",
        "/etc/gshadow",
        "/etc/ssh",
        "/root",
        "/home",
        "/work",
        "/var/lib",
        "/run/user",
        "/boot",
        f"{home}/.config/distributed-course/grading.key",
        f"{home}/.ssh",
        f"{home}/.bash_history",
    ):
        try:
            found = os.listdir(path) if os.path.isdir(path) else [open(path).read(1)]
        except OSError:
            continue
        if found and path not in ("/root", "/home", "/work"):
            return True
        # The interpreter's own folder may lie in a home; nothing else of it may be there.
        for folder, folders, _ in os.walk(path):
            if folder.count("/") > 4:
                folders.clear()
            if {".git", "solutions", ".ssh", ".config"} & set(folders):
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


REACHING: list[Attack] = [
    probe(attack)
    for attack in (
        reading_solutions,
        looking_through_memory,
        looking_at_the_callers_frames,
        keys_and_configuration,
        mounting,
        more_rights,
    )
]
