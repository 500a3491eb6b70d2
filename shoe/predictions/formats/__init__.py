"""Prediction formats: one module per format, and the registry that recognises them."""
