"""Slow, literal implementations of every score, written from the papers and protocols alone.

Nothing here imports the package's matching or scoring; the fast code is held to these results.
"""
