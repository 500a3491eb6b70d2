"""Readers and writers of prediction file formats."""
