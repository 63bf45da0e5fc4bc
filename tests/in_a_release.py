"""Run inside an unpacked release: judge given observations, check given sources, try what is there.

Reads a pickle of {"seen": {number: {name: observations}}, "sources": {number: code}} and prints
JSON: the verdict on each, what `helpers.check` says to each source, which of the release's own
functions would pass as an answer, and what its notebook imports in vain.
"""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import helpers
from helpers.exercises import everything, find
from helpers.exercises.observe import observe


def own_functions() -> list[Any]:
    """Every function of the modules that hold algorithms and specs."""
    found = []
    for path in sorted(Path("helpers").glob("*/**/*.py")):
        if path.parts[1] == "algorithms" or path.parent.name.startswith("lesson_"):
            module = import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
            members = vars(module).values()
            found += [
                m for m in members if inspect.isfunction(m) and m.__module__ == module.__name__
            ]
    return found


def missing_imports() -> list[str]:
    """The import statements in the notebook's cells, at any depth, that fail."""
    found = []
    (path,) = Path("lessons").glob("*.ipynb")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                try:
                    exec(ast.unparse(node), {"__name__": "__main__"})
                except ImportError as error:
                    found.append(f"{cell['id']}: {error}")
    return found


def defined(source: str, name: str) -> Any:
    """A function that some code defines."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "cell", "exec"), names)
    return names[name]


def main() -> None:
    given = pickle.loads(Path(sys.argv[1]).read_bytes())
    told: dict[str, Any] = {"where": helpers.__file__, "verdicts": {}, "checks": {}, "passing": []}
    told["missing"] = missing_imports()
    for number, answers in given["seen"].items():
        exercise, cases = find(number), find(number).cases(0)
        verdicts = {name: exercise.judge_all(cases, seen) for name, seen in answers.items()}
        told["verdicts"][number] = {n: [v.status, v.hint] for n, v in verdicts.items()}
    for number, source in given["sources"].items():
        told["checks"][number] = helpers.check(
            number, defined(source, find(number).function)
        ).status
    for exercise in everything():
        cases = exercise.cases(0)
        for function in own_functions():
            # The first case is enough for nearly all of them.
            (first,) = observe(exercise.drive, function, cases[:1])
            if exercise.judge(cases[0], first).status != "passed":
                continue
            seen = observe(exercise.drive, function, cases)
            if exercise.judge_all(cases, seen).status == "passed":
                told["passing"].append([exercise.number, function.__name__])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
