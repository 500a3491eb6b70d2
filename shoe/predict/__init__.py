"""Predictions made here: boxes of a detector, pairs of them, and what a vision-language model says of each pair.

Three files, each of which may come from elsewhere: detections, pairs, answers. They hold JSON Lines, one line per image
or answer (:mod:`shoe.predict.records`).
"""
