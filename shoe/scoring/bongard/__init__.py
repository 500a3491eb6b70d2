"""Bongard problems of interactions: building from a dataset, reading, answering from detections, scoring by group."""
