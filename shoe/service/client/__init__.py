"""Clients of a metric service: send predictions, receive results; work that was done is not repeated."""
