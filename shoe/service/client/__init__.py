"""A metric service from afar: predictions go there, results come back, and nothing is done twice."""
