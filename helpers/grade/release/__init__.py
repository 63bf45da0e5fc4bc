"""`./course release`: what students get."""

from helpers.grade.release.pack import release

__all__ = ["release"]
