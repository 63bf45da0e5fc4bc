"""The digits as they are read, beside scikit-learn's own reading of them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from helpers.lessons.data_parallel.experiments.pictures import pictures


def test_the_pictures_are_those_of_load_digits():
    pixels, classes = pictures()
    wanted = load_digits()
    assert pixels.dtype == wanted.data.dtype
    np.testing.assert_array_equal(pixels, wanted.data)
    assert classes.dtype == np.int64
    np.testing.assert_array_equal(classes, wanted.target)


@pytest.mark.thorough
@pytest.mark.real
def test_scikit_learn_is_not_imported():
    told = "import sys; from helpers.lessons.data_parallel import digits; digits(); "
    told += "print(any(name.startswith('sklearn') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
