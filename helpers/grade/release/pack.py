"""The ZIP that students get: a lesson, and of the course what the lesson needs.

It holds no solution and no hidden case. Of the rooms' algorithms, what earlier lessons build is
there whole; of the rest only what the lesson's text and figures use, without the functions that
answer an exercise of this lesson or a later one, and without what needs these. Of the exercises'
specs, claims and hints are there, and the visible cases as values; references, wrong answers and
what makes cases are not.
"""

from __future__ import annotations

import ast
import json
import os
import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from helpers.checks import algorithm, lessons, of_lesson, provided
from helpers.checks.encoding import decode, encode
from helpers.checks.known import kept as known_outcomes
from helpers.checks.released import CASES, OUTCOMES
from helpers.checks.spec import Exercise
from helpers.course.build.notebook import read
from helpers.course.build.run import ROOT, notebooks
from helpers.grade.prune import Module, Modules, Name, file_of, sources
from helpers.grade.release.cells import direct_uses, recorded
from helpers.grade.release.tables import without_functions
from helpers.grade.sandbox.visible import ROOM
from helpers.notebook.recorded import RECORDED
from helpers.rooms import folder, rooms

WHOLE = (
    *("course", "pyproject.toml", "constraints.txt", "environment.yml"),
    *("LICENSE", "LICENSE-text", "CITATION.cff"),
    "docs/glossary.md",
)
PACKAGES = ("checks", "course/setup", "course/jupyter", "engine", "notebook")
SINGLE = ("rooms.py", "lessons/__init__.py")
SCRIPTS = ("cluster", "cluster/local")
SUFFIXES = (".py", ".slurm", ".sh", ".yaml")  # of what is typed, handed to SLURM, or filled in
INSTRUCTORS = "grade.slurm"  # grading is left out
ALGORITHMS = re.compile(r"helpers\.lessons\.\w+\.algorithms\b")
MAINTAINERS = "\n## With those who maintain the course"  # of AGENTS.md, its last part
LEFT_OUT = "from helpers.checks.released import left_out"
WHEN = (2026, 1, 1, 0, 0, 0)  # in every entry, so that the same course gives the same bytes

INSTALL = """
from helpers.notebook import recorded as _recorded

_recorded.install()
"""
README = """\
# Lesson {lesson} of a course on distributed deep learning

```sh
./course lab       # sets everything up, then opens JupyterLab at the lesson
./course progress  # which exercises are done, and what comes next
./course doctor    # what this machine has, and what a missing thing costs you
```

You need Linux (glibc 2.28 or newer), macOS 14 on Apple silicon, or WSL 2 on Windows; Python 3.11,
3.12 or 3.13, and about 5 GB of disk, twice that where Linux gets PyTorch's CUDA build. The first
start takes a few minutes. Unpack later lessons into the same folder, in order: they use
the same set-up.

Write your answers into `lessons/{name}` and hand in that file. `helpers.check` tells whether an
answer is right on the cases that the lesson shows; grading uses others too. This copy holds no
answers: a cell that builds on an open exercise shows what it showed on another machine.
"""


def release(lesson: str, out: Path) -> list[str]:
    """Write the ZIP of a lesson, such as "02", to `out`; returns the names of its files.

    Raises ValueError with a sentence where there is no such lesson, or where it is not in step with
    its solution (`./course build`).
    """
    files = contents(lesson)
    partial = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, WHEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o100755 if name == "course" else 0o100644) << 16
                archive.writestr(entry, files[name])
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)  # where it did not become the ZIP
    return sorted(files)


