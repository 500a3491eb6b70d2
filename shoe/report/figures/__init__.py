"""Plots and example images of results; requires matplotlib, from the extra ``plots``."""
