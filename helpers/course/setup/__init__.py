"""Set the course up on a fresh machine, with nothing but Python's standard library.

`./course` runs `python -m helpers.course.setup`, which makes sure that everything is installed and
then hands over to `helpers.course.cli`. Nothing here imports a package that has to be installed
first.
"""
