"""The command line that starts a program in a sandbox."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.grade.sandbox.limits import Limits
from helpers.grade.sandbox.visible import PACKAGE


class SandboxError(Exception):
    """A sandbox cannot be started; the message says why and what to do."""


COURSE = "/course"
SCRATCH = ("/tmp", "/dev/shm")
USER = 1000  # inside; outside it is the user who grades, or one of the sandbox's own
_DEVICES = ("null", "zero", "full", "random", "urandom")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("ld.so.cache", "alternatives")
_KEPT = ("PATH", "LD_LIBRARY_PATH")
_FILES = {
    "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/passwd": f"student:x:{USER}:{USER}::/tmp:/bin/sh\n".encode(),
    "/etc/group": f"student:x:{USER}:\n".encode(),
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
}
# What of a folder that holds the course would be shown, were it inside what is mounted.
_SECRET = ("helpers", "lessons", "solutions", "tests", "benchmarks", "docs", ".git")

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "GLOO_SOCKET_IFNAME": "lo",
}


@dataclass
class Command:
    """A program to start. fds: what it inherits; they are the caller's to close."""

    words: list[str] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)

    def add(self, *words: str | int | Path) -> None:
        """Add to the command line."""
        self.words += map(str, words)

    def file(self, path: str, content: bytes) -> None:
        """Add a file that exists only inside."""
        self.add("--file", self.held(content), path)

    def held(self, content: bytes) -> int:
        """A descriptor from which the command can read this content."""
        with tempfile.TemporaryFile() as file:
            file.write(content)
            fd = os.dup(file.fileno())
        os.lseek(fd, 0, os.SEEK_SET)
        self.fds.append(fd)
        return fd

    def close(self) -> None:
        """Close the descriptors."""
        while self.fds:
            os.close(self.fds.pop())


def zygote(
    control: int,
    limits: Mapping[str, int],
    scratch: Sequence[str],
    frameworks: Sequence[str],
    folder: str = "",
) -> list[str]:
    """The zygote's command line.

    control: the descriptor of its connection. limits: a child's, by name. scratch: the folders that
    may be written to. frameworks: what it loads. folder: what it removes when it ends.
    """
    told: dict[str, Any] = {"fd": control, "limits": limits, "scratch": scratch, "folder": folder}
    told["frameworks"] = frameworks
    return [sys.executable, "-P", "-s", "-m", "helpers.grade.worker.zygote", json.dumps(told)]


def sandboxed(
    program: Sequence[str],
    files: Mapping[str, bytes],
    limits: Limits,
    uid: int,
    seccomp: bytes,
) -> Command:
    """A command that runs `program` in a sandbox as process 1.

    files: those under COURSE, by their path. uid: of the sandbox outside, where this is root.
    Raises SandboxError where the interpreter cannot be shown.
    """
    command = Command()
    command.add(_found("bwrap"), "--unshare-all", "--unshare-user", "--uid", USER, "--gid", USER)
    command.add("--disable-userns", "--as-pid-1", "--die-with-parent", "--new-session")
    command.add("--clearenv", "--hostname", "sandbox", "--seccomp", command.held(seccomp))
    for name, value in {**ENVIRONMENT, "PYTHONPATH": COURSE}.items():
        command.add("--setenv", name, value)
    prefix = _mount_system(command, uid)
    for path, content in _FILES.items():
        command.file(path, content)
    for path, content in files.items():
        command.file(f"{COURSE}/{path}", content)
    command.add("--proc", "/proc")
    for device in _DEVICES:
        command.add("--dev-bind", f"/dev/{device}", f"/dev/{device}")
    command.add("--symlink", "/proc/self/fd", "/dev/fd")
    for folder, size in zip(SCRATCH, (limits.tmp, limits.shm), strict=True):
        command.add("--size", size, "--perms", "0700", "--tmpfs", folder)
    executable = inside(Path(program[0]))
    command.add("--remount-ro", "/", "--chdir", "/tmp", executable, *program[1:])
    command.words[:0] = prefix
    return command


