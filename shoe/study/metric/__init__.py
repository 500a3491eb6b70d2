"""Comparison of measures, which are ways to score predictions, with ratings of the predictions by people."""
