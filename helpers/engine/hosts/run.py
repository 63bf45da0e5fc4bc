"""`helpers.run(engine="hosts")`: ranks on virtual hosts, or on the clock where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.engine.errors import NoHosts
from helpers.engine.hosts.namespaces import refused
from helpers.engine.hosts.network import Network
from helpers.engine.trace import Results

_told: set[str] = set()


def run_hosts(
    fn: Callable[..., Any],
    args: Sequence[Any],
    ranks: int,
    network: Network,
    framework: str = "torch",
    timeout: float = 60.0,
    threads: int = 1,
    show: bool = True,
) -> Results:
    """Run `fn(comm, *args)` on ranks of virtual hosts; see `helpers.run`.

    Where this machine gives none, says why once, and runs the same on a virtual clock that has the
    same links; `.trace.virtual` of what comes back tells which it was.
    """
    from helpers.engine.processes import run_processes

    try:
        if why := refused():
            raise NoHosts(f"Virtual hosts cannot be had here: {why}.")
        return run_processes(
            fn, args, ranks, framework, timeout, device="cpu", threads=threads, show=show,
            network=network,
        )  # fmt: skip
    except NoHosts as why:
        if framework != "torch":
            raise
        tell(why)
    from helpers.engine.virtual import run_virtual

    return run_virtual(fn, args, ranks, timeout, show=show, network=network)


def tell(why: NoHosts) -> None:
    """Say, once for each reason, that the clock stands in for hosts."""
    if why.report not in _told:
        _told.add(why.report)
        print(f"{why.report} The virtual clock stands in for them, with the same links.")
