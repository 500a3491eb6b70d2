"""The metric as a service: predictions come in, are scored once, and all see the same figures."""
