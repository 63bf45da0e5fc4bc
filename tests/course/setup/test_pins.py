"""Every pin allows every Python that ./course accepts; what names pins and lessons agrees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import PackageNotFoundError, distributions, metadata, requires, version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers.course.setup import state
from helpers.course.setup.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = tuple(f"{minor}.0" for minor in state.VERSIONS)  # of each minor version: 3.11.0, …
BUILT_HERE = {"horovod"}  # from its source, whatever it says
# Where each pin has a wheel: pip is asked for all of these systems at once.
SYSTEMS = ("win_amd64", "macosx_14_0_arm64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")


def pins() -> dict[str, str]:
    """The pinned version of each package, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    split = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): pinned.strip() for name, _, pinned in split}


def is_here(name: str, pinned: str) -> bool:
    """Whether a package is installed in its pinned version, so that its metadata can be read."""
    try:
        return version(name).split("+")[0] == pinned
    except PackageNotFoundError:
        return False


def refusals(python: str, asked: dict[str, str | None]) -> dict[str, str]:
    """Those of the packages that do not allow this Python, with the Requires-Python of each."""
    said = {name: one for name, one in asked.items() if one and name not in BUILT_HERE}
    return {name: one for name, one in said.items() if not SpecifierSet(one).contains(python)}


def conflicts(python: str, pinned: dict[str, str]) -> list[str]:
    """What stands against installing the pinned set on this Python, read from what is installed.

    With one version of each package, resolving is looking at every requirement that holds there.
    """
    here = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    found: list[str] = []
    loose: dict[str, str] = {}  # asked for by name, and not pinned by us
    exact: set[str] = set()  # what a package pins itself, as torch does the parts of its CUDA build
    seen: set[tuple[str, str]] = set()
    waiting = [("the course", Requirement(one)) for one in PROJECT["dependencies"]]
    while waiting:
        by, wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in pinned:
            loose[name] = f"{by} needs {wanted}, which is not pinned"
            exact.update(name for one in wanted.specifier if one.operator == "==")
        elif not wanted.specifier.contains(pinned[name], prereleases=True):
            found.append(f"{by} needs {wanted}, and {pinned[name]} is pinned")
        for extra in {"", *wanted.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                asked = [Requirement(one) for one in requires(name) or []]
            except PackageNotFoundError:
                continue
            waiting += [
                (name, one)
                for one in asked
                if one.marker is None or one.marker.evaluate({**here, "extra": extra})
            ]
    return found + [said for name, said in loose.items() if name not in exact]


def test_the_versions_accepted_are_the_same_everywhere() -> None:
    accepted = SpecifierSet(PROJECT["requires-python"])
    named = tuple(f"3.{minor}" for minor in range(30) if accepted.contains(f"3.{minor}.0"))
    assert named == state.VERSIONS
    assert all(accepted.contains(python) for python in OLDEST)
    first, last = (tuple(map(int, one.split("."))) for one in (named[0], named[-1]))
    script = (ROOT / "course").read_text(encoding="utf-8")
    assert f"{first} <= sys.version_info[:2] <= {last}" in script


@pytest.mark.parametrize("minor", state.VERSIONS)
def test_what_is_installed_allows_every_patch_release(minor: str) -> None:
    asked = {
        name: metadata(name).get("Requires-Python")
        for name, pinned in pins().items()
        if is_here(name, pinned)
    }
    assert len(asked) > 100  # the environment is the course's
    for patch in range(40):
        assert refusals(f"{minor}.{patch}", asked) == {}


@pytest.mark.parametrize("python", [OLDEST[0], OLDEST[-1]])
def test_the_set_resolves_on_the_oldest_python(python: str) -> None:
    assert conflicts(python, pins()) == []
    # The same walk finds a pin that another package forbids, and one that is missing.
    wrong = {**pins(), "numpy": "1.0"}
    del wrong["soupsieve"]
    found = "\n".join(conflicts(python, wrong))
    assert "and 1.0 is pinned" in found and "soupsieve" in found


def test_conda_asks_for_the_same_set() -> None:
    loaded = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    pip = next(one["pip"] for one in loaded["dependencies"] if isinstance(one, dict))
    # Without this line conda's pip would take the newest versions.
    assert pip[0] == "--constraint constraints.txt"
    asked = [Requirement(one) for one in PROJECT["dependencies"]]
    assert [Requirement(one) for one in pip[1:]] == asked
    assert f"pip={pins()['pip']}" in loaded["dependencies"]


def test_everything_installed_is_pinned_as_installed() -> None:
    pinned = pins()
    # Only what is installed: setuptools, once imported, puts packages of its own on the path.
    for found in distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]):
        name = canonicalize_name(found.metadata["Name"])
        if name in pinned:
            assert found.version.split("+")[0] == pinned[name], name


@pytest.mark.thorough
@pytest.mark.real
def test_pip_agrees_about_pins_that_are_not_installed(tmp_path: Path) -> None:
    """Those of other systems, and those just renewed, whose metadata only the index has."""
    away = [
        f"{name}=={pinned}"
        for name, pinned in pins().items()
        if name not in BUILT_HERE and not is_here(name, pinned)
    ]
    call = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
    call += ["--no-deps", "--target", str(tmp_path), "--python-version", OLDEST[0]]
    call += ["--only-binary", ":all:", "--retries", "1", "--timeout", "20"]
    call += [part for system in SYSTEMS for part in ("--platform", system)]
    told = subprocess.run([*call, *away], capture_output=True, text=True)
    if told.returncode and "after connection broken by" in told.stderr:
        pytest.skip(f"pip reaches no package index here, so {len(away)} pins were not looked at")
    assert told.returncode == 0, told.stderr


def test_the_readme_links_to_what_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (ROOT / link).exists()]
    assert missing == []


def test_commands_may_be_executed() -> None:
    for command in (ROOT / "course", ROOT / ".ci" / "run"):
        assert os.access(command, os.X_OK)
    assert '/../course" test' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
