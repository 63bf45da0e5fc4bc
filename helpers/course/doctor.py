"""What this machine has, and what each missing thing costs the learner.

The standard library is enough for it, so that it also answers where set-up failed.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from helpers.course.setup import places, state, system
from helpers.course.setup.machine import usable_cores, usable_memory, without_name

GIB = 1024**3
CORES_WANTED = 2
MEMORY_WANTED = 4 * GIB
SHARED_WANTED = GIB // 2
LAUNCHERS = ("torchrun", "horovodrun")
WITHOUT_SLURM = "Lesson 17 runs on virtual hosts."


class Finding(NamedTuple):
    """One line of the report: what was looked for, what is there, what its lack costs."""

    name: str
    found: bool
    what: str
    cost: str = ""


def size(count: float) -> str:
    """A number of bytes for people."""
    return f"{count / GIB:.1f} GiB"


def printed(*command: str) -> list[str]:
    """The lines that a command prints; none where it is missing or fails."""
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return told.stdout.strip().splitlines() if told.returncode == 0 else []


def first_line(*command: str) -> str:
    """The first line that a command prints, or an empty text."""
    return next(iter(printed(*command)), "")


def installed(name: str) -> str | None:
    """The version of a package in the course's environment, without importing it."""
    folders = [str(one) for one in places.environment().glob("lib/python3*/site-packages")]
    return next((one.version for one in distributions(name=name, path=folders)), None)


def find_python() -> Finding:
    what = f"{platform.python_version()}, {sys.executable}"
    sound = state.version() in state.VERSIONS
    return Finding("Python", sound, what, "The course is tested on Python 3.11, 3.12 and 3.13.")


def find_setup() -> Finding:
    what = f"complete, in {places.environment()}" if state.ready() else "not complete"
    return Finding("set-up", state.ready(), what, "Type ./course lab; it does what is missing.")


def find_cores() -> Finding:
    cores = usable_cores()
    cost = "Ranks take turns on the core: results are right, speed-ups do not show."
    return Finding("cores", cores >= CORES_WANTED, f"{cores:g} usable", cost)


def find_memory() -> Finding:
    memory = usable_memory()
    if memory is None:
        return Finding("memory", True, "not told by this system")
    cost = "TensorFlow's and Horovod's ranks may not fit four at a time; use two."
    return Finding("memory", memory >= MEMORY_WANTED, size(memory), cost)


def find_shared_memory() -> Finding:
    cost = "Tensors over this size cannot go between ranks by shared memory; runs with them fail."
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError:
        return Finding("shared memory", True, "kept by the system, no folder of its own")
    return Finding("shared memory", free >= SHARED_WANTED, f"{size(free)} free in /dev/shm", cost)


def find_network() -> Finding:
    """The network interfaces that are up, with the speed that the driver tells."""
    links = []
    for link in sorted(Path("/sys/class/net").glob("*")):
        with suppress(OSError, ValueError):
            if (link / "operstate").read_text().strip() not in ("up", "unknown"):
                continue
            links.append(link.name)
            speed = int((link / "speed").read_text())  # fails where the driver does not tell
            links[-1] += f" ({speed / 1000:g} Gbit/s)" if speed > 0 else ""
    return Finding("network links", True, ", ".join(links) or "not told by this system")


