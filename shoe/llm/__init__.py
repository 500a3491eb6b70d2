"""Requests to endpoints of language models, whose raw answers are stored in a ledger; independent of the questions."""
