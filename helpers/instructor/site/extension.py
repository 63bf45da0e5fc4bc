"""What Sphinx has to know besides: alt texts of a notebook's pictures, and formulas as MathML.

MathML is drawn by the browser itself: no script, no font and no server is needed for a formula.
"""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LOG = logging.getLogger(__name__)
# What the converter does not know, in what it does.
_SPELLED = {r"\arg": r"\operatorname{arg}", r"\_": "_"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula_block, None))
    app.connect("doctree-read", _describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# --- pictures -------------------------------------------------------------------------------------


def _describe(app: Sphinx, doctree: nodes.document) -> None:
    """Give a notebook's pictures their alt texts, which stand in the outputs' metadata."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    alts = alt_texts(json.loads(path.read_text(encoding="utf-8")))
    for image in doctree.findall(nodes.image):
        name = Path(image["uri"]).stem
        if name in alts:
            image["alt"] = alts[name]


def alt_texts(notebook: dict[str, Any]) -> dict[str, str]:
    """The alt texts of a notebook's pictures, by the names that myst-nb gives to their files."""
    found = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                name = sha256(b64decode("".join(picture))).hexdigest()
                found[name] = output["metadata"].get("image/png", {}).get("alt", "")
    return found


# --- formulas -------------------------------------------------------------------------------------


def mathml(formula: str, block: bool = False) -> str:
    """A formula in TeX as MathML. Raises ValueError with a sentence where there is none."""
    from latex2mathml.converter import convert

    text = formula
    for command, known in _SPELLED.items():
        text = text.replace(command, known)
    try:
        made: str = convert(text, display="block" if block else "inline")
    except Exception as error:  # the converter raises kinds of its own
        raise ValueError(
            f"The formula {formula} cannot be read: {type(error).__name__}."
        ) from error
    if "\\" in made:
        raise ValueError(f"The formula {formula} holds a command that becomes no MathML.")
    return made


def _formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(_said(node))
    raise nodes.SkipNode


def _formula_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_said(node, block=True)}</div>\n')
    raise nodes.SkipNode


def _said(node: nodes.Element, block: bool = False) -> str:
    try:
        return mathml(node.astext(), block)
    except ValueError as error:
        _LOG.warning("%s", error, location=node)
        return ""
