"""The README and docs/benchmarks.md show what the kept figures are, and say what they bear out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import figure, kept, page, run
from benchmarks.kept import REPOSITORY, SHOWN, Kept, Store
from helpers.setup.places import ROOT

STORE = Store(REPOSITORY, SHOWN)
README, DOCS = page.PAGES
ANEW = "Write it anew: ./course bench all --only-table --readme"


def of(name: str) -> Kept:
    found = STORE.load(name)
    assert found is not None
    return found


@pytest.mark.parametrize("path", page.PAGES, ids=["readme", "docs"])
def test_tables_are_those_of_the_kept_figures(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert page.BLOCK.search(text)
    assert page.rendered(text, STORE) == text, ANEW


@pytest.mark.parametrize("picture", figure.PICTURES)
def test_pictures_show_the_kept_figures(picture: str) -> None:
    assert figure.told(figure.DOCS / picture) == figure.shown(STORE, picture), ANEW
    for panel in figure.PICTURES[picture]:
        assert len(figure.bars(STORE, panel)) > 1


def test_a_figure_that_differs_is_seen() -> None:
    # A comparison that cannot fail would be no comparison.
    text = README.read_text(encoding="utf-8")
    found = page.BLOCK.search(text)
    assert found
    spoilt = text.replace(found[0], found[0].replace("4", "5"), 1)
    assert spoilt != text == page.rendered(spoilt, STORE)
    other = "<!-- figures: goals -->\nold\n<!-- end -->"
    assert "old" not in page.rendered(other, STORE)
    with pytest.raises(ValueError, match="There is no block 'speed'"):
        page.rendered("<!-- figures: speed -->\n<!-- end -->", STORE)


def test_every_benchmark_has_its_section_with_figures_and_their_limit() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in run.NAMES:
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"<!-- figures: {name}" in section and "What limits it:" in section, name
    assert "docs/benchmarks.md" in README.read_text(encoding="utf-8")


def test_no_figure_stands_in_the_text_around_the_tables() -> None:
    text = page.BLOCK.sub("", DOCS.read_text(encoding="utf-8"))
    assert re.findall(r"\d[\d.,]* ?(?:×|%|[mµ]?s\b|min\b|[GMk]B)", text) == []


def test_what_the_text_says_of_all_reduces_is_so() -> None:
    found = of("collectives")
    for ranks in (2, 4):
        slower = [
            found.seconds(case, "gloo") / found.seconds(case, "ring")
            for case in (f"{mb} MB, {ranks} ranks, sockets" for mb in (1, 10, 40))
        ]
        assert max(slower) == slower[-1] < 1
        case = f"40 MB, {ranks} ranks"
        assert found.seconds(case, "shared memory") < found.seconds(case, "ring")
        assert found.seconds(case, "ring") < found.seconds(case, "gloo")


def test_what_the_text_says_of_launchers_is_so() -> None:
    found = of("launch")
    assert " gave no answer within " in " ".join(found.data["notes"])
    ours = {kind: found.seconds(f"4 {kind} ranks", "helpers.run, warm")
            for kind in ("torch", "Horovod", "TensorFlow")}  # fmt: skip
    assert ours["torch"] < min(ours["Horovod"], ours["TensorFlow"])


def test_what_the_text_says_of_eight_bits_is_so() -> None:
    assert "AVX2, with neither VNNI nor AMX" in of("quantize").data["notes"][0]
    case = "linear 4096 × 4096, batch 256"
    fp32, ours, older = (
        of("quantize").seconds(case, name) for name in ("fp32", "ours", "torch.ao, FBGEMM")
    )
    assert 1.8 < fp32 / ours < 3 and 1.8 < fp32 / older < 3
    other = Store(REPOSITORY, "intel-xeon-2-cores-nvidia-h200").load("quantize")
    assert other is not None and "AMX" in other.data["notes"][0]
    assert [claim.text for claim in other.claims if not claim.met] == [
        "ours, times as quick as fp32, LSTM, 2 layers of 512, 32 steps, batch 64"
    ]


def test_what_the_text_says_of_other_benchmarks_is_so() -> None:
    grade = of("grade")
    case = "exercise 02.1, seconds a submission"
    assert 5 * grade.seconds(case, "./course grade --jobs 1") < min(
        row["median_s"] for row in grade.rows(case)[1:]
    )
    events = [c.value for c in of("simulate").claims if c.text.startswith("ours against SimPy, ti")]
    assert events == sorted(events)  # from few workers to many
    case = "27 trials, 2 processes"
    steps = {row["name"]: float(row["note"].split()[0]) for row in of("search").rows(case)}
    assert steps["Optuna, halving"] == min(steps.values())
    case = "all-reduce of 40 MB, 2 ranks"
    gpu = Store(REPOSITORY, "intel-xeon-16-cores-nvidia-h200").load("gpu")
    assert gpu is not None
    step = "a training step, 2 ranks"
    assert gpu.seconds(step, "torch DDP, fp32") < gpu.seconds(step, "ours, fp32")
    assert gpu.seconds(case, "ours, CUDA's shared memory") < gpu.seconds(case, "gloo")


def test_pages_are_written_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("a\n<!-- figures: machine -->\nold\n<!-- end -->\nb\n")
    monkeypatch.setattr(page, "PAGES", (tmp_path / "page.md",))
    monkeypatch.setattr(figure, "DOCS", tmp_path)
    written = page.write_all()
    assert [path.name for path in written] == [*figure.PICTURES, "page.md"]
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "old" not in text and "AMD EPYC, 2 cores" in text and text.endswith("<!-- end -->\nb\n")
    assert figure.told(tmp_path / "benchmarks.png") == figure.shown(STORE, "benchmarks.png")
    assert kept.SHOWN in {path.name for path in REPOSITORY.iterdir()} and ROOT in DOCS.parents
