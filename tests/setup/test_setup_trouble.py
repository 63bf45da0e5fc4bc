"""What set-up says of a full disk, of no network, and of a command that failed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from helpers.setup import disk, packages, places, reasons, state, steps
from helpers.setup.errors import DiskFull, SetupFailed

# ---- the reason, from the log -------------------------------------------------------------------

CMAKE = """\
  -- Unable to find cudart library.
  CMake Deprecation Warning at third_party/gloo/CMakeLists.txt:1 (cmake_minimum_required):
    Compatibility with CMake < 3.10 will be removed.

  CMake Error at /somewhere/Modules/FindPackageHandleStandardArgs.cmake:233 (message):
    Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART)
    (found version "13.0.88")
  Call Stack (most recent call first):
    CMakeLists.txt:181 (find_package)

  error: subprocess-exited-with-error
"""
AFTER_A_BLANK_LINE = """\
CMake Error in horovod/CMakeLists.txt:

  Target "pytorch" needs C++17.

ERROR: Failed building wheel
"""


@pytest.mark.parametrize(
    ("log", "quoted"),
    [
        (CMAKE, "CMake: Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART) "
                '(found version "13.0.88")'),
        (AFTER_A_BLANK_LINE, 'CMake: Target "pytorch" needs C++17.'),
        ("CMake Error: The source directory is no folder.\n",
         "CMake Error: The source directory is no folder."),
        ("CMake Error at a.cmake:1 (message):\n", "CMake Error at a.cmake:1 (message):"),
        ("ok\na.cc:3:1: error: expected ‘;’\nerror: exit 1\n", "a.cc:3:1: error: expected ‘;’"),
        ("/usr/bin/ld: cannot find -lgloo\ncollect2: error: ld returned 1 exit status\n",
         "/usr/bin/ld: cannot find -lgloo"),
        ("all is well\n", ""),
    ],
)  # fmt: skip
def test_the_line_with_the_reason_is_quoted(tmp_path: Path, log: str, quoted: str) -> None:
    (tmp_path / "log").write_text(log)
    assert reasons.first_error(tmp_path / "log") == quoted


RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
    "'NameResolutionError(\"Failed to resolve 'index' ([Errno -3] Temporary failure in name "
    "resolution)\")': /simple/torch/\n"
)
CONFLICT = "ERROR: ResolutionImpossible: for help visit the pages on dependency conflicts\n"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (RETRY + CONFLICT, reasons.NO_NETWORK),
        ("ERROR: HTTPSConnectionPool: Max retries exceeded\n", reasons.NO_NETWORK),
        ("Collecting torch\nERROR: ('Connection broken: IncompleteRead')\n", reasons.NO_NETWORK),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))\n" + CONFLICT,
         reasons.NOT_TRUSTED),
        # Trouble that was overcome is not the reason, nor is that of the command before.
        (RETRY + "Collecting torch==2.13.0\n" + CONFLICT, None),
        (RETRY + "$ pip install more\n" + CONFLICT, None),
        (CONFLICT, None),
    ],
)  # fmt: skip
def test_no_network_is_told_from_what_pip_prints(
    tmp_path: Path, log: str, said: str | None
) -> None:
    (tmp_path / "log").write_text("$ pip install torch\n" + log)
    assert reasons.unconnected(tmp_path / "log") == said
    told = packages.why_pip_failed(tmp_path / "log")
    assert told.startswith(said or "pip could not install the packages:")
    assert str(tmp_path / "log") in told


def test_a_disk_that_fills_up_in_a_download_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip says then that the connection was interrupted, and leaves room behind."""
    left = [20e9, 20e9]

    def fails(call: list[str], log: Path, *_: Any, **__: Any) -> int:
        log.write_text("$ pip\nCollecting a\nWARNING: Connection interrupted while downloading.\n")
        left.append(0.0)
        asked = len(left)
        while len(left) == asked:
            time.sleep(0.01)
        return 1

    def free(folder: Path) -> float:
        left.append(left[-1])
        return left[-1]

    monkeypatch.setattr(packages, "versions", lambda python: {})
    monkeypatch.setattr(packages, "run", fails)
    monkeypatch.setattr(disk, "free", free)
    with pytest.raises(SetupFailed, match=r"^The disk is full: now 0\.0 GB is free"):
        packages.install(tmp_path, tmp_path / "log")


