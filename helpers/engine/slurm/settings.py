"""What the folder of a site holds before anything runs: slurm.conf, munge's key, free ports.

The settings are those of a real site where a job can notice them. What differs is told beside it.
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
import time
from pathlib import Path

from helpers.course.setup.machine import usable_memory
from helpers.engine.cluster.place import free_ports

NODES = ("n1", "n2")
CPUS = 8  # that each node says it has: eight ranks may start on it, whatever the machine has
CONF, KEY, SOCKET = "slurm.conf", "munge.key", "munge.socket"

_TEXT = """\
# Two nodes on this machine, for one user. ./course cluster down ends them and removes this folder.
ClusterName=course
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}

# Only who can read this folder is believed, and nothing listens but on this machine.
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny

StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
MailProg=/bin/true

# No control groups, which take rights that a learner may not have: processes are found by parents.
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none

# A busy laptop answers late, and is not dead. The keeper says at once when a node has died, as a
# site's monitoring does. What ended is remembered for a day, as there is no accounting; numbers go
# on where an earlier site's ended.
MessageTimeout=30
SlurmdTimeout=60
KillWait=5
JobRequeue=0
MinJobAge=86400
FirstJobId={first}
ReturnToService=2

# Both nodes are this machine, so they may say that they have more cores than it has.
SlurmdParameters=config_overrides
{nodes}
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def write(folder: Path) -> None:
    """Put a site's settings into its folder, which only its owner may read."""
    for name in ("state", *NODES):
        (folder / name).mkdir()
    (folder / KEY).touch(mode=0o600)
    (folder / KEY).write_bytes(secrets.token_bytes(128))
    host = socket.gethostname().partition(".")[0]
    controller, *ports = free_ports(1 + len(NODES))
    memory = (usable_memory() or 4 << 30) >> 20
    nodes = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} "
        f"RealMemory={memory}"
        for name, port in zip(NODES, ports, strict=True)
    ]
    text = _TEXT.format(
        folder=folder,
        host=host,
        user=getpass.getuser() if os.geteuid() else "root",
        controller=controller,
        nodes="\n".join(nodes),
        first=int(time.time() / 60) % 1_000_000 + 1,
    )
    (folder / CONF).write_text(text, encoding="utf-8")


def commands(folder: Path) -> dict[str, list[str]]:
    """What runs a site, by name, in the order in which it starts."""
    conf = str(folder / CONF)
    munged = [
        "munged", "--foreground", "--force",  # it would want its socket open to every user
        f"--key-file={folder / KEY}", f"--socket={folder / SOCKET}",
        f"--pid-file={folder / 'munged.pid'}", f"--seed-file={folder / 'munged.seed'}",
    ]  # fmt: skip
    nodes = {node: ["slurmd", "-D", "-N", node, "-f", conf] for node in NODES}
    return {"munged": munged, "slurmctld": ["slurmctld", "-D", "-f", conf], **nodes}
