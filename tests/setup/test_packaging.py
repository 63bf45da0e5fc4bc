"""pyproject.toml, constraints.txt, environment.yml, the licences and the README agree."""

from __future__ import annotations

import os
import re
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DEPENDENCIES = [Requirement(one) for one in PYPROJECT["project"]["dependencies"]]


def constraints() -> dict[str, str]:
    """The pinned version of each package, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


def conda() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    return loaded


def test_every_dependency_is_pinned_to_a_version_it_allows() -> None:
    pins = constraints()
    for dependency in DEPENDENCIES:
        assert dependency.specifier.contains(pins[canonicalize_name(dependency.name)])


def test_conda_asks_for_the_same_set() -> None:
    asked = conda()["dependencies"]
    pip = next(one["pip"] for one in asked if isinstance(one, dict))
    # Without this line conda's pip would take the newest versions.
    assert pip[0] == "--constraint constraints.txt"
    assert [Requirement(one) for one in pip[1:]] == DEPENDENCIES
    assert f"pip={constraints()['pip']}" in asked


def test_everything_installed_is_pinned_as_installed() -> None:
    from importlib.metadata import distributions

    pins = constraints()
    # Only what is installed: setuptools, once imported, puts packages of its own on the path.
    for found in distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]):
        name = canonicalize_name(found.metadata["Name"])
        if name in pins:
            assert found.version.split("+")[0] == pins[name], name


def test_the_readme_links_to_what_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (ROOT / link).exists()]
    assert missing == []


def test_every_lesson_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for lesson in (ROOT / "lessons").glob("*.ipynb"):
        assert f"(lessons/{lesson.name})" in text


def test_commands_may_be_executed() -> None:
    for command in (ROOT / "course", ROOT / ".ci" / "run"):
        assert os.access(command, os.X_OK)
    assert '/../course" test' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
