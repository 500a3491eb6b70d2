"""Asking an endpoint durably: requests in, raw answers in a ledger out. Nothing here knows what is asked."""
