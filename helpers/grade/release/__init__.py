"""`./course release`: what students get."""

from helpers.grade.release.pack import contents, release

__all__ = ["contents", "release"]