def contents(lesson: str) -> dict[str, bytes]:
    """The files of a lesson's release, by their names. Raises ValueError as `release` does."""
    found = [p for p in notebooks(ROOT / "solutions") if p.name[:2] == lesson]
    if not found or not (ROOT / "lessons" / found[0].name).exists():
        there = ", ".join(p.name[:2] for p in notebooks(ROOT / "solutions"))
        raise ValueError(f"There is no lesson {lesson} in solutions/ and lessons/, only {there}.")
    path = ROOT / "lessons" / found[0].name
    notebook, solution = read(path), read(found[0])
    if {c.id for c in notebook.cells} != {c.id for c in solution.cells}:
        raise ValueError(
            f"{path.name} is not what its solution builds: run `./course build` first."
        )
    files = {name: (ROOT / name).read_bytes() for name in WHOLE}
    files["README.md"] = README.format(lesson=lesson, name=path.name).encode()
    files["AGENTS.md"] = agents((ROOT / "AGENTS.md").read_text(encoding="utf-8")).encode()
    files[f"lessons/{path.name}"] = path.read_bytes()
    files |= _helpers()
    algorithms = Modules(algorithm_texts())
    withheld = algorithms.needing(answers_in(algorithms, lesson))
    used = set().union(*direct_uses(notebook).values())
    files |= _algorithms(algorithms, lesson, withheld, used, files)
    files |= _specs(lesson)
    table = recorded(notebook, solution, withheld)
    files[in_room(lesson, RECORDED)] = _json(table)
    return files


def agents(text: str) -> str:
    """What the course asks coding assistants for, without what a release does not have."""
    return text.partition(MAINTAINERS)[0].replace("`solutions/`, ", "")


def in_room(lesson: str, name: str) -> str:
    """A file's name in a lesson's room."""
    return f"{rooms()[lesson].replace('.', '/')}/{name}"


def _json(data: object) -> bytes:
    return (json.dumps(data, ensure_ascii=False, sort_keys=True) + "\n").encode()


def _helpers() -> dict[str, bytes]:
    """What is there as it is: commands, engines, set-up, figures, scripts, how checks work."""
    home = ROOT / "helpers"
    paths = [home / name for name in SINGLE] + sorted((home / "course").glob("*.py"))
    paths += [home / "lessons" / folder(number).name / "__init__.py" for number in rooms()]
    scripts = [p for folder in SCRIPTS for p in sorted((ROOT / folder).iterdir())]
    paths += [p for p in scripts if p.suffix in SUFFIXES and p.name != INSTRUCTORS]
    whole = [home / package for package in PACKAGES]
    whole += [home / "lessons" / folder(number).name / name for number in rooms() for name in ROOM]
    for each in whole:
        paths += [p for p in sorted(each.rglob("*")) if p.suffix in (".py", ".json")]
    files = {p.relative_to(ROOT).as_posix(): p.read_bytes() for p in paths}
    files["helpers/__init__.py"] = (home / "__init__.py").read_bytes() + INSTALL.encode()
    return files


# --- what the lessons build -----------------------------------------------------------------------


def algorithm_texts() -> dict[str, str]:
    """The text of each module of algorithms, of all rooms, by its dotted name."""
    homes = {room: folder(number) / "algorithms" for number, room in rooms().items()}
    return {
        name: text
        for room, home in homes.items()
        for name, text in sources(home, f"{room}.algorithms").items()
    }


def answers_in(algorithms: Modules, lesson: str) -> set[Name]:
    """The functions of the rooms' algorithms that answer an exercise of this lesson or a later one.

    These are what a spec's reference and wrong answers import of what no lesson has built yet, and
    what a lesson names beside that (ANSWERS). A module's own parts, which a spec takes for patches,
    are none by that: others that a lesson shows may stand on them.
    """
    found: set[Name] = set()
    for number in lessons():
        if number < lesson:
            continue
        built = set(provided("99")) - set(provided(number))
        for text in sources(folder(number) / "exercises", "spec").values():
            found |= {n for n in _imports(text) if n[0] in built and not n[1].startswith("_")}
        room = import_module(rooms()[number])
        found |= {(algorithm(room, one), name) for one, name in vars(room).get("ANSWERS", ())}
    return {home for name in found if (home := algorithms.home(name)) is not None}


