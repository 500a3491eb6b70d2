"""Predictions made here: boxes of a detector, pairs of them, and what a vision-language model says of each pair.

Three files, each of which may come from elsewhere: detections (:mod:`detections`), pairs (:mod:`pairs`), answers. Lines
of JSON, one an image or an answer, in the records of :mod:`records`.
"""
