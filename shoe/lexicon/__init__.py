"""Look-up of the concepts that words may mean, in a compiled lexicon: WordNet 3.0 or another lexicon."""

ENVIRONMENT = "SHOE_LEXICON"
"""Environment variable with the path of the lexicon that a process and its child processes use at the start."""
