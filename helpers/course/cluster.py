"""`./course cluster`: a SLURM of two nodes on this machine, in a folder of its own."""

from __future__ import annotations

import os
import sys
from typing import Literal

from helpers.engine.slurm import site as sites
from helpers.engine.slurm.site import Site, SiteFailed

CANNOT = 1  # the exit status where there is no site that takes jobs


def cluster(what: Literal["up", "down", "status"]) -> int:
    """Start, end or show the user's site; returns the exit status."""
    if what == "up":
        return up()
    return down() if what == "down" else status()


def up() -> int:
    """Start it, or mend the one that runs."""
    if why := sites.missing():
        print(f"{without(why)}", file=sys.stderr)
        return CANNOT
    ran = sites.found() is not None
    try:
        site = sites.up()
    except SiteFailed as error:
        print(error, file=sys.stderr)
        return CANNOT
    except KeyboardInterrupt:
        print("\nInterrupted. ./course cluster down ends what was started.", file=sys.stderr)
        return 130
    print(f"SLURM {'runs' if ran else 'is up'}: {states(site)}, in {site.folder}.")
    print(f"\n{by_hand(site)}\n")
    print("The lessons find it by themselves. It stays until ./course cluster down.")
    return 0


def down() -> int:
    """End it, and what a killed one left."""
    if sites.down():
        print("SLURM has ended with all its jobs, and its folder is gone.")
    else:
        print("No SLURM of the course's was up.")
    return 0


def status() -> int:
    """Say what there is. Returns 0 where jobs can run."""
    site = sites.found()
    if site is None:
        why = sites.missing()
        print(without(why) if why else "It is not up. ./course cluster up starts it.")
        return CANNOT
    nodes = site.nodes()
    print(f"SLURM runs: {states(site)}, in {site.folder}.")
    if jobs := site.jobs():
        print("\n".join(["", *jobs]))
    print(f"\n{by_hand(site)}")
    dead = site.dead()
    lost = [node for node, state in nodes.items() if node in dead or state.startswith("down")]
    if lost or not nodes:
        what = " and ".join(lost) if lost else "The controller"
        print(f"\n{what} does not run. ./course cluster up starts it again.")
        return CANNOT
    return 0


def by_hand(site: Site) -> str:
    """What to type to use it from a shell."""
    return "\n".join(
        [
            "By hand:",
            f"    export SLURM_CONF={site.conf}",
            "    sinfo",
            "    srun -N2 hostname",
            "    sbatch cluster/run.slurm SCRIPT",
        ]
    )


def states(site: Site) -> str:
    """The nodes, each with what SLURM says of it."""
    nodes = site.nodes()
    return ", ".join(f"{node} {state}" for node, state in nodes.items()) or "it does not answer"


def without(why: str) -> str:
    """What is missing, and what is done without it."""
    if other := os.environ.get("SLURM_CONF"):
        why += f"\nSLURM_CONF names {other}, which is used as it is."
    return f"{why}\nWithout it, lesson 17 runs on virtual hosts."
