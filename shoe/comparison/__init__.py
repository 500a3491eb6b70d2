"""Comparison of runs: confidence intervals of metrics, tests of differences, and agreement of rankings."""
