"""Similarity maps: how near a word is to a class, 0 to 1."""
