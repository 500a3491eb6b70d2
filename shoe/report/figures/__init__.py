"""Figures and pictures of what was found; needs matplotlib, the extra ``plots``."""
