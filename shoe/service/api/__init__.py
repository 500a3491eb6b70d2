"""HTTP API, version 1, with the same JSON as the command line."""
