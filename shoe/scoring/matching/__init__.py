"""Matching of predictions and ground truth: box overlaps and assignment, for all images at once."""
