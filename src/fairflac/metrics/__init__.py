"""Metrics: pure functions of a whole table of predictions."""

from fairflac.metrics.fairness import error_rate_gap, fnr_gap, fpr_gap, p_rule
from fairflac.metrics.groups import accuracy, group_accuracy, summary

__all__ = ["accuracy", "error_rate_gap", "fnr_gap", "fpr_gap", "group_accuracy", "p_rule", "summary"]
