"""Average precision, strict and semantic scores, and the signature that makes them comparable."""
