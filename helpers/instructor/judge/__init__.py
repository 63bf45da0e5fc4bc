"""The judge: trusted, outside the sandbox, the only one who decides."""

from helpers.instructor.judge.budgets import Budgets as Budgets
from helpers.instructor.judge.judge import Graded as Graded
from helpers.instructor.judge.judge import Judge as Judge
