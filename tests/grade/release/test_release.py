"""What students get: everything that a lesson needs, and no answer and no hidden case."""

from __future__ import annotations

import inspect
import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import releases
from assistants import not_there
from leaks import ROOT, hidden_values, leaks, members
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from helpers.checks import check, find, known, lessons, of_lesson
from helpers.checks.apart import observe_here
from helpers.checks.released import OUTCOMES, LeftOut, is_left_out, left_out
from helpers.course import cli
from helpers.grade.prune import Modules, file_of, scope
from helpers.grade.release import pack
from helpers.grade.release.cells import answers
from helpers.grade.release.cells import recorded as recorded_cells
from helpers.grade.release.pack import algorithm_texts, answers_in, in_room
from helpers.notebook import recorded
from helpers.notebook.predict import again, predict
from helpers.notebook.recorded import RECORDED
from helpers.rooms import names_in, rooms

NOT_THERE = ("solutions/", "tests/", "benchmarks/", "helpers/grade/", "__pycache__", ".pyc")


# Everyday one lesson is packed and looked through: one program packs all.
PACKED = [pytest.param(lesson, marks=pytest.mark.sample("13")) for lesson in lessons()]


@pytest.fixture(scope="module", params=PACKED)
def packed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lesson's ZIP, named by its number. What wrong answers do is held in test_release_runs."""
    path = tmp_path_factory.mktemp("release") / f"{request.param}.zip"
    releases.pack_without_hints(request.param, path)
    return path


def test_it_holds_no_solution_and_no_hidden_case(packed: Path) -> None:
    names = [name for name, _ in members(packed.read_bytes())]
    assert not [name for name in names for part in NOT_THERE if part in name]
    assert leaks(packed.read_bytes(), packed.stem) == []


