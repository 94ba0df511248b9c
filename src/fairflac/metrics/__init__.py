"""Metrics: pure functions of a whole table of predictions."""

from fairflac.metrics.frame import MetricSummary, score
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
    "MetricSummary",
    "accuracy",
    "count",
    "group_table",
    "measure",
    "score",
    "summary",
]
