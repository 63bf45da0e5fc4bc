"""The reference of exercise 04.6, and answers with one thing wrong."""

from __future__ import annotations

import json
from typing import Any


def reference(environment: dict[str, str]) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import who_am_i

    return who_am_i(environment)


def _launchers(environment: dict[str, str], local: str = "") -> Any:
    for rank, size in (("RANK", "WORLD_SIZE"), ("HOROVOD_RANK", "HOROVOD_SIZE")):
        if rank in environment:
            mine = rank.replace("RANK", f"{local}RANK")
            return int(environment[mine]), int(environment[size])
    return None


def _config(environment: dict[str, str]) -> tuple[dict[str, Any], str, int]:
    told = json.loads(environment["TF_CONFIG"])
    return told["cluster"], told["task"]["type"], told["task"]["index"]


def texts(environment: dict[str, str]) -> Any:
    """As they stand there."""
    if "RANK" in environment:
        return environment["RANK"], environment["WORLD_SIZE"]
    return reference(environment)


def local(environment: dict[str, str]) -> Any:
    """The rank on this machine."""
    return _launchers(environment, "LOCAL_") or reference(environment)


def servers(environment: dict[str, str]) -> Any:
    """Counts every task of the cluster."""
    if "TF_CONFIG" not in environment:
        return reference(environment)
    rank, _ = reference(environment)
    return rank, sum(len(job) for job in _config(environment)[0].values())


def jobs(environment: dict[str, str]) -> Any:
    """Takes the length of the cluster."""
    if "TF_CONFIG" not in environment:
        return reference(environment)
    cluster, _, index = _config(environment)
    return index, len(cluster)


def no_chief(environment: dict[str, str]) -> Any:
    """The index is the rank."""
    rank, size = reference(environment)
    return (_config(environment)[2] if "TF_CONFIG" in environment else rank), size


def size_alone(environment: dict[str, str]) -> Any:
    """The chief is counted for the rank and not for the size."""
    rank, size = reference(environment)
    return rank, len(_config(environment)[0]["worker"]) if "TF_CONFIG" in environment else size


def chief_always(environment: dict[str, str]) -> Any:
    """Takes for granted that there is a chief."""
    if "TF_CONFIG" in environment:
        len(_config(environment)[0]["chief"])
    return reference(environment)


def own(environment: dict[str, str]) -> Any:
    """Reads the process's environment and not the argument."""
    import os

    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def torchrun_alone(environment: dict[str, str]) -> Any:
    """Knows one launcher."""
    return int(environment["RANK"]), int(environment["WORLD_SIZE"])


def never_alone(environment: dict[str, str]) -> Any:
    """Takes for granted that there is a launcher."""
    found = _launchers(environment)
    if found is not None:
        return found
    _config(environment)
    return reference(environment)
