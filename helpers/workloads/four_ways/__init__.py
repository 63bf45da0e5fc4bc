"""TensorFlow's four ways to train on several devices, on real servers and workers."""

from helpers.workloads.four_ways.runs import WAYS, WayRun, train_way

__all__ = ["WAYS", "WayRun", "train_way"]