def test_what_is_typed_on_a_cluster_is_there(packed: Path) -> None:
    """Scripts, jobs for SLURM, and a job for Kubernetes; but for what grades."""
    with zipfile.ZipFile(packed) as archive:
        names = {name for name in archive.namelist() if name.startswith("cluster/")}
        held = {name: archive.read(name) for name in names}
    folder = ROOT / "cluster"
    ours = {p.relative_to(ROOT).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    ours = {name: path for name, path in ours.items() if "__pycache__" not in name}
    assert {Path(name).suffix for name in names} == {".py", ".slurm", ".sh", ".yaml"}
    assert names == ours.keys() - {"cluster/grade.slurm"}
    assert all(held[name] == ours[name].read_bytes() for name in names)


def test_assistants_are_asked_to_tutor(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        text = archive.read("AGENTS.md").decode()
        assert "Tutor; do not solve" in text
        assert "maintain" not in text and "solutions/" not in text
        assert not_there(text, {*archive.namelist()}, {"lab", "doctor", "progress"}) == []


def with_file(data: bytes, name: str, text: str | bytes) -> bytes:
    """A ZIP with one file more."""
    held = io.BytesIO(data)
    with zipfile.ZipFile(held, "a") as archive:
        archive.writestr(name, text)
    return held.getvalue()


def test_the_search_finds_what_it_looks_for() -> None:
    # A search that cannot find anything would prove nothing.
    data = b"PK\x05\x06" + bytes(18)  # an empty ZIP
    assert leaks(data, "13") == []
    source = inspect.getsource(find("13.3").reference)
    renamed = source.replace("microbatches", "pieces").replace("one_forward_one_backward", "helper")
    assert leaks(with_file(data, "helpers/a.py", source), "13")
    assert leaks(with_file(data, "helpers/a.py", f"if True:\n    pass\n{renamed}"), "13")
    inner = with_file(data, "deep.py", inspect.getsource(find("13.6").reference))
    assert leaks(with_file(data, "helpers/b.zip", inner), "13")
    cell = {"cells": [{"source": source.splitlines(keepends=True)}]}
    assert leaks(with_file(data, "lessons/x.json", json.dumps(cell)), "13")
    hidden = hidden_values("13.4")[0]
    assert leaks(with_file(data, "helpers/c.json", hidden), "13")


def test_it_is_made_the_same_again(packed: Path, tmp_path: Path) -> None:
    releases.pack_without_hints(packed.stem, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        assert archive.getinfo("course").external_attr >> 16 & 0o111
        lesson = next(n for n in archive.namelist() if n.startswith("lessons/"))
        assert archive.read(lesson) == (ROOT / lesson).read_bytes()


def test_a_release_knows_what_wrong_answers_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = find("07.1")
    here = {case.name: known.of_case(exercise, case, observe_here) for case in exercise.cases(0)}
    table = json.dumps({exercise.number: known.kept(exercise)})
    (tmp_path / OUTCOMES).write_text(table, encoding="utf-8")
    monkeypatch.setattr(known, "folder", lambda number: tmp_path)
    known.released.cache_clear()
    held = known.released(exercise.number)
    known.released.cache_clear()
    assert [*held] == [known.mark(case) for case in exercise.cases(0)]
    assert repr([*held.values()]) == repr([*here.values()]) and all(here.values())


def test_a_cell_that_needs_an_answer_has_outputs_to_show(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        table = json.loads(archive.read(in_room(packed.stem, RECORDED)))
    needed = {number for entry in table.values() for number, _ in entry["needs"]}
    assert needed == {exercise.number for exercise in of_lesson(packed.stem)}
    assert all(entry["outputs"] for entry in table.values())


def test_earlier_lessons_answers_may_be_used(tmp_path: Path) -> None:
    releases.pack_without_hints("03", tmp_path / "03.zip")
    with zipfile.ZipFile(tmp_path / "03.zip") as archive:
        text = archive.read("helpers/lessons/messages/algorithms/collectives.py")
    assert text == (ROOT / "helpers/lessons/messages/algorithms/collectives.py").read_bytes()


def test_the_answers_are_those_of_this_lesson_and_later_ones() -> None:
    modules = Modules(algorithm_texts())
    names = {lesson: {name for _, name in answers_in(modules, lesson)} for lesson in ("02", "03")}
    assert {"all_reduce_ring", "fit_latency_bandwidth"} <= names["02"]
    assert "all_reduce_ring" not in names["03"] and "average_gradients" in names["03"]
    assert "all_reduce_naive" not in names["02"] and "Asynchronous" in names["03"]


SHOWN = '''"""A."""

import os
from p.b import helper, other

LIMIT = 3
"""Said."""


def shown(x):
    return helper(x, LIMIT)


def answer(helper):
    return other(helper)
'''


def test_only_what_is_named_stays() -> None:
    texts = {
        "p.a": SHOWN,
        "p.b": "def helper(x, y):\n    return x\n\n\ndef other(x):\n    return x\n",
    }
    modules = Modules(texts)
    kept = modules.reached([("p.a", "shown")])
    assert kept == {("p.a", "shown"), ("p.a", "LIMIT"), ("p.b", "helper")}
    cut = modules.cut("p.a", kept)
    assert "import os" not in cut and "answer" not in cut and '"""Said."""' in cut
    assert "from p.b import helper\n" in cut
    assert modules.needing({("p.b", "other")}) == {("p.b", "other"), ("p.a", "answer")}


def test_what_a_parameter_is_without_an_argument_may_be_missing() -> None:
    texts = {
        "p.a": '"""A."""\n\nimport os\n\n\ndef own(x):\n    return x\n\n\n'
        "def builds(x, by=own):\n    return os.fspath(by(x))\n"
    }
    modules, own = Modules(texts), ("p.a", "own")
    assert modules.needing({own}) == {own}
    kept = modules.reached([("p.a", "builds")], {own})
    assert kept == {("p.a", "builds"), ("p.a", "os")} and modules.missed(kept) == {own}
    assert own in modules.reached([("p.a", "builds")])
    cut = modules.cut("p.a", kept, {own: 'own = absent("own")'})
    assert cut.index("import os") < cut.index("own = absent") < cut.index("def builds")


def test_arguments_are_no_names_from_outside() -> None:
    code = "def f(cases):\n    return [c for c in cases if c.x > LEAST]\n"
    assert scope(code) == ({"f"}, {"LEAST"})


def test_what_is_left_out_says_so() -> None:
    absent = left_out("`all_reduce_ring`")
    assert is_left_out(absent) and not is_left_out(find("02.3").reference)
    with pytest.raises(LeftOut, match="does not have its own `all_reduce_ring`"):
        absent(1, 2)


def test_the_command_says_what_it_wrote_and_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "outcomes", lambda lesson: {})
    assert cli.main(["release", "00", "--out", str(tmp_path / "00.zip")]) == 0
    assert "holds lesson 00" in capsys.readouterr().out
    assert cli.main(["release", "77", "--out", str(tmp_path / "77.zip")]) == 1
    assert "There is no lesson 77" in capsys.readouterr().err
    assert not (tmp_path / "77.zip").exists()


# --- the cells that show recorded outputs ---------------------------------------------------------


def entry(needs: list[list[str]], names: dict[str, str] | None = None) -> dict[str, Any]:
    return {"needs": needs, "names": names or {}, "outputs": []}


def test_a_cell_runs_once_what_it_builds_on_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = ["call = helpers.mine_or_yours('00.1', roll_call)\n", "call()  \n", "\n"]
    key = recorded.digest("".join(cell))
    assert key == recorded.digest("\n".join(line.rstrip() for line in cell))
    monkeypatch.setattr(recorded, "table", lambda: {key: entry([["00.1", "roll_call"]])})
    monkeypatch.setattr("helpers.checks.check.known_status", lambda number, fn: fn())
    for said, runs in (("passed", True), ("wrong", False), ("not attempted", False)):
        lines = recorded.instead(cell, {"roll_call": lambda said=said: said})
        assert (lines == cell) is runs
    assert key in recorded.instead(cell, {})[0]
    assert recorded.instead(["print(1)\n"], {}) == ["print(1)\n"]


def test_the_reason_names_what_is_open() -> None:
    assert recorded.reason(["02.3", "02.5"]) == (
        "Exercises 02.3 and 02.5 are open. This is what the cell showed on another machine, with "
        "the course's own version. Once they pass, it runs."
    )


def test_the_names_that_a_cell_gives_to_answers_are_there() -> None:
    names = {"average": "03.2", "grouped": "03.4"}
    held = entry([["03.2", "average_gradients"], ["03.4", "make_buckets"]], names)
    given = recorded.given(held, ["03.2"], {"make_buckets": len})
    assert given["grouped"] is len
    with pytest.raises(LeftOut, match=r"`average` is your `average_gradients` of exercise 03\.2"):
        given["average"](1, 2)


def lesson_of(*sources: str) -> NotebookNode:
    """A notebook with some code cells, c0, c1 and so on."""
    return new_notebook(cells=[new_code_cell(s, id=f"c{n}") for n, s in enumerate(sources)])


def answer_cell(lesson: NotebookNode, number: int, exercise: str) -> NotebookNode:
    lesson.cells[number].metadata["nbgrader"] = {"grade_id": exercise}
    return lesson


def test_what_a_cell_takes_is_found() -> None:
    uses = 'ring = helpers.mine_or_yours("02.3", f)\nways = {"x": helpers.mine_or_yours("02.5", g)}'
    assert answers(uses) == {"ring": "02.3", "02.5": "02.5"}
    lesson = answer_cell(
        lesson_of("def scatter(): ...", 's = mine_or_yours("02.1", scatter)', "s"),
        0,
        "exercise-02-1",
    )
    table = recorded_cells(lesson, lesson, set())
    assert [one["names"] for one in table.values()] == [{"s": "02.1"}, {}]


def test_a_lesson_that_could_not_run_with_all_answers_is_refused() -> None:
    imports = "from helpers.lessons.messages import collectives"
    lesson = lesson_of(imports, "collectives.broadcast_tree")
    with pytest.raises(ValueError, match="Cell c1 names `broadcast_tree`, which answers an exerc"):
        recorded_cells(
            lesson, lesson, {("helpers.lessons.messages.algorithms.collectives", "broadcast_tree")}
        )
    early = answer_cell(
        lesson_of('mine_or_yours("02.1", scatter)', "def scatter(): ..."), 1, "exercise-02-1"
    )
    with pytest.raises(ValueError, match=r"Cell c0 takes the answer to 02\.1, which is asked for"):
        recorded_cells(early, early, set())


def test_recorded_outputs_say_nothing_of_this_machine(packed: Path) -> None:
    said = recorded_in(packed)
    assert not re.search(r"this machine|\b[Hh]ere\b|your machine", said)
    assert "This runs your" not in said


def recorded_in(packed: Path) -> str:
    """The texts of a release's recorded outputs."""
    with zipfile.ZipFile(packed) as archive:
        table = json.loads(archive.read(in_room(packed.stem, RECORDED)))
    texts = [
        output["text"] if output["output_type"] == "stream" else str(value)
        for one in table.values()
        for output in one["outputs"]
        for kind, value in output.get("data", {"text": ""}).items()
        if kind != "image/png"
    ]
    alts = [str(output.get("metadata", "")) for one in table.values() for output in one["outputs"]]
    return "\n".join(texts + alts)


def test_the_text_points_to_what_is_there(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        held = {name: archive.read(name).decode() for name in archive.namelist()}
    (lesson,) = (json.loads(text) for name, text in held.items() if name.endswith(".ipynb"))
    written = "\n".join("".join(cell["source"]) for cell in lesson["cells"])
    for path in re.findall(r"\bhelpers/[\w/]+\.py\b", written):
        assert path in held and "left_out(" not in held[path], path
    handed = names_in(rooms()[packed.stem])
    for module, name in set(re.findall(r"`(\w+)\.(\w+)`", written)):
        home, inner = handed.get(module, ("", ""))
        if name != "py" and ".algorithms." in home and not inner:
            known = rf"^(def|class) {name}\b|^{name}\b.* = (?!left_out)"
            assert re.search(known, held.get(file_of(home), ""), re.M), (module, name)


def test_a_stored_comparison_is_made_anew_with_what_is_predicted_now() -> None:
    guess = predict("How many times quicker?", unit="×")
    page = guess.compare(2.5, "on the clock it is")._repr_html_()
    assert (
        repr(again(page))
        == "On the clock it is 2.5×. You made no prediction: try one, and run again."
    )
    guess.value = 2.0
    assert repr(again(page)) == "You said 2×; on the clock it is 2.5×, which is close."
    assert again("<div>2.5</div>") is None


def test_without_its_own_version_a_demonstration_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise = replace(find("00.1"), reference=left_out("answer to 00.1"))
    monkeypatch.setattr(check, "find", lambda number: exercise)
    monkeypatch.setattr(check, "known_status", lambda number, fn: "not attempted")
    with pytest.raises(LeftOut, match=r"00\.1 is open, and this copy of the course has no"):
        check.mine_or_yours("00.1", print)
