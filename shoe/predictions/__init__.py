"""Prediction files in and out, one file per format."""
