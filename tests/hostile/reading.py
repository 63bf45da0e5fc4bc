"""Looking for what is secret: solutions, specs, other submissions, environments, hidden inputs.

Each function runs in the sandbox, in a call of `fit`. It returns whether it found something that
it should not have.
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


def importing_specs():
    import importlib

    found = []
    for name in (
        "helpers.lessons.messages.exercises.fit",  # of them there is what drives 02.5
        "helpers.lessons.messages.exercises.ring",
        "helpers.lessons.messages.exercises.scatter",
        "helpers.lessons.data_parallel.exercises",
        "helpers.lessons.data_parallel.exercises.average",
        "helpers.grade.judge",
        "helpers.grade.judge",
        "helpers.grade.grades",
        "helpers.lessons.messages.algorithms.cost_model",
        "helpers.lessons.messages.algorithms.collectives",
        "helpers.lessons.data_parallel.algorithms.data_parallel",
        "helpers.course.cli",
    ):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            continue
    return bool(found)


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


def environments_of_other_processes():
    import glob
    import os

    secrets = ("COURSE_SECRET", "SSH", "TOKEN", "AWS", "XDG_CONFIG_HOME", "SUDO", "PYTEST")
    found = dict(os.environ)
    for path in glob.glob("/proc/*/environ"):
        try:
            with open(path) as file:
                found.update(p.partition("=")[::2] for p in file.read().split("\0") if p)
        except OSError:
            continue
    return any(name.startswith(secrets) for name in found)


def memory_of_other_processes():
    import glob
    import os

    for path in glob.glob("/proc/[0-9]*/mem"):
        pid = path.split("/")[2]
        if pid == str(os.getpid()):
            continue
        for mode in (os.O_RDONLY, os.O_RDWR):
            try:
                fd = os.open(path, mode)
            except OSError:
                continue
            try:
                with open(f"/proc/{pid}/maps") as file:
                    start = int(file.readline().split("-")[0], 16)
                if os.pread(fd, 8, start):
                    return True
            except OSError:
                continue
    return False


def descriptors_that_were_inherited():
    import os
    import stat

    sockets = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found = os.fstat(int(name))
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        sockets += stat.S_ISSOCK(found.st_mode)
        if stat.S_ISDIR(found.st_mode) and not target.startswith("/proc"):
            return True
        if target.startswith("/memfd:"):
            continue  # what the answer was given: its arguments lie there
        if stat.S_ISREG(found.st_mode) and not target.startswith(("/usr", "/proc", "/dev")):
            if ".venv" not in target and "python" not in target:
                return True
    return sockets > 1


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


READING: list[Attack] = [
    probe(attack)
    for attack in (
        reading_solutions,
        importing_specs,
        looking_through_memory,
        looking_at_the_callers_frames,
        environments_of_other_processes,
        memory_of_other_processes,
        descriptors_that_were_inherited,
        keys_and_configuration,
    )
]