def find_gpus() -> Finding:
    names = printed("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    cost = "Nothing in the lessons: every one runs on the CPU, and says what GPUs would change."
    return Finding("GPUs", bool(names), "; ".join(names) or "none", cost)


def find_torch_devices() -> Finding:
    """Whether torch sees the GPUs and has NCCL; asks torch in a process of its own."""
    code = (
        "import json, torch; cuda = torch.cuda.is_available(); "
        "print(json.dumps([torch.__version__, torch.cuda.device_count() if cuda else 0, "
        "torch.distributed.is_nccl_available(), "
        "'.'.join(map(str, torch.cuda.nccl.version())) if cuda else '']))"
    )
    told = first_line(str(places.python()), "-c", code)
    if not told:
        return Finding("torch", False, "does not load", "Nothing runs without it: ./course lab")
    release, gpus, nccl, nccl_version = json.loads(told)
    what = f"{release}, gloo" + (f", NCCL {nccl_version}".rstrip() if nccl else ", no NCCL")
    what += f", {gpus} GPUs" if gpus else ", CPU only"
    return Finding("torch", True, what)


def find_package(name: str, cost: str) -> Callable[[], Finding]:
    def find() -> Finding:
        there = installed(name)
        return Finding(name, there is not None, there or "not installed", cost)

    return find


def find_horovod() -> Finding:
    missing = state.horovod_missing()
    there = None if missing else installed("horovod")
    if there:
        return Finding("horovod", True, f"{there}, gloo, for torch and TensorFlow")
    cost = f"Horovod's ranks and what compares with them are left out. {missing or ''}"
    what = "not installed" if installed("horovod") is None else "its ranks would not start"
    return Finding("horovod", False, what, cost.strip())


def find_compiler() -> Finding:
    missing = system.missing_build_tools()
    what = first_line(system.compiler() or "c++", "--version") or "there"
    if missing:
        what = f"without {', '.join(missing)}"
    cost = f"Horovod cannot be built. {system.install_line(missing)}"
    if state.horovod_missing() is None:
        cost = "Nothing as long as Horovod is installed."
    return Finding("C++ compiler", not missing, what, cost)


def find_browser() -> Finding:
    browser = system.browser()
    cost = "Only ./course test: its browser test is left out. " + system.install_line(["chromium"])
    return Finding("chromium", browser is not None, str(browser or "none"), cost)


def find_sandbox() -> Finding:
    """Whether grading's sandbox starts here: it is tried as grading does, since some forbid it."""
    try:
        from helpers.grade.sandbox import missing
    except ImportError:
        cost = "Nothing yet. Grading tries it, once the course is set up: ./course lab"
        return Finding("sandbox", False, "not tried", cost)
    if why := missing():
        cost = f"Only grading: ./course grade refuses, and its tests are left out. {why}"
        return Finding("sandbox", False, "none", cost)
    return Finding("sandbox", True, first_line("bwrap", "--version"))


def find_hosts() -> Finding:
    """Whether virtual hosts can be made here: it is tried, in a process of its own."""
    if not state.ready():
        return Finding("virtual hosts", False, "not tried", "Tried once the course is set up.")
    from helpers.engine.hosts.namespaces import missing

    if why := missing():
        cost = f"The virtual clock stands in for them, with the same links: {why}."
        return Finding("virtual hosts", False, "none", cost)
    return Finding("virtual hosts", True, "network namespaces with shaped links")


def find_slurm() -> Finding:
    """Whether a SLURM of one's own can be started here, and whether one is up."""
    if sys.platform != "linux":
        cost = "Lesson 17 runs on processes of this machine."
        return Finding("SLURM", False, f"not on {sys.platform}", cost)
    if missing := system.missing_slurm_tools():
        what = f"without {' and '.join(missing)}"
        if shutil.which("sbatch"):
            what = "its commands, for a cluster that this machine belongs to; none of your own"
        return Finding("SLURM", False, what, f"{WITHOUT_SLURM} {system.install_line(missing)}")
    if why := without_name():
        return Finding("SLURM", False, "would not start", why)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *system.SBIN])
    what = first_line(shutil.which("slurmctld", path=path) or "", "-V") or "there"
    if not state.ready():
        return Finding("SLURM", True, what)
    from helpers.engine.slurm.site import found

    site = found()
    up = f"up in {site.folder}" if site else "./course cluster up starts two nodes"
    return Finding("SLURM", True, f"{what}; {up}")


def find_launchers() -> Finding:
    """The commands that start ranks on several hosts."""
    there = {name: (places.scripts() / name).exists() for name in LAUNCHERS}
    what = ", ".join(name for name, found in there.items() if found) or "none"
    lacking = [name for name, found in there.items() if not found]
    cost = f"Lesson 17 leaves out what {' and '.join(lacking)} start"
    return Finding("launchers", not lacking, what, f"{cost}{'s' * (len(lacking) == 1)}.")


LOOKS: tuple[Callable[[], Finding], ...] = (
    find_python,
    find_setup,
    find_cores,
    find_memory,
    find_shared_memory,
    find_network,
    find_gpus,
    find_torch_devices,
    find_package("tensorflow", "TensorFlow's ranks do not run: ./course lab"),
    find_horovod,
    find_hosts,
    find_slurm,
    find_launchers,
    find_package("submitit", "No job goes to SLURM from a cell; sbatch still works: ./course lab"),
    find_package("torchft", "Lesson 17's quorum runs on the clock, not on replicas: ./course lab"),
    find_compiler,
    find_browser,
    *((find_sandbox,) if places.grades() else ()),
)


def show() -> int:
    """Print the report. Returns 0: a machine that lacks something is no error."""
    print(f"This machine: {platform.platform(terse=True)}\n")
    for look in LOOKS:
        one = look()
        print(_filled(line(one)))
        if not one.found:
            print(_filled(f"{'':21}{one.cost}"))
    return 0


def line(one: Finding) -> str:
    """A finding without what its lack costs."""
    return f"{'has' if one.found else 'lacks':6}{one.name:15}{one.what}"


def _filled(text: str) -> str:
    """Text as wide as the terminal at most; paths and commands stay whole."""
    width = min(100, shutil.get_terminal_size().columns)
    return textwrap.fill(
        text, width, subsequent_indent=" " * 21, break_long_words=False, break_on_hyphens=False
    )
