"""Which of a benchmark's many figures docs/benchmarks.md shows."""

from __future__ import annotations

from typing import NamedTuple


class Selection(NamedTuple):
    """cases: a pattern of the cases whose medians are shown. held: names, and patterns of claims.

    Claims with the same target are shown in one line, under the name; others one by one. The
    course's goals are shown besides, and so is every claim that is missed.
    """

    cases: str = ".*"
    held: tuple[tuple[str, str], ...] = ()


SELECTED = {
    "collectives": Selection(r"(1|40) MB, .*"),
    "data-parallel": Selection(
        held=(("pipelines, tensor parallelism and sharding, seconds beside torch's", r"ours, .*"),)
    ),
    "grade": Selection(held=(("a class of 300 with two jobs", r"300 submissions .*"),)),
    "published": Selection(held=(("worst errors", r".*: worst error .*"),)),
    "model-split": Selection(
        held=(
            ("counts of seconds and speedups, off by", r".* off by"),
            ("recurrent, two ranks quicker than one", r"recurrent: .*"),
            ("dense, two ranks quicker than one, which they must not be", r"dense: .*"),
        )
    ),
    "bubble": Selection(held=(("share idled, off the formula by", r".* off the formula by"),)),
    "quantize": Selection(
        held=(("one row, weights only in bf16, speed beside fp32's", r"ours, weights only, .*"),)
    ),
    "hosts": Selection(
        r"start .*|20 MB, \d hosts, (200mbit|1gbit)|20 MB, eight ranks|pull and push .*",
        (
            ("a run after the first starts in", r"a run after .*"),
            ("steps on 4 to 8 hosts, predicted from 1 to 3, median error", r"predictions .*"),
            ("two levels and two servers, predicted gain off by", r".* predicted; apart by"),
        ),
    ),
    "compress": Selection(
        r"step, .*|.*DDP's gradients.*|a table .*",
        (
            ("bf16 on a slow link, quicker", r"bf16, .*, quicker"),
            ("top 1 % on a slow link, quicker", r"top 1 %, .*, quicker"),
            ("averaged every 50 steps on a slow link, quicker", r"every 50 .*, quicker"),
            ("bytes beside torch's hooks, off by", r".*: bytes beside torch's, off by"),
            ("steps predicted for other models and links, the worst", r".* worst prediction, .*"),
        ),
    ),
    "actors": Selection(
        held=(
            ("tic-tac-toe, games not lost, of 100", r"tic-tac-toe, .*: (median|worst) .*"),
            ("CartPole, steps that a pole stands", r"CartPole, .*: (median|worst) .*"),
            ("seconds of the slowest seed", r".*: slowest seed"),
            ("speed beside the quicker of gymnasium's loops", r".* quicker of gymnasium's loops"),
        )
    ),
    "search": Selection(
        held=(
            ("speed beside Optuna's on the same trials", r".*, Optuna's seconds .*"),
            ("wrong promotions fall with more trials, at least by", r".*, the least drop"),
            ("jobs lost or counted twice, outcomes changed, workers left by kills", r".* kills .*"),
        )
    ),
    "checkpoints": Selection(
        held=(
            ("of what a blocking save adds, hidden in the background", r".*, hidden"),
            ("resumed on other numbers of ranks, losses differ by", r".* on 2 and 3: .*"),
        )
    ),
    "lessons": Selection(held=(("solutions that end with an error", r"solutions that .*"),)),
    "gpu": Selection(
        r"(int8|bf16|fp32|TF32), 8192³|a training step.*|linear .*, batch (32|4096)"
        r"|a copy of 64 MB|all-reduce of (4|40) MB.*",
        (
            ("products, speed beside the best library call", r"ours, times as quick as .*"),
            ("bf16, speed beside fp32's", r"bf16, times as quick as fp32 .*"),
            ("int8, speed beside fp32's", r"int8, times as quick as fp32 .*"),
            ("bytes kept, off the formula by", r"memory kept, .*"),
        ),
    ),
}
