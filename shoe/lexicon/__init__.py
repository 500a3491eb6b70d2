"""Words to WordNet synsets, from a compiled lexicon."""
