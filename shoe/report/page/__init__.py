"""HTML pages, each one file that works from disk without a network."""
