"""Stages of ``scripts/bench``, each of which runs in a process of its own."""
