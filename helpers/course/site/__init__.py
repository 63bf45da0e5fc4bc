"""`./course site`: the rendered course as static pages, without answers."""

from helpers.course.site.build import build_site

__all__ = ["build_site"]
