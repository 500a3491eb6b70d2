"""Work on whole maps: describe, import, merge, compare, take apart by rater, and export them."""
