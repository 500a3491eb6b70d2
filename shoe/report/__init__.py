"""Renderings of a report: terminal and JSON."""
