"""Sphinx's configuration of the site, and what it has to be told besides: a notebook's alt texts,
and formulas as MathML, which the browser draws itself: no script, no font and no server is needed.

Nothing is executed, and no source is copied to the site.
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

project = html_title = html_short_title = "Distributed deep learning, built by hand"
author = "the maintainers of the course"
extensions = ["myst_nb"]
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # of code with … in it

html_theme = "sphinx_book_theme"
html_theme_options = {
    "logo": {"text": project},
    "use_download_button": False,  # a page is no notebook to run
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the sidebar has the search
    "show_toc_level": 2,
    "toc_title": "On this page",
    "show_navbar_depth": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_static_path = html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = html_use_index = False
html_math_renderer = "mathml"

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 4
myst_update_mathjax = False


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula_block, None))
    app.connect("doctree-read", _describe)


def _describe(app: Sphinx, doctree: nodes.document) -> None:
    """Give a notebook's pictures their alt texts, which stand in the outputs' metadata."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix == ".ipynb":
        alts = alt_texts(json.loads(path.read_text(encoding="utf-8")))
        for image in doctree.findall(nodes.image):
            image["alt"] = alts.get(Path(image["uri"]).stem, image.get("alt"))


def alt_texts(notebook: dict[str, Any]) -> dict[str, str]:
    """The alt texts of a notebook's pictures, by the names that myst-nb gives to their files."""
    found = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                name = sha256(b64decode("".join(picture))).hexdigest()
                found[name] = output["metadata"].get("image/png", {}).get("alt", "")
    return found


def mathml(formula: str, display: str = "inline") -> str:
    """A formula in TeX as MathML. Raises ValueError with a sentence where there is none."""
    from latex2mathml.converter import convert

    known = formula.replace(r"\arg", r"\operatorname{arg}").replace(r"\_", "_")
    try:
        made: str = convert(known, display=display)
    except Exception as error:  # the converter raises kinds of its own
        why = type(error).__name__
        raise ValueError(f"The formula {formula} cannot be read: {why}.") from error
    if "\\" in made:
        raise ValueError(f"The formula {formula} holds a command that becomes no MathML.")
    return made


def _formula(translator: Any, node: nodes.Element, display: str = "inline") -> None:
    try:
        translator.body.append(mathml(node.astext(), display))
    except ValueError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
    raise nodes.SkipNode


def _formula_block(translator: Any, node: nodes.Element) -> None:
    translator.body.append('<div class="formula">')
    try:
        _formula(translator, node, "block")
    finally:
        translator.body.append("</div>\n")
