"""The judge: trusted, outside the sandbox, the only one who decides."""

from helpers.grade.judge.budgets import Budgets as Budgets
from helpers.grade.judge.judge import Graded as Graded
from helpers.grade.judge.judge import Judge as Judge
