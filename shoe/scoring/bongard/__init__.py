"""Bongard problems of interactions: made of any annotated dataset, read, answered from detections, scored by group."""
