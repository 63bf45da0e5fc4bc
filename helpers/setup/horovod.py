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
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from helpers.setup import disk, packages, places, reasons
from helpers.setup.errors import DiskFull, SetupFailed
from helpers.setup.machine import usable_cores, usable_memory
from helpers.setup.progress import Step, run
from helpers.setup.reasons import first_error

FLAGS = {
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_CPU_OPERATIONS": "GLOO",
}


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


def wanted_version() -> str:
    """The version pinned in constraints.txt."""
    text = (places.ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = re.search(r"^horovod==(\S+)", text, re.MULTILINE)
    if found is None:
        raise SetupFailed("constraints.txt pins no version of horovod; put its line back.")
    return found.group(1)


def cache_key(python_tag: str, installed: dict[str, str]) -> str:
    """What a built wheel fits: versions, platform, C library, and how it was built."""
    recipe = hashlib.sha256(repr((EDITS, sorted(FLAGS.items()))).encode()).hexdigest()[:8]
    system = "-".join((sysconfig.get_platform(), *(part for part in platform.libc_ver() if part)))
    return (
        f"horovod-{wanted_version()}-py{python_tag}-torch{installed['torch']}"
        f"-tf{installed['tensorflow']}-{system}-{recipe}"
    )


def cached(key: str) -> Path | None:
    """The wheel built earlier for this key."""
    return next(iter(sorted((places.cache() / key).glob("*.whl"))), None)


def jobs() -> int:
    """Compilers at once: one a core, and no more than memory allows at 2 GB each."""
    return max(1, min(round(usable_cores()), (usable_memory() or 4 << 30) // (2 << 30)))


def told_by_make(line: str) -> str | None:
    """make's percentage and the file, as in `45 % mpi_ops.cc`; None for other lines."""
    found = re.match(r"\[\s*(\d+)%\] \S+.*?([\w.+-]+)$", line)
    return f"{found.group(1)} % {found.group(2).removesuffix('.o')}" if found else None


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source distribution; returns the one folder in it."""
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:  # Python 3.11.0 to 3.11.3
            tar.extractall(folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def workshop() -> Path:
    """A fresh folder to build in, in the cache; elsewhere where the cache's path has a space.

    Horovod's build hands paths to the compiler unquoted.
    """
    home, prefix = places.cache(), "build-"
    if " " in str(home):
        own = hashlib.sha256(str(home).encode()).hexdigest()[:8]
        home, prefix = Path(tempfile.gettempdir()), f"{places.NAME}-build-{own}-"
    for stale in home.glob(f"{prefix}*"):  # left by a set-up that was cut off
        shutil.rmtree(stale, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=home))


def build_env(bin_folder: Path, work: Path) -> dict[str, str]:
    """The environment variables for building with the commands in `bin_folder`.

    What the user set for a build of their own, such as operations on GPUs, is left out.
    """
    env = packages.clean_env()
    return {
        **{name: value for name, value in env.items() if not name.startswith("HOROVOD_")},
        **FLAGS,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOROVOD_CMAKE": str(bin_folder / "cmake"),
        "MAKEFLAGS": f"-j{jobs()}",
        "TMPDIR": str(work),
    }


def build(environment: Path, key: str, log: Path, step: Step) -> Path:
    """Download, edit and compile; returns the wheel in the cache.

    The work happens in a folder of its own, and only a finished wheel is moved to its place.
    Raises SetupFailed with one sentence where it does not work out.
    """
    disk.look_before_horovod()
    work = workshop()
    # Through this link the environment's path has no space either.
    linked = work / "environment"
    linked.symlink_to(environment, target_is_directory=True)
    env = build_env(places.scripts(linked), work)
    pip = packages.pip(linked)
    try:
        wanted = f"horovod=={wanted_version()}"
        # pip reads a source's metadata by running its setup.py, which needs what is in our
        # environment: hence no isolation.
        fetch = ["download", "--no-deps", "--no-build-isolation", "--no-binary", "horovod"]
        if run([*pip, *fetch, "-d", str(work), wanted], log, step, env=env) != 0:
            raise failed("Horovod's source could not be downloaded", log)
        source = unpack(next(work.glob("horovod-*.tar.gz")), work / "source")
        apply_edits(source)
        make = ["wheel", "-v", "--no-deps", "--no-build-isolation", "-w", str(work), str(source)]
        if run([*pip, *make], log, step, told_by_make, env) != 0:
            raise failed("Horovod did not compile on this machine", log)
        return keep(next(work.glob("*.whl")), places.cache() / key)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def failed(what: str, log: Path) -> SetupFailed:
    """What to raise for a command that failed; the reason is the disk, the network or a line."""
    if reasons.disk_was_full(log):
        return DiskFull(f"{what}. {disk.full()}")
    if sentence := reasons.unconnected(log):
        return SetupFailed(f"{what}. {sentence}")
    return SetupFailed(f"{what} ({first_error(log)}).")


def keep(wheel: Path, home: Path) -> Path:
    """Copy a wheel into the cache, where it appears whole or not at all."""
    home.mkdir(parents=True, exist_ok=True)
    partial = home / f"{wheel.name}.part"
    shutil.copyfile(wheel, partial)
    os.replace(partial, home / wheel.name)
    return home / wheel.name


def install(environment: Path, wheel: Path, log: Path, step: Step) -> None:
    """Put a built wheel into the environment."""
    call = [*packages.pip(environment), "install", "--no-deps", "--force-reinstall", str(wheel)]
    with packages.scratch(environment) as env:
        if run(call, log, step, lambda line: None, env) != 0:
            raise failed("Horovod's wheel could not be installed", log)


def uninstall(environment: Path, log: Path, step: Step) -> None:
    call = [*packages.pip(environment), "uninstall", "-y", "horovod"]
    with packages.scratch(environment) as env:
        run(call, log, step, lambda line: None, env)
