"""Metrics: pure functions of a whole table of predictions."""

from fairflac.metrics.groups import accuracy, group_accuracy, summary

__all__ = ["accuracy", "group_accuracy", "summary"]
