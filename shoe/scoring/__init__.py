"""Scoring of predictions: exact-label and semantic (SHOE) metrics, with signatures that show which are comparable."""
