"""Box conventions and the box check against ground truth."""
