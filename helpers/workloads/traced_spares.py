"""The operations of a run of N of N + b from its trace, for a replay that waits for N."""

from __future__ import annotations

import math

import torch

from helpers.algorithms.servers.what_if import Operations
from helpers.engines.servers.training import Training
from helpers.workloads.traced_steps import stretches
