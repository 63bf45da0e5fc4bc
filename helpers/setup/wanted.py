"""What the course asks to be installed."""

from __future__ import annotations

import tomllib

from helpers.setup import places


def dependencies() -> list[str]:
    """What pyproject.toml asks for, as pip reads it."""
    with (places.ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    wanted: list[str] = [*project["dependencies"]]
    for group in project.get("optional-dependencies", {}).values():
        wanted += group
    return wanted