# ---- room on the disk, looked at first ----------------------------------------------------------


@pytest.mark.parametrize(
    ("gigabytes", "cuda", "refused"),
    [
        (3.0, False, "3.0 GB is free .* about 5 GB"),
        (7.0, False, None),
        (7.0, True, "7.0 GB is free .* about 10.5 GB, since PyTorch's CUDA build"),
        (20.0, True, None),
    ],
)
def test_packages_that_cannot_fit_are_not_downloaded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gigabytes: float,
    cuda: bool,
    refused: str | None,
) -> None:
    ran: list[Any] = []
    brought = ['nvidia-cudnn-cu13==9.20; platform_system == "Linux"'] if cuda else ["numpy"]
    report = json.dumps({"install": [{"metadata": {"requires_dist": brought}}]})

    def ask_pip(call: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert "--dry-run" in call
        return subprocess.CompletedProcess(call, 0, report, "")

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(packages, "versions", lambda python: {})
    monkeypatch.setattr(packages, "site", lambda python: tmp_path)
    monkeypatch.setattr(packages, "run", lambda *call, **_: ran.append(call) or 0)
    monkeypatch.setattr(disk, "free", lambda folder: gigabytes * disk.GB)
    monkeypatch.setattr(disk.subprocess, "run", ask_pip)
    if refused:
        with pytest.raises(DiskFull, match=refused):
            packages.install(tmp_path, tmp_path / "log")
    else:
        packages.install(tmp_path, tmp_path / "log")
    assert bool(ran) == (refused is None)


# ---- logs, and what an interruption leaves ------------------------------------------------------


@pytest.mark.parametrize("ends", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_first_step_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    folder = tmp_path / ".venv"

    def interrupted(call: Any, log: Path, step: Any, env: dict[str, str]) -> int:
        Path(env["TMPDIR"], "half").write_text("as ensurepip leaves it")
        raise ends

    monkeypatch.setattr(packages, "run", interrupted)
    with pytest.raises(ends):
        packages.make_environment(folder, tmp_path / "log")
    assert not list(elsewhere.iterdir())
    assert not list(tmp_path.glob(".venv*")) and state.load(folder) is None


@pytest.mark.parametrize(
    ("printed", "kept"),
    [("Collecting torch\n", True), ("Installing collected packages: torch, a\n", False)],
)
@pytest.mark.parametrize("error", [SetupFailed("no network"), KeyboardInterrupt()])
def test_what_pip_has_not_touched_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    printed: str, kept: bool, error: BaseException,
) -> None:  # fmt: skip
    """New pins, and no network: the environment of before is still whole."""
    known = {"packages": "old pins", "checked": "old pins", "python": "3.11"}

    def fails(environment: Path, log: Path) -> None:
        assert state.load(environment) == {"packages": None}
        log.write_text(f"$ pip install pip\nInstalling collected packages: pip\n$ pip\n{printed}")
        raise error

    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(packages, "make_environment", lambda environment, log: known)
    monkeypatch.setattr(packages, "python_version", lambda python: "3.11")
    monkeypatch.setattr(packages, "install", fails)
    with pytest.raises(type(error)):
        steps._packages(tmp_path)
    assert state.load(tmp_path) == (known if kept else {"packages": None})
    # One that is new and still empty goes on too.
    monkeypatch.setattr(packages, "make_environment", lambda *_: {"packages": None})
    with pytest.raises(type(error)):
        steps._packages(tmp_path)
    assert state.load(tmp_path) == {"packages": "none yet" if kept else None}
