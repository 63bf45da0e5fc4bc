"""Build Horovod's wheel once, and keep it in the user's cache.

Horovod 0.28.1 is the last release, and older than the torch and TensorFlow of this course. It
builds against them after a few small edits. No wheels of it are published, so it is compiled here:
about three minutes on two cores; without the edits that spare work it would be seven.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sysconfig
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from helpers.course.setup import packages, places, state, system
from helpers.course.setup.lock import locked
from helpers.course.setup.machine import usable_cores, usable_memory
from helpers.course.setup.progress import SetupFailed, Step, run

FLAGS = {
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_CPU_OPERATIONS": "GLOO",
}
# What a compiler, a linker or CMake says of the trouble, and what a full disk and a network do.
COMPLAINT = re.compile(
    r"\berror: |CMake Error|^ERROR: |^[\w./-]*\bld(\.\w+)?: (?!warning)|No space left on device"
    r"|^make: \*\*\* No rule"
)


class Edit(NamedTuple):
    """One change to one file of the source; `old` stands there exactly once."""

    file: str
    old: str
    new: str


_CXX_14 = "set(CMAKE_CXX_STANDARD 14)"
_CXX_17 = "set(CMAKE_CXX_STANDARD 17)"
_SECOND_GLOO = "if(HAVE_GLOO AND (DEFINED Tensorflow_CXX17 AND Tensorflow_CXX17))"
_OPTIMISED = 'string(REPLACE "-O2" "-O3" CMAKE_CXX_FLAGS_RELWITHDEBINFO'
_OUTPUT = "set_output_dir()\n"
_TOGETHER = "set(CMAKE_UNITY_BUILD ON)\nset(CMAKE_UNITY_BUILD_BATCH_SIZE 5)\n"
_ASKS = 'execute_process(COMMAND ${PY_EXE} -c "import torch; from torch.utils.cpp_extension import '
_CUDA_ASKED = (
    f"{_ASKS}CUDA_HOME; print(True if ((torch.version.cuda is not None) and "
    '(CUDA_HOME is not None)) else False)"\n'
    "                OUTPUT_VARIABLE Pytorch_CUDA OUTPUT_STRIP_TRAILING_WHITESPACE)\n"
)
_ROCM_ASKED = (
    f"{_ASKS}ROCM_HOME; print(True if ((torch.version.hip is not None) and "
    '(ROCM_HOME is not None)) else False)"\n'
    "                OUTPUT_VARIABLE Pytorch_ROCM OUTPUT_STRIP_TRAILING_WHITESPACE)\n"
)
_NVCC_WANTED = "check_language(CUDA)\nif(NOT CMAKE_CUDA_COMPILER)\n"
_KERAS = "    from keras import backend as K"
_TF_KERAS = "    from tf_keras import backend as K"

EDITS = (
    # torch's and TensorFlow's headers need C++17.
    Edit("CMakeLists.txt", _CXX_14, _CXX_17),
    Edit("horovod/torch/CMakeLists.txt", _CXX_14, _CXX_17),
    # XLA moved its headers; these operations only serve compiled graphs.
    Edit(
        "horovod/tensorflow/CMakeLists.txt",
        'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")\n',
        "",
    ),
    # After the first edit Gloo is C++17 anyway: no second copy of it for TensorFlow.
    Edit("CMakeLists.txt", _SECOND_GLOO, "if(FALSE)"),
    Edit("horovod/tensorflow/CMakeLists.txt", "LIBS compatible17_gloo)", "LIBS gloo)"),
    # Nobody steps through its machine code: debugging information takes a third of the time.
    Edit("CMakeLists.txt", _OPTIMISED, _OPTIMISED.replace("-O2", "-O2 -g")),
    # Several sources at a time, so that the headers that they share are read once.
    Edit("horovod/torch/CMakeLists.txt", _OUTPUT, _OUTPUT + _TOGETHER),
    Edit("horovod/tensorflow/CMakeLists.txt", _OUTPUT, _OUTPUT + _TOGETHER),
    # All is built for operations on the CPU, whatever torch's build can do besides: its CUDA build
    # says that it has a toolkit, and Horovod would go on to want one, and GPU kernels.
    Edit("cmake/Modules/FindPytorch.cmake", _CUDA_ASKED, "set(Pytorch_CUDA FALSE)\n"),
    Edit("cmake/Modules/FindPytorch.cmake", _ROCM_ASKED, "set(Pytorch_ROCM FALSE)\n"),
    # A toolkit that is there is not tried either: it may not fit the C++ compiler.
    Edit("CMakeLists.txt", _NVCC_WANTED, "if(FALSE)\n"),
    # Keras 3 has no such backend; tf_keras is the Keras 2 that Horovod was written for.
    Edit("horovod/tensorflow/keras/__init__.py", _KERAS, _TF_KERAS),
    Edit("horovod/tensorflow/keras/callbacks.py", _KERAS, _TF_KERAS),
)


def ensure(quiet: bool = False) -> None:
    """Install Horovod where it can be built; where it cannot, say so and go on.

    Runs in the environment's own Python. quiet: only the end is shown.
    """
    with locked(places.cache() / "horovod.lock", "Horovod is being built by another set-up."):
        if state.horovod_settled():
            return
        step = Step("[3/3] Horovod", quiet)
        outcome = _installed(step)
        state.save({**state.load(), "horovod": outcome})
    step.done("left out" if "missing" in outcome else "done")
    if "missing" in outcome:
        print(f"      {outcome['missing']}", flush=True)


def _installed(step: Step) -> dict[str, str]:
    """Returns {"wheel": …}, or {"missing": a sentence, "wants" or "log": when to try again}."""
    home = places.cache() / cache_key()
    log = home.with_name(f"{home.name}.log")
    log.unlink(missing_ok=True)
    try:
        wheel = next(home.glob("*.whl"), None)
        if wheel is None:
            if missing := system.obtain_build_tools(log, step):
                return {"missing": missing, "wants": "tools"}
            wheel = build(home, log, step)
        call = [*packages.pip(), "install", "--no-deps", "--force-reinstall", str(wheel)]
        if run(call, log, step, packages.clean_env()):
            raise failed("Horovod's wheel could not be installed", log)
        if not packages.loads(True, log, step):
            run([*packages.pip(), "uninstall", "-y", "horovod"], log, step, packages.clean_env())
            wheel.unlink()
            raise failed("Horovod does not load here", log)
    except SetupFailed as failure:
        return {"missing": f"{failure} Delete {log} to have it tried again.", "log": str(log)}
    return {"wheel": str(wheel)}


def cache_key() -> str:
    """What a built wheel fits: versions, platform, C library, and how it was built."""
    recipe = hashlib.sha256(repr((EDITS, sorted(FLAGS.items()))).encode()).hexdigest()[:8]
    machine = "-".join((sysconfig.get_platform(), *(part for part in platform.libc_ver() if part)))
    return (
        f"{state.pinned('horovod').replace('==', '-')}-py{state.version()}-torch{torch_build()}"
        f"-tf{version('tensorflow')}-{machine}-{recipe}"
    )


def torch_build() -> str:
    """torch's version that names its build, such as 2.13.0+cpu or 2.13.0+cu130.

    The package's own leaves that out where it came from the usual place.
    """
    spec = find_spec("torch")
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    return re.findall(r"^__version__ = ['\"](.+?)['\"]", text, re.MULTILINE)[0]


def build(home: Path, log: Path, step: Step) -> Path:
    """Download, edit and compile; returns the wheel, in the cache.

    The work happens in a folder of its own, and only a finished wheel is moved to its place.
    Raises SetupFailed with one sentence where it does not work out.
    """
    work = home.with_name("build")
    shutil.rmtree(work, ignore_errors=True)  # left by a set-up that was cut off
    if " " in str(work):  # Horovod's build hands paths to the compiler unquoted
        work = Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    # Through this link the environment's path has no space either.
    linked = work / "environment"
    linked.symlink_to(places.environment(), target_is_directory=True)
    env = build_env(linked / "bin", work)
    pip = [str(linked / "bin" / "python"), "-m", "pip"]
    if step.quiet:  # a lesson is open meanwhile, and measures
        pip = ["nice", "-n19", *pip]
    try:
        # pip reads a source's metadata by running its setup.py, which needs what is in our
        # environment: hence no isolation.
        fetch = ["download", "--no-deps", "--no-build-isolation", "--no-binary", "horovod"]
        if run([*pip, *fetch, "-d", str(work), state.pinned("horovod")], log, step, env):
            raise failed("Horovod's source could not be downloaded", log)
        shutil.unpack_archive(next(work.glob("horovod-*.tar.gz")), work / "source")
        source = next((work / "source").iterdir())
        apply_edits(source)
        make = ["wheel", "-v", "--no-deps", "--no-build-isolation", "-w", str(work), str(source)]
        if run([*pip, *make], log, step, env):
            raise failed("Horovod did not compile on this machine", log)
        wheel = next(work.glob("*.whl"))
        return packages.keep(wheel, home / wheel.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def apply_edits(source: Path) -> None:
    """Make the edits in an unpacked source; raises SetupFailed where a text is not as expected."""
    for edit in EDITS:
        path = source / edit.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text.count(edit.old) != 1:
            raise SetupFailed(
                f"Horovod's {edit.file} is not the file that the course knows how to edit "
                f"(expected exactly one “{edit.old.strip()}”)."
            )
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def build_env(bin_folder: Path, work: Path) -> dict[str, str]:
    """The environment variables for building with the commands in `bin_folder`.

    What the user set for a build of their own, such as operations on GPUs, is left out.
    """
    # Compilers at once: one a core, and no more than memory allows at 2 GB each.
    jobs = max(1, min(round(usable_cores()), (usable_memory() or 4 << 30) // (2 << 30)))
    env = packages.clean_env()
    return {
        **{name: value for name, value in env.items() if not name.startswith("HOROVOD_")},
        **FLAGS,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOROVOD_CMAKE": str(bin_folder / "cmake"),
        "MAKEFLAGS": f"-j{jobs}",
        "TMPDIR": str(work),
    }


def failed(what: str, log: Path) -> SetupFailed:
    """What to raise for a command that failed: with its first complaint and what stands below."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [number for number, line in enumerate(lines) if COMPLAINT.search(line.strip())]
    said = " ".join(" ".join(lines[found[0] : found[0] + 3]).split())[:300] if found else ""
    return SetupFailed(f"{what} ({said or f'the whole log is {log}'}).")
