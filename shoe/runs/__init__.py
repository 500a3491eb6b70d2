"""What one scoring measured, kept: entries by class and image that can be scored again, compared and verified."""