def _imports(text: str) -> set[Name]:
    """What a module imports of rooms' algorithms."""
    if not ALGORITHMS.search(text):  # quicker than to parse it
        return set()
    return {
        (str(node.module), alias.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and ALGORITHMS.match(node.module or "")
        for alias in node.names
    }


def _algorithms(
    modules: Modules, lesson: str, withheld: set[Name], used: set[Name], files: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The rooms' algorithms for a lesson. used: what its cells name; files: the rest of the ZIP."""
    whole = set(provided(lesson))
    wanted = used | _named_by(files)
    for name in whole:
        wanted |= {(name, one) for one in modules.modules[name].defines}
    wanted = {home for name in wanted if (home := modules.home(name)) is not None}
    kept = modules.reached(wanted - withheld, withheld)
    missing = (wanted | modules.missed(kept)) & withheld
    stubs = {name: f'{name[1]} = left_out("`{name[1]}`")' for name in missing}
    stubs |= {(module, ""): f"{LEFT_OUT}\n" for module, _ in missing}  # "" comes first
    parts = {where for where, _ in kept | stubs.keys()}
    found: dict[str, bytes] = {}
    for name in [one for one in modules.modules if one in whole | parts]:
        text = modules.modules[name].text if name in whole else modules.cut(name, kept, stubs)
        found[file_of(name)] = text.encode()
        package = name.rpartition(".")[0]
        found[file_of(package)] = modules.modules[package].text.encode()
    return found


def _named_by(files: Mapping[str, bytes]) -> set[Name]:
    """What the other modules of the ZIP import of rooms' algorithms."""
    modules = [text.decode() for name, text in files.items() if name.endswith(".py")]
    return set().union(*map(_imports, modules))


# --- the exercises' specs -------------------------------------------------------------------------


def _specs(lesson: str) -> dict[str, bytes]:
    """A lesson's specs without answers; the visible cases, and what wrong answers do, as values."""
    package = f"{rooms()[lesson]}.exercises"
    texts = sources(folder(lesson) / "exercises", package)
    modules = Modules({name: blind(text) for name, text in texts.items()})
    kept = modules.reached((name, "EXERCISE") for name in texts)
    found = {
        file_of(name): modules.cut(name, kept).encode()
        for name in modules.modules
        if any(where == name for where, _ in kept)
    }
    cases = {exercise.number: _visible(exercise) for exercise in of_lesson(lesson)}
    found[file_of(package)] = texts[package].encode()
    found[in_room(lesson, CASES)] = _json(cases)
    found[in_room(lesson, OUTCOMES)] = _json(outcomes(lesson))
    return found


def outcomes(lesson: str) -> dict[str, dict[str, object]]:
    """By exercise: what its known wrong answers do in the visible cases, as JSON data."""
    return {exercise.number: known_outcomes(exercise) for exercise in of_lesson(lesson)}


def _visible(exercise: Exercise) -> list[object]:
    """The cases that the lesson shows, as JSON data."""
    made: list[object] = []
    for case in exercise.cases(0):
        fields = (case.name, case.args, case.ranks, dict(case.options), dict(case.facts))
        made.append(encode(fields))
        if repr(decode(made[-1])) != repr(fields):
            raise ValueError(
                f"A case of {exercise.number} holds more than plain values: {fields[0]}."
            )
    return made


def blind(text: str) -> str:
    """A spec's text with the visible cases for `cases`, without the reference and wrong answers.

    Of wrong answers, the names and what they say stay.
    """
    module = Module("spec", text)
    if "EXERCISE" not in module.defines:
        return text
    statement = module.body[module.defines["EXERCISE"]]
    call = getattr(statement, "value", None)
    assert isinstance(call, ast.Call)
    given = {word.arg: word.value for word in call.keywords}
    number = ast.literal_eval(given["number"])
    instead = [
        (given["cases"], f'visible("{number}")'),
        (given["reference"], f'left_out("answer to {number}")'),
        (given["wrong"], without_functions(module, given["wrong"])),
    ]
    raw = text.encode()
    lines = raw.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    for value, words in sorted(instead, key=lambda one: -one[0].lineno):
        start = starts[value.lineno - 1] + value.col_offset
        end = starts[(value.end_lineno or 0) - 1] + (value.end_col_offset or 0)
        raw = raw[:start] + words.encode() + raw[end:]
    head = "from helpers.checks.released import left_out, visible\n"
    cut = raw.decode().split("from helpers.checks.spec import", 1)
    return f"{cut[0]}{head}from helpers.checks.spec import{cut[1]}"
