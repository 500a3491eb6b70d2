"""One file for each kind of rater: what its settings are, and how it answers questions."""
