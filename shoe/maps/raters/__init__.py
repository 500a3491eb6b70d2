"""Raters: programs, models and people that rate how similar two senses are."""
