"""Checkpoints: what saving adds to a step, in each way, and what a few kills leave.

The disk takes a given rate a rank, as a file system does that many ranks share; and this machine's
own disk, which whoever reads the figures has to know. Ours and torch's write the same numbers.
"""

from __future__ import annotations

import statistics
import tempfile

from benchmarks.report import Report
from helpers.lessons.cluster.experiments.checkpoint_hidden import BIG, WAYS, Cost, costs, hidden
from helpers.lessons.cluster.experiments.checkpoint_kills import SAME, killed, resumed
from helpers.lessons.cluster.experiments.checkpoint_promises import AT_THE_CALL, promises
from helpers.lessons.cluster.experiments.checkpoint_training import Setting

RANKS, ROUNDS = 2, 3
RATES: dict[str, float | None] = {"20 MB/s a rank": 20e6, "this machine's disk": None}
HIDDEN = 75.0  # %, at least, on the disk of a given rate
KILLS = 20
KILLED = Setting(steps=12, every=2)


def measure() -> Report:
    """All of it."""
    report = Report("checkpoints", "Checkpoints: seconds that saving adds, kills, and promises")
    for name, rate in RATES.items():
        measure_costs(report, name, rate)
    measure_kills(report)
    measure_promises(report)
    return report


def measure_costs(report: Report, name: str, rate: float | None, setting: Setting = BIG) -> None:
    """Each way's step on one disk; claims where the disk's rate is given."""
    found = costs(WAYS, ROUNDS, ranks=RANKS, setting=setting, rate=rate)
    case = f"a step, {setting.every} to a save, {RANKS} ranks, {name}"
    quiet = [each.quiet for rows in found.values() for each in rows]
    report.add(case, "no saves", quiet)
    for way, rows in found.items():
        report.add(case, way, [each.step for each in rows], note(rows))
    if rate is None:
        return
    text = "in the background: of what a blocking save adds, hidden"
    report.claim(text, 100 * hidden(found, "in the background"), HIDDEN, unit="%")
    report.extra["torch, asynchronous: share hidden"] = hidden(found, WAYS[3], WAYS[2])


def note(rows: list[Cost]) -> str:
    """What a row of the table says besides its seconds."""
    held = 1e3 * statistics.median(each.waited for each in rows)
    added = 1e3 * statistics.median(each.added for each in rows)
    size = f"{rows[0].nbytes / 1e6:.1f} MB a rank"
    return f"{size}, a save adds {added:.0f} ms, {held:.0f} of them at its call"


def measure_kills(report: Report, kills: int = KILLS) -> None:
    """Ranks killed while they save; and from 4 ranks on 2 and 3."""
    with tempfile.TemporaryDirectory() as folder:
        found = killed(f"{folder}/killed", kills=kills, setting=KILLED, timeout=300)
        case = f"{found.kills} kills, {found.writing} of them in a save"
        report.claim(f"{case}: without a checkpoint", found.unloadable, 0, False, "")
        report.claim(f"{case}: a finished save lost", found.forgotten, 0, False, "")
        report.claim(f"{case}: intervals lost", found.lost / found.every, 1, False, "")
        report.claim(f"{case}: losses differ by", found.worst, 0, False, "")
        again = resumed(f"{folder}/resumed", 4, (2, 3), setting=KILLED, timeout=300)
        text = "sharded, from 4 ranks on 2 and 3: losses differ by"
        report.claim(text, again.worst, SAME, False, "")


def measure_promises(report: Report) -> None:
    """What `async_save` writes of values that change after the call."""
    import helpers

    with tempfile.TemporaryDirectory() as folder:
        found = helpers.run(promises, folder, ranks=2, show=False, device="cpu", timeout=300)[0]
    report.extra["async_save"] = {each.case: each.value for each in found}
    by_itself = found[0].value - AT_THE_CALL
    report.claim("async_save by itself, value off by", by_itself, 0, False, "")
