"""Ratings that people gave in a study, and how far they agree: with each other, and with a map or another measure."""
