"""What a figure rests on: facts about predictions, words, ties, bounds and single raters; computed when asked."""
