"""`./course doctor --report`: what it tells, and that nothing private is in it."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.course import bug_report, cli, doctor
from helpers.course.bug_report import cut
from helpers.course.doctor import Finding
from helpers.course.setup import places

USER, FULL, HOST = "adaxl", "Ada Xlovelace", "ada-thinkpad"
TOKEN, PASSWORD = "zk3-Qq_vL0-secretive", "hunter2hunter2"
PRIVATE = (
    *(USER, "Xlovelace", HOST, TOKEN, PASSWORD, "pyproxy", "10.1.2.3", "fe80::1", "aabbcc"),
    *("aa:bb:cc", "ada@", "customer", "ghp_", "9f86d081", "acme", "mirror"),
    *("/home", "/data", "/srv"),
)
LOG = f"""\
$ /home/{USER}/course/.venv/bin/python -m pip install --index-url https://{USER}:{PASSWORD}@mirror.acme.com/simple
Looking in indexes: https://{USER}:****@mirror.acme.com/simple
WARNING: Retrying after HTTPSConnectionPool(host='mirror.acme.com', port=443): Read timed out
ProxyError('No proxy.', pyproxy.acme.lan:3128, 10.1.2.3, fe80::1%eth0, aa:bb:cc:dd:ee:0f)
  File "/home/{USER}/customer/x/build.py", line 7, in configure
  File "/data/customer one/{USER}/torch.py", line 8
  c++ -I/usr/include/python3.11 -L/srv/customer/lib -DTOKEN={TOKEN} nccl.cc
mail ada@acme.com or {FULL} on {HOST.upper()}.acme.org; GITHUB_TOKEN=ghp_abcdefghij0123456789
password: {PASSWORD} sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
ERROR: No matching distribution found for torch==2.13.0 at 12:30:45 (from std::vector)
"""


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose user, name, home, environment and logs are private; the home folder."""
    home = tmp_path / "home" / USER
    home.mkdir(parents=True)
    for name in os.environ:
        if name not in ("PATH", "PYTHONPATH"):
            monkeypatch.delenv(name)
    for name, value in {
        **{"HOME": str(home), "USER": USER, "LOGNAME": USER, "ACME_API_TOKEN": TOKEN},
        **{"https_proxy": f"http://{USER}:{PASSWORD}@pyproxy:3128", "DB_PASSWORD": PASSWORD},
        "PROJECT": "customer",
    }.items():
        monkeypatch.setenv(name, value)
    for where in (socket, "gethostname"), (platform, "node"):
        monkeypatch.setattr(*where, lambda: f"{HOST}.acme.lan")
    account = SimpleNamespace(pw_name=USER, pw_gecos=f"{FULL},,,")
    monkeypatch.setattr("pwd.getpwuid", lambda number: account)
    monkeypatch.setattr("helpers.course.setup.state.ready", lambda: False)
    monkeypatch.setattr(doctor, "LOOKS", LOOKS)
    monkeypatch.setattr(places, "environment", lambda: Path(sys.prefix))
    return home


def fails() -> Finding:
    raise OSError(f"no {Path.home()}/customer")


LOOKS = (
    lambda: Finding("Python", True, f"3.11.7, {Path.home()}/venv/bin/python3"),
    lambda: Finding("network links", True, "eth0 (10 Gbit/s), enxaabbccddeeff, acme-vpn, lo"),
    lambda: Finding("C++ compiler", True, "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"),
    lambda: Finding("chromium", True, "/usr/bin/chromium"),
    fails,
)


def written(home: Path, text: str) -> Path:
    """A log of set-up."""
    log = places.logs() / "packages.log"
    assert log.is_relative_to(home)
    log.parent.mkdir(parents=True)
    log.write_text(text.replace(f"/home/{USER}", str(home)), encoding="utf-8")
    return log


def test_nothing_private_is_in_it(ada: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(ada, LOG)
    assert cli.main(["doctor", "--report"]) == 0
    shown = capsys.readouterr()
    found = [one for one in (*PRIVATE, str(ada)) if one.lower() in shown.out.lower()]
    assert not found, shown.out
    assert "Read it before you paste it" in shown.err


def test_it_tells_what_helps(ada: Path) -> None:
    written(ada, LOG + "``` of a log\n")
    lines = bug_report.block().splitlines()
    assert lines[0] == "```text" and lines[-1] == "```" and lines.count("```") == 1
    text = "\n".join(lines)
    for part in (
        platform.python_version(), platform.machine(), "numpy ", "cores, ", "course      0.",
        "has   Python         3.11.7, …/python3", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0",
        "eth0 (10 Gbit/s), <MAC>, another, lo" , "…/chromium", "fails fails: OSError: no <path>",
        "The end of packages.log:", "No matching distribution found for torch==2.13.0 at 12:30:45",
        "…/python3.11", "(from std::vector)", "build.py", "line 7, in configure", "Read timed out",
    ):  # fmt: skip
        assert part in text, text


def test_a_log_is_there_only_where_set_up_failed(
    ada: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = written(ada, "old\n")
    assert "The end of packages.log:\nold" in bug_report.block()
    monkeypatch.setattr("helpers.course.setup.state.ready", lambda: True)
    monkeypatch.setattr("helpers.course.setup.state.load", lambda: {})
    assert "The end of" not in bug_report.block()
    horovod = old.with_name("horovod.log")
    horovod.write_text("CMake Error\n")
    state = {"horovod": {"log": str(horovod)}}
    monkeypatch.setattr("helpers.course.setup.state.load", lambda: state)
    assert "The end of horovod.log:\nCMake Error" in bug_report.block()


def test_ordinary_words_stay() -> None:
    text = (
        "torch 2.13.0+cpu, cp311-cp311-manylinux_2_28_x86_64.whl and/or 1/2, std::string at "
        "12:30:45, No module named 'helpers.engine.local', KeyError: 'loss', a::b"
    )
    assert cut(text).replace("<IP>", "a::b") == text


@pytest.mark.thorough
@pytest.mark.real
def test_doctor_answers_before_anything_is_installed() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from helpers.course.setup.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(places.ROOT), "doctor"]  # no packages
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 0 and "sandbox" in told.stdout and told.stderr == ""
    told = subprocess.run([*command, "--report"], capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.startswith("```text\ncourse "), told.stderr
    assert str(Path.home()) not in told.stdout and socket.gethostname() not in told.stdout
