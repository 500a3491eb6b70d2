"""Predict interactions: boxes from a detector, pairs of boxes, a vision-language model's answers on each pair."""
