"""What the system brings: a compiler for Horovod, a browser for one test, a grader's sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from helpers.setup.progress import Step, run

# What each tool is called by the package managers that we know. None: it has no such package.
PACKAGES: dict[str, dict[str, str | None]] = {
    "apt-get": {
        "a C++ compiler": "g++",
        "make": "make",
        "Python's headers": "python3-dev",
        "chromium": "chromium",
        "bubblewrap": "bubblewrap",
        "setpriv and unshare": "util-linux",
        "SLURM": "slurm-wlm",
        "munge": "munge",
    },
    "dnf": {
        "a C++ compiler": "gcc-c++",
        "make": "make",
        "Python's headers": "python3-devel",
        "chromium": "chromium",
        "bubblewrap": "bubblewrap",
        "setpriv and unshare": "util-linux",
        "SLURM": "slurm slurm-slurmctld slurm-slurmd",
        "munge": "munge",
    },
    "pacman": {
        "a C++ compiler": "gcc",
        "make": "make",
        "Python's headers": None,
        "chromium": "chromium",
        "bubblewrap": "bubblewrap",
        "setpriv and unshare": "util-linux",
        "SLURM": None,
        "munge": None,
    },
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
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    return None


def headers() -> Path:
    """Where the running Python's C headers are, if they are installed."""
    return Path(sysconfig.get_paths()["include"]) / "Python.h"


def missing_build_tools(header: Path) -> list[str]:
    """What a C++ extension still needs; `header` is where Python.h should be."""
    missing = []
    if compiler() is None:
        missing.append("a C++ compiler")
    if shutil.which("make") is None:
        missing.append("make")
    if not header.exists():
        missing.append("Python's headers")
    return missing


def browser() -> Path | None:
    """A Chromium that Playwright can drive: the system's, or the one Playwright downloads."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return Path(found)
    playwrights = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    for folder, pattern in (
        (playwrights, "ms-playwright/chromium-*/chrome-linux*/chrome"),
        (playwrights, "ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*"),
        (Path("/Applications"), "Google Chrome.app/Contents/MacOS/Google Chrome"),
    ):
        if downloaded := sorted(folder.glob(pattern)):
            return downloaded[-1]
    return None


def missing_sandbox_tools() -> list[str]:
    """What grading in a sandbox still needs here; only Linux has it.

    Where root grades, every sandbox first becomes an ordinary user: that takes setpriv and unshare.
    """
    missing = [] if shutil.which("bwrap") else ["bubblewrap"]
    if is_root() and not (shutil.which("setpriv") and shutil.which("unshare")):
        missing.append("setpriv and unshare")
    return missing


def missing_slurm_tools() -> list[str]:
    """What a SLURM of one's own still needs here; only Linux has it."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SBIN])
    needed = {"SLURM": ("slurmctld", "slurmd", "sinfo", "srun", "sbatch"), "munge": ("munged",)}
    return [
        tool
        for tool, commands in needed.items()
        if not all(shutil.which(command, path=path) for command in commands)
    ]


def install_line(tools: Sequence[str]) -> str:
    """The one line to type that installs these tools here."""
    if "chromium" in tools and not is_debian():
        return ".venv/bin/playwright install chromium"  # Ubuntu's own is a snap: out of reach
    if sys.platform == "darwin":
        return "xcode-select --install"
    for manager, names in PACKAGES.items():
        wanted = " ".join(_packages(names, tools))
        if shutil.which(manager) and wanted:
            verb = "-S" if manager == "pacman" else "install"
            return f"sudo {manager} {verb} {wanted}"
    return f"install {', '.join(tools)} with your system's package manager"


def _packages(names: dict[str, str | None], tools: Sequence[str]) -> list[str]:
    """What a package manager calls these tools; the headers are those of the running Python."""
    found = [name for tool in tools if (name := names[tool])]
    own = f"python3.{sys.version_info[1]}-dev"
    return [own if name == "python3-dev" else name for name in found]


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
    return hasattr(os, "geteuid") and os.geteuid() == 0


def install(tools: Sequence[str], log: Path, step: Step, recommended: bool = True) -> bool:
    """Install these tools with apt-get. Returns whether that worked.

    recommended: whether to install what Debian recommends beside them.
    """
    names = _packages(PACKAGES["apt-get"], tools)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    step.note(f"apt-get install {' '.join(names)}")
    # Lists may be old or missing in a container; where they cannot be renewed, try the old ones.
    run(["apt-get", "update"], log, step, env=env)
    # An installation that was interrupted is ended first; one at work, as after a start, is
    # waited for.
    run(["dpkg", "--configure", "-a"], log, step, env=env)
    call = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y"]
    call += [] if recommended else ["--no-install-recommends"]
    return run([*call, *names], log, step, env=env) == 0


def stop_services(tools: Sequence[str], log: Path, step: Step) -> None:
    """End the daemons that came with these tools, and keep them from starting with the machine.

    The course starts its own, in a folder of theirs.
    """
    names = [name for tool in tools for name in SERVICES.get(tool, ())]
    if Path("/run/systemd/system").is_dir():
        run(["systemctl", "disable", "--now", *names], log, step)
        return
    for name in names:
        if Path("/etc/init.d", name).exists() and shutil.which("service"):
            run(["service", name, "stop"], log, step)


def header_of(python: Path) -> Path:
    """Where the C headers of another interpreter are."""
    code = "import sysconfig; print(sysconfig.get_paths()['include'])"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip()) / "Python.h"
