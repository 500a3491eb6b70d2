"""Ratings by people in a study, and their agreement with each other, with a map or with another measure."""
