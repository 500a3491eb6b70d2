"""Ways to score predictions, held against what people say of the predictions: who ranks them as people do."""
