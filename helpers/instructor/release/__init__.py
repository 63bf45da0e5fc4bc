"""`./course release`: what students get."""

from helpers.instructor.release.pack import contents, release

__all__ = ["contents", "release"]
