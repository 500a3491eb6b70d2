"""Prediction of interactions: boxes from a detector, pairs of boxes, and a vision-language model's answers per pair."""
