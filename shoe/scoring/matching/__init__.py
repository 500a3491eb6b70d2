"""Boxes, overlaps and assignment, vectorised over all images at once."""
