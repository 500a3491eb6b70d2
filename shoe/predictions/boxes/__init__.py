"""Box conventions, and the check that compares them with the ground truth."""
