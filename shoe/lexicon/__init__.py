"""Words to concepts, from a compiled lexicon: WordNet 3.0 or another one."""

ENVIRONMENT = "SHOE_LEXICON"
"""Names the file of the lexicon that a process begins with, and so do those that it starts."""
