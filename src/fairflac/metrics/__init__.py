"""Metrics: pure functions of a whole table of predictions."""

from fairflac.metrics.groups import GroupRow, group_table
from fairflac.metrics.intervals import Measured
from fairflac.metrics.predictions import Counts, count
from fairflac.metrics.scores import METRICS, Metric, accuracy, measure, summary

__all__ = [
    "METRICS",
    "Counts",
    "GroupRow",
    "Measured",
    "Metric",
    "accuracy",
    "count",
    "group_table",
    "measure",
    "summary",
]
