"""From files of other words to a compiled lexicon."""