def _mount_system(command: Command, uid: int) -> list[str]:
    """Add the system and the interpreter, read-only; returns the words to go before the command."""
    command.add("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            command.add("--symlink", path.readlink(), path)
        elif path.exists():
            command.add("--ro-bind", path, path)
    for name in _ETC:
        command.add("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    libraries = _libraries()
    if libraries:
        command.add("--setenv", "LD_LIBRARY_PATH", os.pathsep.join(map(str, libraries)))
    shown = _outermost({*interpreter(), *libraries})
    shown = [path for path in shown if not path.is_relative_to("/usr")]
    prefix, sources = _as_user(uid, shown)
    for source, path in zip(sources, shown, strict=True):
        command.add("--ro-bind", source, inside(path))
    for path in _secrets((Path("/usr"), *shown)):
        command.add("--tmpfs", inside(path), "--remount-ro", inside(path))
    return prefix


def inside(path: Path) -> Path:
    """Where a sandbox has a path of this machine: elsewhere if submissions write in that place.

    A virtual environment does not mind. Raises SandboxError where it would: for the Python that it
    was made from.
    """
    if not any(path.is_relative_to(folder) for folder in SCRATCH):
        return path
    for base in (Path(sys.base_prefix), Path(sys.base_prefix).resolve()):
        if path.is_relative_to(base) and sys.prefix != sys.base_prefix:
            raise SandboxError(
                f"Python itself lies in {base}, and a sandbox has a {path.parts[1]} of its own: "
                "install Python elsewhere."
            )
    return Path("/elsewhere", *path.parts[1:])


def interpreter() -> list[Path]:
    """The folders of the running Python and of its packages."""
    paths = {Path(sys.base_prefix), Path(sys.base_exec_prefix), Path(sys.prefix)}
    paths |= {path.resolve() for path in paths}
    # The link that a virtual environment starts may lead over further links.
    paths.add(Path(os.path.realpath(sys.executable)).parent.parent)
    return _outermost(paths)


def _libraries() -> list[Path]:
    """Further folders of shared libraries, as a cluster's modules name them.

    None that holds the course or somebody's home.
    """
    named = [Path(name) for name in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if name]
    private = (PACKAGE, Path.home())
    return [
        path
        for path in named
        if path.is_absolute()
        and inside(path) == path
        and path.is_dir()
        and not any(p.is_relative_to(path.resolve()) for p in private)
    ]


def _outermost(paths: Collection[Path]) -> list[Path]:
    """Folders without those that lie in another one of them."""
    return [p for p in sorted(paths) if not any(p != q and p.is_relative_to(q) for q in paths)]


def _secrets(shown: Iterable[Path]) -> list[Path]:
    """The course's folders inside what is shown, such as an installed copy of it."""
    paths = [PACKAGE.parent / name for name in _SECRET]
    return [p for p in paths if p.is_dir() and any(p.is_relative_to(s) for s in shown)]


def _as_user(uid: int, shown: Sequence[Path]) -> tuple[list[str], list[str]]:
    """How root becomes the sandbox's user, and under which names that user finds the folders.

    Where the interpreter lies in a folder of root's own, such as /root, it is mounted where
    everybody may go, in a mount namespace of the sandbox's own, before root's rights are given up.
    """
    sources = [str(path) for path in shown]
    if os.getuid() != 0:
        return [], sources
    words = [_found("setpriv"), "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    if all(_open_to_all(path) for path in shown):
        return words, sources
    base = next(p for p in ("/mnt", "/media", "/srv") if _is_free(p, shown))
    script = f"mount -t tmpfs -o mode=755 tmpfs {base}"
    for number in range(len(sources)):
        script += f'; mkdir {base}/{number}; mount --bind "$1" {base}/{number}; shift'
    script += '; exec "$@"'
    own = [_found("unshare"), "--mount", "--propagation", "private", "sh", "-ec", script, "sh"]
    return [*own, *sources, *words], [f"{base}/{i}" for i in range(len(sources))]


def _is_free(folder: str, shown: Sequence[Path]) -> bool:
    return os.path.isdir(folder) and not any(path.is_relative_to(folder) for path in shown)


def _open_to_all(path: Path) -> bool:
    """Whether everybody may enter a folder and read it."""
    reach = all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))
    return reach and bool(path.stat().st_mode & 0o004)


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SandboxError(
            f"The command {name} is not there: `./course doctor` says how to get it."
        )
    return path


def bare(folder: str, files: Mapping[str, bytes]) -> tuple[dict[str, str], str]:
    """Where there is no sandbox: the course's files in a folder for an ordinary process.

    This protects from accidents, not from intent; it is for those who say so. Returns the
    environment, and the folder to work in.
    """
    scratch = Path(folder, "scratch")
    scratch.mkdir()
    for path, content in files.items():
        place = Path(folder, "course", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    environment = ENVIRONMENT | {k: v for k, v in os.environ.items() if k in _KEPT}
    environment |= {"HOME": str(scratch), "TMPDIR": str(scratch)}
    return {**environment, "PYTHONPATH": str(Path(folder, "course"))}, str(scratch)
