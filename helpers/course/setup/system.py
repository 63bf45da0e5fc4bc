"""What the system brings: a compiler for Horovod, a browser for one test, a grader's sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.course.setup import places
from helpers.course.setup.progress import Step, run

MANAGERS = ("apt-get", "dnf", "pacman")
# What each tool is called by these package managers; "" where they have no such package.
PACKAGES = {
    "a C++ compiler": ("g++", "gcc-c++", "gcc"),
    "make": ("make", "make", "make"),
    "Python's headers": (f"python3.{sys.version_info[1]}-dev", "python3-devel", ""),
    "chromium": ("chromium", "chromium", "chromium"),
    "bubblewrap": ("bubblewrap", "bubblewrap", "bubblewrap"),
    "setpriv and unshare": ("util-linux", "util-linux", "util-linux"),
    "SLURM": ("slurm-wlm", "slurm slurm-slurmctld slurm-slurmd", ""),
    "munge": ("munge", "munge", ""),
}
COMMANDS = {
    "make": ("make",),
    "bubblewrap": ("bwrap",),
    "setpriv and unshare": ("setpriv", "unshare"),
    "SLURM": ("slurmctld", "slurmd", "sinfo", "srun", "sbatch"),
    "munge": ("munged",),
}
# What Debian starts as soon as it is installed, and at every start of the machine from then on.
SERVICES = {"SLURM": ("slurmctld", "slurmd"), "munge": ("munge",)}
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where daemons are: not on every user's path
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def compiler() -> str | None:
    """The C++ compiler that CMake would take.

    macOS has commands of these names that only offer to install the developer tools.
    """
    if (
        sys.platform == "darwin"
        and subprocess.run(["xcode-select", "-p"], capture_output=True).returncode
    ):
        return None
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def lacking(*tools: str) -> list[str]:
    """Those of some tools whose commands are not all here."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SBIN])
    return [t for t in tools if not all(shutil.which(c, path=path) for c in COMMANDS[t])]


def missing_build_tools() -> list[str]:
    """What a C++ extension of the running Python still needs."""
    headers = Path(sysconfig.get_paths()["include"], "Python.h").exists()
    return [
        *["a C++ compiler"] * (compiler() is None),
        *lacking("make"),
        *["Python's headers"] * (not headers),
    ]


def missing_sandbox_tools() -> list[str]:
    """What grading in a sandbox still needs here; only Linux has it.

    Where root grades, every sandbox first becomes an ordinary user: that takes setpriv and unshare.
    """
    return lacking("bubblewrap", *["setpriv and unshare"] * is_root())


def missing_slurm_tools() -> list[str]:
    """What a SLURM of one's own still needs here; only Linux has it."""
    return lacking("SLURM", "munge")


def browser() -> Path | None:
    """A Chromium that Playwright can drive: the system's, or the one Playwright downloads."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return Path(found)
    caches = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    for folder, pattern in (
        (caches, "ms-playwright/chromium-*/chrome-linux*/chrome"),
        (caches, "ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*"),
        (Path("/Applications"), "Google Chrome.app/Contents/MacOS/Google Chrome"),
    ):
        if downloaded := sorted(folder.glob(pattern)):
            return downloaded[-1]
    return None


def install_line(tools: Sequence[str]) -> str:
    """The one line to type that installs these tools here."""
    if "chromium" in tools and not is_debian():
        return ".venv/bin/playwright install chromium"  # Ubuntu's own is a snap: out of reach
    if sys.platform == "darwin":
        return "xcode-select --install"
    for number, manager in enumerate(MANAGERS):
        wanted = " ".join(name for tool in tools if (name := PACKAGES[tool][number]))
        if shutil.which(manager) and wanted:
            return f"sudo {manager} {'-S' if manager == 'pacman' else 'install'} {wanted}"
    return f"install {', '.join(tools)} with your system's package manager"


def is_debian() -> bool:
    """Whether this is Debian itself, not one of its relatives."""
    try:
        return "\nID=debian" in "\n" + Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return False


def may_install() -> bool:
    """Whether we are root on Debian or Ubuntu."""
    return is_root() and shutil.which("apt-get") is not None


def is_root() -> bool:
    """Whether this process is root's."""
    return os.geteuid() == 0


def install(tools: Sequence[str], log: Path, step: Step) -> None:
    """Install these tools with apt-get."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Lists may be old or missing in a container; where they cannot be renewed, try the old ones.
    run(["apt-get", "update"], log, step, env)
    # An installation that was interrupted is ended first; one at work, as after a start, is
    # waited for.
    run(["dpkg", "--configure", "-a"], log, step, env)
    call = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y"]
    call += ["--no-install-recommends"] * ("SLURM" in tools or "munge" in tools)  # its databases
    run([*call, *(PACKAGES[tool][0] for tool in tools)], log, step, env)
    # Daemons that came along end, and stay so: the course starts its own, in a folder of theirs.
    names = [name for tool in tools for name in SERVICES.get(tool, ())]
    if names and Path("/run/systemd/system").is_dir():
        run(["systemctl", "disable", "--now", *names], log, step)
        return
    for name in names:
        if Path("/etc/init.d", name).exists() and shutil.which("service"):
            run(["service", name, "stop"], log, step)


def obtain_build_tools(log: Path, step: Step) -> str:
    """Install what compiling needs where we may; returns a sentence on what is still missing."""
    if (missing := missing_build_tools()) and may_install():
        install(missing, log, step)
        missing = missing_build_tools()
    if not missing:
        return ""
    return (
        f"Horovod needs {' and '.join(missing)} to be built. "
        f"Type this and repeat the command to have it: {install_line(missing)}"
    )


def obtain_for(command: str) -> None:
    """Install what only this command needs where we may; elsewhere say what to type, and go on.

    A browser and SLURM on Debian itself alone: those of its relatives no test has seen. A learner's
    copy of the course does not grade, so it is told nothing.
    """
    linux = sys.platform == "linux"
    if command == "test" and (places.ROOT / "tests").is_dir():
        _obtain(lambda: ["chromium"] * (browser() is None), "the browser test is", is_debian())
        if linux:
            _obtain(missing_slurm_tools, "the tests on a SLURM of two nodes are", is_debian())
    if places.grades() and linux:
        _obtain(missing_sandbox_tools, "./course grade and its tests are", True)
    elif places.grades():
        print("Grading in a sandbox needs Linux, so ./course grade and its tests are left out.")


def _obtain(missing: Callable[[], list[str]], what: str, known: bool) -> None:
    """Install the missing tools, where this system's are known to do; else tell what they cost."""
    if (tools := missing()) and may_install() and known:
        step = Step(f"{' and '.join(tools)}, which this command needs")
        install(tools, places.logs() / "system.log", step)
        tools = missing()
        step.done("not to be had" if tools else "installed")
    if tools:
        print(
            f"There is no {' and no '.join(tools)}, so {what} left out. To have "
            f"{'it' if len(tools) == 1 else 'them'}: {install_line(tools)}"
        )
