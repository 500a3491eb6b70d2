"""Basic modules that the rest of shoe builds on: interaction tables, boxes, statistics, errors and file formats."""
