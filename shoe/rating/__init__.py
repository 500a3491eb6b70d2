"""The offline job: pairs of synsets, asked of LLMs and other raters, answers kept for good, maps written from them."""
