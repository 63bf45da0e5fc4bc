"""How Sphinx makes the site."""

from __future__ import annotations

from typing import Any

_THEME: dict[str, Any] = {
    "use_download_button": False,  # a page is no notebook to run
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the sidebar has the search
    "show_toc_level": 2,
    "toc_title": "On this page",
    "show_navbar_depth": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def settings(title: str, authors: str) -> dict[str, Any]:
    """Sphinx's configuration. Nothing is executed, and no source is copied to the site."""
    return {
        "project": title,
        "author": authors,
        "html_title": title,
        "html_short_title": title,
        "html_theme": "sphinx_book_theme",
        "html_theme_options": {**_THEME, "logo": {"text": title}},
        "html_context": {"default_mode": "auto"},  # light or dark, as the reader's system
        "html_static_path": ["_static"],
        "html_css_files": ["site.css"],
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "html_use_index": False,
        "html_math_renderer": "mathml",
        "extensions": ["myst_nb", "helpers.instructor.site.extension"],
        "nb_execution_mode": "off",
        "nb_merge_streams": True,
        "myst_enable_extensions": ["attrs_inline", "colon_fence", "dollarmath", "html_image"],
        "myst_heading_anchors": 4,
        "myst_update_mathjax": False,
        "smartquotes": False,
        "suppress_warnings": ["misc.highlighting_failure"],  # of code with … in it
    }
